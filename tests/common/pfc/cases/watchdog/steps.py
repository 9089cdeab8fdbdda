"""What the watchdog's test cases do: storms that must be detected, data in them, their end, and data again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from ...lab.generator import SETTLE_S, Traffic
from ...lab.lab import Lab
from ...lab.watchdog import DROP, Timers, Watchdog, watching
from ...lab.watchdog_deviations import detects_at_empty_queue
from ...model.counters import DutCounters
from ...model.measurement import PortUnderTest
from ...model.traffic import FlowPlan, Role, Stats
from ...record.case import Target
from ..data_loads import DataLoad, data_flows
from ..engine import sending
from ..flows import RESUMED, again
from ..storm_sequence import pause_storm
from .checks import DATA_S, FRAME_BYTES, WatchdogRun, lead_s

TIMERS = Timers(DROP)
"""The action `drop` and the usual times."""
TOWARDS_PERCENT = 45  # of the line: all test (background) flows towards the port under test together
BACK_PERCENT = 25  # the same of those that come back
FAST_PERCENT = 60  # of the line of a faster port: test traffic in the storm, more than the port under test could send
EARLY_FRAMES = 10
"""Data at a storm's beginning, for watchdogs that detect none at an empty queue, of each priority: too few frames for
XOFF, and all sent before the storm may have been detected."""
EARLY_DELAY_S = 0.5
LIGHT_FPS = 100
"""Frames a second of each priority, of data that lets a watchdog detect a storm."""


def watching_pair(lab: Lab) -> AbstractContextManager[Watchdog]:
    """The watchdog of the port under test and the tx port: `watching`."""
    pair = lab.subject.pair
    return watching(lab.dut, lab.clock, (pair.rx.port, pair.tx.port), lab.subject.qos.lossless)


def early_frames(subject: PortUnderTest) -> int:
    """How many frames of each priority a storm begins with."""
    return 0 if detects_at_empty_queue(subject.asic) else EARLY_FRAMES


def early_flows(lab: Lab, target: Target, enters: str = "", leaves: str = "") -> list[FlowPlan]:
    """Flows of these frames, from half a second after the storm's beginning on; none where none are needed.

    Args:
        lab: what to measure with.
        target: the priorities of the storm.
        enters, leaves: the ports where they come in and where the storm holds them; empty: those of the pair.
    """
    frames = early_frames(lab.subject)
    into = f" {leaves}" if leaves else ""
    return [
        FlowPlan(lab.builder.flow_name(f"Early Flow{into} Prio {priority}"), Role.CLEAN, priority, FRAME_BYTES,
                 fps=LIGHT_FPS, frames=frames, delay_ns=round(EARLY_DELAY_S * 1e9), enters=enters, leaves=leaves)
        for priority in target if frames
    ]


@contextmanager
def until_detected(lab: Lab, target: Target, watchdog: Watchdog, further_s: float = 0.0) -> Iterator[Traffic]:
    """Starts the watchdog, then a storm without data, which must have been detected when the `with` block begins; no
    flow runs on when that ends. Its flows: the storm's, and early data. `further_s`: how long the storm goes on in the
    block."""
    watchdog.start(TIMERS)
    storm = pause_storm(lab, target, lead_s(TIMERS) + further_s)
    traffic = lab.builder.build([storm, *early_flows(lab, target)])
    with sending(lab, traffic):
        lab.generator.start(traffic.names())
        lab.clock.sleep(lead_s(TIMERS))
        yield traffic


def storm_traffic(lab: Lab, target: Target, timers: Timers) -> Traffic:
    """A storm with its early data, and data once it must have been detected and again after it: for
    `storms_and_again`."""
    storm = pause_storm(lab, target, lead_s(timers) + DATA_S + lab.delays.port_s)
    return lab.builder.build([storm, *early_flows(lab, target), *watched_flows(lab, target, timers)])


def watched_flows(lab: Lab, target: Target, timers: Timers) -> list[FlowPlan]:
    """Test flows of these priorities and background of every other one, towards the port under test and back, once a
    storm must have been detected; and the same again for the time after it. From a faster port more test traffic enters
    than could leave, and none goes back: after the storm as much is sent as can leave."""
    others = lab.subject.qos.others(target)
    rx = lab.subject.pair.rx
    tx = lab.subject.pair.tx
    fitting = TOWARDS_PERCENT * rx.speed_mbps // tx.speed_mbps

    def load(name: str, role: Role, percent: int, enters: str = tx.port, leaves: str = rx.port) -> DataLoad:
        priorities = target if role is Role.TEST else others
        return DataLoad(name, role, priorities, percent, DATA_S, FRAME_BYTES, (), lead_s(timers), enters, leaves)

    test = load("Test Flow", Role.TEST, fitting)
    background = load("Background Flow", Role.BACKGROUND, fitting)
    if tx.speed_mbps == rx.speed_mbps:
        test_back = load("Test Back Flow", Role.TEST, BACK_PERCENT, rx.port, tx.port)
        background_back = load("Background Back Flow", Role.BACKGROUND, BACK_PERCENT, rx.port, tx.port)
        flows = data_flows(lab, [background, test, test_back, background_back])
        return [*flows, *again(flows)]
    too_much = replace(test, percent=FAST_PERCENT)
    return [*data_flows(lab, [background, too_much]), *again(data_flows(lab, [background, test]))]


def even_flows(lab: Lab, target: Target, percent: float, seconds: float) -> list[FlowPlan]:
    """Test flows of these priorities and background of all others, `percent` of the line each, towards the port under
    test."""
    return data_flows(lab, [
        DataLoad("Test Flow", Role.TEST, target, percent, seconds, FRAME_BYTES),
        DataLoad("Background Flow", Role.BACKGROUND, lab.subject.qos.others(target), percent, seconds, FRAME_BYTES),
    ])


def storms_and_again(
    lab: Lab, traffic: Traffic, watchdog: Watchdog, timers: Timers, target: Target, before: DutCounters,
    is_last: bool = True,
) -> WatchdogRun:
    """The storms of a configuration that was pushed, on `target`; data in them, their end, and data again. The watchdog
    runs with these times; `is_last`: it is stopped in the end."""
    stormed = data_in_storms(lab, traffic)
    during = watchdog.counters()
    phases = {"stormed": stormed, "over": storms_over(lab, traffic, timers), "resumed": data_again(lab, traffic)}
    after = watchdog.stop() if is_last else watchdog.counters()
    return WatchdogRun(lab.subject, before, during, after, target, phases, timers, watchdog.queues)


def data_in_storms(lab: Lab, traffic: Traffic, phase: str = "") -> Stats:
    """The storms of a phase, with their early data, and its data; their statistics when the data has ended and the
    switch's counters have it too."""
    storms = traffic.names(Role.STORM, Role.CLEAN, phase=phase)
    data = traffic.names(Role.TEST, Role.BACKGROUND, phase=phase)
    lab.generator.start([*storms, *data])
    lab.clock.sleep(max(traffic.flows[name].delay_ns for name in data) / 1e9)
    lab.generator.run_out(data, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats([*storms, *data])


def storms_over(lab: Lab, traffic: Traffic, timers: Timers) -> Stats:
    """Stops all storms; their statistics, and those of the test data, when all queues must have been restored."""
    storms = traffic.names(Role.STORM)
    end_storms(lab, storms, timers)
    return lab.generator.stats([*storms, *traffic.names(Role.TEST)])


def end_storms(lab: Lab, storms: Sequence[str], timers: Timers) -> None:
    """Stops storms, and waits until their queues must have been restored."""
    lab.generator.stop(storms)
    lab.clock.sleep(timers.latest_restoration_s + SETTLE_S)


def data_again(lab: Lab, traffic: Traffic) -> Stats:
    """The data of the time after the storms; its statistics when it has ended and the switch's counters have it too."""
    names = traffic.names(phase=RESUMED)
    lab.generator.start(names)
    lab.generator.run_out(names, DATA_S)
    lab.clock.sleep(lab.delays.port_s)
    return lab.generator.stats(names)
