"""Counters of queues, ports and priority groups, as a switch prints them."""

import pytest

from tests.common.pfc.cases.switch_counters import GROUPS as DROPS
from tests.common.pfc.cases.switch_counters import HEADROOM, DataCounters, PortCounts, of_group, of_port, port_counts
from tests.common.pfc.lab.cli_text import queue_packets
from tests.common.pfc.model.errors import QualificationError

QUEUES = """For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0             100           102400           58         59392
Ethernet0    UC9             N/A              N/A          N/A           N/A
Ethernet0    MC0               7              448            9           576
"""
PORTS = """    IFACE    STATE    RX_OK    RX_DRP    TX_OK    TX_DRP
---------  -------  -------  --------  -------  --------
Ethernet0        U    1,234     5,678       10     9,012
"""
GROUP_TABLE = """Ingress PG dropped packets:
     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet0      1      0      0     33     44      0      0      0
"""


def test_what_the_commands_print():
    dropped = queue_packets(QUEUES, "Ethernet0", "Drop/pkts")
    assert dropped == {0: 58}, "multicast queues and those that are not counted are left out"
    assert port_counts(PORTS, "Ethernet0") == PortCounts(1234, 5678, 10, 9012), "commas"
    counts = of_port(GROUP_TABLE, DROPS, "Ethernet0")
    assert counts == {0: 1, 1: 0, 2: 0, 3: 33, 4: 44, 5: 0, 6: 0, 7: 0}, "eight groups"


def test_groups_are_known_by_their_names():
    """A switch with `create_only_config_db_buffers` lists only those that are configured."""
    rows = [[cell for place, cell in enumerate(line.split()) if place not in (2, 3)]
            for line in GROUP_TABLE.splitlines()[1:]]
    text = "\n".join("  ".join(cell.rjust(9) for cell in row) for row in [rows[0], ["-" * 9] * 7, rows[2]])
    assert of_port(text, HEADROOM, "Ethernet0") == {0: 1, 3: 33, 4: 44, 5: 0, 6: 0, 7: 0}, text


@pytest.mark.parametrize("kind", ["ALL", "VOQ"])
def test_queues_that_take_all_frames_and_virtual_output_queues_are_read(kind):
    text = QUEUES.replace(" UC0", f"{kind}0")
    assert queue_packets(text, "Ethernet0", "Drop/pkts") == {0: 58}, text


@pytest.mark.parametrize("read", [
    lambda: queue_packets(PORTS, "Ethernet0", "Drop/pkts"), lambda: queue_packets(QUEUES, "Ethernet4", "Drop/pkts"),
    lambda: port_counts(PORTS, "Ethernet4"), lambda: port_counts(QUEUES, "Ethernet0"),
    lambda: port_counts(PORTS.replace(" TX_DRP", " TX_ERR"), "Ethernet0"),
    lambda: of_port(GROUP_TABLE, DROPS, "Ethernet4"),
    lambda: of_group(of_port(GROUP_TABLE.replace("33", "N/A"), HEADROOM, "Ethernet0"), HEADROOM, "Ethernet0", 3),
])
def test_what_is_not_there_is_no_number(read):
    with pytest.raises(QualificationError):
        read()


def test_drops_are_counted_twice_over():
    early = DataCounters(PortCounts(9, 9, 9, 1), {"Ethernet4": PortCounts(9, 1, 9, 9)}, {}, {0: 1},
                         {"Ethernet4": {0: 1, 3: 0}})
    late = DataCounters(PortCounts(9, 9, 9, 16), {"Ethernet4": PortCounts(9, 7, 9, 9)}, {}, {0: 11, 1: 5},
                        {"Ethernet4": {0: 3, 3: 4}})
    gained = late.since(early)
    assert (gained.drops_by_port, gained.drops_by_queue) == (15 + 6, 10 + 5 + 2 + 4), "ports; queues and groups"
