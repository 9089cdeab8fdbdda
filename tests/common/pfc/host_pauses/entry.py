"""Where pauses come from, as a testbed's entry says: the traffic generator, or a host from which `pfctest` sends them.

The host is one of the inventory: a Linux machine, a fanout or a T0 switch, with an interface on the cable of each port
under test:

    pfc_pause_source:
      host: fanout-01
      ports: {Ethernet0: Ethernet48, Ethernet4: Ethernet52}    # port under test: interface of the host
      python: python3                                          # these two unless the entry says otherwise
      folder: /run/pfc_generator
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..model.errors import QualificationError

KEY = "pfc_pause_source"
PYTHON = "python3"
FOLDER = "/run/pfc_generator"
KEYS = ("host", "ports", "python", "folder")


@dataclass(frozen=True)
class HostPort:
    """A host's interface whose cable leads to the port under test.

    Attributes:
        host: the host's name in the inventory.
        interface: the interface.
        python: the host's Python, 3.8 or newer.
        folder: where `pfctest.pyz` is on the host.
    """

    host: str
    interface: str
    python: str = PYTHON
    folder: str = FOLDER

    @property
    def where(self) -> str:
        """`fanout-01 Ethernet48`, for messages."""
        return f"{self.host} {self.interface}"


@dataclass(frozen=True)
class PauseEntry:
    """What a testbed's entry says: the host, its interface by port under test, its Python and the folder."""

    host: str
    ports: Mapping[str, str]
    python: str = PYTHON
    folder: str = FOLDER

    def of(self, port: str) -> HostPort:
        """The host's interface for a port under test.

        Raises:
            QualificationError: the entry names none.
        """
        if port not in self.ports:
            raise QualificationError(
                f"{KEY} has interfaces of {self.host} for {', '.join(self.ports)}, and the port under test is {port}:"
                f" expected the one whose cable leads to {port}"
            )
        return HostPort(self.host, self.ports[port], self.python, self.folder)


def pause_entry_of(testbed: Mapping[str, Any]) -> PauseEntry | None:
    """Where pauses come from; None: from the traffic generator.

    Raises:
        QualificationError: the entry says it wrongly; the sentence says what it takes.
    """
    said = testbed.get(KEY)
    where = f"testbed {testbed.get('conf-name')}: {KEY}"
    if said is None:
        return None
    if not isinstance(said, Mapping) or not {str(key) for key in said} <= set(KEYS):
        raise QualificationError(f"{where} is {said!r}, it takes a dictionary with {', '.join(KEYS)}")
    for key, kind in (("host", "a name of the inventory"), ("python", "a Python 3"), ("folder", "a path")):
        if not _is_text(said.get(key, None if key == "host" else "its default")):
            raise QualificationError(f"{where} has {key} {said.get(key)!r}, it takes {kind}")
    return PauseEntry(ports=_ports(said, where), **{key: said[key] for key in KEYS if key in said and key != "ports"})


def _ports(said: Mapping[str, Any], where: str) -> Mapping[str, str]:
    ports = said.get("ports")
    if not isinstance(ports, Mapping) or not ports or not all(map(_is_text, (*ports, *ports.values()))):
        raise QualificationError(
            f"{where} has ports {ports!r}, it takes a dictionary from ports under test to interfaces of {said['host']}"
        )
    interfaces = list(ports.values())
    twice = [one for one in interfaces if interfaces.count(one) > 1]
    if twice:
        raise QualificationError(f"{where} has interface {twice[0]} for several ports: its cable leads to one of them")
    return dict(ports)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
