"""Keys that the agent writes and commands read, beyond SONiC's own."""
from __future__ import annotations

BOOT_KEY = "VIRTUAL_SWITCH|boot"  # STATE_DB: field `id` is another one after each start of the switch
