"""A made-up switch several of whose ports are measured at once: for each port under test a world of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import snappi
from tabulate import tabulate

from tests.common.pfc.evidence.recorder import EvidenceRecorder
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import Auditor
from tests.common.pfc.lab.port_plan import LabFacts, PortRequest
from tests.common.pfc.model.ports import ConnectedPort
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.sweep.cases import make_sweeper
from tests.common.pfc.sweep.plan import Bench, SweepPlan, plan_sweep
from tests.common.pfc.sweep.sweeper import Sweeper
from tests.common.unit_tests.pfc.fakes import DEVICE, HELD_FRAMES, PORTS, FakeApi, FakeClock, FakeHost, FakeWorld

TX_OF = {"Ethernet0": "Ethernet64", "Ethernet4": "Ethernet68", "Ethernet64": "Ethernet0", "Ethernet68": "Ethernet4"}
TESTER_PORTS = [
    ConnectedPort(DEVICE, port, f"snappi-{1 + place // 2}", f"127.1.0.{1 + place // 2};1;{1 + place % 2}", 100000)
    for place, port in enumerate(PORTS)
]


class SweptLab:
    """A switch with four ports on two traffic generators.

    Attributes:
        worlds: port under test -> what happens when it is measured.
        refused: a port with whose flows the traffic generators refuse every configuration.
        pushes: for each configuration that was pushed, the ports under test in it.
        answers: whether switch and generators answer.
        on_push: called with each configuration's ports under test before it is taken.
        api, host, clock: of the traffic generators, of the switch, of both.
    """

    def __init__(self, **broken: FakeWorld) -> None:
        """`broken`: port under test -> its world; the others are healthy. Two of them at once fit into the buffer."""
        self.worlds = {port: broken.get(port, FakeWorld()) for port in PORTS}
        for port, world in self.worlds.items():
            world.rx, world.tx, world.held_frames = port, TX_OF[port], HELD_FRAMES // 4
        self.refused = ""
        self.answers = True
        self.pushes: list[list[str]] = []
        self.on_push: Callable[[list[str]], None] = lambda ports: None
        self.api, self.host, self.clock = SweptApi(self), SweptHost(self), SweptClock(self)

    @property
    def transmits(self) -> bool:
        """Whether a storm runs somewhere."""
        return any(world.storm_on() for world in self.worlds.values())

    def plan(self, **asked: Any) -> SweepPlan:
        """What there is to sweep."""
        facts = LabFacts({"conf-name": "lab", "duts": [DEVICE]}, lambda name: Dut(self.host).state(), TESTER_PORTS, {})
        return plan_sweep(facts, DEVICE, PortRequest(**asked))

    def sweeper(
        self, at_once: int | None, plan: SweepPlan | None = None, both_of: Sequence[str] = (),
        auditors: Sequence[Auditor] = (),
    ) -> Sweeper:
        """What measures the ports that can be; those of `both_of` in a wave and alone."""
        bench = Bench(Dut(self.host, [EvidenceRecorder()]), self.api, self.clock)
        sweeper = make_sweeper(plan or self.plan(), bench, at_once, None, auditors, both_of)
        sweeper._patience = self.clock
        return sweeper

    def sweep(self, at_once: int | None = None) -> dict[str, Outcome]:
        """Port -> what came of it, of all that can be measured."""
        plan = self.plan()
        sweeper = self.sweeper(at_once, plan)
        return {port: sweeper.outcome(port) for port in plan.plans}

    def sweep_both(self, at_once: int | None = None, ports: Sequence[str] = tuple(PORTS)) -> dict[str, Outcome]:
        """Port -> what came of it in a wave of these and alone."""
        sweeper = self.sweeper(at_once, both_of=ports)
        return {port: sweeper.outcome(port) for port in ports}


class SweptClock(FakeClock):
    """The time of all worlds."""

    def __init__(self, lab: SweptLab) -> None:
        """`lab` is what ages."""
        super().__init__(next(iter(lab.worlds.values())))
        self._lab = lab

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        for world in self._lab.worlds.values():
            world.pass_time(seconds)


class SweptApi(FakeApi):
    """Every flow belongs to the world of the port under test that its name ends with."""

    def __init__(self, lab: SweptLab) -> None:
        """`lab` has the worlds."""
        super().__init__(next(iter(lab.worlds.values())))
        self._lab = lab
        self._apis = {port: FakeApi(world) for port, world in lab.worlds.items()}

    def set_config(self, payload: Any) -> Any:
        """Takes the flows."""
        parts: Mapping[str, list[Any]] = {
            port: [flow for flow in payload.flows if flow.name.split()[-1] == port] for port in self._apis
        }
        ports = [port for port, flows in parts.items() if flows]
        self._lab.pushes.append(ports)
        self._lab.on_push(ports)
        self._answer()
        if self._lab.refused in ports:
            raise RuntimeError(f"there is no port behind {self._lab.refused}")
        self.configs.append(payload)
        for port, flows in parts.items():
            self._apis[port].set_config(SimpleNamespace(flows=flows))

    def set_control_state(self, payload: Any) -> Any:
        """Starts and stops flows."""
        self._answer()
        if payload.choice != "traffic":
            return
        transmit = payload.traffic.flow_transmit
        for port, world in self._lab.worlds.items():
            for name in [name for name in transmit.flow_names or list(world.flows) if name.split()[-1] == port]:
                (world.start if transmit.state == "start" else world.stop)(name)

    def get_metrics(self, payload: Any) -> Any:
        """Flow statistics."""
        self._answer()
        answer = snappi.MetricsResponse()
        answer.choice = "flow_metrics"
        for name in payload.flow.flow_names:
            sent, received, running = self._lab.worlds[name.split()[-1]].counts(name)
            transmit = "started" if running else "stopped"
            answer.flow_metrics.metric(name=name, frames_tx=sent, frames_rx=received, transmit=transmit)
        return answer

    def _answer(self) -> None:
        if not self._lab.answers:
            raise RuntimeError("connection refused")


class SweptHost(FakeHost):
    """The switch's command line."""

    def __init__(self, lab: SweptLab) -> None:
        """`lab` has the worlds."""
        super().__init__(next(iter(lab.worlds.values())))
        self._lab = lab

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Answers a batch."""
        if not self._lab.answers:
            raise OSError("no route to host")
        return super().shell(command, **options)

    def _answer(self, command: str) -> str:
        worlds = self._lab.worlds.values()
        if command == "true":
            return ""
        if command == "show pfc counters":
            rx = {world.rx: world.shown_pfc_rx for world in worlds}
            tx = {world.tx: world.shown_pfc_tx for world in worlds}
            return "\n\n".join(_counters(way, counts) for way, counts in (("Rx", rx), ("Tx", tx)))
        if command.startswith("show queue counters"):
            rows = [[world.rx, f"UC{queue}", packets, packets * 1024, 0, 0]
                    for world in worlds for queue, packets in world.shown_queue_packets.items()]
            headers = ["Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"]
            return tabulate(rows, headers, tablefmt="simple", stralign="right")
        return super()._answer(command)


def _counters(way: str, counts: Mapping[str, list[int]]) -> str:
    rows = [[port, *counts[port]] for port in PORTS]
    return tabulate(rows, [f"Port {way}", *(f"PFC{number}" for number in range(8))], tablefmt="simple")
