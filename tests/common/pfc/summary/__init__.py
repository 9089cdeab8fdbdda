"""The option that tells the user what a run came to, and what its verdicts do not speak for."""
