"""Option: a pause storm of many minutes, looked at all the time."""
