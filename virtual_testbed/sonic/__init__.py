"""The management side of a simulated SONiC switch: databases, commands, shell, and its own view of the root folder."""
