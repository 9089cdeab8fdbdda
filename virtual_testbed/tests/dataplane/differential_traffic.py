"""Random flows for the differential test: data of all kinds that fits on its line, pause flows well formed and not."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pfctest.frame import OPCODE_PAUSE, GlobalPauseFrame, PfcFrame, encode
from virtual_testbed.dataplane.model.traffic import DataFlow, Duration, Flow, EmulatedHost, PauseFlow
from virtual_testbed.tests.dataplane.differential_chooser import Chooser, chance, some

US, SECOND = 10**6, 10**12
DSCP_OF = {0: 8, 1: 0, 2: 5, 3: 3, 4: 4, 5: 46, 6: 48}
SIZES = [(1024,), (1024,), (64,), (1518,), (256,), (9000,)]
MIXED_SIZES = [(64, 1518), (1024, 64, 512), (100, 101, 102), (9000, 64)]
BIG_SIZES = [(1518,), (1518,), (9000,), (4096,), (9000, 1518), (512,)]
SHARES = [Fraction(text) for text in ("1/4", "1/10", "1/3", "1/2", "1/14", "9/20", "1")]
CLASSES = [(3,), (4,), (1,), (0, 1), (3, 4, 1), (6,)]
NO_MAC = "00:00:00:00:00:00"


@dataclass(frozen=True)
class Style:
    """What the flows of a case are like.

    Attributes:
        load: how much of a line the data flows of a port fill, at most (`exactly`: at least, too).
        mixed: several sizes in a flow, bursts, VLAN tags.
        ends: flows may be delayed and may end by themselves.
        storms: `least_storms` to this many pause flows a port; `quanta` what they pause for.
        paused: classes that nine in ten of them pause (empty: any).
        lapse: their gaps may be longer than their pauses.
        near: their gaps are only a little shorter than their pauses.
        odd: some are no valid PFC frames.
        incast: all data goes to one port.
        unit_ps: delays and fixed times are up to 5 and 30 of these.
        alike: all flows have one frame size and rates in simple ratios; `apart`: pause flows have ports of their own.
        pairs: data goes between the first and the second port, the third and the fourth, and so on.
        full: every port sends one flow of each class, most of them to the port that is as far on for all; and a storm.
        sizes, shares: frame sizes, and the part of `load` that a flow asks for.
        classes: those that the frames of a data flow have in turn.
        storm_shares: the part of a line that its pause flows ask for together, whatever they pause for (empty: less).
    """

    load: Fraction = Fraction(1)
    exactly: bool = False
    mixed: bool = False
    ends: bool = True
    storms: int = 2
    least_storms: int = 0
    paused: tuple[int, ...] = ()
    quanta: tuple[int, ...] = (5, 50, 300, 2000)
    lapse: bool = True
    odd: bool = False
    incast: bool = False
    unit_ps: int = US
    near: bool = False
    alike: bool = False
    apart: bool = False
    pairs: bool = False
    full: bool = False
    sizes: Sequence[tuple[int, ...]] = tuple(SIZES)
    shares: Sequence[Fraction] = tuple(SHARES)
    classes: Sequence[tuple[int, ...]] = tuple(CLASSES)
    storm_shares: Sequence[Fraction] = ()


@dataclass(frozen=True)
class Place:
    """A generator port, the host behind it and the switch that it is plugged into."""

    port: str
    host: EmulatedHost
    switch_mac: str
    speed_mbps: int


def wire_fps(sizes: tuple[int, ...], speed_mbps: int) -> Fraction:
    """Frames a second, back to back, of frames with these sizes in turn."""
    return Fraction(speed_mbps * 10**6 * len(sizes), 8 * sum(size + 20 for size in sizes))


def data_flows(chooser: Chooser, places: list[Place], style: Style) -> list[Flow]:
    """Data flows from every port."""
    if style.full:
        return _full_load(chooser, places, style)
    flows: list[Flow] = []
    sink = chooser.choice(places) if style.incast else None
    style = replace(style, sizes=(chooser.choice(style.sizes),)) if style.alike else style
    for tx in places:
        left = style.load
        count = chooser.number(1 if style.incast or style.exactly else 0, 4)
        for number in range(count if tx is not sink else 0):
            share = min(left, chooser.choice(style.shares) * style.load)
            share = left if style.exactly and number == count - 1 else share
            left -= share
            if share > 0:
                rx = sink or chooser.choice([place for place in _partners(places, tx, style) if place is not tx])
                flows.append(_data_flow(chooser, f"d.{tx.port}.{number}", (tx, rx, share), style))
    return flows


def _full_load(chooser: Chooser, places: list[Place], style: Style) -> list[Flow]:
    """A flow of each class from every port, equal parts of its line."""
    flows: list[Flow] = []
    style = replace(style, sizes=[chooser.choice(style.sizes)]) if chance(chooser, 50) else style
    further, share = chooser.number(1, len(places) - 1), style.load * chooser.choice(style.shares) / len(DSCP_OF)
    stray = 4 * chance(chooser, 20)
    for place, tx in enumerate(places):
        for number in DSCP_OF:
            beside = chooser.number(1, len(places) - 1) if chance(chooser, stray) else further
            rx = places[(place + beside) % len(places)]
            flow = _data_flow(chooser, f"d.{tx.port}.{number}", (tx, rx, share), style)
            delay_ps = chooser.choice([0, chooser.number(0, style.unit_ps)])
            flows.append(replace(flow, dscp=(DSCP_OF[number],), queue=number, duration=Duration(delay_ps)))
    return flows


def _partners(places: list[Place], tx: Place, style: Style) -> list[Place]:
    """The ports that data of a port may go to, itself included."""
    first = places.index(tx) // 2 * 2
    return places[first:first + 2] if style.pairs else places


def _data_flow(chooser: Chooser, name: str, way: tuple[Place, Place, Fraction], style: Style) -> DataFlow:
    tx, rx, share = way
    mixes = style.mixed and chance(chooser, 60)
    sizes = chooser.choice(MIXED_SIZES if mixes else style.sizes)
    rate = wire_fps(sizes, tx.speed_mbps) * share
    if not style.exactly and not style.alike and chance(chooser, 30):
        rate = Fraction(max(1, int(rate) - chooser.number(0, 1000)))
    classes = chooser.choice(style.classes)
    routed, version = chance(chooser, 40), chooser.choice([0, 1])
    tagged = style.mixed and chance(chooser, 50)
    return DataFlow(name, tx.port, (rx.port,), tx.host.mac, tx.switch_mac if routed else rx.host.mac,
                    tx.host.addresses[version], rx.host.addresses[version], tuple(DSCP_OF[c] for c in classes),
                    classes[0], sizes, rate, _duration(chooser, rate, style), 1000 if tagged else None,
                    chooser.number(0, 7) if tagged else 0)


def _duration(chooser: Chooser, rate: Fraction, style: Style) -> Duration:
    delay = chooser.choice([0, 0, chooser.number(0, 5 * style.unit_ps)]) if style.ends else 0
    kind = chooser.number(0, 4) if style.ends else 0
    burst = chooser.number(2, 12) if style.mixed and chance(chooser, 30) else 0
    length = -(-burst * SECOND * rate.denominator // rate.numerator)
    return Duration(delay, chooser.number(1, 30 * style.unit_ps) if kind == 3 else None,
                    chooser.number(1, 200) if kind == 4 else None,
                    burst, length + chooser.number(0, 2 * US) if burst else 0)


def storms(chooser: Chooser, places: list[Place], style: Style) -> list[Flow]:
    """Pause flows from every port."""
    flows: list[Flow] = []
    for tx in places:
        others = tuple(place.port for place in places if place is not tx)
        count = chooser.number(style.least_storms, style.storms)
        share = chooser.choice(style.storm_shares) / max(1, count) if style.storm_shares else None
        for number in range(count):
            quanta = chooser.choice(style.quanta)
            frame, fcs_error = _pause_frame(chooser, tx, quanta, style)
            line_fps = wire_fps((len(frame) + 4,), tx.speed_mbps)
            if share is not None:
                rate = line_fps * share
            else:
                rate = _storm_rate(chooser, quanta * 512 * 10**6 // tx.speed_mbps, tx.speed_mbps, style)
                rate = min(rate, line_fps * 2 / 3)
            duration = Duration()
            if style.ends:
                frames = chooser.choice([None, None, chooser.number(1, 20)])
                duration = Duration(chooser.choice([0, chooser.number(0, 20 * style.unit_ps)]), frames=frames)
            flows.append(PauseFlow(f"s.{tx.port}.{number}", tx.port, others, frame, rate, duration, fcs_error))
    return flows


def _storm_rate(chooser: Chooser, pause_ps: int, speed_mbps: int, style: Style) -> Fraction:
    if style.near:
        slack = chooser.choice([84, 168, 1538, 9020, chooser.number(0, 12_000)]) * 8 * 10**6 // speed_mbps
        return Fraction(SECOND, max(pause_ps // 3, pause_ps - slack))
    gap = chooser.choice([Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)] + (
        [Fraction(1), Fraction(11, 10), Fraction(3)] if style.lapse else []))
    rate = Fraction(SECOND, pause_ps) / gap
    if chance(chooser, 50):
        return Fraction(math.ceil(rate) + chooser.number(0, 50))
    return rate


def _pause_frame(chooser: Chooser, tx: Place, quanta: int, style: Style) -> tuple[bytes, bool]:
    classes = sorted({*([3] if chance(chooser, 60) else []), *some(chooser, range(8), 1, 2)})
    classes = [*style.paused] if style.paused and chance(chooser, 90) else classes
    times = [chooser.choice([quanta, quanta, quanta // 2, 0] if n in classes and (style.lapse or style.ends)
                            else [quanta]) for n in range(8)]
    source = chooser.choice([tx.host.mac, NO_MAC])
    frame = encode(PfcFrame(source, sum(1 << n for n in classes), tuple(times)))
    return _spoilt(chooser, tx, frame, quanta) if style.odd else (frame, False)


def _spoilt(chooser: Chooser, tx: Place, frame: bytes, quanta: int) -> tuple[bytes, bool]:
    """A frame that may be no valid PFC frame, and whether its FCS is wrong."""
    kind = chooser.number(0, 9)
    if kind == 1:
        return encode(GlobalPauseFrame(tx.host.mac, quanta)), False
    if kind == 2:
        return frame[:16] + b"\x00\x00" + frame[18:], False
    if kind == 3:
        return frame[:chooser.number(34, 59)], False
    if kind == 4:
        return bytes.fromhex(tx.switch_mac.replace(":", "")) + frame[6:], False
    if kind == 5:
        return b"\x01\x80\xc2\x00\x00\x02" + frame[6:], False
    if kind == 6:
        return frame[:14] + (OPCODE_PAUSE + 1).to_bytes(2, "big") + frame[16:], False
    if kind == 7:
        return frame.ljust(chooser.number(60, 200), b"\0"), False
    return frame, kind == 8
