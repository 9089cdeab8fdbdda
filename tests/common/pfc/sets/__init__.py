"""The option to say which priorities are paused together, in PFC-2 and PFC-3."""
