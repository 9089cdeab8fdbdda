"""sonic-mgmt's telemetry interface under its own names, except that `report()` stores what was recorded."""
