"""Keys that the agent writes and commands read, or the other way round, beyond SONiC's own. All are in STATE_DB."""
from __future__ import annotations

BOOT_KEY = "VIRTUAL_SWITCH|boot"
"""Field `id` is another one after each start of the switch; `ssh` says whether its SSH server is to be `up`; `REBOOT`
names the last reboot, which may be over already, and is missing before the first one that its agent has seen.
"""
REBOOT = "reboot"
RESTART_KEY = "VIRTUAL_SWITCH|restart"
"""A restart that a command asks for (`virtual_testbed.sonic.restarts`); the agent takes it away when it has begun."""
SERVICES_KEY = "VIRTUAL_SWITCH|services"
"""Container -> `up`, or `down` while it is not started yet."""
CAUSES = "REBOOT_CAUSE|"
"""Begin of the rows of reboots, SONiC's own; the rest of a key is when the switch was up again."""
UP, DOWN = "up", "down"
