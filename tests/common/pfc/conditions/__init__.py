"""The option to say in a testbed's entry what measurements there have to allow for."""
