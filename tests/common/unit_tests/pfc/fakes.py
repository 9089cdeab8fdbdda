"""A small made-up switch between two made-up generator ports: just enough physics for every check to pass, and to
fail.

`FakeWorld` has the state and the faults; `FakeHost` shows it as SONiC's commands do, `FakeApi` as an OTG server does,
and `FakeClock` lets its time pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import snappi
from tabulate import tabulate

from tests.common.pfc.lab.dut import MARK, READ_TRAITS, Dut
from tests.common.pfc.lab.planning import plan_measured
from tests.common.pfc.lab.port_plan import PortPlan, PortRequest
from tests.common.pfc.model.ports import ConnectedPort

DEVICE = "vtb-t0-01"
PORTS = ("Ethernet0", "Ethernet4", "Ethernet64", "Ethernet68")
HELD_FRAMES = 4000
LOSSLESS_PRIORITIES = (3, 4)
COUNTED_EARLY = 1000
PUSHED = 30_000  # twice as many as hold a sender for 5 s at 100 Gb/s
DSCP_TO_TC = {str(dscp): "1" for dscp in range(64)} | {"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"}
IDENTITY = {str(number): str(number) for number in range(8)}


def make_config_db() -> dict[str, Any]:
    """CONFIG_DB of a small T0, as `sonic-cfggen -d --print-data` prints it."""
    maps = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE"}
    qos = {**maps, "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
    watchdog = {"action": "drop", "detection_time": "200", "restoration_time": "200"}
    return {
        "DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:00:01", "hwsku": "Arista-7060CX-32S-C32"}},
        "PORT": {port: {"speed": "100000", "admin_status": "up"} for port in PORTS},
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}} | {port: dict(qos) for port in PORTS},
        "DSCP_TO_TC_MAP": {"AZURE": dict(DSCP_TO_TC)},
        "TC_TO_QUEUE_MAP": {"AZURE": dict(IDENTITY)},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": dict(IDENTITY)},
        "QUEUE": {f"{port}|{queue}": _queue(queue) for port in PORTS for queue in range(7)},
        "BUFFER_POOL": {"egress_lossless_pool": {"mode": "static", "size": "12766208", "type": "egress"}},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}} | {port: dict(watchdog) for port in PORTS},
        "VLAN": {"Vlan1000": {"vlanid": "1000"}},
        "VLAN_INTERFACE": {"Vlan1000": {}, "Vlan1000|192.168.0.1/21": {}, "Vlan1000|fc02:1000::1/64": {}},
        "VLAN_MEMBER": {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in PORTS},
    }


def _queue(queue: int) -> dict[str, str]:
    lossless = {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
    return lossless if queue in LOSSLESS_PRIORITIES else {"scheduler": "scheduler.0"}


@dataclass
class FakeFlow:
    """A flow of the OTG configuration and when it was started and stopped."""

    fps: float
    priority: int | None
    seconds: int | None
    frames: int | None
    started: float | None = None
    stopped: float | None = None
    held: bool = False
    pauses: tuple[int, ...] = ()


@dataclass
class FakeWorld:
    """State and faults.

    Attributes:
        leaked: priority -> frames that pass a paused queue.
        lost: priority -> frames of it that the switch loses whenever it is sent.
        lost_in_storm: the same, only while a storm runs.
        lost_held: held frames that never arrive.
        counted_share: share of the storm's pause frames that the switch has counted at its end.
        counted_from: what its PFC counters begin at.
        global_pause_classes: the classes for which it takes 802.3x pause frames for PFC.
        shut_by_lossy_pause: lossy priorities that their own pause holds.
        ignores_pause, forwards_pause, counts_pause: what the switch does with pause frames.
        pushed: PFC frames that the switch counts as sent in a storm, for each lossless priority that it holds.
        pushes_back_also: further priorities for which the switch sends PFC during a storm.
        watchdog_storms: storms that its watchdog detects while a storm runs.
        down: ports that are down.
        storm_fps_factor: share of the storm that the generator really sends.
        dead_path: nothing sent arrives.
        idle: priorities that the generator does not send.
        slow_to_send: priorities of which the generator sends half.
        slow_to_resume: lossless priorities of which the switch takes half when no storm holds them: it sends as many
            PFC frames as in a storm.
        resolved: whether hosts resolve their gateway.
        traits: what else its ASIC says of itself.
        queue_of: priority -> queue in effect, where it is not the priority's own.
        port_poll_s, queue_poll_s: how often the switch polls counters; its commands show them as of the last poll.
    """

    leaked: Mapping[int, int] = field(default_factory=dict)
    lost: Mapping[int, int] = field(default_factory=dict)
    lost_in_storm: Mapping[int, int] = field(default_factory=dict)
    lost_held: int = 0
    held_frames: int = HELD_FRAMES
    global_pause_classes: tuple[int, ...] = ()
    shut_by_lossy_pause: tuple[int, ...] = ()
    ignores_pause: bool = False
    forwards_pause: bool = False
    counts_pause: bool = True
    counted_share: float = 1.0
    counted_from: int = 7
    counts_also: tuple[int, ...] = ()
    pushed: int = PUSHED
    pushes_back_also: tuple[int, ...] = ()
    watchdog_storms: int = 0
    watchdog_rows: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    storm_fps_factor: float = 1.0
    dead_path: bool = False
    idle: tuple[int, ...] = ()
    slow_to_send: tuple[int, ...] = ()
    slow_to_resume: tuple[int, ...] = ()
    resolved: bool = True
    traits: str = ""
    queue_of: Mapping[int, int] = field(default_factory=dict)
    refuses: str | None = None
    rx: str = "Ethernet0"
    tx: str = "Ethernet64"
    now: float = 0.0
    flows: dict[str, FakeFlow] = field(default_factory=dict)
    config_db: dict[str, Any] = field(default_factory=make_config_db)
    queue_packets: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(8), 100))
    pfc_rx: list[int] = field(default_factory=list)
    pfc_tx: list[int] = field(default_factory=lambda: [9] * 8)
    storms_seen: int = 0
    port_poll_s: float = 1.0
    queue_poll_s: float = 10.0

    def __post_init__(self) -> None:
        """The first poll is that of the start."""
        self.pfc_rx = self.pfc_rx or [self.counted_from] * 8
        self._poll_ports()
        self._poll_queues()

    def pass_time(self, seconds: float) -> None:
        """Time passes; nothing is counted meanwhile, so a poll on the way sees what is counted now."""
        before, self.now = self.now, self.now + seconds
        for name in self._storms():
            if self.now >= (self.flows[name].started or 0.0) + (self.flows[name].seconds or 1e9):
                self.stop(name)
        if self.now // self.port_poll_s > before // self.port_poll_s:
            self._poll_ports()
        if self.now // self.queue_poll_s > before // self.queue_poll_s:
            self._poll_queues()

    def _poll_ports(self) -> None:
        self.shown_pfc_rx, self.shown_pfc_tx = list(self.pfc_rx), list(self.pfc_tx)

    def _poll_queues(self) -> None:
        self.shown_queue_packets = dict(self.queue_packets)

    def storm_on(self) -> bool:
        """Whether the storm runs."""
        return bool(self._storms())

    def _storms(self) -> list[str]:
        running = [name for name, flow in self.flows.items() if flow.started is not None and flow.stopped is None]
        return [name for name in running if self.flows[name].priority is None]

    def start(self, name: str) -> None:
        """A flow starts."""
        flow = self.flows[name]
        flow.started, flow.stopped = self.now, None
        if flow.priority is None:
            self._storm_begins(flow.pauses)
        else:
            flow.held = self.storm_on() and flow.priority in self._held() and not self.ignores_pause
            if flow.priority in self.slow_to_resume and not flow.held and flow.frames is None:
                self.pfc_tx[flow.priority] += self.pushed
            if not flow.held and not self.dead_path:
                queue = self.queue_of.get(flow.priority, flow.priority)
                self.queue_packets[queue] += flow.frames or 0

    def stop(self, name: str) -> None:
        """A flow stops."""
        flow = self.flows[name]
        if flow.stopped is None:
            flow.stopped = self.now
            if flow.priority is None and flow.started is not None:
                self._storm_ends(flow.pauses, self.counts(name)[0])

    def counts(self, name: str) -> tuple[int, int, bool]:
        """Frames sent, frames received, whether it still transmits."""
        flow = self.flows[name]
        if flow.started is None:
            return 0, 0, False
        end = self.now if flow.stopped is None else flow.stopped
        due = round(flow.fps * min(end - flow.started, flow.seconds or 1e9))
        if flow.priority is None:
            sent = round(due * self.storm_fps_factor)
            return sent, sent if self.forwards_pause else 0, flow.stopped is None
        sent = min(due, flow.frames) if flow.frames is not None else due // (2 if self._is_slow(flow) else 1)
        running = flow.stopped is None and end - flow.started < (flow.seconds or 0.01)
        return *self._received(flow, sent), running

    def _is_slow(self, flow: FakeFlow) -> bool:
        return flow.priority in self.slow_to_send or (flow.priority in self.slow_to_resume and not flow.held)

    def _received(self, flow: FakeFlow, sent: int) -> tuple[int, int]:
        priority = flow.priority or 0
        if priority in self.idle:
            return 0, 0
        if self.dead_path:
            return sent, 0
        if flow.held and self.storm_on() and priority not in LOSSLESS_PRIORITIES:
            return sent, 0  # nobody tells the sender: what does not fit in the switch is lost
        if flow.held and self.storm_on():
            return min(sent, self.held_frames), self.leaked.get(priority, 0)
        if flow.held:
            return min(sent, self.held_frames), min(sent, self.held_frames) - self.lost_held
        storm_loss = self.lost_in_storm.get(priority, 0) if self.storm_on() else 0
        return sent, max(0, sent - self.lost.get(priority, 0) - storm_loss)

    def _held(self) -> list[int]:
        """The storms' priorities that a pause holds."""
        paused = {priority for name in self._storms() for priority in self.flows[name].pauses}
        return [one for one in sorted(paused) if one in (*LOSSLESS_PRIORITIES, *self.shut_by_lossy_pause)]

    def _storm_begins(self, priorities: tuple[int, ...]) -> None:
        for priority in priorities:
            self.pfc_rx[priority] += COUNTED_EARLY if self.counts_pause else 0
            self.pfc_tx[priority] += self.pushed if priority in LOSSLESS_PRIORITIES else 0
        for priority in self.pushes_back_also:
            self.pfc_tx[priority] += 1
        for priority in self.counts_also:
            self.pfc_rx[priority] += 1
        self.storms_seen += self.watchdog_storms

    def _storm_ends(self, priorities: tuple[int, ...], frames: int) -> None:
        for priority in priorities:
            later = max(0, round(frames * self.counted_share) - COUNTED_EARLY)
            self.pfc_rx[priority] += later if self.counts_pause else 0


class FakeClock:
    """The world's time."""

    exact = True

    def __init__(self, world: FakeWorld) -> None:
        """`world` is what ages."""
        self._world = world

    def moment(self) -> float:
        """As `now`."""
        return self.now()

    def now(self) -> float:
        """Seconds."""
        return self._world.now

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self._world.pass_time(seconds)


class FakeApi(snappi.Api):  # type: ignore[misc]  # snappi has no types
    """snappi's own request and answer objects, with no server behind them."""

    def __init__(self, world: FakeWorld) -> None:
        """`world` is what carries the traffic."""
        super().__init__()
        self._world = world
        self.configs: list[Any] = []

    def set_config(self, payload: Any) -> Any:
        """Takes the flows."""
        if self._world.refuses:
            raise RuntimeError(self._world.refuses)
        self.configs.append(payload)
        self._world.flows = {flow.name: self._flow(flow) for flow in payload.flows}

    def set_control_state(self, payload: Any) -> Any:
        """Starts and stops flows."""
        if payload.choice != "traffic":
            return
        transmit = payload.traffic.flow_transmit
        names = list(transmit.flow_names or self._world.flows)
        for name in names:
            (self._world.start if transmit.state == "start" else self._world.stop)(name)

    def get_metrics(self, payload: Any) -> Any:
        """Flow statistics."""
        answer = snappi.MetricsResponse()
        answer.choice = "flow_metrics"
        for name in payload.flow.flow_names:
            sent, received, running = self._world.counts(name)
            transmit = "started" if running else "stopped"
            answer.flow_metrics.metric(name=name, frames_tx=sent, frames_rx=received, transmit=transmit)
        return answer

    def get_states(self, payload: Any) -> Any:
        """Resolved gateways."""
        answer = snappi.StatesResponse()
        answer.choice = payload.choice
        four = payload.choice == "ipv4_neighbors"
        for device in self.configs[-1].devices:
            for ethernet in device.ethernets:
                rows = answer.ipv4_neighbors if four else answer.ipv6_neighbors
                addresses = ethernet.ipv4_addresses if four else ethernet.ipv6_addresses
                neighbor = rows.add(ethernet_name=ethernet.name, **{f"{payload.choice[:4]}_address": "192.168.0.1"})
                if self._world.resolved and len(addresses):
                    neighbor.link_layer_address = "02:00:00:00:00:01"
        return answer

    def _flow(self, flow: Any) -> FakeFlow:
        priority = flow.packet[0].pfc_queue.value if isinstance(flow.packet[0], snappi.FlowEthernet) else None
        line_rate_fps = 100e9 / 8 / 1044
        fps = flow.rate.pps if flow.rate.choice == "pps" else flow.rate.percentage / 100 * line_rate_fps
        seconds = frames = None
        if flow.duration.choice == "fixed_seconds":
            seconds = int(flow.duration.fixed_seconds.seconds)
        if flow.duration.choice == "fixed_packets":
            frames = int(flow.duration.fixed_packets.packets)
        return FakeFlow(fps, priority, seconds, frames, pauses=self._pauses(flow.packet[0]))

    def _pauses(self, header: Any) -> tuple[int, ...]:
        """The classes that the switch takes a frame to pause."""
        if isinstance(header, snappi.FlowPfcPause):
            vector = header.class_enable_vector.value
            return tuple(bit for bit in range(8) if vector >> bit & 1)
        return self._world.global_pause_classes if isinstance(header, snappi.FlowEthernetPause) else ()


class FakeHost:
    """The switch's command line."""

    hostname = DEVICE

    def __init__(self, world: FakeWorld) -> None:
        """`world` is what the commands show."""
        self._world = world
        self.calls: list[str] = []
        self.answers: dict[str, tuple[str, int]] = {}

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Answers a batch; `answers` overrides single commands (text, exit status)."""
        self.calls.append(command)
        printed = []
        for one, name in re.findall(rf"\( (.*?)\n\) 2>&1; printf '[^']*' '{MARK}' '([\w-]+)' \$\?", command, re.DOTALL):
            text, status = self.answers.get(one, (None, 0))
            printed.append(f"{self._answer(one) if text is None else text}\n{MARK} {name} {status}")
        return {"stdout": "\n".join(printed), "rc": 0}

    def _answer(self, command: str) -> str:
        world = self._world
        if command == "show pfc counters":
            return "\n\n".join(_pfc_table(way, world) for way in ("Rx", "Tx"))
        if command.startswith("show queue counters"):
            rows = [
                [world.rx, f"UC{queue}", f"{packets:,}", packets * 1024, 0, 0]
                for queue, packets in world.shown_queue_packets.items()
            ]
            return _table(rows, ["Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"])
        if command == "pfcwd show stats":
            row: list[Any] = [f"{world.rx}:3", "operational", f"{world.storms_seen}/0", *["0/0"] * 4]
            stormed = [row] if world.storms_seen else []
            counted = ("TX OK/DROP", "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP")
            return _table(stormed, ["QUEUE", "STATUS", "STORM DETECTED/RESTORED", *counted])
        if command.startswith("sonic-db-cli CONFIG_DB KEYS"):
            return "\n".join(f"PFC_WD|{port}" for port in ("GLOBAL", *world.watchdog_rows))
        if command == READ_TRAITS:
            return world.traits
        if command.startswith("sonic-db-cli COUNTERS_DB HGETALL"):
            return "{}"
        if command == "show interfaces status":
            return _table(
                [_interface(port, world) for port in PORTS],
                ["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC"],
            )
        if command == "sonic-cfggen -d --print-data":
            return json.dumps(world.config_db)
        if command == "show version":
            return (
                "SONiC Software Version: SONiC.20260831.01\nPlatform: x86_64-arista_7060_cx32s\nASIC: broadcom\nASIC"
                " Count: 1"
            )
        raise AssertionError(f"the fake switch has no command {command!r}")


def _pfc_table(way: str, world: FakeWorld) -> str:
    shown = world.shown_pfc_rx if way == "Rx" else world.shown_pfc_tx
    counts = {world.rx if way == "Rx" else world.tx: shown}
    rows = [[port, *(f"{count:,}" for count in counts.get(port, [0] * 8))] for port in PORTS]
    return _table(rows, [f"Port {way}", *(f"PFC{number}" for number in range(8))])


def _interface(port: str, world: FakeWorld) -> list[str]:
    oper = "down" if port in world.down else "up"
    speed = f"{int(world.config_db['PORT'][port]['speed']) // 1000}G"
    return [port, "65,66,67,68", speed, "9100", "rs", "etp1", "trunk", oper, "up", "QSFP28 or later", "N/A"]


def _table(rows: list[list[Any]], headers: list[str]) -> str:
    return tabulate(rows, headers, tablefmt="simple", stralign="right")


def plan_port(
    dut: Dut, ports: Sequence[ConnectedPort], port_under_test: str | None, tx_port: str | None, ip_version: int = 4
) -> PortPlan:
    """A port of a switch, planned without a testbed's entry; arguments as of `PortRequest`."""
    return plan_measured(dut.state(), ports, PortRequest(port_under_test, tx_port, ip_version))
