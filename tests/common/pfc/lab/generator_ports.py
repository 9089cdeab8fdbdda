"""What test cases do with ports of the traffic generators beside sending: capturing, reacting late to pauses, taking
links down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .generator import Generator, Traffic


def capturing(traffic: Traffic, port_names: Sequence[str]) -> Traffic:
    """A configuration, in which from now on what arrives at these generator ports can be captured."""
    traffic.config.captures.capture(name="captured", port_names=list(port_names), format="pcap", overwrite=False)
    return traffic


def reacting_late(traffic: Traffic, quanta: int, spared: str) -> Traffic:
    """A configuration, in which from now on generator ports go on sending for so many quanta after a pause has reached
    them; `spared`: the one that reacts at once."""
    names = [name for layer1 in traffic.config.layer1 for name in layer1.port_names if name != spared]
    return reacting_after(traffic, dict.fromkeys(names, quanta))


def reacting_after(traffic: Traffic, quanta: Mapping[str, int]) -> Traffic:
    """A configuration, in which from now on each of these generator ports goes on sending for its own time after a
    pause."""
    for layer1 in traffic.config.layer1:
        for name in layer1.port_names:
            if name in quanta:
                layer1.flow_control.ieee_802_1qbb.pfc_delay = quanta[name]
    return traffic


def start_capture(generator: Generator, port_names: Sequence[str]) -> None:
    """Begins to capture what arrives at generator ports that the configuration names for it."""
    _control_capture(generator, port_names, "START")


def end_capture(generator: Generator, port_name: str) -> bytes:
    """Ends all captures, and returns that of a generator port: a pcap or pcapng file. Of single ports IxNetwork's
    extension throws away what they hold (`capture.py`, `_stop_capture`)."""
    _control_capture(generator, [], "STOP")
    request = generator.api.capture_request()
    request.port_name = port_name
    answer = generator.call(generator.api.get_capture, request)
    data = bytes(answer.read() if hasattr(answer, "read") else answer)
    for observer in generator.observers:
        observer.capture_read(data)
    return data


def set_links(generator: Generator, port_names: Sequence[str], up: bool) -> None:
    """Takes the links of generator ports up or down; no names: of all."""
    state = generator.api.control_state()
    state.port.link.port_names = list(port_names)
    state.port.link.state = state.port.link.UP if up else state.port.link.DOWN
    generator.call(generator.api.set_control_state, state)


def look(generator: Generator) -> None:
    """Asks for the statistics of all flows.

    Raises:
        QualificationError: the traffic generators do not answer.
    """
    request = generator.api.metrics_request()
    request.flow.flow_names = []
    generator.call(generator.api.get_metrics, request)


def _control_capture(generator: Generator, port_names: Sequence[str], verb: str) -> None:
    state = generator.api.control_state()
    state.port.capture.port_names = list(port_names)
    state.port.capture.state = getattr(state.port.capture, verb)
    generator.call(generator.api.set_control_state, state)
