"""Option: ports without an address are given one for as long as a run has the switch."""
