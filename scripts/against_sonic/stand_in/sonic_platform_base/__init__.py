"""Stands in for sonic-platform-common: `show` imports it for chassis, which this switch is not."""
