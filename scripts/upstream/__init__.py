"""sonic-mgmt's own PFC tests on a virtual testbed, as they are: `python -m scripts.upstream`."""
