"""What the lab files (`testbed.yaml`, CSVs, topologies) say a virtual testbed is. Nothing is started here."""
