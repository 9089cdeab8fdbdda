"""Option: every port of a switch, one after another, in waves, or all under the load of all."""
