"""Which port pairs measure all ports of a switch, and which of them are measured at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..model.errors import QualificationError
from ..model.ports import ConnectedPort, PortPair, PortState, check_known, check_port, natural


@dataclass(frozen=True)
class Pairing:
    """A pair for each port under test.

    Attributes:
        classes: the pairs of each speed, in an order in which those that follow one another share no port, as many as
            can at once (`together`).
        unpaired: port -> why it cannot be measured.
    """

    classes: tuple[tuple[PortPair, ...], ...]
    unpaired: Mapping[str, str]

    @property
    def pairs(self) -> list[PortPair]:
        """All pairs, in natural order of the ports under test."""
        return sorted((pair for pairs in self.classes for pair in pairs), key=lambda pair: natural(pair.rx.port))


def pair_ports(ports: Sequence[ConnectedPort], states: Mapping[str, PortState]) -> Pairing:
    """Pairs each port of a switch with a tx port of the same speed on another traffic generator.

    Of n ports of a speed, the generators' ports one after another, the tx port of the i-th is the one n // 2 further
    on. That is on another generator unless one has more than half of the ports; then the ports of the others serve it
    in turn. Either way as many neighbours in that order as there can be pairs at once share no port, so that waves cut
    from it are as few as can be.

    Args:
        ports: every port of the switch with a traffic generator behind it.
        states: `show interfaces status` of the switch.
    """
    unpaired = dict[str, str]()
    usable = list[ConnectedPort]()
    for port in ports:
        try:
            check_known(port, states)
            check_port(port, states[port.port])
            usable.append(port)
        except QualificationError as error:
            unpaired[port.port] = str(error)
    classes = []
    for _, alike in groupby(sorted(usable, key=_place), key=lambda port: port.speed_mbps):
        pairs = _paired(list(alike))
        classes.append(tuple(PortPair(rx, tx) for rx, tx in pairs if tx is not None))
        unpaired |= {rx.port: _lonely(rx) for rx, tx in pairs if tx is None}
    return Pairing(tuple(pairs for pairs in classes if pairs), unpaired)


def plan_waves(pairing: Pairing, at_once: int | None, only: Collection[str] | None = None) -> list[list[PortPair]]:
    """Waves: pairs that are measured at once, each tester port in at most one pair of a wave.

    Of all ports they are as few as can be; of some of them, each with its tx port as if it were all, perhaps not.

    Args:
        pairing: the pairs.
        at_once: so many pairs at most; None: as many as there can be.
        only: ports under test; None: all.
    """
    left = [[pair for pair in pairs if only is None or pair.rx.port in only] for pairs in pairing.classes]
    rooms = [together(pairs) for pairs in pairing.classes]
    waves = []
    while any(left):
        wave: list[PortPair] = []
        for place in sorted(range(len(left)), key=lambda place: -len(left[place]) / rooms[place]):
            _fill(wave, left[place], at_once)
        waves.append(sorted(wave, key=lambda pair: natural(pair.rx.port)))
    return waves


def together(pairs: Sequence[PortPair]) -> int:
    """How many pairs of one speed there can be at once: half of the ports, or all that are not on a traffic generator
    which has more than half of them."""
    generators = [pair.rx.generator for pair in pairs]
    largest = max(generators.count(generator) for generator in set(generators))
    return max(1, min(len(generators) // 2, len(generators) - largest))


def _fill(wave: list[PortPair], left: list[PortPair], at_once: int | None) -> None:
    """Moves into a wave what it has room for."""
    busy = {port.location for pair in wave for port in (pair.rx, pair.tx)}
    for pair in list(left):
        if at_once is not None and len(wave) >= at_once:
            return
        if not {pair.rx.location, pair.tx.location} & busy:
            busy |= {pair.rx.location, pair.tx.location}
            wave.append(pair)
            left.remove(pair)


def _place(port: ConnectedPort) -> tuple[object, ...]:
    return port.speed_mbps, natural(port.generator), natural(port.port)


def _paired(ports: Sequence[ConnectedPort]) -> list[tuple[ConnectedPort, ConnectedPort | None]]:
    """Each port of a speed with its tx port; None: there is none on another generator."""
    generators = [port.generator for port in ports]
    largest = max(dict.fromkeys(generators), key=generators.count)
    others = [port for port in ports if port.generator != largest]
    if not others:
        return [(port, None) for port in ports]
    half = len(ports) // 2
    if generators.count(largest) <= half:
        return [(port, ports[(place + half) % len(ports)]) for place, port in enumerate(ports)]
    own = [port for port in ports if port.generator == largest]
    first = [(port, others[place % len(others)]) for place, port in enumerate(own)]
    turned = [others[(len(own) + place) % len(others)] for place in range(len(others))]
    return [*first, *((port, own[place]) for place, port in enumerate(turned))]


def _lonely(port: ConnectedPort) -> str:
    return (
        f"{port.device} {port.port}: every connected port of {port.speed_mbps} Mb/s that is up is on traffic generator"
        f" {port.generator} like it; the tx port has to be on another one, or be allowed on the same"
        " (--pfc-same-generator)"
    )
