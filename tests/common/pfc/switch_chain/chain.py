"""Switches in a row: from the port under test to a tester port at the far end, over the cables between switches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ..lab.counter_polling import PollDelays, read_poll_delays
from ..lab.dut import WATCHDOG_STATISTICS, Dut, SwitchState
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.measurement import PortUnderTest
from ..model.ports import ConnectedPort, Links, PortPair, hosts_behind, natural
from ..model.qos import SharedBuffer, check_same_classes, read_port_qos, read_shared_buffer
from .hops import Hop, SwitchChain


class ChainDut(Dut):
    """The switches of a chain as one: receives at the port under test, sends out of the far end's port.

    Attributes:
        readings: the counters of each switch, by reading.
    """

    def __init__(self, hops: Sequence[Hop], duts: Mapping[str, Dut]) -> None:
        """`duts`: the switches by name."""
        super().__init__(duts[hops[0].device].host)
        self._hops = hops
        self._duts = duts
        self.readings: list[dict[str, DutCounters]] = []

    def counters(
        self, queues_of: Sequence[str] = (), also: Mapping[str, str] = MappingProxyType({}),
        statistics: str = WATCHDOG_STATISTICS,
    ) -> DutCounters:
        """Reads all switches; what is received is counted at the first, what is sent at the last, and the watchdogs'
        rows are in `readings` alone. No further commands are run."""
        read = {hop.device: self._duts[hop.device].counters() for hop in self._hops}
        self.readings.append(read)
        first = self._hops[0]
        last = self._hops[-1]
        near = read[first.device]
        far = read[last.device]
        return DutCounters(
            pfc_rx={first.leaves: near.pfc_rx[first.leaves]},
            pfc_tx={last.enters: far.pfc_tx[last.enters]},
            queues={},
            watchdog={},
            watchdog_ports=(),
            interfaces={first.leaves: near.interfaces[first.leaves], last.enters: far.interfaces[last.enters]},
        )


def find_hops(device: str, port: str, links: Links) -> tuple[Hop, ...]:
    """The longest chain of switches that begins at a port under test, its far end still without a port (`enters`
    empty); of several the first in natural order of ports. One switch alone: no other is on its cables."""
    chains = sorted(_chains((Hop(device, port, ""),), links), key=len, reverse=True)
    return chains[0]


def plan_chain(
    subject: PortUnderTest, states: Mapping[str, SwitchState], hops: Sequence[Hop], ports: Sequence[ConnectedPort]
) -> SwitchChain:
    """What is measured over a chain of switches.

    Args:
        subject: the port under test on its own switch.
        states: the switches of the chain.
        hops: as `find_hops` gives them.
        ports: every port of the testbed with a traffic generator behind it.

    Raises:
        QualificationError: the far end has no port that data could enter, or the switches do not sort frames alike; or
            one does not poll its counters.
    """
    last = states[hops[-1].device]
    tx = _far_port(subject.pair.rx, last, ports)
    whole = (*hops[:-1], Hop(last.device, hops[-1].leaves, tx.port))
    for hop in whole:
        for port in (hop.leaves, hop.enters):
            check_same_classes(subject.qos, read_port_qos(states[hop.device].config_db, hop.device, port))
    near = hosts_behind((subject.pair.rx,), states[hops[0].device].config_db, subject.ip_version)
    far = hosts_behind((tx,), last.config_db, subject.ip_version, first=1)
    return SwitchChain(
        whole,
        replace(subject, pair=PortPair(subject.pair.rx, tx), buffer=_buffers(states), further=()),
        {subject.pair.rx: near[0], tx: far[0]},
        str(last.config_db.get("DEVICE_METADATA", {}).get("localhost", {}).get("mac", "")),
        _slowest(states),
    )


def _chains(chain: tuple[Hop, ...], links: Links) -> Iterator[tuple[Hop, ...]]:
    """Every chain that goes on from this one over cables to switches that are not in it yet."""
    yield chain
    here = chain[-1]
    for port in sorted(links.get(here.device, {}), key=natural):
        peer = links[here.device][port]
        name = str(peer.get("peerdevice"))
        if name in links and name not in {hop.device for hop in chain}:
            onward = Hop(name, str(peer["peerport"]), "")
            yield from _chains((*chain[:-1], Hop(here.device, here.leaves, port), onward), links)


def _far_port(rx: ConnectedPort, last: SwitchState, ports: Sequence[ConnectedPort]) -> ConnectedPort:
    for port in sorted(ports, key=lambda port: natural(port.port)):
        state = last.interfaces.get(port.port)
        if port.device != last.device or state is None or not state.oper_up:
            continue
        # generator ports, and the hosts behind them, are told apart by the names of the switch ports
        if port.generator != rx.generator and port.speed_mbps == rx.speed_mbps and port.port != rx.port:
            return port
    raise QualificationError(
        f"{last.device}: it ends a row of switches that begins at {rx.device} {rx.port}, and has no port that is up, of"
        f" {rx.speed_mbps} Mb/s, of another name than {rx.port} and with another traffic generator than {rx.generator}"
    )


def _slowest(states: Mapping[str, SwitchState]) -> PollDelays:
    """How old the counters of these switches may be."""
    each = [read_poll_delays(state.config_db, name) for name, state in states.items()]
    return PollDelays(max(one.port_s for one in each), max(one.queue_s for one in each))


def _buffers(states: Mapping[str, SwitchState]) -> SharedBuffer:
    buffers = [read_shared_buffer(state.config_db, name, state.asic) for name, state in states.items()]
    names = ", ".join(sorted({buffer.pool for buffer in buffers}))
    return SharedBuffer(f"{names} of {len(buffers)} switches", sum(buffer.size_bytes for buffer in buffers))
