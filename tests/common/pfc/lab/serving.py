"""Which ports beside a pair can take part in what is measured on it."""

from __future__ import annotations

from ..model.errors import QualificationError
from ..model.ports import ConnectedPort, PortPair, hosts_behind
from ..model.qos import check_same_classes, read_port_qos
from .dut import SwitchState


def serves(state: SwitchState, pair: PortPair, port: ConnectedPort, ip_version: int) -> bool:
    """Whether a port has the classes of a pair, and room for a host behind it."""
    try:
        rx = read_port_qos(state.config_db, state.device, pair.rx.port)
        check_same_classes(rx, read_port_qos(state.config_db, state.device, port.port))
        hosts_behind((port,), state.config_db, ip_version)
    except QualificationError:
        return False
    return True
