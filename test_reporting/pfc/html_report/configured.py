"""What a run says of the configuration of its switch, in words: the first thing that its vendor asks."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .texts import listed, ranges


def configuration_in_words(found: Any) -> list[str]:
    """What `priorities` of a run's info says, a phrase for each thing; what is missing, or no such thing, is left out.

    Args:
        found: `lossless`, `watched`, `dscps` (priority -> DSCP values), `dscp_map`, `pool` and `pool_bytes`.
    """
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
