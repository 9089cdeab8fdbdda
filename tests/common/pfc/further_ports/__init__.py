"""The option that finds further ports for data to enter, as LOAD, M2O and SPEED need them."""
