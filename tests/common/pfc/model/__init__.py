"""What is measured, as pure values: ports, priorities, traffic, counters, arithmetic."""
