"""Waiting until a switch has followed rows of CONFIG_DB that change priority groups: their profiles in APPL_DB
(`BUFFER_PG_TABLE`), from which orchagent takes them.

buffermgrd copies a row of `BUFFER_PG` there, and derives one for a lossless priority (`PORT_QOS_MAP` `pfc_enable`) that
has no row, or one with profile `NULL`. It takes seconds. The key alone says nothing: a group that was lossy may have
the same one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_by_key, numbers_in
from ..model.qos import ConfigDb
from .clock import Clock, wait_for
from .dut import Dut
from .reservation import Rows

DEADLINE_S = 20.0
POLL_S = 2.0
DERIVED = "NULL"


@dataclass(frozen=True)
class OwedGroup:
    """A priority group as it has to be in APPL_DB.

    Attributes:
        port, number: which one.
        profiles: what rows of CONFIG_DB say, one of which it has to have; none: the switch derives its profile.
        stale: profiles that it may have had before, and that the switch does not derive.
    """

    port: str
    number: int
    profiles: frozenset[str]
    stale: frozenset[str]

    def is_met(self, found: Collection[str]) -> bool:
        """Whether it has what it has to have, by the profiles of the rows that are for it."""
        return bool(self.profiles.intersection(found) if self.profiles else set(found) - self.stale)


def owed_groups(now: ConfigDb, then: ConfigDb, changed: Rows, made: str) -> list[OwedGroup]:
    """The groups that a change of rows concerns: those of rows of `BUFFER_PG`, and all of a port whose lossless
    priorities are others. A lossy one without a row is not among them: buffermgrd leaves what it derived once.

    Args:
        now: CONFIG_DB as it is.
        then: as it shall be.
        changed: the rows that differ.
        made: the name of a profile that is there for a measurement only.
    """
    found = []
    ports = {key.split("|")[0] for table in ("BUFFER_PG", "PORT_QOS_MAP") for key in changed.get(table, {})}
    for port in sorted(ports):
        lossless = _lossless(then, port)
        numbers = {number for key in changed.get("BUFFER_PG", {}) if key.split("|")[0] == port
                   for number in numbers_in(key.split("|")[-1])}
        if lossless != _lossless(now, port):
            numbers |= lossless
        before = _profiles(now, port)
        after = _profiles(then, port)
        for number in sorted(numbers):
            profiles = after.get(number, frozenset())
            lossy = frozenset() if number in _lossless(now, port) else before.get(number, frozenset())
            if profiles or number in lossless:
                found.append(OwedGroup(port, number, profiles, lossy | {made}))
    return found


def wait_for_groups(dut: Dut, owed: Sequence[OwedGroup], clock: Clock) -> None:
    """Waits until a switch has these groups.

    Raises:
        QualificationError: it has not, `DEADLINE_S` later.
    """
    if not owed:
        return
    left: dict[OwedGroup, set[str]] = {}

    def followed() -> bool:
        found = _found(dut.ask({"groups": groups_command({group.port for group in owed})})["groups"])
        profiles = {group: found.get((group.port, group.number), set()) for group in owed}
        left.clear()
        left.update({group: names for group, names in profiles.items() if not group.is_met(names)})
        return not left

    if not wait_for(followed, DEADLINE_S, clock, POLL_S):
        group, names = next(iter(left.items()))
        expected = f"profile {' or '.join(sorted(group.profiles))}" if group.profiles else "a profile that is derived"
        raise QualificationError(
            f"{dut.name} {group.port} priority group {group.number}: expected {expected} in APPL_DB (BUFFER_PG_TABLE)"
            f" {DEADLINE_S:.0f} s after CONFIG_DB was changed, got {', '.join(sorted(names)) or 'none'}"
        )


def groups_command(ports: Iterable[str]) -> str:
    """A shell command that prints, for each row `BUFFER_PG_TABLE:port:groups` of APPL_DB for these ports, the row and
    its profile. Older images write `[BUFFER_PROFILE_TABLE:name]`, newer ones `name`."""
    return (
        f"for row in $(sonic-db-cli APPL_DB KEYS 'BUFFER_PG_TABLE:*' | grep -wE '{'|'.join(sorted(ports))}'); do"
        ' echo "$row $(sonic-db-cli APPL_DB HGET "$row" profile)"; done'
    )


def _found(printed: str) -> dict[tuple[str, int], set[str]]:
    """Port and number of each priority group -> the profiles of its rows, from what `groups_command` printed."""
    found: dict[tuple[str, int], set[str]] = {}
    for row, _, profile in (line.partition(" ") for line in printed.splitlines()):
        *_, ports, numbers = row.split(":")
        for group in ((port, number) for port in ports.split(",") for number in numbers_in(numbers)):
            if name := profile.strip(" []").split(":")[-1]:
                found.setdefault(group, set()).add(name)
    return found


def _profiles(config_db: ConfigDb, port: str) -> dict[int, frozenset[str]]:
    """Number of a port's priority group -> the profiles that its rows name."""
    found: dict[int, frozenset[str]] = {}
    for key, numbers in numbers_by_key(config_db, "BUFFER_PG", port).items():
        name = str(config_db["BUFFER_PG"][key].get("profile", DERIVED)).strip("[]").split("|")[-1]
        if name != DERIVED:
            found |= {number: found.get(number, frozenset()) | {name} for number in numbers}
    return found


def _lossless(config_db: ConfigDb, port: str) -> set[int]:
    """The lossless priorities of a port."""
    listed = str(config_db.get("PORT_QOS_MAP", {}).get(port, {}).get("pfc_enable", ""))
    return {number for part in listed.split(",") for number in numbers_in(part.strip())}
