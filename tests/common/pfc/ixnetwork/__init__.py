"""Option: traffic generators of Keysight's that are reached through snappi_ixnetwork; what it and IxNetwork need beyond
OTG, and what they leave undone."""
