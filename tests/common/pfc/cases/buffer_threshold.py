"""Another threshold, and less headroom, for the priority groups that a storm fills: what WD-8, HEAD-4 and SENT-3
change, and put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..lab.configuration import NAME, configured, keys_of_port, read_config
from ..lab.lab import Lab
from ..lab.reservation import Rows
from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_in
from ..model.qos import ConfigDb
from ..record.case import Target
from .group_profiles import TABLE, GroupProfile, profiles_command, read_profiles

SMALLER = 2  # of dynamic_th, a power of two: a quarter of what the group might take of the free pool
LEAST = -7  # SAI's smallest


@contextmanager
def threshold_lowered(lab: Lab, target: Target, xon_offsets: int = 0, headroom_part: int = 1) -> Iterator[Lab]:
    """The tested priorities' groups have a profile with a smaller threshold (`smaller_threshold`) inside the `with`
    block, their own after it."""
    config_db = read_config(lab)
    offsets = xon_offsets if lab.clock.exact else 0  # nobody could tell by any other clock what came of it
    with configured(lab, config_db, smaller_threshold(lab, config_db, target, offsets, headroom_part)):
        yield lab


def smaller_threshold(
    lab: Lab, config_db: ConfigDb, target: Target, xon_offsets: int = 0, headroom_part: int = 1
) -> Rows:
    """The rows that give the tested priorities' groups on the tx port a profile of their own: theirs, with a smaller
    `dynamic_th` and, where that is asked for, less headroom. They are the rows that the switch has for these groups, be
    it only in APPL_DB: no other row then says something else of one of them.

    Args:
        lab: what to measure with.
        config_db: of the switch.
        target: the tested priorities.
        xon_offsets: how many times its headroom `xon_offset` is, where it has one, or as much as half of the threshold
            if that is less; 0: what it is.
        headroom_part: one in so many bytes of its headroom is left.

    Raises:
        QualificationError: the switch does not say which profile they have, or it has no such threshold; or a row of
            theirs is other ports' too.
    """
    port = lab.subject.pair.tx.port
    keys = _of_any(keys_of_port(config_db, lab.dut.name, "BUFFER_PG", port), target)
    in_effect = _in_effect(lab, port, target)
    profile = next(iter(in_effect.values())).fields
    if "dynamic_th" not in profile:
        raise QualificationError(
            f"{lab.subject.where(port=port)}: the buffer profile of priority {target[0]} has no dynamic_th: {profile}"
        )
    lowered = max(LEAST, int(profile["dynamic_th"]) - SMALLER)
    changed = {**profile, "dynamic_th": str(lowered)}
    if headroom_part > 1 and "xoff" in profile:
        changed["xoff"] = str(int(profile["xoff"]) // headroom_part)
    if xon_offsets and profile.get("xon_offset"):
        threshold = lab.subject.buffer.size_bytes * 2.0**lowered / (1 + 2.0**lowered)
        changed["xon_offset"] = str(min(xon_offsets * int(profile.get("xoff", 0)), int(threshold / 2)))
    return {"BUFFER_PROFILE": {NAME: changed}, "BUFFER_PG": {key: {"profile": NAME} for key in keys or in_effect}}


def _of_any(groups_of: Mapping[str, range], target: Target) -> list[str]:
    """The keys of rows that are for one of these priorities at least."""
    return sorted(key for key, groups in groups_of.items() if not set(target).isdisjoint(groups))


def _in_effect(lab: Lab, port: str, target: Target) -> dict[str, GroupProfile]:
    """The keys, as CONFIG_DB would have them, of the tested priorities' groups as orchagent has them (APPL_DB, where
    derived ones are too) -> the profile of each."""
    found = read_profiles(lab.dut.ask({"profiles": profiles_command(port)})["profiles"])
    rows = _of_any({row: numbers_in(row.removeprefix(f"{TABLE}{port}:")) for row in found}, target)
    if not rows:
        raise QualificationError(
            f"{lab.subject.where(port=port)}: expected a row {TABLE}{port}:{target[0]} in APPL_DB, got"
            f" {', '.join(found) or 'none'}"
        )
    return {row.removeprefix(TABLE).replace(":", "|"): found[row] for row in rows}
