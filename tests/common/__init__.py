"""What tests share. Only `pfc` goes into a sonic-mgmt tree; the rest stands in for modules that are there already."""
