"""Compiled stepping: the model's traffic, frame by frame as the model itself does it, at machine speed."""
