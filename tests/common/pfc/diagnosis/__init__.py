"""Option: one sentence for all failed checks of a port."""
