"""Fixtures for traffic generators and for what a switch says about priorities."""
