"""Headroom of a priority's group, and the delay that it covers."""

import pytest

from tests.common.pfc.cases.group_headroom import Delays, Headroom, delays, read_headroom
from tests.common.pfc.cases.group_room import GroupRoom
from tests.common.pfc.cases.headroom import check_reachable, least_used
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.unit_test_scheduler_shares import QOS, TABLES

GROUPS = """BUFFER_PG_TABLE:Ethernet0:0 ingress_lossy_profile {}
BUFFER_PG_TABLE:Ethernet0:3-4 pg_lossless {'xoff': '165568'}
"""


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
    """36 frames of at most 4515 bytes fit into 165,568; 34 of 4116 bytes on the line come in 139,944 byte times. Beside
    the quanta these hold 1538 of another frame, 84 for each pause, twice 5 m (625) and 394 quanta (25,216)."""
    headroom = Headroom(3, "pg_lossless", 165568, 5)
    one, two = (139944 - 1538 - 84 - 625 - 25216) // 64, (2 * 139944 - 1538 - 168 - 625 - 25216) // 64
    assert delays(headroom, 100_000, 1) == Delays(one, -(-42 * 4116 // 64)), "40 frames of 4096 bytes and two more"
    assert delays(headroom, 100_000, 2) == Delays(two, -(-84 * 4116 // 64)), "each gets every other frame"
    assert delays(Headroom(3, "small", 9000, 300), 100_000, 1).covered == 0, "none at all is covered"
    seven = 112 * 1044 * 7 - 1538 - 7 * 84 - 625 - 25216
    assert delays(headroom, 100_000, 7, frame_bytes=1024).covered == seven // 64, "114 of at most 1443 bytes fit"
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
