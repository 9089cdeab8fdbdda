"""Random small testbeds for the differential test: switches, cables, faults, traffic, and what happens when."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from virtual_testbed.dataplane.model.configuration import (BufferProfile, PoolConfig, SchedulerConfig, SwitchConfig,
                                                           SwitchPortConfig, VlanConfig, WatchdogConfig)
from virtual_testbed.dataplane.model.traffic import FIRST_BIT, LAST_BIT, DataFlow, Flow, GeneratorPort, EmulatedHost
from virtual_testbed.tests.dataplane import testbeds
from virtual_testbed.tests.dataplane.differential_chooser import Chooser, SeedChooser, chance, some
from virtual_testbed.tests.dataplane.differential_traffic import BIG_SIZES, Place, Style, data_flows, storms, wire_fps
from virtual_testbed.tests.dataplane.oracle import Link, OracleFault, SwitchLink

Step = tuple[int, str, Any]
US, MS = testbeds.US, testbeds.MS
ACTIONS = ("drop", "forward", "alert")
CABLES = [5, 0, 1, 40, 300]


@dataclass
class Case:
    """A testbed, its traffic, and what happens when: (ps, command, argument).

    `first_check`: as `skip.FIRST_CHECK`; small ones skip sooner and look in the middle of changes.
    """

    family: str
    first_check: int = 256
    configs: list[SwitchConfig] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    switch_links: list[SwitchLink] = field(default_factory=list)
    ports: list[GeneratorPort] = field(default_factory=list)
    hosts: list[EmulatedHost] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    faults: list[OracleFault] = field(default_factory=list)

    def describe(self) -> str:
        """The case in a form that a person can read."""
        parts: list[tuple[str, list[Any]]] = [
            ("switch", [_shown(config) for config in self.configs]), ("cable", [*self.links, *self.switch_links]),
            ("port", list(self.ports)), ("host", list(self.hosts)), ("flow", list(self.flows)),
            ("fault", list(self.faults)),
            ("step", [step if step[1] != "configure" else (*step[:2], _shown(step[2])) for step in self.steps])]
        return "\n".join([f"family {self.family}", *(f"{what} {item}" for what, items in parts for item in items)])


def _shown(config: SwitchConfig) -> str:
    """What the cases vary of a switch; the ports share their buffers, schedulers and maps."""
    shared = next(iter(config.ports.values()))
    lines = [f"{config.name} {config.asic_type}, cells of {config.cell_bytes}, big_red_switch {config.big_red_switch}, "
             f"{config.pools}", f"groups {dict(shared.priority_groups)}, of classes {dict(shared.tc_to_pg)}",
             f"queues 0 {shared.queues[0]}, 3 {shared.queues[3]}",
             "schedulers " + ", ".join(f"{n}: {s.type} {s.weight}" for n, s in shared.schedulers.items())]
    lines += [f"dot1p {dict(shared.dot1p_to_tc)}"] if shared.dot1p_to_tc else []
    lines += [f"{name} {port.speed_mbps} Mb/s, up {port.admin_up}, PFC {sorted(port.pfc_priorities)}, response "
              f"{port.response_ps} ps, {port.watchdog}" for name, port in config.ports.items()]
    return "\n    ".join(lines)


@dataclass(frozen=True)
class Family:
    """How the cases of a family are made.

    Attributes:
        frames: frames on the generators' lines, about; the span follows from it.
        changes: commands in the course of the case that may occur, up to `most_changes` of them.
        reads: up to so many readings.
        pools: sizes of the buffer pools (those for ingress, for lossy queues).
        own_speeds: cables to generator ports that may be slower.
        one_in: a fault that drops frames drops one in one of these.
        captured: captures are open at one or two ports from the beginning on.
    """

    style: Style = Style()
    speeds: tuple[int, ...] = (100_000, 25_000, 50_000, 400_000)
    switches: tuple[int, ...] = (1,)
    ports: tuple[int, ...] = (2, 3, 4)
    frames: int = 4000
    span: tuple[int, int] = (20 * US, 20 * MS)
    changes: tuple[str, ...] = ("stop", "start", "priorities")
    faults: tuple[str, ...] = ()
    watchdog: bool = False
    small_buffers: bool = False
    responses: bool = False
    honouring: int = 90
    most_changes: int = 4
    reads: int = 5
    own_speeds: tuple[int, ...] = (25_000, 100_000)
    pools: tuple[tuple[int, ...], tuple[int, ...]] = (400_000, 40_000, 100_000, 8_000_000), (200_000, 20_000)
    one_in: tuple[int, ...] = ()
    captured: bool = False


RECEIVING = ("pause-ignored", "lossy-queue-paused", "pause-leaks", "slow-response", "zero-quanta-ignored",
             "zero-source-ignored", "empty-vector-honoured", "global-pause-honoured", "pfc-not-counted",
             "pfc-miscounted", "pfc-counted-as-data", "pause-short", "pause-outlives-flap", "unknown-opcode-honoured",
             "any-destination-honoured", "pfc-counted-as-drop", "pfc-forwarded", "storm-never-arrives")
BUFFERING = ("lossless-dropped", "lossy-dropped", "headroom-missing", "xoff-not-sent", "xoff-one-priority-only",
             "xoff-wrong-priority", "xon-not-sent", "refresh-missing", "zero-source-sent", "malformed-pfc-sent",
             "pfc-unasked", "weights-ignored")
MANAGING = ("watchdog-blind", "watchdog-leaks", "watchdog-false-alarm", "watchdog-late", "watchdog-never-restores",
            "watchdog-wide")
BY_PRIORITY = ("pause-ignored", "lossy-queue-paused", "zero-quanta-ignored", "pfc-not-counted", "pfc-miscounted",
               "refresh-missing", "xon-not-sent", "lossless-dropped", "watchdog-blind", "pause-leaks",
               "pause-short", "pause-outlives-flap", "unknown-opcode-honoured", "any-destination-honoured",
               "pfc-unasked", "watchdog-late")
STORM = (0xFFFF,)
EVERYTHING = ("stop", "start", "stop", "start", "priorities", "hold", "go on", "clear", "down", "up", "admin",
              "response", "buffers", "scheduler")
LONG = Style(Fraction(3, 5), storms=2, quanta=(0xFFFF, 2000, 2000, 500), lapse=False, unit_ps=200 * US,
             sizes=BIG_SIZES, shares=tuple(Fraction(text) for text in ("1/4", "1/10", "1/3", "1/50", "1/7")))
ROUND = replace(LONG, load=Fraction(1), ends=False, storms=1, quanta=STORM, alike=True, apart=True, shares=tuple(
    Fraction(text) for text in ("1/4", "1/2", "3/4", "1", "1/8")), sizes=((1518,), (1004,), (9000,), (492,)))
SLOW = (10_000, 25_000)
PAIRS = replace(LONG, pairs=True, lapse=True, quanta=(2000, 3000, 500), load=Fraction(2, 5))
LARGE = (8_000_000, 1_000_000, 300_000), (4_000_000, 1_000_000, 200_000)
TIGHT = replace(PAIRS, load=Fraction(1), quanta=(300, 1000, 2000), storms=1, ends=False, shares=tuple(
    Fraction(text) for text in ("1", "3/4", "1/2", "1/3")))
FULL = Style(Fraction(99, 100), ends=False, storms=1, least_storms=1, quanta=STORM, paused=(3, 4), lapse=False,
             full=True, unit_ps=4 * US, shares=tuple(Fraction(text) for text in ("24/25", "9/10", "3/4", "1/2")),
             sizes=((1024,), (1024,), (1518,), (300,)))
WHOLE = replace(FULL, load=Fraction(1), exactly=True, shares=tuple(
    Fraction(text) for text in ("1", "1", "24/25", "9/10")))
INCAST = Style(ends=False, storms=0, incast=True, alike=True, shares=tuple(
    Fraction(text) for text in ("1", "1/2", "3/4", "1/4")))
SHUT = replace(LONG, load=Fraction(1, 4), ends=False, storms=1, least_storms=1, quanta=(0xFFFF, 3000), paused=(3,),
               incast=True, classes=((3,),), shares=tuple(Fraction(text) for text in ("1/2", "1/3", "1/10", "1")))
ALL_PAUSES = Style(ends=False, least_storms=1, quanta=(0xFFFF, 2000, 300, 50, 5), storm_shares=tuple(
    Fraction(text) for text in ("1", "999/1000", "99/100", "24/25", "101/100")))
MANY_PORTS = (3, 4, 5, 6, 7, 8)
FULL_POOLS = (60_000, 100_000, 150_000, 200_000, 300_000), (100_000, 400_000, 4_000_000)
ALL_SIZES = (8_000_000, 1_000_000, 300_000, 150_000, 60_000), (4_000_000, 200_000, 60_000)
FAMILIES = {
    "general": Family(responses=True, changes=("stop", "start", "priorities", "hold", "go on", "clear")),
    "steady": Family(Style(Fraction(9, 10), ends=False, storms=1, quanta=STORM, lapse=False), (100_000, 400_000),
                     ports=(2, 3), frames=9000, changes=()),
    "exact": Family(Style(exactly=True, ends=False, storms=1, quanta=STORM, lapse=False), (100_000, 400_000, 800_000),
                    ports=(2, 3), frames=9000, changes=()),
    "fill": Family(Style(ends=False, storms=0, incast=True), ports=(3, 4), frames=8000, small_buffers=True,
                   responses=True, changes=("stop", "start")),
    "lapsing": Family(Style(quanta=(20, 200, 1000), ends=False), frames=6000, responses=True),
    "watchdog": Family(Style(Fraction(1, 10), quanta=(0xFFFF, 0xFFFF, 2000), unit_ps=200 * US), (10_000,),
                       frames=9000, span=(6 * MS, 12 * MS), watchdog=True,
                       changes=("stop", "start", "priorities", "watchdog", "red", "stop", "start")),
    "chain": Family(switches=(2, 2, 3), ports=(1, 2), frames=2500, responses=True, small_buffers=True),
    "mixed": Family(Style(mixed=True, odd=True), responses=True),
    "faults": Family(Style(odd=True, mixed=True), faults=RECEIVING, responses=True, small_buffers=True),
    "buffer faults": Family(Style(ends=False, storms=1, incast=True), (400_000, 100_000, 800_000), ports=(3,),
                            frames=8000, faults=BUFFERING, responses=True, small_buffers=True),
    "watchdog faults": Family(Style(Fraction(1, 10), quanta=(0xFFFF,), ends=False), (10_000,), frames=6000,
                              span=(6 * MS, 9 * MS), watchdog=True, faults=MANAGING),
    "flaps": Family(switches=(1, 1, 2), ports=(2, 3), small_buffers=True, responses=True,
                    changes=("down", "down", "up", "up", "admin", "stop", "start")),
    "long": Family(LONG, SLOW, frames=5000, span=(5 * MS, 50 * MS), changes=EVERYTHING, responses=True, most_changes=6,
                   pools=LARGE, reads=12, own_speeds=SLOW),
    "near": Family(replace(LONG, near=True, quanta=(2000, 500, 3000)), SLOW, frames=5000, span=(4 * MS, 50 * MS),
                   pools=LARGE, changes=EVERYTHING, responses=True, reads=12, own_speeds=SLOW),
    "filling": Family(replace(LONG, load=Fraction(1, 8), quanta=(0xFFFF, 3000)), SLOW, frames=4000,
                      span=(5 * MS, 100 * MS), changes=EVERYTHING, pools=LARGE, reads=10, honouring=60),
    "rows": Family(replace(LONG, load=Fraction(1, 3), quanta=(3000, 500)), SLOW, switches=(2, 3), ports=(1, 2),
                   frames=4000, span=(4 * MS, 50 * MS), changes=EVERYTHING, responses=True, reads=10,
                   pools=LARGE, own_speeds=SLOW),
    "polls": Family(replace(LONG, load=Fraction(1, 4), quanta=(0xFFFF, 3000)), (10_000,), frames=5000,
                    span=(8 * MS, 60 * MS), watchdog=True, changes=(*EVERYTHING, "watchdog", "red"), responses=True,
                    pools=LARGE, reads=10),
    "long faults": Family(replace(LONG, odd=True, load=Fraction(1, 3)), SLOW, frames=4000, span=(5 * MS, 50 * MS),
                          faults=(*RECEIVING[:-1], *BUFFERING), changes=EVERYTHING, responses=True, pools=LARGE,
                          reads=10),
    "round": Family(ROUND, SLOW, frames=9000, ports=(2, 3), changes=("stop", "start"), most_changes=2, reads=8),
    "round incast": Family(replace(ROUND, incast=True), SLOW, frames=9000, ports=(3,), reads=8,
                           changes=("stop", "start"), most_changes=2, small_buffers=True, honouring=50),
    "pairs": Family(PAIRS, SLOW, ports=(4, 6), frames=6000, span=(3 * MS, 50 * MS), changes=EVERYTHING, reads=8,
                    pools=ALL_SIZES, responses=True),
    "unlike pairs": Family(replace(PAIRS, mixed=True, odd=True), SLOW, ports=(4, 6), frames=6000,
                           span=(3 * MS, 50 * MS), reads=8, watchdog=True, responses=True, pools=ALL_SIZES,
                           faults=(*RECEIVING[:-1], *BUFFERING), changes=(*EVERYTHING, "capture", "end capture")),
    "tight pairs": Family(TIGHT, SLOW, ports=(4, 6), frames=5000, span=(500 * US, 20 * MS), reads=8, responses=True,
                          changes=("stop", "start"), pools=((150_000, 60_000, 300_000, 1_000_000), (200_000, 60_000))),
    "leaking pairs": Family(replace(TIGHT, quanta=(0xFFFF, 20_000), load=Fraction(1, 2)), (10_000,), ports=(4, 6),
                            frames=6000, span=(4 * MS, 30 * MS), changes=("stop",), reads=3, pools=LARGE,
                            faults=("pause-leaks", "pause-leaks")),
    "full": Family(FULL, (100_000,), ports=(4, 4, 6, 8), frames=12000, changes=(), reads=3, pools=FULL_POOLS,
                   honouring=98, responses=True, own_speeds=(100_000,)),
    "round rows": Family(replace(ROUND, exactly=True), SLOW, switches=(2,), ports=(1, 2), frames=8000, changes=(),
                         reads=8),
    "lossless incast": Family(replace(INCAST, classes=((3,), (4,), (3, 4))), ports=MANY_PORTS, frames=20000,
                              small_buffers=True, responses=True, changes=("stop", "start"), most_changes=2),
    "lossy incast": Family(replace(INCAST, classes=((1,), (0, 1), (6,), (2, 5))), ports=MANY_PORTS, frames=12000,
                           changes=("stop", "start"), most_changes=2),
    "full lapsing": Family(replace(WHOLE, lapse=True, quanta=(200, 1000, 5000)), (100_000,), ports=(4, 4, 6),
                           frames=8000, changes=(), reads=3, pools=FULL_POOLS, honouring=98, responses=True,
                           own_speeds=(100_000,)),
    "shut queues": Family(SHUT, SLOW, ports=(3, 4), frames=9000, span=(3 * MS, 50 * MS), responses=True,
                          changes=("stop", "start", "hold", "go on", "clear"), pools=LARGE, reads=8, own_speeds=SLOW),
    "full captured": Family(WHOLE, (100_000,), ports=(4, 4, 6), frames=12000, pools=LARGE, honouring=98, captured=True,
                            changes=("capture", "end capture", "stop", "start"), responses=True,
                            own_speeds=(100_000,)),
    "full drops": Family(WHOLE, (100_000,), ports=(4, 4, 6), frames=8000, changes=(), reads=3, pools=FULL_POOLS,
                         honouring=98, faults=("lossless-dropped", "lossy-dropped"), one_in=(7, 1, 2, 100),
                         own_speeds=(100_000,)),
    "full of pauses": Family(ALL_PAUSES, (100_000, 25_000, 10_000), ports=(2, 3), frames=8000, span=(20 * US, 2 * MS),
                             changes=("stop", "start", "priorities"), responses=True),
    "chatter": Family(Style(odd=True, mixed=True), faults=("chatter",), responses=True, small_buffers=True),
}


def make_case(seed: int, family: str | None = None) -> Case:
    """The case of a seed; without a family it has one in the order of the seeds."""
    return build_case(SeedChooser(seed), family or list(FAMILIES)[seed % len(FAMILIES)])


def build_case(chooser: Chooser, family: str) -> Case:
    """A random case of a family."""
    kind, case = FAMILIES[family], Case(family, chooser.choice([256, 64, 10]))
    _testbed(chooser, case, kind)
    macs = {config.name: config.mac for config in case.configs}
    places = [Place(port.name, host, macs[link[1]], link[3])
              for port, host, link in zip(case.ports, case.hosts, case.links)]
    case.flows = _measured(data_flows(chooser, places, kind.style))
    busy = {flow.tx_port for flow in case.flows} if kind.style.apart else set()
    case.flows += storms(chooser, [place for place in places if place.port not in busy], kind.style)
    span_ps = _span(case, kind)
    if kind.faults:
        case.faults = _faults(chooser, case, kind, span_ps)
    case.steps = _steps(chooser, case, kind, span_ps)
    return case


def _measured(flows: list[Flow]) -> list[Flow]:
    """The same flows; of every other case, as their rates have it, the latency is measured of two flows in three."""
    if sum(flow.rate_fps.numerator for flow in flows) % 2:
        return flows
    bits = (FIRST_BIT, LAST_BIT, None)
    return [replace(flow, latency=bits[number % 3]) if isinstance(flow, DataFlow) else flow
            for number, flow in enumerate(flows)]


def _span(case: Case, kind: Family) -> int:
    """How long the case lasts, so that about the family's number of frames is sent."""
    speeds = {port.name: link[3] for port, link in zip(case.ports, case.links)}
    fps = Fraction(1)
    for flow in case.flows:
        sizes = flow.sizes if isinstance(flow, DataFlow) else (len(flow.frame) + 4,)
        fps += min(flow.rate_fps, wire_fps(sizes, speeds[flow.tx_port]))
    low, high = kind.span
    return min(max(int(kind.frames * testbeds.SECOND / fps), low), high)


# ---- the testbed

def _testbed(chooser: Chooser, case: Case, kind: Family) -> None:
    speed, count = chooser.choice(kind.speeds), chooser.choice(kind.switches)
    make = _configuration(chooser, kind)
    sizes = [chooser.choice(kind.ports) for _ in range(count)]
    if count > 1:
        sizes[0] = max(sizes[0], 1)
    for number, ports in enumerate(sizes):
        name, names = f"sw{number}", []
        for place in range(ports):
            names.append(testbeds.port_name(place))
            cable_speed = speed if chance(chooser, 80) or kind.watchdog or kind.style.exactly else chooser.choice(
                kind.own_speeds)
            _add_generator_port(chooser, case, kind, (name, names[-1], cable_speed, chooser.choice(CABLES)))
        names += [testbeds.port_name(20 + place) for place in range(4)] if count > 1 else []
        case.configs.append(make(name, number, names))
    for number in range(count - 1):
        for twin in range(chooser.choice([1, 1, 2]) if number == 0 else 1):
            a, b = f"sw{number}", f"sw{number + 1}"
            case.switch_links.append(((a, testbeds.port_name(20 + twin)), (b, testbeds.port_name(22 + twin)), speed,
                                      chooser.choice(CABLES)))
    _set_speeds(chooser, case, kind)


def _add_generator_port(chooser: Chooser, case: Case, kind: Family, link: tuple[str, str, int, int]) -> None:
    number = len(case.links)
    case.links.append((testbeds.location(number), *link))
    honours = chance(chooser, kind.honouring)
    case.ports.append(GeneratorPort(f"p{number}", testbeds.location(number), 0,
                                    tuple((n, n) for n in range(8)) if honours else (), False,
                                    _response(chooser, kind)))
    case.hosts.append(EmulatedHost(f"h{number}", f"p{number}", testbeds.mac(number),
                                   (f"192.168.0.{number + 2}", f"fc02:1000::{number + 2:x}")))


def _response(chooser: Chooser, kind: Family) -> int:
    return chooser.choice([0, 0, 2_017_280, 33_000, chooser.number(1, 5 * US)]) if kind.responses else 0


def _configuration(chooser: Chooser, kind: Family) -> Callable[[str, int, list[str]], SwitchConfig]:
    """A maker of switch configurations (name, number, port names) that share buffers and schedulers."""
    lossless = BufferProfile("ingress", chooser.choice([0, 208, 1248, 1000]), chooser.choice([0, -2, -1, 1, 3]), None,
                             chooser.choice([165_568, 20_000, 3000]), chooser.choice([0, 2288]),
                             chooser.choice([0, 2288]))
    if chance(chooser, 20):
        lossless = replace(lossless, dynamic_th=None, static_th=chooser.choice([5000, 20_000]))
    lossy_queue = BufferProfile("egress_lossy", chooser.choice([0, 1664]), chooser.choice([-1, 0, 1]))
    lossless_queue = BufferProfile("egress_lossless", 0, None, 1 << 40)
    kinds = [*(SchedulerConfig("DWRR", weight) for weight in (14, 1, 5)), SchedulerConfig("STRICT")]
    schedulers = {q: chooser.choice(kinds) for q in range(8) if not chance(chooser, 10)}
    ingress, lossy = kind.pools
    lossy_group = BufferProfile("ingress", 0, None, 1 << 40)
    if kind.style.full:
        lossy_group = replace(lossy_group, dynamic_th=chooser.choice([3, 1, 0]), static_th=None)
        lossless = replace(lossless, dynamic_th=chooser.choice([0, -1, -2, -3]), static_th=None)
    pools = {"ingress": PoolConfig(chooser.choice([40_000, 100_000] if kind.small_buffers else ingress),
                                   chooser.choice([0, 0, 30_000])),
             "egress_lossless": PoolConfig(1 << 40), "egress_lossy": PoolConfig(chooser.choice(lossy))}
    dot1p = {n: (n + 3) % 7 for n in range(8)} if kind.style.mixed and chance(chooser, 40) else {}
    groups = {**testbeds.TC_TO_PG, 4: chooser.choice([4, 4, 3])}
    port = SwitchPortConfig("", 100_000, True, frozenset({3, 4}), frozenset({3, 4}), testbeds.DSCP_TO_TC,
                            testbeds.IDENTITY, groups, testbeds.IDENTITY,
                            {0: lossy_group, 3: lossless, 4: lossless},
                            {q: lossless_queue if q in (3, 4) else lossy_queue for q in range(8)}, schedulers,
                            dot1p_to_tc=dot1p)
    cell, asic = chooser.choice([208, 1, 80, 254]), chooser.choice(["broadcom", "mellanox", "vs"])

    def make(name: str, number: int, names: list[str]) -> SwitchConfig:
        return SwitchConfig(name, f"00:aa:bb:cc:dd:e{number}", asic, cell,
                            {n: replace(port, name=n) for n in names}, pools, (VlanConfig(1000, frozenset(names)),))
    return make


def _set_speeds(chooser: Chooser, case: Case, kind: Family) -> None:
    """Give the ports the speeds of their cables, and what each port has of its own."""
    speeds = {(switch, port): speed for _, switch, port, speed, _ in case.links}
    speeds |= {end: speed for a, b, speed, _ in case.switch_links for end in (a, b)}
    for place, config in enumerate(case.configs):
        for name in config.ports:
            own: dict[str, Any] = {"speed_mbps": speeds.get((config.name, name), 100_000),
                                   "response_ps": _response(chooser, kind)}
            if kind.watchdog:
                own["watchdog"] = WatchdogConfig(chooser.choice(ACTIONS), chooser.choice([1, 2]),
                                                 chooser.choice([1, 2, None]))
            config = testbeds.change_port(config, name, **own)
        case.configs[place] = replace(config, watchdog_poll_ms=1)


# ---- what is broken, and what happens

def _faults(chooser: Chooser, case: Case, kind: Family, span_ps: int) -> list[OracleFault]:
    found: dict[str, OracleFault] = {}
    for name in some(chooser, kind.faults, 1, 2):
        _, switch, port, _, _ = chooser.choice(case.links)
        since = chooser.choice([0, chooser.number(1, span_ps)]) if name != "pfc-forwarded" else 0
        until = chooser.choice([None, since + chooser.number(1, span_ps)]) if name != "pfc-forwarded" else None
        value = {"pause-leaks": 1, "slow-response": chooser.choice([2, 4]), "lossless-dropped": 7,
                 "lossy-dropped": 5, "pause-short": chooser.choice([50, 1, 99]),
                 "watchdog-late": chooser.choice([2, 3])}.get(name, 1)
        value = chooser.choice(kind.one_in) if kind.one_in else value
        priority = 3 if name in BY_PRIORITY and chance(chooser, 30) else None
        found[port] = OracleFault(name, switch, port, priority, since, until, value)
    return list(found.values())


def _steps(chooser: Chooser, case: Case, kind: Family, span_ps: int) -> list[Step]:
    names = [flow.name for flow in case.flows]
    times = _times(chooser, span_ps, chooser.number(0, kind.most_changes) if kind.changes else 0)
    steps: list[Step] = [(0, "start", names)]
    steps += [(0, "capture", port.name) for port in some(chooser, case.ports, 1, 2)] if kind.captured else []
    configs = {config.name: config for config in case.configs}
    for time in times:
        steps += [(time, "read", None)] if chance(chooser, 30) else []
        steps += [(time, *_change(chooser, case, configs, kind))]
    steps += [(chooser.number(0, span_ps), "read", None) for _ in range(chooser.number(1, kind.reads))]
    steps += [(span_ps, "read", None), (span_ps, "stop", names), (span_ps + span_ps // 2, "read", None)]
    return sorted(steps, key=lambda step: step[0])


def _times(chooser: Chooser, span_ps: int, count: int) -> list[int]:
    """Instants of commands, some of them close together."""
    times = [chooser.number(0, span_ps) for _ in range(count)]
    for number in range(1, count):
        if chance(chooser, 25):
            times[number] = min(span_ps, times[number - 1] + chooser.choice([0, chooser.number(0, 20 * US)]))
    return sorted(times)


def _change(chooser: Chooser, case: Case, configs: dict[str, SwitchConfig], kind: Family) -> tuple[str, Any]:
    """A command in the course of a case."""
    names = [flow.name for flow in case.flows]
    what = chooser.choice(kind.changes)
    commands = {"stop": "stop", "start": "start", "hold": "hold", "go on": "go on", "clear": "clear"}
    if what in commands:
        return commands[what], some(chooser, names, 1, len(names))
    if what in ("down", "up", "capture", "end capture"):
        return what, chooser.choice(case.ports).name
    config = chooser.choice(list(configs.values()))
    port = chooser.choice(list(config.ports))
    if what == "priorities":
        change: dict[str, Any] = {"pfc_priorities": frozenset(chooser.choice([{3, 4}, {3}, set()]))}
    elif what == "admin":
        change = {"admin_up": not config.ports[port].admin_up}
    elif what == "response":
        change = {"response_ps": chooser.number(0, 30 * US)}
    elif what == "scheduler":
        change = {"schedulers": {q: chooser.choice([SchedulerConfig("DWRR", 3), SchedulerConfig("STRICT")])
                                 for q in range(7)}}
    elif what == "buffers":
        profile = config.ports[port].priority_groups[3]
        change = {"priority_groups": {**config.ports[port].priority_groups,
                                      3: replace(profile, size=chooser.choice([0, 208, 3000, 20_000]),
                                                 xoff=chooser.choice([profile.xoff, 5000]))}}
    else:
        change = {"watchdog": chooser.choice([None, WatchdogConfig("drop", 1, 1)])}
    configs[config.name] = (replace(config, big_red_switch=not config.big_red_switch) if what == "red"
                            else testbeds.change_port(config, port, **change))
    return "configure", configs[config.name]
