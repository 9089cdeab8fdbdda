"""A run that was killed goes on with what is missing."""
