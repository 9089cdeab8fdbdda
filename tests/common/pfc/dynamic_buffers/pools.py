"""Sizes of buffer pools that CONFIG_DB leaves to the switch: what APPL_DB says, which the ASIC is told.

With `buffer_model` `dynamic` (sonic-swss `cfgmgr/buffermgrdyn.cpp`) a pool that has no size in CONFIG_DB has what the
headroom of all ports leaves, and that of lossless ingress a shared headroom. Priority groups and profiles are read from
APPL_DB in any case: those are derived with every buffer model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..lab.dut import Dut, SwitchState, checked, run_batch
from ..model.errors import QualificationError

POOLS = "BUFFER_POOL"
SIZES = ("size", "xoff")


def with_pools_in_effect(dut: Dut, state: SwitchState) -> SwitchState:
    """A switch with the sizes of its pools, those that CONFIG_DB leaves open as they are in effect now.

    Raises:
        QualificationError: the switch has none for a pool, or cannot be read.
    """
    found = state.config_db.get(POOLS, {})
    names = [name for name, row in found.items() if "size" not in row]
    if not names:
        return state
    commands = {
        f"{field}_of_{name}": f"sonic-db-cli APPL_DB HGET '{POOLS}_TABLE:{name}' {field}"
        for name in names for field in SIZES
    }
    outputs = run_batch(dut.host, commands)
    said = {name: checked(dut.host, name, outputs).strip() for name in commands}
    sizes = {name: {field: said[f"{field}_of_{name}"] for field in SIZES} for name in names}
    pools = {name: {**row, **_numbers(sizes.get(name, {}))} for name, row in found.items()}
    bare = next((name for name, row in pools.items() if "size" not in row), "")
    if bare:
        raise QualificationError(
            f"{dut.name}: CONFIG_DB leaves the size of {POOLS}|{bare} to the switch (buffer_model dynamic), and APPL_DB"
            f" has none in {POOLS}_TABLE:{bare}: buffermgrd has not come to one, look at its log"
        )
    return replace(state, config_db={**state.config_db, POOLS: pools})


def _numbers(sizes: Mapping[str, str]) -> dict[str, str]:
    """Those of a pool's fields that it has."""
    return {field: size for field, size in sizes.items() if size.isdigit()}
