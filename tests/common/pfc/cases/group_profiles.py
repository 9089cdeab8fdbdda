"""The buffer profiles of a port's priority groups, as orchagent has them: APPL_DB has those that SONiC derives from
speed and cable, too."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_in

TABLE = "BUFFER_PG_TABLE:"


@dataclass(frozen=True)
class GroupProfile:
    """A buffer profile: its name, and its fields as APPL_DB has them."""

    name: str
    fields: Mapping[str, str]

    def number(self, name: str) -> int:
        """A field; 0 where it has none that is a whole number from 0 on."""
        text = self.fields.get(name, "")
        return int(text) if text.isdigit() else 0

    @property
    def xoff_bytes(self) -> int:
        """Its headroom; 0: it has none."""
        return self.number("xoff")

    @property
    def rise(self) -> float:
        """By how much the distance to the threshold grows when the only group of a pool drains by 1: that, and what
        `dynamic_th` gives back."""
        text = self.fields.get("dynamic_th", "")
        return 1 + 2.0 ** int(text) if text.removeprefix("-").isdigit() else 1.0


def profiles_command(port: str) -> str:
    """A shell command that prints, for each row `BUFFER_PG_TABLE:port:groups` of APPL_DB, the row, its profile and the
    profile's fields, as `sonic-db-cli` prints a hash: `{'size': '1248', 'xoff': '165568'}`. Older images write
    `[BUFFER_PROFILE_TABLE:name]`, newer ones `name`."""
    return (
        f"for row in $(sonic-db-cli APPL_DB KEYS '{TABLE}{port}:*'); do"
        " profile=$(sonic-db-cli APPL_DB HGET \"$row\" profile | tr -d '[]' | sed 's/.*://');"
        ' echo "$row $profile $(sonic-db-cli APPL_DB HGETALL "BUFFER_PROFILE_TABLE:$profile")"; done'
    )


def read_profiles(printed: str) -> dict[str, GroupProfile]:
    """The rows that `profiles_command` printed -> the profile of each, without a name where a row has none. Raises
    QualificationError for what is no such row."""
    found = {}
    for line in printed.splitlines():
        row, _, rest = line.partition(" ")
        name, _, fields = rest.partition(" ")
        try:
            found[row] = GroupProfile(name, dict(ast.literal_eval(fields.strip() or "{}")))
        except (ValueError, SyntaxError, TypeError) as error:
            raise QualificationError(f"{row} of APPL_DB: expected the fields of a profile, found {rest!r}") from error
    return found


def read_profile(printed: str, where: str, group: int) -> GroupProfile:
    """The profile of a priority group; `printed`: what `profiles_command` printed. Raises QualificationError where it
    has none, or one without headroom."""
    for row, profile in read_profiles(printed).items():
        if group in numbers_in(row.split(":")[-1]):
            if profile.xoff_bytes:
                return profile
            seen = f"{profile.name} {profile.fields.get('xoff', '')}".strip() or "none"
            raise QualificationError(f"{where}: {row} of APPL_DB has profile {seen}: expected one with an xoff")
    raise QualificationError(f"{where}: APPL_DB has no BUFFER_PG_TABLE row for priority group {group}: deploy it first")
