"""The numbers of one run, frozen: what checks judge and what a record keeps as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from .counters import DutCounters, WatchdogRow, changed
from .deviations import deviation
from .ports import ConnectedPort, PortPair
from .qos import PortQos, SharedBuffer
from ..record.case import Target
from ..record.verdict import Check
from .scenario import Scenario
from .tolerances import EXACT, Tolerances
from .traffic import FlowStats, Role, Stats

NEVER_STORMED = WatchdogRow("operational", 0, 0)


@dataclass(frozen=True)
class PortUnderTest:
    """What is measured: a port pair, its priorities and the buffer behind it.

    Attributes:
        asic: what is known of the ASIC, for platforms that differ: `asic_type switch_type platform`.
        ip_version: of the data.
        further: more ports that data may enter by (`further_ports`).
        chain: the switches behind this one, where it is the first of several (`switch_chain`).
        tolerances: what measurements on the testbed have to allow for.
        changeable: whether the switch's configuration may be changed.
        pauses_from: where pauses come from, `fanout-01 Ethernet48`; empty: the traffic generator.
        bystanders: ports with light traffic of their own, which nothing that is measured may disturb.
    """

    pair: PortPair
    qos: PortQos
    buffer: SharedBuffer
    asic: str = ""
    ip_version: int = 4
    further: tuple[ConnectedPort, ...] = ()
    chain: object = None
    tolerances: Tolerances = EXACT
    changeable: bool = False
    pauses_from: str = ""
    bystanders: tuple[ConnectedPort, ...] = ()

    @property
    def ports(self) -> dict[str, ConnectedPort]:
        """Every port that data may enter or leave by, by name."""
        return {port.port: port for port in (self.pair.rx, self.pair.tx, *self.further, *self.bystanders)}

    def uncounted(self, paused: Iterable[int]) -> list[int]:
        """Of the priorities that a frame pauses those for which this ASIC does not count it: lossy ones, where it has
        more than some."""
        lossy = [priority for priority in paused if priority not in self.qos.lossless]
        return lossy if len(lossy) > int(deviation("lossy-pauses-counted", self.asic).value) else []

    def where(self, priority: int | None = None, port: str | None = None) -> str:
        """`vtb-t0-01 Ethernet8 priority 3`, for messages; `port` defaults to the port under test."""
        known = self.ports.get(port or self.pair.rx.port, self.pair.rx)  # at the end of a row: on another switch
        name = f"{known.device} {port or self.pair.rx.port}"
        return name if priority is None else f"{name} priority {priority}"


@dataclass(frozen=True)
class CaseRun:
    """One run of a test case, as its checks judge it.

    Attributes:
        subject: what was measured.
        before, during, after: the switch's counters before the traffic, while it ran (or held frames were still held),
            and when all was over.
        tested: the priorities under test; none: the whole port.
        phases: moment -> flow name -> statistics of the flows that were looked at then.
    """

    subject: PortUnderTest
    before: DutCounters
    during: DutCounters
    after: DutCounters
    tested: Target
    phases: Mapping[str, Stats]

    def pfc_received(self) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the port under test counted as received, from before the storm until
        its end neared."""
        return changed(self.before.pfc_rx, self.during.pfc_rx, self.subject.pair.rx.port)

    def pfc_received_in_all(self) -> tuple[int, ...]:
        """The same from before the storm until after it."""
        return changed(self.before.pfc_rx, self.after.pfc_rx, self.subject.pair.rx.port)

    def pfc_sent(self, port: str | None = None) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of a port (None: the tx port) while the traffic
        ran."""
        return changed(self.before.pfc_tx, self.during.pfc_tx, port or self.subject.pair.tx.port)

    def storms_detected(self) -> dict[str, int]:
        """`Ethernet0:3` -> storms that the switch's watchdog detected during the run, where there were any."""
        rows = {queue: row for queue, row in self.during.watchdog.items() if queue.split(":")[0] in self.subject.ports}
        before = {queue: self.before.watchdog.get(queue, NEVER_STORMED).detected for queue in rows}
        return {queue: row.detected - before[queue] for queue, row in rows.items() if row.detected > before[queue]}

    def stormed(self) -> list[str]:
        """Queues of the ports that the watchdog holds in storm."""
        rows = self.during.watchdog.items()
        return [queue for queue, row in rows if row.status == "stormed" and queue.split(":")[0] in self.subject.ports]

    def counted(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {
            "tx_port": self.subject.pair.tx.port,
            "speed_mbps": self.subject.pair.speed_mbps,
            "ip_version": self.subject.ip_version,
            "dut_pfc_rx": list(self.pfc_received()),
            "dut_pfc_rx_in_all": list(self.pfc_received_in_all()),
            "dut_pfc_tx": list(self.pfc_sent()),
            "watchdog_storms": self.storms_detected(),
        }

    def flows(self, phase: str, *roles: Role) -> list[FlowStats]:
        """The flows of these roles (none given: all flows) as they were at a moment; none, where it did not come."""
        return [flow for flow in self.phases.get(phase, {}).values() if not roles or flow.plan.role in roles]

    def pfc_sent_in_all(self, port: str | None = None) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of a port (None: the tx port) from before the
        traffic until after it."""
        return changed(self.before.pfc_tx, self.after.pfc_tx, port or self.subject.pair.tx.port)

    @property
    def settled(self) -> DutCounters | None:
        """Counters with all in them that came so far, for the next run to begin with; None: it has to read anew."""
        return self.after

    def details(self) -> dict[str, Any]:
        """What the record holds beside frames and counters."""
        return {}

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        return {"flows": flow_numbers(self.phases), **self.counted(), **self.details()}


class StormSource(Protocol):
    """Where the pauses of a storm came from, as its run is judged by it (`lab.lab.PauseSource`)."""

    def storm_ran(self, run: Measurement) -> Iterator[Check]:
        """Whether the storm ran, as far as it can be known: ERROR where not."""

    def every_pause_counted(self, run: Measurement, priority: int) -> Check:
        """Whether the switch counted the storm's pauses for a priority: FAIL where not."""

    def none_forwarded(self, run: Measurement) -> Iterator[Check]:
        """Whether a pause came out of another port: FAIL where one did."""


@dataclass(frozen=True)
class Measurement(CaseRun):
    """One run of one scenario. Phases: `paused` after the data had ended, while the storm ran on; `drained`, storm and
    test flows after the storm had stopped and held frames had left; `resumed`, the data flows sent again without a
    storm, if they were.

    Attributes:
        scenario: how it was measured.
        pauses: where the pauses came from.
        held_elsewhere: bytes that the switch held at the same time on other ports under test.
        drained: the switch's counters once held frames had drained; None: no time has passed since `during`.
    """

    scenario: Scenario
    pauses: StormSource
    held_elsewhere: int = 0
    drained: DutCounters | None = None

    def pfc_sent_again(self, port: str | None = None) -> tuple[int, ...]:
        """PFC frames that the switch sent out of a port (None: the tx port) while the data was sent without a storm."""
        return changed((self.drained or self.during).pfc_tx, self.after.pfc_tx, port or self.subject.pair.tx.port)

    @property
    def storms(self) -> list[tuple[FlowStats, FlowStats]]:
        """The statistics of each storm flow while it ran and after it had stopped: of one flow, or of one for each
        paused priority (`Scenario.pauses`)."""
        return [(flow, self.phases["drained"][flow.plan.name]) for flow in self.flows("paused", Role.STORM)]

    def pauses_sent(self, priority: int) -> int:
        """Pause frames for a priority that were sent in all."""
        return sum(
            stopped.frames_tx for flow, stopped in self.storms
            if flow.plan.pause is not None and priority in flow.plan.pause.enabled
        )

    def details(self) -> dict[str, Any]:
        """The storm and the data."""
        return {
            **(self._held() if self.scenario.holds else {}),
            "storm": self.scenario.storm.name.lower(),
            "storm_priorities": list(self.scenario.paused),
            **({"storm_frame": asdict(self.scenario.frame)} if self.scenario.frame else {}),
            "storm_fps": self.scenario.storm_fps(self.subject.pair.speed_mbps),
            "frame_bytes": self.scenario.mix or self.scenario.frame_bytes,
            "data_s": self.scenario.data_s,
        }

    def _held(self) -> dict[str, Any]:
        return {
            "held_bytes": sum(flow.bytes_tx for flow in self.flows("paused", Role.TEST)),
            "held_bytes_on_other_ports": self.held_elsewhere,
            "shared_buffer_bytes": self.subject.buffer.size_bytes,
            "shared_buffer_pool": self.subject.buffer.pool,
        }


def flow_numbers(phases: Mapping[str, Stats]) -> dict[str, Any]:
    """Phase -> flow name -> `FlowStats.numbers`. Phases without flows are left out."""
    return {phase: {name: flow.numbers() for name, flow in stats.items()} for phase, stats in phases.items() if stats}
