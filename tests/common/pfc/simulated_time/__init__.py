"""Option: the clock of a virtual testbed, whose time is simulated."""
