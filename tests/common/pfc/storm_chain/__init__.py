"""Option: a pause storm that ends by itself and goes on for as long as it is needed: a chain of flows."""
