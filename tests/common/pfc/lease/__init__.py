"""Option: a lease on each switch: one run at a time has it, and what a killed run changed is put back."""
