"""What the page draws of `evidence["timeline"]`: rates of cumulative counts, PFC counters, storms.

A timeline is an object: `readings_s` (seconds since the first reading, ascending), `frames_rx` and `frames_tx`
(cumulative counts by label, as long as the readings), `storms` (`label`, `priorities`, `begin_s`, `end_s`), and where
they were read `pfc_counters`, for each switch `device`, `at_s` (seconds, ascending), `rx` and `tx` (cumulative counts
of PFC frames by label, as long as `at_s`).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from ..queries import natural

TIMELINE = "timeline"
TEST = "(test)"
"""In the labels of the classes that a measurement is about; they are drawn first."""
DEEPEST = 3
"""Levels of evidence in which a timeline is looked for: a record may hold the evidence of several measurements."""
LARGEST = 2**64
"""No counter and no time is beyond it; numbers that are make rates that no number can hold."""
Numbers = Sequence[float]


class _Unusable(Exception):
    """A timeline is not what it should be; the text is the sentence that the page shows in its place."""


def plots(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What to draw of each timeline in the evidence of a record.

    Returns:
        `title`, and either `problem` (why it cannot be drawn) or `times`, `storms` and `rows`. A row has `label` and
        `kind`: "rate" (`rx` and `tx`, frames per second between two readings, None where there is none, `most`, and
        `in_storm`, the highest receive rate between readings that lie in a storm) or "count" (`at`, seconds, `counts`,
        `most`): frames that stood in the switch, or PFC frames that it counted.
    """
    return [{"title": title, **_plot(found)} for title, found in _timelines(evidence, "", DEEPEST)]


def rates(times: Numbers, counts: Numbers) -> list[float | None]:
    """Frames per second between two readings each; None where a counter went back or no time has passed."""
    return [round((after - before) / (end - begin), 3) if end > begin and after >= before else None
            for (begin, end), (before, after) in zip(pairwise(times), pairwise(counts), strict=True)]


def _timelines(evidence: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in evidence.items():
        if name == TIMELINE:
            yield path, value
        elif isinstance(value, Mapping) and depth > 1:
            yield from _timelines(value, f"{path} {name}".strip(), depth - 1)


def _plot(timeline: Any) -> dict[str, Any]:
    try:
        if not isinstance(timeline, Mapping):
            raise _Unusable("it is no JSON object")
        times = _numbers(timeline.get("readings_s"), "readings_s")
        if len(times) < 2 or any(after < before for before, after in pairwise(times)):
            raise _Unusable("readings_s must be two or more times in ascending order")
        storms = [_storm(storm) for storm in _list(timeline.get("storms"), "storms")]
        return {"times": times, "storms": storms, "rows": [
            *_rate_rows(timeline, times, storms), *_depth_rows(timeline, times, storms), *_pfc_rows(timeline)]}
    except _Unusable as error:
        return {"problem": f"the timeline cannot be drawn: {error}"}


def _rate_rows(timeline: Mapping[str, Any], times: Numbers, storms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    received, sent = (_series(timeline, name, len(times)) for name in ("frames_rx", "frames_tx"))
    return [_rate_row(label, times, [rates(times, counts[label]) if label in counts else None
                                     for counts in (received, sent)], storms)
            for label in sorted({**received, **sent}, key=lambda label: (TEST not in label, natural(label)))]


def _rate_row(label: str, times: Numbers, found: list[list[float | None] | None],
              storms: list[dict[str, Any]]) -> dict[str, Any]:
    if any(rate == inf for series in found for rate in series or []):
        raise _Unusable("two of readings_s are too close to each other for a rate between them")
    within = [rate for rate, (begin, end) in zip(found[0] or [], pairwise(times), strict=False)
              if rate is not None and any(storm["begin"] <= begin and end <= storm["end"] for storm in storms)]
    every = [rate for series in found for rate in series or [] if rate is not None]
    return {"label": label, "kind": "rate", "rx": found[0], "tx": found[1], "most": max(every, default=0),
            "in_storm": max(within, default=None)}


def _depth_rows(timeline: Mapping[str, Any], times: Numbers, storms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames that were sent and had not been received, of each class of which there were some that a storm pauses,
    or that lacks some at the end: how deep its queue stands in the switch, and what of it was lost."""
    received, sent = (_series(timeline, name, len(times)) for name in ("frames_rx", "frames_tx"))
    paused = tuple(f"priority {priority} " for storm in storms for priority in storm["priorities"])
    rows = []
    for label in sorted(received.keys() & sent.keys(), key=lambda label: (TEST not in label, natural(label))):
        depth = [max(0.0, tx - rx) for tx, rx in zip(sent[label], received[label], strict=True)]
        if depth[-1] or label.startswith(paused) and any(depth):
            rows.append(_count_row(f"{label}: in the switch, or lost", times, depth))
    return rows


def _pfc_rows(timeline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The counters of each switch: what was received before what was sent, ports in their order."""
    rows = []
    switches = _list(timeline.get("pfc_counters"), "pfc_counters")
    for switch in switches:
        if not isinstance(switch, Mapping):
            raise _Unusable("pfc_counters must hold objects")
        times = _numbers(switch.get("at_s"), "at_s of pfc_counters")
        if any(after < before for before, after in pairwise(times)):
            raise _Unusable("at_s of pfc_counters must be in ascending order")
        device = f"{switch.get('device', '')} " if len(switches) > 1 else ""
        for way, does in (("rx", "received"), ("tx", "sent")):
            counters = _series(switch, way, len(times))
            rows += [_count_row(f"{device}{label}: PFC {does}", times, counters[label])
                     for label in sorted(counters, key=natural)]
    return rows


def _count_row(label: str, times: Numbers, counts: list[float]) -> dict[str, Any]:
    return {"label": label, "kind": "count", "at": times, "counts": counts, "most": max(counts, default=0)}


def _series(timeline: Mapping[str, Any], name: str, length: int) -> dict[str, list[float]]:
    """Counts by label, each as long as the readings."""
    found = {}
    for label, values in _mapping(timeline, name).items():
        found[label] = _numbers(values, f"{name}['{label}']")
        if len(found[label]) != length:
            raise _Unusable(f"{name}['{label}'] has {len(found[label])} entries, the readings are {length}")
    return found


def _storm(storm: Any) -> dict[str, Any]:
    if not isinstance(storm, Mapping):
        raise _Unusable("storms must hold objects")
    begin, end = _numbers([storm.get("begin_s"), storm.get("end_s")], "begin_s and end_s of a storm")
    if end < begin:
        raise _Unusable("a storm ends before it begins")
    priorities = [int(one) for one in _numbers(storm.get("priorities") or [], "priorities of a storm")]
    return {"label": str(storm.get("label", "")), "priorities": priorities, "begin": begin, "end": end}


def _mapping(timeline: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = timeline.get(name) or {}
    if not isinstance(value, Mapping):
        raise _Unusable(f"{name} must be an object with a list for each label")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value or [], list):
        raise _Unusable(f"{name} must be a list")
    return value or []


def _numbers(values: Any, name: str) -> list[float]:
    if not isinstance(values, list) or any(isinstance(value, bool) or not isinstance(value, (int, float))
                                           for value in values):
        raise _Unusable(f"{name} must be a list of numbers")
    if not all(abs(value) <= LARGEST for value in values):
        raise _Unusable(f"{name} has a number beyond 2**64")
    return values
