"""The commands of a clone, as console scripts."""
