"""The option to say which test cases are carried out, and which priorities are paused together."""
