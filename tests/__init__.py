"""SONiC tests: the stand-alone fixture layer, under sonic-mgmt's names, and the PFC qualification."""
