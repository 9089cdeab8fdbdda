"""WD-1 to WD-9: the PFC watchdog."""
