"""The numbers of one run, frozen: what checks judge and what a record keeps as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .dut import DutCounters
from .ports import PortPair
from .qos import PortQos, SharedBuffer
from .scenario import Scenario
from .sonic_text import WatchdogRow, changed
from .traffic import FlowStats, Role

NEVER_STORMED = WatchdogRow("operational", 0, 0)


@dataclass(frozen=True)
class Subject:
    """What is measured: the port pair, its priorities and the buffer behind it; what is known of the ASIC
    (`asic_type switch_type`), for platforms that differ; and the IP version of the data."""

    pair: PortPair
    qos: PortQos
    buffer: SharedBuffer
    asic: str = ""
    ip_version: int = 4

    def where(self, priority: int | None = None, port: str | None = None) -> str:
        """`vtb-t0-01 Ethernet8 priority 3`, for messages; `port` defaults to the port under test."""
        name = f"{self.pair.rx.device} {port or self.pair.rx.port}"
        return name if priority is None else f"{name} priority {priority}"


@dataclass(frozen=True)
class Measurement:
    """One run of one scenario.

    Attributes:
        subject, scenario: what was measured, and how.
        paused: flow name -> statistics after the data ended and while the storm ran on.
        drained: flow name -> statistics of storm and test flows after the storm had stopped and held frames had left.
        resumed: flow name -> statistics of the data flows sent again without a storm; empty: they were not.
        before, during, after: the switch's counters before the storm, while it ran (after the data had ended), and when
            all was over.
    """

    subject: Subject
    scenario: Scenario
    paused: Mapping[str, FlowStats]
    drained: Mapping[str, FlowStats]
    resumed: Mapping[str, FlowStats]
    before: DutCounters
    during: DutCounters
    after: DutCounters

    @property
    def storm(self) -> FlowStats:
        """The pause storm's statistics while it ran."""
        return next(flow for flow in self.paused.values() if flow.plan.role is Role.STORM)

    @property
    def storm_stopped(self) -> FlowStats:
        """The pause storm's statistics after it had stopped."""
        return self.drained[self.storm.plan.name]

    def pfc_received(self) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the port under test counted as received, from before the storm until
        its end neared."""
        return changed(self.before.pfc_rx, self.during.pfc_rx, self.subject.pair.rx.port)

    def pfc_received_in_all(self) -> tuple[int, ...]:
        """The same from before the storm until after it."""
        return changed(self.before.pfc_rx, self.after.pfc_rx, self.subject.pair.rx.port)

    def pfc_sent(self) -> tuple[int, ...]:
        """PFC frames for priorities 0 to 7 that the switch sent out of the tx port while the test traffic was held."""
        return changed(self.before.pfc_tx, self.during.pfc_tx, self.subject.pair.tx.port)

    def storms_detected(self) -> dict[str, int]:
        """`Ethernet0:3` -> storms that the switch's watchdog detected during the run, where there were any."""
        ours = {self.subject.pair.rx.port, self.subject.pair.tx.port}
        gained = {
            queue: row.detected - self.before.watchdog.get(queue, NEVER_STORMED).detected
            for queue, row in self.during.watchdog.items()
            if queue.split(":")[0] in ours
        }
        return {queue: storms for queue, storms in gained.items() if storms > 0}

    def stormed(self) -> list[str]:
        """Queues of the pair that the watchdog holds in storm."""
        ours = {self.subject.pair.rx.port, self.subject.pair.tx.port}
        return [
            queue
            for queue, row in self.during.watchdog.items()
            if row.status == "stormed" and queue.split(":")[0] in ours
        ]

    def evidence(self) -> dict[str, Any]:
        """The numbers, for the record."""
        phases = {"paused": self.paused, "drained": self.drained, "resumed": self.resumed}
        flows = {
            phase: {name: self._numbers(flow) for name, flow in stats.items()}
            for phase, stats in phases.items()
            if stats
        }
        speed = self.subject.pair.speed_mbps
        return {
            "flows": flows,
            "tx_port": self.subject.pair.tx.port,
            "speed_mbps": speed,
            **(self._held() if self.scenario.holds else {}),
            "dut_pfc_rx": list(self.pfc_received()),
            "dut_pfc_rx_in_all": list(self.pfc_received_in_all()),
            "dut_pfc_tx": list(self.pfc_sent()),
            "watchdog_storms": self.storms_detected(),
            "storm": self.scenario.storm.name.lower(),
            "storm_priorities": list(self.scenario.paused),
            "storm_fps": self.scenario.storm_fps(speed),
            "ip_version": self.subject.ip_version,
            "frame_bytes": self.scenario.frame_bytes,
            "data_s": self.scenario.data_s,
        }

    def _numbers(self, flow: FlowStats) -> dict[str, Any]:
        """Frames of a flow; of data also the mean receive rate (frames a second) and the loss (percent)."""
        numbers: dict[str, Any] = {"frames_tx": flow.frames_tx, "frames_rx": flow.frames_rx}
        if flow.plan.role is not Role.STORM:
            numbers["rx_fps"] = flow.frames_rx / self.scenario.data_s
            lost = flow.frames_tx - flow.frames_rx
            numbers["loss_percent"] = 100 * lost / flow.frames_tx if flow.frames_tx else None
        return numbers

    def _held(self) -> dict[str, Any]:
        return {
            "held_bytes": sum(flow.bytes_tx for flow in self.paused.values() if flow.plan.role is Role.TEST),
            "shared_buffer_bytes": self.subject.buffer.size_bytes,
            "shared_buffer_pool": self.subject.buffer.pool,
        }
