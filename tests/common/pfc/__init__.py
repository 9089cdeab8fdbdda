"""The qualification logic: scenario -> OTG configuration -> run -> measurement -> checks -> verdict -> record.

Imports only the standard library and snappi, so that it runs in this project's stand-alone tests and in a sonic-mgmt
tree alike.
"""

SOFTWARE = "sonic-mgmt-pfc 0.1.0"
"""What records say measured them. It travels with this folder, also to where the package is not installed."""
