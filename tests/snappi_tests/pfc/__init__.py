"""PFC tests with traffic generators."""
