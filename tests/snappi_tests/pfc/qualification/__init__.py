"""The PFC qualification: scenarios, the seam to the fixtures, the session."""
