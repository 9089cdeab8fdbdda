"""The option that tells what is remarkable in the configuration of a port."""
