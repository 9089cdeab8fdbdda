"""Option: records what a run sends, reads and captures, as files and as a timeline."""
