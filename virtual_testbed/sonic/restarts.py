"""What restarts on a switch, and in which order it comes up again, in simulated time.

`reboot`, `fast-reboot`, `warm-reboot`, `config reload` and `systemctl restart swss` leave a request in STATE_DB
(`RestartRequest`); the agent takes it, and does what is due of its `Restart` when simulated time has come so far.
"""
from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.sonic.databases import Config

PS_PER_S = 10 ** 12
NOBODY = "N/A"
"""In the row of a reboot that nobody asked for: user and time."""
CONTAINERS = ("bgp", "database", "lldp", "pmon", "snmp", "swss", "syncd", "teamd")
BOOT_TIME = "/run/boot_time"
"""File of a switch: since when it is up, seconds of the wall clock."""
SSH, PORTS = "ssh", "ports"
"""What comes up beside containers: the SSH server, and ports with all that CONFIG_DB says of them."""


@dataclass(frozen=True)
class Restart:
    """A kind of restart.

    Attributes:
        comes_up: what goes down at once -> after how many seconds it is up again. What is not in it goes on.
        is_reboot: it has a cause that `show reboot-cause` names, and ends with uptime from 0.
    """

    comes_up: Mapping[str, int]
    is_reboot: bool = False

    @property
    def is_dark(self) -> bool:
        """Links go down, and counters start from 0."""
        return PORTS in self.comes_up


RESTARTS: Mapping[str, Restart] = {
    "config reload": Restart({"swss": 5, "syncd": 8, "teamd": 10, "bgp": 12, "lldp": 15, "pmon": 15, "snmp": 15,
                              PORTS: 20}),
    "swss": Restart({"swss": 5, "syncd": 8, "teamd": 10, "bgp": 12, PORTS: 20}),
    "reboot": Restart({SSH: 60, "database": 60, "swss": 65, "syncd": 70, "teamd": 72, "bgp": 74, "pmon": 80, PORTS: 85,
                       "lldp": 90, "snmp": 90}, is_reboot=True),
    "fast-reboot": Restart({SSH: 20, "database": 20, "swss": 22, "syncd": 24, "teamd": 25, "bgp": 26, PORTS: 28,
                            "lldp": 60, "pmon": 60, "snmp": 60}, is_reboot=True),
    "warm-reboot": Restart({SSH: 30, "database": 30, "swss": 32, "syncd": 34, "teamd": 36, "bgp": 38, "lldp": 60,
                            "pmon": 60, "snmp": 60}, is_reboot=True),
}
"""Seconds are about those of a switch of the size of the virtual ones, on the short side: cold in one and a half
minutes, fast with links that are down for less than 30 s, warm without."""


@dataclass(frozen=True)
class RestartRequest:
    """What a command asks for.

    Attributes:
        kind: a key of `RESTARTS`.
        user, time, name: who asked, when, in the words of `date` and as a name of a row: of a reboot.
        reason: why it reboots, where nobody asked for it.
        config: JSON of the configuration that it comes up with; empty: the one that is in CONFIG_DB.
    """

    kind: str
    user: str = ""
    time: str = ""
    name: str = ""
    reason: str = ""
    config: str = ""

    @property
    def restart(self) -> Restart:
        """What becomes of it."""
        return RESTARTS[self.kind]

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> RestartRequest | None:
        """Of the fields in the database, those that it knows; None: there is none, or none of a known kind."""
        if fields.get("kind") not in RESTARTS:
            return None
        return cls(**{field.name: fields[field.name] for field in dataclasses.fields(cls) if field.name in fields})

    def fields(self) -> dict[str, str]:
        """As the database has it."""
        return asdict(self)

    def configuration(self) -> Config | None:
        """What it comes up with; None: what is in CONFIG_DB."""
        return json.loads(self.config) if self.config else None

    def cause(self) -> dict[str, str]:
        """Its row in the history of reboots."""
        return {"cause": self.reason or self.kind, "time": self.time, "user": self.user, "comment": "N/A"}


def row_name(instant: datetime.datetime) -> str:
    """The name of a reboot's row, `2026_11_26_16_06_01`."""
    return instant.strftime("%Y_%m_%d_%H_%M_%S")


def restart_by_itself(kind: str, instant: datetime.datetime) -> RestartRequest:
    """Of a switch whose kernel, or a program of its, has crashed.

    Args:
        kind: a key of `RESTARTS`.
        instant: of the wall clock, which names the row of a reboot.
    """
    return RestartRequest(kind, NOBODY, NOBODY, row_name(instant), "Kernel Panic")


class Recovery:
    """What is down on a switch, and when it is due to be up again."""

    def __init__(self) -> None:
        """Everything is up."""
        self._due: dict[str, int] = {}

    def begin(self, restart: Restart, now_ps: int) -> None:
        """All that restarts is down from now on; what was down already comes up with it, or as it was due."""
        self._due |= {part: now_ps + seconds * PS_PER_S for part, seconds in restart.comes_up.items()}

    def is_down(self, part: str) -> bool:
        """Whether a container, the SSH server or the ports are down."""
        return part in self._due

    def take_due(self, now_ps: int) -> frozenset[str]:
        """What is up from now on, and was not before."""
        due = frozenset(part for part, instant in self._due.items() if instant <= now_ps)
        self._due = {part: instant for part, instant in self._due.items() if part not in due}
        return due

    def next_ps(self) -> int | None:
        """When something comes up next; None: everything is up."""
        return min(self._due.values(), default=None)


def unpowered(config: SwitchConfig) -> SwitchConfig:
    """A switch whose chip does nothing: no port has a link, nothing is watched, and the big red switch is off, so that
    it acts anew when it comes up again.
    """
    ports = {name: replace(port, admin_up=False, watchdog=None) for name, port in config.ports.items()}
    return replace(config, ports=ports, vlans=(), port_addresses={}, big_red_switch=False)
