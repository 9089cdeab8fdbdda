"""A T1 is measured on a replacement: a T0 of its model and build with a traffic generator behind every port."""
