"""The one plot of the first screen: what the victim received over time, the storm shaded, the others grey."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from .drawing import element, picture, text

WIDTHS = (760, 352)
"""Of the picture on a screen, and on a phone or beside another one."""
HEIGHT = 250
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 34, 46
STEPS = (1, 2, 2.5, 5, 10)
LINES_OF_STORMS = 3
"""Labels of storms that overlap stand below one another, in at most so many lines."""
CHARACTER = 6.2
"""Width of a character of a label, at its size, in units of the picture."""
Rates = Sequence[float | None]
Place = Callable[[float], float]
"""Where a time or a rate is in the picture."""


@dataclass(frozen=True)
class VictimPlot:
    """What is drawn.

    Attributes:
        plot: as of `timeline.plots`.
        victim: the label of the row in colour.
        title: what it is of, a sentence.
    """

    plot: Mapping[str, Any]
    victim: str
    title: str

    @property
    def row(self) -> Mapping[str, Any]:
        """The victim's row."""
        return next(row for row in self.plot["rows"] if row["kind"] == "rate" and row["label"] == self.victim)

    @property
    def others(self) -> list[Mapping[str, Any]]:
        """The rows of rates that are grey."""
        return [row for row in self.plot["rows"] if row["kind"] == "rate" and row["label"] != self.victim and row["rx"]]

    @property
    def in_storm(self) -> float | None:
        """The victim's highest rate between readings that lie in a storm, frames a second; None: there are none."""
        found: float | None = self.row["in_storm"]
        return found

    @property
    def outside(self) -> float:
        """The victim's highest rate at other times, received, or, where nothing was by then, sent; frames a second."""
        storms = self.plot["storms"]
        found = [rate for rate, (begin, end) in zip(self.row["rx"], pairwise(self.plot["times"]), strict=True)
                 if rate is not None and not any(storm["begin"] < end and begin < storm["end"] for storm in storms)]
        return float(max(found, default=self.row["most"]))


def draw(victim: VictimPlot, width: int = WIDTHS[0]) -> Markup:
    """The picture, with a scale of frames a second and one of seconds."""
    plot = victim.plot
    times: list[float] = plot["times"]
    begin = times[0]
    end = max(times[-1], begin + 1e-9)
    highest = max([1.0, *(float(row["most"]) for row in (*victim.others, victim.row))])
    step = _step(highest)
    most = step * -(-highest // step)

    def at(seconds: float) -> float:
        return LEFT + (min(max(seconds, begin), end) - begin) / (end - begin) * (width - LEFT - RIGHT)

    def up(rate: float) -> float:
        return HEIGHT - BOTTOM - rate / most * (HEIGHT - TOP - BOTTOM)

    parts = [*_storms(plot["storms"], at, width), *_scale(step, most, up, width), *_seconds(begin, end, at)]
    parts += [element("path", d=_steps(times, row["rx"], at, up), cls="other") for row in victim.others]
    if victim.row["tx"]:
        parts.append(element("path", d=_steps(times, victim.row["tx"], at, up), cls="sent"))
    if victim.row["rx"]:
        parts.append(element("path", d=_steps(times, victim.row["rx"], at, up), cls="victim"))
    return picture(width, HEIGHT, caption(victim), parts, f"plot width{width}")


def caption(victim: VictimPlot) -> str:
    """What the picture shows, in words: `priority 1 (background): 0 frames/s in the storm, 998 k at other times`."""
    if victim.in_storm is None:
        return f"{victim.title}: {victim.victim} received at most {short(victim.outside)} frames/s"
    return (f"{victim.title}: {victim.victim} received at most {short(victim.in_storm)} frames/s in the storm, "
            f"{short(victim.outside)} at other times")


def short(rate: float) -> str:
    """A rate in few digits: `998 k`, `5.99 M`, `12`."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= size:
            return f"{rate / size:.3g}{unit}"
    return f"{rate:.3g}"


def _step(most: float) -> float:
    """The distance of the lines of a scale with three to six of them."""
    size = 10.0 ** (len(str(int(most / 4))) - 1) if most >= 4 else 1.0
    return next(size * one for one in STEPS if size * one >= most / 5)


def _scale(step: float, most: float, up: Place, width: int) -> list[Markup]:
    lines = [step * number for number in range(round(most / step) + 1)]
    return [part for rate in lines for part in (
        element("line", x1=LEFT, x2=width - RIGHT, y1=up(rate), y2=up(rate), cls="axis"),
        text(LEFT - 6, up(rate) + 4, short(rate), "quiet", "end"))] + [text(4, 12, "frames/s received", "quiet")]


def _seconds(begin: float, end: float, at: Place) -> list[Markup]:
    """Whole seconds, or parts of them where all is over sooner; they do not touch."""
    step = _step(end - begin) if end - begin >= 5 else (end - begin) / 4
    found = []
    number = 0
    while number * step <= end - begin + 1e-9:
        found.append(text(at(begin + number * step), HEIGHT - BOTTOM + 16, f"{number * step:.4g} s", "quiet", "middle"))
        number += 1
    return found


def _storms(storms: Sequence[Mapping[str, Any]], at: Place, width: int) -> list[Markup]:
    """The shaded times, and their labels: those that would touch stand in lines of their own."""
    parts = []
    ends = [0.0] * LINES_OF_STORMS
    for storm in sorted(storms, key=lambda one: float(one["begin"])):
        left, right = at(storm["begin"]), max(at(storm["end"]), at(storm["begin"]) + 1)
        parts.append(element("rect", x=left, y=TOP, width=right - left, height=HEIGHT - TOP - BOTTOM, cls="storm"))
        parts += [element("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, cls="edge") for x in (left, right)]
        label = f"{storm['label']}, {storm['begin']:.4g} to {storm['end']:.4g} s"
        start = min(left, width - RIGHT - len(label) * CHARACTER)
        line = next((number for number, until in enumerate(ends) if until <= start), None)
        if line is not None:
            ends[line] = start + len(label) * CHARACTER + 8
            parts.append(text(max(start, 2), HEIGHT - BOTTOM + 29 + 11 * line if line else TOP - 6, label, "storms"))
    return parts


def _steps(times: Sequence[float], rates: Rates, at: Place, up: Place) -> str:
    """The path of rates that hold between two readings each."""
    parts = []
    before: float | None = None
    for rate, (start, stop) in zip(rates, pairwise(times), strict=True):
        if rate is not None:
            parts.append(f"{'M' if before is None else 'L'}{at(start):.1f} {up(rate):.1f}H{at(stop):.1f}")
        before = rate
    return "".join(parts)
