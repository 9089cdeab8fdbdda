"""What traffic costs that hardly repeats: congestion, pauses that lapse, drops, captures, pauses at line rate.

Each runs for a second of simulated time on the virtual T0 as Ansible deploys it, over OTG, beside generators that
honour PFC. What is measured is the CPU time of the testbed's engine from START to the last read of counters, for each
simulated second and port that takes part. Where the engine gives up before the second is over, it counts up to there.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import snappi

from pfctest.tests.bench import process_times
from scripts.campaign.broken_testbed import broken_testbed
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock
from tests.common.snappi_tests.client import quiet_snappi

SECONDS = 1
WARM_UP_S = 0.005
DRAIN_S = 0.01
"""What the traffic before has left in the switch has gone by then."""
FRAME_BYTES = 1024
LOSSLESS, LOSSY = 3, 8
"""DSCPs of a lossless and a lossy class of the deployed switch; they are its transmit queues on the generator too."""
ONE_IN = 99_991
COMPILE = "from virtual_testbed.dataplane.compiled import compile_all; compile_all()"


@dataclass(frozen=True)
class Sent:
    """Data from one port to another: percent of the line."""

    tx: int
    rx: int
    percent: float
    dscp: int = LOSSLESS


@dataclass(frozen=True)
class Paused:
    """Pause frames from a port for the lossless class: quanta, frames a second (None: as many as the line takes)."""

    tx: int
    quanta: int
    rate_fps: int | None


@dataclass(frozen=True)
class Hard:
    """Some traffic; `captured` is a port whose frames are captured, `faults` what is wrong with the switch."""

    name: str
    ports: int
    flows: Sequence[Sent | Paused]
    captured: int | None = None
    faults: tuple[str, ...] = ()


def incast(senders: int, percent: float, dscp: int = LOSSLESS) -> list[Sent]:
    """So many ports send to one more."""
    return [Sent(number, senders, percent, dscp) for number in range(senders)]


CASES = (
    Hard("incast2_lossless", 3, incast(2, 80)),
    Hard("incast2_lossy", 3, incast(2, 80, LOSSY)),
    Hard("incast15_lossless", 16, incast(15, 9)),
    Hard("lapsing_full", 2, [Sent(0, 1, 100), Paused(1, 0x2000, 5000)]),
    Hard("capture_full", 3, [*incast(1, 100), Sent(1, 2, 0.0001)], captured=2),
    Hard("pause_line_rate", 2, [Paused(0, 0xFFFF, None)]),
    Hard("dropping_full_load", 32, [Sent(number, (number + 1) % 32, 100) for number in range(32)],
         faults=(f"lossless-dropped@*,one_in={ONE_IN}",)),
)


class TimedTraffic:
    """The generators of a testbed that is up, its clock, and the CPU time of its engine."""

    def __init__(self, testbed: Mapping[str, Any]) -> None:
        engine = json.loads((testbed["folder"] / testbed["testbed"] / "engine.json").read_text(encoding="utf-8"))
        self._locations = [link["location"] for link in engine["generator_ports"]]
        self._clock = EndpointClock(testbed["clock"]["url"])
        self._engine = Path(f"/proc/{testbed['children']['engine']['pid']}/stat")
        self._api = snappi.api(location=testbed["otg"]["url"])

    def cpu_s_per_s(self, case: Hard, seconds: float) -> float:
        """CPU seconds for each simulated second and port."""
        self._api.set_config(self._configuration(case))
        self._clock.sleep(DRAIN_S)
        if case.captured is not None:
            self._control("port", lambda state: state.port.capture)
        begun_s = self._clock.now()
        begun_cpu_s = process_times(self._engine).cpu_s
        self._control("traffic", lambda state: state.traffic.flow_transmit)
        request = self._api.metrics_request()
        request.flow.flow_names = []
        try:
            self._clock.sleep(seconds)
        except QualificationError as error:  # the engine gave up: what it has computed counts
            print(f"{case.name}: {error}", file=sys.stderr)
        self._api.get_metrics(request)
        used_s = process_times(self._engine).cpu_s - begun_cpu_s
        return used_s / (self._clock.now() - begun_s) / case.ports

    def _configuration(self, case: Hard) -> Any:
        config = self._api.config()
        names = [f"p{number}" for number in range(case.ports)]
        for number, name in enumerate(names):
            config.ports.port(name=name, location=self._locations[number])
            ethernet = config.devices.device(name=f"{name} host")[-1].ethernets.ethernet(
                name=f"{name} ethernet", mac=_mac(number))[-1]
            ethernet.connection.port_name = name
            ethernet.ipv4_addresses.add(name=f"{name} ip", address=_address(number), gateway="192.168.0.1", prefix=21)
        layer1 = config.layer1.layer1(name="layer 1", port_names=names)[-1]
        layer1.flow_control.ieee_802_1qbb.pfc_class_3 = 3
        for flow in case.flows:
            _add(config, flow)
        if case.captured is not None:
            config.captures.capture(name="capture", port_names=[names[case.captured]])
        return config

    def _control(self, choice: str, part: Callable[[Any], Any]) -> None:
        """Starts transmission or captures."""
        control = self._api.control_state()
        control.choice = choice
        part(control).state = "start"
        self._api.set_control_state(control)


def _add(config: Any, sent: Sent | Paused) -> None:
    """A flow of a configuration."""
    flow = config.flows.flow(name=f"flow {len(config.flows)}")[-1]
    flow.metrics.enable = True
    flow.tx_rx.port.tx_name = f"p{sent.tx}"
    if isinstance(sent, Paused):
        flow.tx_rx.port.rx_names = [f"p{1 - sent.tx}"]
        pause = flow.packet.pfcpause()[-1]
        pause.class_enable_vector.value = 1 << LOSSLESS
        pause.pause_class_3.value = sent.quanta
        if sent.rate_fps is None:
            flow.rate.percentage = 100
        else:
            flow.rate.pps = sent.rate_fps
        return
    flow.tx_rx.port.rx_names = [f"p{sent.rx}"]
    ethernet, ip = flow.packet.ethernet().ipv4()
    ethernet.src.value = _mac(sent.tx)
    ethernet.dst.value = _mac(sent.rx)
    ethernet.pfc_queue.value = LOSSLESS if sent.dscp == LOSSLESS else 0
    ip.src.value = _address(sent.tx)
    ip.dst.value = _address(sent.rx)
    ip.priority.dscp.phb.value = sent.dscp
    flow.size.fixed = FRAME_BYTES
    flow.rate.percentage = sent.percent


def _mac(number: int) -> str:
    return f"00:00:22:33:44:{number:02x}"


def _address(number: int) -> str:
    return f"192.168.0.{number + 2}"


def compile_cpu_s() -> float:
    """CPU seconds of compiling everything, once: what is kept in the clone is left aside."""
    with TemporaryDirectory() as folder:
        before = os.times()
        subprocess.run([sys.executable, "-c", COMPILE], check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder})
        after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def figures() -> list[tuple[str, float, str]]:
    """Name, value and unit: seconds of compiling, then for each traffic CPU seconds a simulated second and port."""
    found = [("dataplane.compile.cpu_s", compile_cpu_s(), "s")]
    with TemporaryDirectory() as folder:
        for faults in dict.fromkeys(case.faults for case in CASES):
            found += figures_of_switch(Path(folder) / ("broken" if faults else "healthy"), faults)
    return found


def figures_of_switch(folder: Path, faults: tuple[str, ...]) -> list[tuple[str, float, str]]:
    """The figures of a switch with such faults."""
    folder.mkdir()
    quiet_snappi()
    with broken_testbed(folder, faults) as testbed:
        traffic = TimedTraffic(testbed)
        traffic.cpu_s_per_s(CASES[0], WARM_UP_S)  # the engine loads compiled code
        return [(f"dataplane.hard.{case.name}.cpu_s_per_s", traffic.cpu_s_per_s(case, SECONDS), "s/s")
                for case in CASES if case.faults == faults]


if __name__ == "__main__":
    for name, value, unit in figures():
        print(f"{name:46} {value:12.4g} {unit}")
