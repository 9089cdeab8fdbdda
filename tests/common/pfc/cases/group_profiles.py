"""The buffer profiles of a port's priority groups, as orchagent has them: APPL_DB has those that SONiC derives from
speed and cable, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_in

FIELDS = "size dynamic_th pool xon xon_offset"


@dataclass(frozen=True)
class GroupProfile:
    """A lossless one.

    Attributes:
        name: of the profile.
        xoff_bytes: its headroom.
        fields: what it has of `FIELDS`, as text.
    """

    name: str
    xoff_bytes: int
    fields: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """A field; 0 where it has none that is a whole number from 0 on."""
        text = self.fields.get(name, "")
        return int(text) if text.isdigit() else 0

    @property
    def rise(self) -> float:
        """By how much the distance to the threshold grows when the only group of a pool drains by 1: that, and what
        `dynamic_th` gives back."""
        text = self.fields.get("dynamic_th", "")
        return 1 + 2.0 ** int(text) if text.removeprefix("-").isdigit() else 1.0


def profiles_command(port: str) -> str:
    """A shell command that prints, for each row `BUFFER_PG_TABLE:port:groups` of APPL_DB, the row, its profile and the
    profile's `xoff`, then `size=` and so on, for each of `FIELDS`."""
    return (
        f"for row in $(sonic-db-cli APPL_DB KEYS 'BUFFER_PG_TABLE:{port}:*'); do"
        " profile=$(sonic-db-cli APPL_DB HGET \"$row\" profile | tr -d '[]' | sed 's/.*://');"
        ' line="$row $profile $(sonic-db-cli APPL_DB HGET "BUFFER_PROFILE_TABLE:$profile" xoff)";'
        f" for field in {FIELDS}; do"
        ' line="$line $field=$(sonic-db-cli APPL_DB HGET "BUFFER_PROFILE_TABLE:$profile" $field)"; done;'
        ' echo "$line"; done'
    )


def read_profile(printed: str, where: str, group: int) -> GroupProfile:
    """The profile of a priority group; `printed`: what `profiles_command` printed. Raises QualificationError where it
    has none, or one without headroom."""
    for line in printed.splitlines():
        words = [word for word in line.split() if "=" not in word]
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if words and group in numbers_in(words[0].split(":")[-1]):
            if len(words) == 3 and words[2].isdigit() and int(words[2]):
                return GroupProfile(words[1], int(words[2]), fields)
            raise QualificationError(
                f"{where}: {words[0]} of APPL_DB has profile {' '.join(words[1:]) or 'none'}: expected one with an xoff"
            )
    raise QualificationError(f"{where}: APPL_DB has no BUFFER_PG_TABLE row for priority group {group}: deploy it first")
