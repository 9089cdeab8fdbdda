"""Tests with traffic generators."""
