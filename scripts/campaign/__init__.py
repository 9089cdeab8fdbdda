"""Campaigns: many faults, each judged as a user's run would judge it, and what of them is seen."""
