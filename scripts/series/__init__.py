"""What travels to sonic-mgmt, as a series of changes of which each can be read, run and taken by itself."""
