"""Option: buffers whose sizes the switch works out by itself, which its configuration does not have."""
