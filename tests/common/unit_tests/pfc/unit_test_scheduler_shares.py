"""How a congested line is divided, and what headroom is for: from a switch's tables."""

from fractions import Fraction

import pytest

from tests.common.pfc.cases.group_room import GroupRoom
from tests.common.pfc.cases.headroom import Delays, Headroom, check_reachable, delays, least_used, read_headroom
from tests.common.pfc.cases.scheduler_shares import Scheduler, divide, read_schedulers
from tests.common.pfc.cases.switch_counters import GROUPS as DROPS
from tests.common.pfc.cases.switch_counters import HEADROOM, DataCounters, PortCounts, of_group, of_port, port_counts
from tests.common.pfc.lab.cli_text import queue_packets
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import PortQos

QOS = PortQos("sw", "Ethernet0", (3, 4), {0: (8,), 3: (3,), 4: (4,)}, "AZURE")
TABLES = {
    "QUEUE": {"Ethernet0,Ethernet4|0-2": {"scheduler": "[SCHEDULER|lossy]"}, "Ethernet0|3": {"scheduler": "lossless"},
              "Ethernet0|4": {"scheduler": "first"}, "Ethernet4|3": {"scheduler": "nothing"}},
    "SCHEDULER": {"lossy": {"type": "DWRR", "weight": "14"}, "lossless": {"type": "DWRR", "weight": "15"},
                  "first": {"type": "STRICT"}},
    "PORT_QOS_MAP": {"Ethernet0": {"tc_to_pg_map": "AZURE"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3", "4": "4"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
}
GROUPS = """BUFFER_PG_TABLE:Ethernet0:0 ingress_lossy_profile {}
BUFFER_PG_TABLE:Ethernet0:3-4 pg_lossless {'xoff': '165568'}
"""


def percent(parts):
    return {queue: Fraction(part, 100) for queue, part in parts.items()}


def test_a_line_with_room_for_all_is_not_divided():
    assert divide(percent({0: 60, 3: 40}), {}) == percent({0: 60, 3: 40}), "no scheduler is needed for 100 %"


@pytest.mark.parametrize(("wanted", "weights", "got"), [
    ({3: 80, 4: 80, 0: 80}, {3: 15, 4: 15, 0: 10}, {3: Fraction(3, 8), 4: Fraction(3, 8), 0: Fraction(1, 4)}),
    ({3: 88, 4: 88, 0: 24}, {3: 15, 4: 15, 0: 14}, {3: Fraction(38, 100), 4: Fraction(38, 100), 0: Fraction(24, 100)}),
    ({1: 10, 2: 40, 3: 90}, {1: 1, 2: 1, 3: 1}, {1: Fraction(1, 10), 2: Fraction(4, 10), 3: Fraction(5, 10)}),
    ({1: 70, 2: 70}, {1: 1, 2: 9}, {1: Fraction(3, 10), 2: Fraction(7, 10)}),
])
def test_what_one_queue_does_not_want_the_others_share_by_weight(wanted, weights, got):
    schedulers = {queue: Scheduler(False, weight) for queue, weight in weights.items()}
    assert divide(percent(wanted), schedulers) == got, "wanted, weights"


def test_strict_queues_come_first_the_highest_number_before_others():
    schedulers = {0: Scheduler(False, 5), 5: Scheduler(True), 6: Scheduler(True)}
    assert divide(percent({0: 50, 5: 60, 6: 70}), schedulers) == percent({0: 0, 5: 30, 6: 70}), "6 before 5 before 0"


def test_schedulers_are_those_of_the_port_s_queues():
    found = read_schedulers(TABLES, QOS)
    assert found == {0: Scheduler(False, 14), 3: Scheduler(False, 15), 4: Scheduler(True)}, "ranges, lists"


def test_schedulers_of_virtual_output_queues_are_those_of_the_switch_s_own_ports():
    """Other hosts of a chassis have ports of the same names."""
    own = {"first|Asic0|Ethernet0|0-3": {"scheduler": "lossy"}, "first|Asic0|Ethernet0|4": {"scheduler": "lossless"}}
    others = {"second|Asic0|Ethernet0|0-4": {"scheduler": "first"}}
    named = {"DEVICE_METADATA": {"localhost": {"hostname": "first"}}}
    found = read_schedulers({**TABLES, **named, "QUEUE": {**others, **own}}, QOS)
    assert found == {0: Scheduler(False, 14), 3: Scheduler(False, 14), 4: Scheduler(False, 15)}, found


@pytest.mark.parametrize(("change", "said"), [
    ({"QUEUE": {}}, "Ethernet0 priority 0: QUEUE|Ethernet0|0 has scheduler 'none'"),
    ({"SCHEDULER": {}}, "QUEUE|Ethernet0|0 has scheduler 'lossy', from which its share"),
    ({"SCHEDULER": {"lossy": {"type": "WRR", "weight": "14"}}}, "SCHEDULER|lossy with type 'WRR', weight '14'"),
    ({"SCHEDULER": {"lossy": {"type": "DWRR", "weight": "0"}}}, "SCHEDULER|lossy with type 'DWRR', weight '0'"),
])
def test_a_queue_whose_share_does_not_follow_is_refused(change, said):
    with pytest.raises(QualificationError) as raised:
        read_schedulers({**TABLES, **change}, QOS)
    assert said in str(raised.value), "the sentence names the table's row and what it has"


def test_headroom_is_that_of_the_priority_s_group():
    found = read_headroom(GROUPS, TABLES, QOS, "Ethernet0")
    assert found == {group: Headroom(group, "pg_lossless", 165568, 5) for group in (3, 4)}, "a range of groups"


@pytest.mark.parametrize(("pool", "size", "room"), [
    ("ingress", "12766208", GroupRoom(1248, -2, 12766208)),
    ("[BUFFER_POOL_TABLE:ingress]", "12766208", GroupRoom(1248, -2, 12766208)),
    ("ingress", "", None),
    ("", "12766208", None),
])
def test_what_a_group_takes_before_xoff_follows_from_its_profile(pool, size, room):
    """Older images write `[TABLE:name]`; a pool without a size in CONFIG_DB leaves it open."""
    profile = {"xoff": "165568", "size": "1248", "dynamic_th": "-2", "pool": pool}
    printed = f"BUFFER_PG_TABLE:Ethernet0:3-4 pg_lossless {profile}"
    found = read_headroom(printed, {**TABLES, "BUFFER_POOL": {"ingress": {"size": size}}}, QOS, "Ethernet0")
    assert [one.room for one in found.values()] == [room, room], f"got {found}"


@pytest.mark.parametrize(("printed", "change", "said"), [
    ("", {}, "Ethernet0 priority 3: APPL_DB has no BUFFER_PG_TABLE row for priority group 3: deploy it first"),
    ("BUFFER_PG_TABLE:Ethernet0:3-4 lossy {}\n", {}, "BUFFER_PG_TABLE:Ethernet0:3-4 of APPL_DB has profile lossy: "),
    (GROUPS, {"CABLE_LENGTH": {}}, "Ethernet0: CONFIG_DB has CABLE_LENGTH 'none' for it: expected metres, as in 5m"),
    (GROUPS, {"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3", "4": "3"}}}, "priority 4: TC_TO_PRIORITY_GROUP"),
])
def test_headroom_that_cannot_be_told_is_refused(printed, change, said):
    with pytest.raises(QualificationError) as raised:
        read_headroom(printed, {**TABLES, **change}, QOS, "Ethernet0")
    assert said in str(raised.value), "the sentence names the row and what it has"


def test_the_delay_that_headroom_covers():
    """36 frames of at most 4479 bytes fit into 165,568; 34 of 4116 bytes on the line come in 139,944 byte times. Beside
    the quanta these hold 1538 of another frame, 84 for each pause, twice 5 m (625) and 394 quanta (25,216)."""
    headroom = Headroom(3, "pg_lossless", 165568, 5)
    one, two = (139944 - 1538 - 84 - 625 - 25216) // 64, (2 * 139944 - 1538 - 168 - 625 - 25216) // 64
    assert delays(headroom, 100_000, 1) == Delays(one, -(-42 * 4116 // 64)), "40 frames of 4096 bytes and two more"
    assert delays(headroom, 100_000, 2) == Delays(two, -(-84 * 4116 // 64)), "each gets every other frame"
    assert delays(Headroom(3, "small", 9000, 300), 100_000, 1).covered == 0, "none at all is covered"
    small = delays(headroom, 100_000, 2, beyond_bytes=64).beyond
    assert small == -(-2 * 2589 * 84 // 64), "2587 frames of 64 bytes and two more, each with 20 bytes beside it"
    large = Headroom(3, "large", 10**7, 5)
    with pytest.raises(QualificationError, match="is more than a sender fills in 65535 quanta"):
        check_reachable(large, delays(large, 100_000, 1).beyond)
    check_reachable(headroom, small)


def test_a_sender_that_loads_less_of_its_line_has_to_go_on_longer():
    """At 50 % half as much comes in a quantum. 395 frames of 4096 bytes fit into 1,621,536, and at 99 % the 397 of a
    full line would be 393: too few to be too much."""
    headroom, large = Headroom(3, "pg_lossless", 165568, 5), Headroom(3, "large", 1621536, 5)
    assert delays(headroom, 100_000, 1, 50).beyond == -(-42 * 4116 // 32), "twice as long"
    came = delays(large, 800_000, 1, 99).beyond * 64 * 99 // 100 // 4116
    assert came * 4096 > large.xoff_bytes, f"{came} frames"
    assert least_used(1757, 1, 50) == 12 * 4096, "13 frames come in 1757 quanta, one of them perhaps in part"


def test_what_a_delay_uses_at_least():
    assert least_used(1757, 1) == 26 * 4096, "27 frames of 4116 bytes come in 1757 quanta, one of them perhaps in part"
    assert least_used(10, 2) == 0, "less than a frame"


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
