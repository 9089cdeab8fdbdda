"""Option: several switches in a row, and back-pressure that travels along it."""
