"""What correct switches and hosts do that a quiet testbed does not show.

The port named is the one over whose link control planes talk.
"""
from __future__ import annotations

from virtual_testbed.dataplane.model.control_plane import ControlProtocol
from virtual_testbed.dataplane.model.hooks import Fault

SECOND_PS = 10**12
LLDP = ControlProtocol("LLDP", 30 * SECOND_PS, (282,), (214,))
LACP = ControlProtocol("LACP", SECOND_PS, (128,), (128,))
ARP = ControlProtocol("ARP", 30 * SECOND_PS, (64,), (64,))
NEIGHBOURS = ControlProtocol("neighbour discovery", 30 * SECOND_PS, (90, 90), (90, 90))
BGP_4 = ControlProtocol("BGP over IPv4", 3 * SECOND_PS, (89, 70), (89, 70))
BGP_6 = ControlProtocol("BGP over IPv6", 3 * SECOND_PS, (109, 90), (109, 90))


class Chatter(Fault):
    """The switch and what is plugged into the port run LLDP, LACP, ARP, IPv6 neighbour discovery and BGP; their frames
    are counted, and nothing is wrong with that.
    """

    name = "chatter"

    def protocols(self, protocols: tuple[ControlProtocol, ...]) -> tuple[ControlProtocol, ...]:
        """LLDP every 30 s (IEEE 802.1AB), LACP every second (IEEE 802.1AX, fast), an ARP request and its answer each
        way in a minute, the same of neighbours, and BGP's keepalives every 3 s, each with an acknowledgement.
        """
        return (*protocols, LLDP, LACP, ARP, NEIGHBOURS, BGP_4, BGP_6)


FAULTS: tuple[type[Fault], ...] = (Chatter,)
