"""Another threshold for the priority groups that a storm fills: what WD-8, HEAD-4 and SENT-3 change, and put back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..lab.configuration import NAME, configured, keys_of_port, read_config
from ..lab.lab import Lab
from ..lab.reservation import Rows
from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_by_key
from ..model.qos import ConfigDb
from ..record.case import Target

SMALLER = 2  # of dynamic_th, a power of two: a quarter of what the group might take of the free pool
LEAST = -7  # SAI's smallest
TABLE = "BUFFER_PG_TABLE:"


@contextmanager
def threshold_lowered(lab: Lab, target: Target, xon_offsets: int = 0) -> Iterator[Lab]:
    """The tested priorities' groups have a profile with a smaller threshold (`smaller_threshold`) inside the `with`
    block, their own after it."""
    config_db = read_config(lab)
    offsets = xon_offsets if lab.clock.exact else 0  # nobody could tell by any other clock what came of it
    with configured(lab, config_db, smaller_threshold(lab, config_db, target, offsets)):
        yield lab


def smaller_threshold(lab: Lab, config_db: ConfigDb, target: Target, xon_offsets: int = 0) -> Rows:
    """The rows that give the tested priorities' groups on the tx port a profile of their own: theirs, with a smaller
    `dynamic_th`. They are the rows that the switch has for these groups, be it only in APPL_DB: no other row then says
    something else of one of them.

    Args:
        lab: what to measure with.
        config_db: of the switch.
        target: the tested priorities.
        xon_offsets: how many times its headroom `xon_offset` is, where it has one, or as much as half of the threshold
            if that is less; 0: what it is.

    Raises:
        QualificationError: the switch does not say which profile they have, or it has no such threshold; or a row of
            theirs is other ports' too.
    """
    port = lab.subject.pair.tx.port
    keys = _of_any(keys_of_port(config_db, lab.dut.name, "BUFFER_PG", port), target)
    in_effect = _keys_in_effect(lab, port, target)
    profile = _profile_of(lab, in_effect[0])
    if "dynamic_th" not in profile:
        raise QualificationError(
            f"{lab.subject.where(port=port)}: the buffer profile of priority {target[0]} has no dynamic_th: {profile}"
        )
    lowered = max(LEAST, int(profile["dynamic_th"]) - SMALLER)
    changed = {**profile, "dynamic_th": str(lowered)}
    if xon_offsets and profile.get("xon_offset"):
        threshold = lab.subject.buffer.size_bytes * 2.0**lowered / (1 + 2.0**lowered)
        changed["xon_offset"] = str(min(xon_offsets * int(profile.get("xoff", 0)), int(threshold / 2)))
    return {"BUFFER_PROFILE": {NAME: changed}, "BUFFER_PG": {key: {"profile": NAME} for key in keys or in_effect}}


def _of_any(groups_of: Mapping[str, range], target: Target) -> list[str]:
    """The keys of rows that are for one of these priorities at least."""
    return sorted(key for key, groups in groups_of.items() if not set(target).isdisjoint(groups))


def _keys_in_effect(lab: Lab, port: str, target: Target) -> list[str]:
    """The keys, as CONFIG_DB would have them, of the tested priorities' groups as orchagent has them: APPL_DB, where
    derived ones are too."""
    said = lab.dut.ask({"groups": f"sonic-db-cli APPL_DB KEYS '{TABLE}{port}:*'"})["groups"].split()
    rows: ConfigDb = {"BUFFER_PG": {row.removeprefix(TABLE).replace(":", "|"): {} for row in said}}
    keys = _of_any(numbers_by_key(rows, "BUFFER_PG", port), target)
    if not keys:
        raise QualificationError(
            f"{lab.subject.where(port=port)}: expected a row {TABLE}{port}:{target[0]} in APPL_DB, got"
            f" {', '.join(said) or 'none'}"
        )
    return keys


def _profile_of(lab: Lab, key: str) -> Mapping[str, Any]:
    """The profile of a priority group's row in APPL_DB."""
    name = f"sonic-db-cli APPL_DB HGET '{TABLE}{key.replace('|', ':')}' profile"
    said = lab.dut.ask({"row": f'sonic-db-cli APPL_DB HGETALL "BUFFER_PROFILE_TABLE:$({name})"'})["row"].strip()
    return dict(ast.literal_eval(said or "{}"))
