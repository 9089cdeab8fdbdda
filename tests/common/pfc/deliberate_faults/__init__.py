"""The option that says, in a run and its records, what is broken on purpose in the testbed."""
