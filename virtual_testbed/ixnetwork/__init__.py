"""IxNetwork's REST API over the virtual traffic generator, as far as snappi_ixnetwork uses it."""
