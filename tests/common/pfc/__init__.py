"""The qualification logic: scenario -> OTG configuration -> run -> measurement -> checks -> verdict -> record.

Imports only the standard library and snappi, so that it runs in this project's stand-alone tests and in a sonic-mgmt
tree alike.
"""
