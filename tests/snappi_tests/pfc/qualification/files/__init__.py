"""Steps that the qualification's tests share."""
