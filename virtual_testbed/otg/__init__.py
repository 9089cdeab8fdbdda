"""The traffic generators' API: Open Traffic Generator (OTG) messages over HTTP, on the simulated data plane."""
