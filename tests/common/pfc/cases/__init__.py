"""The test cases of the plan: how each is measured, when a run was a measurement, and what is judged."""
