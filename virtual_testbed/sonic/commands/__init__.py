"""SONiC's commands as real programs: one module each, started by small wrappers in the switch's bin folder.

Syntax, output and exit status follow sonic-utilities. Imports that take long stay inside the functions that need them.
"""
