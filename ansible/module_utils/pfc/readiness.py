"""What a switch has made of its configuration: links, and lossless priority groups, as APPL_DB has them."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ansible.module_utils.pfc.config_db import ConfigDbError, Run, last_line

ASK = ("sonic-db-cli", "APPL_DB")
GROUPS = "BUFFER_PG_TABLE"


def lossless_groups(tables: Mapping[str, Any], port: str) -> list[int]:
    """The priority groups of a port's lossless priorities, by CONFIG_DB.

    Raises:
        ConfigDbError: PFC is not configured there.
    """
    row = tables.get("PORT_QOS_MAP", {}).get(port, {})
    priorities = [part for part in str(row.get("pfc_enable", "")).split(",") if part]
    if not priorities:
        found = "no pfc_enable" if row else "no row"
        raise ConfigDbError(f"PORT_QOS_MAP has {found} for {port}: the templates of the HwSKU make it no PFC")
    groups = tables.get("TC_TO_PRIORITY_GROUP_MAP", {}).get(row.get("tc_to_pg_map", ""), {})
    return sorted({int(groups.get(priority, priority)) for priority in priorities})


def without_link(run: Run, ports: Iterable[str]) -> list[str]:
    """The ports that have no link."""
    return [port for port in ports if _answer(run, "HGET", f"PORT_TABLE:{port}", "oper_status").strip() != "up"]


def without_buffers(run: Run, groups: Mapping[str, Iterable[int]]) -> list[str]:
    """A sentence for each port that lacks the buffer of a priority group.

    Args:
        groups: by port the priority groups that must have one.
    """
    there = _groups(run)
    missing = {port: [str(group) for group in wanted if group not in there.get(port, ())]
               for port, wanted in groups.items()}
    return [f"{port} has no buffer for priority group {', '.join(absent)} in {GROUPS}"
            for port, absent in missing.items() if absent]


def _groups(run: Run) -> dict[str, set[int]]:
    """By port, the priority groups that have a buffer: `BUFFER_PG_TABLE:Ethernet0:3-4`."""
    found: dict[str, set[int]] = {}
    for key in _answer(run, "KEYS", f"{GROUPS}:*").split():
        _, port, numbers = key.split(":", 2)
        first, _, last = numbers.partition("-")
        found.setdefault(port, set()).update(range(int(first), int(last or first) + 1))
    return found


def _answer(run: Run, *words: str) -> str:
    status, out, err = run([*ASK, *words])
    if status != 0:
        raise ConfigDbError(f"`{' '.join([*ASK, *words])}` ended with status {status}: {last_line(err or out)}")
    return out
