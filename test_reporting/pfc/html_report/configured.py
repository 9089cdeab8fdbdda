"""What a run says of the configuration of its switch, in words: the first thing that its vendor asks."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .texts import counted, listed, ranges

MOST_GROUPS = 3
"""Groups of ports whose configuration is said."""


def configuration_in_words(info: Mapping[str, Any]) -> list[str]:
    """What a run's info says of it, a phrase for each thing; what is missing, or no such thing, is left out.

    Args:
        info: with `priorities` of the one port under test (`lossless`, `watched`, `dscps` by priority, `dscp_map`,
            `pool` and `pool_bytes`), or `priorities_by_ports`: the same of several, with the names of those that are
            configured alike in `ports`.
    """
    groups = info.get("priorities_by_ports")
    if not isinstance(groups, list):
        return _priorities(info.get("priorities"))
    found = [[f"{_ports(group)}: {phrases[0]}", *phrases[1:]] for group in groups if (phrases := _priorities(group))]
    more = [f"{counted(len(found) - MOST_GROUPS, 'more group')} of ports"] if found[MOST_GROUPS:] else []
    return [phrase for phrases in found[:MOST_GROUPS] for phrase in phrases] + more


def _ports(group: Mapping[str, Any]) -> str:
    """The ports of a group: of many how many they are, the first and the last."""
    names = [name for name in group.get("ports") or () if isinstance(name, str)]
    return f"{counted(len(names), 'port')} ({names[0]} to {names[-1]})" if names[2:] else listed(names)


def _priorities(found: Any) -> list[str]:
    """What is configured of the priorities of a port, or of several that are alike."""
    if not isinstance(found, Mapping):
        return []
    lossless = _numbers(found.get("lossless"))
    watched = _numbers(found.get("watched"))
    phrases = [] if not lossless else [
        f"PFC on {_named(lossless)}; the watchdog, when it runs, is for {_named(watched) if watched else 'none'}"]
    return [*phrases, *_dscps(found.get("dscps"), str(found.get("dscp_map") or "")), *_pool(found)]


def _dscps(found: Any, name: str) -> list[str]:
    """Which DSCP values lead to which priority; the priority that most of them lead to has the others."""
    if not isinstance(found, Mapping):
        return []
    by_priority = {str(priority): numbers for priority, values in found.items() if (numbers := _numbers(values))}
    if not by_priority:
        return []
    most = max(by_priority, key=lambda priority: len(by_priority[priority]))
    parts = [f"{ranges(values)} \u2192 {priority}" for priority, values in sorted(by_priority.items())
             if priority != most]
    rest = f"{len(by_priority[most])} {'others' if parts else 'values'} \u2192 {most}"
    return [f"DSCP \u2192 priority{f' ({name})' if name else ''}: {', '.join([*parts, rest])}"]


def _pool(found: Mapping[str, Any]) -> list[str]:
    size = found.get("pool_bytes")
    if not found.get("pool") or not _is_number(size):
        return []
    return [f"{found['pool']} {size:,} bytes"]


def _named(priorities: list[int]) -> str:
    return f"{'priority' if len(priorities) == 1 else 'priorities'} {listed(map(str, priorities))}"


def _numbers(found: Any) -> list[int]:
    return [one for one in found if _is_number(one)] if isinstance(found, list) else []


def _is_number(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)
