"""A slow, literal model of the same testbed: every frame, every refresh, every timer is an event.

It is written from docs/data-plane.md and shares no arithmetic with `virtual_testbed.dataplane`: it reads the same
configuration and traffic values, and nothing else. The parts: `oracle_clock` (events, cables, pause timers),
`oracle_control` (control frames, faults), `oracle_generator`, `oracle_device` (a switch), `oracle_switch` (its ports),
`oracle_buffer`, `oracle_scheduler`, `oracle_forwarding` and `oracle_watchdog`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.traffic import Flow, GeneratorPort, EmulatedHost
from virtual_testbed.tests.dataplane.oracle_clock import FAULT, TIMER, Cable, Clock, LineEnd
from virtual_testbed.tests.dataplane.oracle_control import OracleFault
from virtual_testbed.tests.dataplane.oracle_device import Switch
from virtual_testbed.tests.dataplane.oracle_forwarding import Ways
from virtual_testbed.tests.dataplane.oracle_generator import GeneratorEnd, Run

__all__ = ["Oracle", "OracleFault"]
Link = tuple[str, str, str, int, int]
SwitchLink = tuple[tuple[str, str], tuple[str, str], int, int]
Counts = dict[tuple[Any, ...], Any]


class Oracle:
    """The testbed.

    Args:
        configs: the switches.
        links: generator cables as (location, switch, port, Mb/s, metres).
        switch_links: cables between switches as ((switch, port), (switch, port), Mb/s, metres).
        faults: what is broken.
    """

    def __init__(self, configs: Sequence[SwitchConfig], links: Sequence[Link],
                 switch_links: Sequence[SwitchLink] = (), faults: Sequence[OracleFault] = ()) -> None:
        self.clock, self.ways = Clock(), Ways([(a, b) for a, b, _, _ in switch_links])
        self.ways.configs = {config.name: config for config in configs}
        self.switches = {config.name: Switch(self.clock, config, list(faults), self.ways) for config in configs}
        self.cables: list[tuple[Cable, LineEnd, LineEnd]] = []
        self.generators: dict[str, GeneratorEnd] = {}
        self.places: dict[str, tuple[str, str]] = {}
        self.by_name: dict[str, GeneratorEnd] = {}
        self.runs: dict[str, Run] = {}
        self._plug(links, switch_links)
        self.ways.is_up = lambda port: self.switches[port[0]].ports[port[1]].cable.up
        for time in {time for fault in faults for time in (fault.since, fault.until) if time}:
            self.clock.at(time, TIMER, FAULT, self._faults_changed)
        for config in configs:
            self.switches[config.name].configure(config)
        self._update_links()

    def _plug(self, links: Sequence[Link], switch_links: Sequence[SwitchLink]) -> None:
        cables: dict[tuple[str, str], Cable] = {}
        for _, switch, port, speed, metres in links:
            cables[switch, port] = Cable(speed, metres)
        for a, b, speed, metres in switch_links:
            cables[a] = cables[b] = Cable(speed, metres)
        index = 0
        for device in self.switches.values():
            for name, config in device.config.ports.items():
                device.plug(name, cables.get((device.config.name, name)) or Cable(config.speed_mbps, 0), index)
                index += 1
        for number, (location, switch_name, port, _, _) in enumerate(links):
            end = GeneratorEnd(self.clock, cables[switch_name, port], number)
            self.generators[location], self.places[location] = end, (switch_name, port)
            self._join(end.cable, end, self.switches[switch_name].ports[port])
        for a, b, _, _ in switch_links:
            self._join(cables[a], self.switches[a[0]].ports[a[1]], self.switches[b[0]].ports[b[1]])

    def _join(self, cable: Cable, a: LineEnd, b: LineEnd) -> None:
        a.peer, b.peer = b, a
        self.cables.append((cable, a, b))

    # ---- commands

    def set_traffic(self, ports: Sequence[GeneratorPort], hosts: Sequence[EmulatedHost], flows: Sequence[Flow]) -> None:
        """As in `Network`, once."""
        self.by_name = {port.name: self.generators[port.location] for port in ports}
        for port in ports:
            self.by_name[port.name].spec = port
        place = {port.name: self.places[port.location] for port in ports}
        self.ways.hosts = [(host, place[host.port]) for host in hosts]
        self.ways.changed()
        for index, flow in enumerate(flows):
            end = self.by_name[flow.tx_port]
            self.runs[flow.name] = Run(flow, end, index)
            end.runs.append(self.runs[flow.name])
        self._update_links()

    def advance_to(self, time: int) -> None:
        """Process all events at or before `time`."""
        self.clock.run(time)

    def start_flows(self, names: Iterable[str]) -> None:
        """START."""
        self._each(names, Run.start)

    def stop_flows(self, names: Iterable[str]) -> None:
        """STOP."""
        self._each(names, Run.stop)

    def pause_flows(self, names: Iterable[str]) -> None:
        """Hold flows by command."""
        self._each(names, Run.command_pause)

    def resume_flows(self, names: Iterable[str]) -> None:
        """End a hold by command."""
        self._each(names, Run.command_resume)

    def clear_flow_counters(self, names: Iterable[str]) -> None:
        """Count from 0 again."""
        self._each(names, Run.clear)

    def configure_switch(self, config: SwitchConfig) -> None:
        """Change a switch's configuration."""
        self.ways.configs[config.name] = config
        self.ways.changed()
        self.switches[config.name].configure(config)
        self._update_links()

    def set_link(self, port: str, up: bool) -> None:
        """Bring a generator port's link down or up from the generator's end."""
        self.by_name[port].admin_up = up
        self._update_links()

    def _each(self, names: Iterable[str], what: Callable[[Run], None]) -> None:
        for name in names:
            what(self.runs[name])
        self.clock.run(self.clock.now)

    def _update_links(self) -> None:
        for cable, *ends in self.cables:
            up = all(end.speed_agrees() for end in ends)
            if up == cable.up:
                continue
            cable.up = up
            self.ways.changed()
            if not up:
                cable.epoch += 1
            for end in ends:
                end.came_up() if up else end.went_down()
        self.clock.run(self.clock.now)

    def _faults_changed(self) -> None:
        for switch in self.switches.values():
            for port in switch.ports.values():
                port.priorities_changed()

    # ---- what can be read, under the names of `virtual_testbed.dataplane.model.counters`

    def read(self) -> Counts:
        """Every counter by (what, where ..., field)."""
        found: Counts = {}
        for name, run in self.runs.items():
            values = {"frames_tx": run.tx, "frames_rx": run.rx, "bytes_tx": run.tx_bytes, "bytes_rx": run.rx_bytes,
                      "transmit": run.transmit(), "latency_ps": run.known_latency(),
                      "held_by": run.end.holding(getattr(run.spec, "queue", -1))}
            found |= {("flow", name, key): value for key, value in values.items()}
        for name, end in self.by_name.items():
            values = {"frames_tx": end.tx, "frames_rx": end.rx, "bytes_tx": end.tx_bytes, "bytes_rx": end.rx_bytes,
                      "link_up": end.cable.up, "pfc_rx": tuple(end.pfc_rx)}
            found |= {("generator", name, key): value for key, value in values.items()}
        for switch in self.switches.values():
            found |= self._read_ports(switch) | self._read_buffers(switch) | self._read_watches(switch)
            found |= {("drops", switch.config.name, *key): value for key, value in switch.drops.items()}
        return found

    def _read_ports(self, switch: Switch) -> Counts:
        found: Counts = {}
        for name, port in switch.ports.items():
            values: dict[str, Any] = {key: getattr(port, key) for key in (
                "rx_packets", "rx_bytes", "rx_errors", "rx_drops", "tx_packets", "tx_bytes", "tx_drops", "pause_rx",
                "rx_smallest")}
            values |= {"pfc_rx": tuple(port.pfc_rx), "pfc_tx": tuple(port.pfc_tx), "oper_up": port.cable.up,
                       "pfc_on2off": tuple(port.pauses.on2off),
                       "pause_duration_us": tuple(port.pauses.duration(n) // 10**6 for n in range(8))}
            found |= {("port", switch.config.name, name, key): value for key, value in values.items()}
        return found

    def _read_buffers(self, switch: Switch) -> Counts:
        found: Counts = {}
        for name, port in switch.ports.items():
            for n, (queue, group) in enumerate(zip(port.queues, port.groups)):
                values = {"packets": queue.packets, "bytes": queue.bytes, "dropped_packets": queue.dropped,
                          "dropped_bytes": queue.dropped_bytes, "occupancy_bytes": queue.reserved + queue.shared,
                          "watermark_bytes": queue.peak, "is_paused": port.pauses.since[n] is not None}
                found |= {("queue", switch.config.name, name, n, key): value for key, value in values.items()}
                values = {"packets": group.packets, "bytes": group.bytes, "dropped_packets": group.dropped,
                          "occupancy_bytes": group.reserved + group.shared + group.headroom,
                          "shared_watermark_bytes": group.shared_peak,
                          "headroom_watermark_bytes": group.headroom_peak}
                found |= {("group", switch.config.name, name, n, key): value for key, value in values.items()}
        return found

    def _read_watches(self, switch: Switch) -> Counts:
        found: Counts = {}
        names = ("tx_packets", "tx_dropped", "rx_packets", "rx_dropped")
        for (port, queue), watch in switch.watches.items():
            if watch.config or watch.detected:
                totals, latest = watch.counts()
                values: dict[str, Any] = {"status": "stormed" if watch.stormed else "operational",
                                          "detected": watch.detected, "restored": watch.restored}
                values |= dict(zip(names, totals)) | {f"{key}_last": value for key, value in zip(names, latest)}
                found |= {("watchdog", switch.config.name, port, queue, key): value for key, value in values.items()}
        return found
