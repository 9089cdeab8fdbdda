"""Option: the average latency of data flows, where the traffic generators tell it."""
