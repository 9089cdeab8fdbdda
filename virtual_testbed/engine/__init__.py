"""One engine process: the data plane, the switches' agents and OTG put together, the clock, and real interfaces."""
