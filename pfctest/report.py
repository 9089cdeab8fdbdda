"""What the command prints: what it would send, and what it has sent."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pfctest.frame import problems
from pfctest.gaps import Gaps
from pfctest.options import StormRequest
from pfctest.pacing import SECOND_NS, SendCounts
from pfctest.storm import StormPlan, StormReport

SEEN_AT = "sender"
"""Where the figures come from: this process's clock around its calls. What a switch saw, only the switch can say."""


def planned(request: StormRequest, plan: StormPlan) -> dict[str, Any]:
    """What will be sent, for programs; times in seconds, rates in frames a second."""
    return {
        "content": request.frame_spec.title,
        "interfaces": [{"name": interface.name, "speed_mbps": interface.speed_mbps, "frame": data.hex(),
                        "frame_bytes": len(data), "problems": problems(data)}
                       for interface, data in zip(plan.interfaces, plan.frames)],
        "pause_s": None if plan.pause_ns is None else plan.pause_ns / SECOND_NS,
        "asked": {"rate_fps": SECOND_NS / plan.period_ns if plan.period_ns else None, "frames": request.count,
                  "duration_s": request.duration_s},
    }


def achieved(request: StormRequest, plan: StormPlan, storm_report: StormReport) -> dict[str, Any]:
    """What was sent, for programs, besides what was planned; gaps are seconds, shares of 1 (None: not measured)."""
    gaps = storm_report.gaps
    counts = storm_report.counts
    found = planned(request, plan)
    for interface in found["interfaces"]:
        interface["frames"] = counts.by_interface[interface["name"]]
    return {
        **found, "seen_at": SEEN_AT, "ended_by": storm_report.ended_by,
        "released": storm_report.released, "scheduling": storm_report.scheduling, "frames": counts.frames,
        "elapsed_s": gaps.elapsed_ns / SECOND_NS,
        "rate_fps": _rate_fps(counts, gaps, len(plan.interfaces)),
        "gap_s": {"p50": _seconds(gaps.quantile_ns(0.5)), "p99": _seconds(gaps.quantile_ns(0.99)),
                  "max": _seconds(gaps.longest_ns if gaps.sends > 1 else None)},
        "open_share": gaps.open_share if request.is_timed else None,
        "max_open_share": request.max_open if request.is_timed else None,
        "missed_deadlines": counts.missed, "refused": counts.refused,
    }


def text_of_plan(found: dict[str, Any]) -> str:
    """`planned`, for people."""
    lines = [found["content"]]
    for interface in found["interfaces"]:
        speed = f", {interface['speed_mbps'] / 1000:g}G" if interface["speed_mbps"] else ""
        lines.append(f"{interface['name']}{speed}: {interface['frame_bytes']} bytes before the FCS")
        lines += [f"  {interface['frame'][place:place + 32]}" for place in range(0, len(interface["frame"]), 32)]
        lines += [f"  wrong: {problem}" for problem in interface["problems"]]
    if found["pause_s"] is not None:
        lines.append(f"each frame pauses for {found['pause_s'] * 1e6:.2f} us")
    asked = found["asked"]
    how = f"{asked['rate_fps']:.1f} frames/s" if asked["rate_fps"] else "as fast as it goes"
    until = [f"{asked['frames']} of them" if asked["frames"] else "",
             f"{asked['duration_s']} s" if asked["duration_s"] else ""]
    lines.append(f"on each interface {how}, {', '.join(filter(None, until))}")
    return "\n".join(lines)


def text_of_report(found: dict[str, Any]) -> str:
    """`achieved`, for people."""
    names = ", ".join(interface["name"] for interface in found["interfaces"])
    lines = [f"{found['content']}: {found['frames']} frames sent from {names}"]
    if found["rate_fps"] is not None and found["gap_s"]["max"] is not None:
        gap = found["gap_s"]
        where = "on average of the interfaces" if _differ(found) else "on each interface"
        lines.append(f"as seen at the sender: {found['rate_fps']:.1f} frames/s {where} for "
                     f"{found['elapsed_s']:.3f} s, gaps p50 {_us(gap['p50'])}, p99 {_us(gap['p99'])}, "
                     f"longest {_us(gap['max'])}")
    if found["open_share"] is not None:
        lines.append("as seen at the sender: a queue that obeys was open for at most "
                     f"{found['open_share'] * 100:.4f} % of that time "
                     f"({found['max_open_share'] * 100:g} % are accepted)")
    elif found["asked"]["duration_s"] is not None and found["pause_s"] is None:
        lines.append("the open time is not judged: no receiver reads a pause in these frames")
    if found["refused"] or found["missed_deadlines"]:
        lines.append(f"{found['missed_deadlines']} deadlines were missed, "
                     f"{found['refused']} times the driver did not take every frame")
    if found["refused"] and _differ(found):
        lines.append(taken({interface["name"]: interface["frames"] for interface in found["interfaces"]}))
    ended = "with quanta-0 frames, " if found["released"] else ""
    lines.append(f"ended {ended}by {found['ended_by']}")
    return "\n".join(lines)


def taken(frames: Mapping[str, int]) -> str:
    """Which interface took how many frames, in words."""
    return ", ".join(f"{name} took {count} frame{'' if count == 1 else 's'}" for name, count in frames.items())


def _differ(found: dict[str, Any]) -> bool:
    """Whether one interface took more frames than another."""
    return len({interface["frames"] for interface in found["interfaces"]}) > 1


def _rate_fps(counts: SendCounts, gaps: Gaps, interfaces: int) -> float | None:
    """Frames a second on each interface, from the first send to the last, which is not counted; None: only one.

    Where some interfaces took fewer frames, the average of all.
    """
    passed_ns = counts.last_ns - gaps.first_ns if gaps.sends else 0
    return (counts.frames - counts.last_frames) / interfaces * SECOND_NS / passed_ns if passed_ns > 0 else None


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / SECOND_NS


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us"
