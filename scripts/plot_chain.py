"""Draws docs/images/chain.svg: how a pause storm at the last of three switches stops the first sender.

The virtual testbed's data plane runs `vtb-chain` as the tests do; queue depths, pauses and pause frames are read from
its counters. The instants of each XOFF are measured to the picosecond, and nothing is drawn unless they are those
that `virtual_testbed/tests/dataplane/test_chain.py` computes by hand. Needs the extra `docs`.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from virtual_testbed.dataplane.model.traffic import Duration
from virtual_testbed.dataplane.network import Network
from virtual_testbed.tests.dataplane.chain import DOWN, SENDER, SWITCHES, UP, data, first_changes, network, storm
from virtual_testbed.tests.dataplane.testbeds import MS, US

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "chain.svg"
STORM_PS, STORM_LASTS_PS, FRAMES = 100 * US, 2100 * US, 18_000
END_PS, STEP_PS = 4 * MS, 4 * US
XOFF_BYTES = 5_437_952 + 1248
COMPUTED_PS = {"sent by vtb-chain-03": 587_456_680, "received by vtb-chain-02": 587_656_680,
               "sent by vtb-chain-02": 1_075_115_560, "received by vtb-chain-01": 1_075_315_560,
               "sent by vtb-chain-01": 1_562_774_440, "received by the sender": 1_562_799_440}
"""Last bit of each hop's first XOFF, computed by hand in test_chain.py."""
QUEUES = ((SWITCHES[0], DOWN), (SWITCHES[1], DOWN), (SWITCHES[2], "Ethernet0"))
STYLES = ((0, (1, 1)), (0, (6, 2)), "solid")
ROWS = ("first sender,\nby vtb-chain-01", "vtb-chain-01 Ethernet124,\nby vtb-chain-02",
        "vtb-chain-02 Ethernet124,\nby vtb-chain-03", "vtb-chain-03 Ethernet0,\nby the storm")
"""What is paused by whom, from the first sender to the last switch."""
SMALL, TOP_MB, HIGHEST_MB, KEY_US = 8, 8.4, 7.9, (1700, 3280, 3940)


@dataclass
class ChainSamples:
    """Samples of the chain's counters over time: bytes in each queue, for each row the pause
    frames received and whether it is paused."""

    times_us: list[float] = field(default_factory=list)
    depths: list[list[int]] = field(default_factory=lambda: [[] for _ in QUEUES])
    frames: list[list[int]] = field(default_factory=lambda: [[] for _ in ROWS])
    paused: list[list[bool]] = field(default_factory=lambda: [[] for _ in ROWS])


def testbed() -> Network:
    """The chain with its traffic: lossless frames at 90 % of the line rate, and the storm."""
    return network([data("data", SENDER, 90, 3, duration=Duration(frames=FRAMES)),
                    storm(Duration(delay_ps=STORM_PS, time_ps=STORM_LASTS_PS))])


def _port(switch: str, port: str, counter: str) -> Callable[[Network], Any]:
    return lambda net: getattr(net.switch_counters(switch).ports[port], counter)[3]


def measure() -> dict[str, int]:
    """The instants of `COMPUTED_PS`, measured."""
    reads: list[Callable[[Network], Any]] = [
        _port(SWITCHES[2], UP, "pfc_tx"), _port(SWITCHES[1], DOWN, "pfc_rx"), _port(SWITCHES[1], UP, "pfc_tx"),
        _port(SWITCHES[0], DOWN, "pfc_rx"), _port(SWITCHES[0], "Ethernet0", "pfc_tx"),
        lambda net: net.generator_counters(SENDER).pfc_rx[3]]
    return first_changes(testbed, dict(zip(COMPUTED_PS, reads)), 2 * MS)


def run() -> ChainSamples:
    """Sample the counters from the beginning to the end."""
    net = testbed()
    samples = ChainSamples()
    before = [0] * len(ROWS)
    for time_ps in range(0, END_PS + 1, STEP_PS):
        net.advance_to(time_ps)
        switches = {name: net.switch_counters(name) for name in SWITCHES}
        samples.times_us.append(time_ps / US)
        for depth, (switch, port) in zip(samples.depths, QUEUES):
            depth.append(switches[switch].queues[port, 3].occupancy_bytes)
        ports = [switches[switch].ports[port] for switch, port in QUEUES]
        received = [net.generator_counters(SENDER).pfc_rx[3], *(port.pfc_rx[3] for port in ports)]
        lasted = [port.pause_duration_us[3] for port in ports]
        paused = [bool(net.flow_counters("data").held_by), *(now > then for now, then in zip(lasted, before))]
        before = lasted
        for row, (count, stops) in enumerate(zip(received, paused)):
            samples.frames[row].append(count)
            samples.paused[row].append(stops)
    return samples


def draw(samples: ChainSamples, paths: Sequence[Path]) -> None:
    """Draw the picture and write it, in the format of each path's name."""
    import matplotlib  # here: the rest of this module is of use without it
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "chain", "font.size": 9, "hatch.linewidth": 0.6})
    from matplotlib import pyplot
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 6.2), height_ratios=(3, 2),
                                             layout="constrained")
    _draw_depths(above, samples)
    _draw_pauses(below, samples)
    _mark_instants(above, below)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _mark_instants(above: Any, below: Any) -> None:
    """A line with a number at each switch's first XOFF, and what the numbers mean."""
    rows = [("first XOFF", "sent (µs)", "received (µs)")]
    instants = list(COMPUTED_PS.values())
    names = (*reversed(SWITCHES), "first sender")
    for number in range(len(SWITCHES)):
        sent_ps, received_ps = instants[2 * number:2 * number + 2]
        rows.append((f"{number + 1}  {names[number]} to {names[number + 1]}", _us(sent_ps), _us(received_ps)))
        for axes in (above, below):
            axes.axvline(sent_ps / US, color="black", linewidth=0.7, linestyle=(0, (2, 3)), zorder=0)
        above.annotate(str(number + 1), (sent_ps / US, HIGHEST_MB), ha="center", va="center", fontsize=SMALL,
                       bbox={"boxstyle": "circle", "facecolor": "white", "linewidth": 0.8})
    for number, row in enumerate(rows):
        for text, x_us, side in zip(row, KEY_US, ("left", "right", "right")):
            above.annotate(text, (x_us, HIGHEST_MB - 0.5 * number), ha=side, va="center", fontsize=SMALL)


def _us(time_ps: int) -> str:
    """Microseconds, to the nanosecond's hundredth, which is as fine as the instants are."""
    return f"{time_ps // US}.{time_ps % US // 10:05}"


def _draw_depths(axes: Any, samples: ChainSamples) -> None:
    for (switch, port), depth, style in zip(QUEUES, samples.depths, STYLES):
        axes.plot(samples.times_us, [size / 10**6 for size in depth], color="black", linestyle=style, linewidth=1.4,
                  label=f"{switch} {port}")
    axes.axhline(XOFF_BYTES / 10**6, color="0.5", linewidth=0.8)
    axes.annotate("XOFF: above it is headroom", (END_PS / US, XOFF_BYTES / 10**6), xytext=(-4, 3),
                  textcoords="offset points", ha="right", fontsize=SMALL)
    axes.set_ylim(0, TOP_MB)
    axes.set_ylabel("depth of egress queue 3 (MB)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.56, 0.08), frameon=False, fontsize=SMALL, handlelength=3)


def _draw_pauses(axes: Any, samples: ChainSamples) -> None:
    for row, (frames, paused) in enumerate(zip(samples.frames, samples.paused)):
        axes.broken_barh(_spans(samples.times_us, paused), (row - 0.28, 0.56), facecolor="0.85", edgecolor="black",
                         linewidth=0.8, hatch="////")
        arrivals = [now for now, old, new in zip(samples.times_us[1:], frames, frames[1:]) if new > old]
        axes.plot(arrivals, [row - 0.4] * len(arrivals), linestyle="none", marker="v", markersize=4.5, color="black")
    axes.set_yticks(range(len(ROWS)), ROWS)
    axes.set_ylim(len(ROWS) - 0.5, -0.7)
    axes.set_xlim(0, END_PS / US)
    axes.set_ylabel("class 3 paused")
    axes.set_xlabel("time (µs)      hatched: paused      \u25bc: pause frame received (XOFF, its refreshes, XON)")


def _spans(times: Sequence[float], states: Sequence[bool]) -> list[tuple[float, float]]:
    """(begin, length) of the stretches in which a state holds."""
    spans: list[tuple[float, float]] = []
    begin: float | None = None
    for time, holds in zip(times, states):
        if holds and begin is None:
            begin = time
        if not holds and begin is not None:
            spans.append((begin, time - begin))
            begin = None
    return spans if begin is None else [*spans, (begin, times[-1] - begin)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; exit status 1 when what is measured is not what is computed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, nargs="+", default=[IMAGE], help="files to write: .svg, .png")
    paths = parser.parse_args(arguments).output
    measured = measure()
    for name, time_ps in measured.items():
        print(f"XOFF {name:25} computed {COMPUTED_PS[name]:>13} ps, measured {time_ps:>13} ps")
    if measured != COMPUTED_PS:
        print("error: the instants differ, so no picture is drawn", file=sys.stderr)
        return 1
    draw(run(), paths)
    print("written:", *paths)
    return 0


if __name__ == "__main__":
    sys.exit(main())
