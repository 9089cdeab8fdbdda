"""The traffic generators' API: Open Traffic Generator (OTG) messages over HTTP and gRPC, on the simulated network."""
