"""SENT: how much a priority group must have left when its port tells senders to go on."""

import pytest

from tests.common.pfc.cases.group_profiles import GroupProfile, read_profile
from tests.common.pfc.cases.resume_level import Resumption
from tests.common.pfc.model.checking import Place
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.verdict import LOSSLESS, Status

WHERE = "vtb-t0-01 Ethernet64 priority 3"
PRINTED = """BUFFER_PG_TABLE:Ethernet64:0 ingress_lossy_profile {'size': '0', 'dynamic_th': '3', 'pool': 'ingress'}
BUFFER_PG_TABLE:Ethernet64:1 none {'xoff': '0'}
BUFFER_PG_TABLE:Ethernet64:2
BUFFER_PG_TABLE:Ethernet64:3-4 small {'xoff': '30720', 'dynamic_th': '-1', 'xon': '0', 'xon_offset': '2288'}
"""


def resumption(held, gone, **fields):
    """1024-byte frames, a headroom of 30720 bytes, and these fields of the profile."""
    return Resumption(GroupProfile("small", {"xoff": "30720", **fields}), 1024, held, gone)


@pytest.mark.parametrize("fields, due", [
    ({"xon": "0", "xon_offset": "2288"}, 1000 - 33 - 2),
    ({"xon": "2288", "xon_offset": "2288"}, 1000 - 33 - 2),
    ({"xon": "20480"}, 14 - 2),
    ({"xon": "20480", "xon_offset": "0"}, 14 - 2),
    ({"xon": "20480", "xon_offset": "1000000"}, 14 - 2),
    ({"xon": "0"}, 0),
    ({}, 0),
])
def test_the_higher_level_counts(fields, due):
    """`xon_offset` counts from the threshold, which is what was held without headroom."""
    found = resumption(1000, 0, **fields)
    assert found.due == due, found


@pytest.mark.parametrize("gone, status", [
    (0, Status.PASS), (4, Status.PASS), (35, Status.PASS), (36, Status.FAIL), (1000, Status.FAIL), (2000, Status.FAIL),
])
def test_too_few_are_left(gone, status):
    """Two frames may be on the line."""
    check = resumption(1000, gone, xon_offset="2288").soon_enough(Place(WHERE, LOSSLESS))
    assert check.status is status, check
    assert f"got {max(0, 1000 - gone)}" in check.message or status is Status.PASS, check


@pytest.mark.parametrize("fields, most", [
    ({"dynamic_th": "-2", "xon_offset": "141100"}, 1000 - 78 + 2),
    ({"dynamic_th": "0", "xon_offset": "141100"}, 1000 - 48 + 2),
    ({"xon_offset": "141100"}, 1000 - 97 + 2),
    ({"dynamic_th": "0", "xon_offset": "2288"}, 1000 + 2),
    ({"xon": "20480"}, 20 + 2),
    ({"size": "1248", "xon": "20480", "xon_offset": "0"}, 22 + 2),
    ({"dynamic_th": "-2", "xon": "1024000", "xon_offset": "141100"}, 1000 + 2),
])
def test_how_many_may_be_left(fields, most):
    """The threshold rises while the group drains, and a frame may take a cell more than its bytes."""
    found = resumption(1000, 0, **fields)
    assert found.most == most, found


@pytest.mark.parametrize("gone, status", [(0, Status.FAIL), (75, Status.FAIL), (76, Status.PASS), (1000, Status.PASS)])
def test_too_many_are_left(gone, status):
    """78 have to be gone, of which two may be on the line."""
    check = resumption(1000, gone, dynamic_th="-2", xon_offset="141100").late_enough(Place(WHERE, LOSSLESS))
    assert check.status is status, check


def test_what_appl_db_says():
    """Of the group's own row."""
    found = read_profile(PRINTED, WHERE, 4)
    assert (found.name, found.xoff_bytes, found.number("xon_offset")) == ("small", 30_720, 2288), found
    assert (found.number("xon"), found.number("dynamic_th"), found.number("pool")) == (0, 0, 0), "no numbers are 0"


@pytest.mark.parametrize("group, said", [
    (0, "BUFFER_PG_TABLE:Ethernet64:0 of APPL_DB has profile ingress_lossy_profile: expected one with an xoff"),
    (1, "has profile none 0: expected one with an xoff"),
    (2, "has profile none: expected one with an xoff"),
    (5, "APPL_DB has no BUFFER_PG_TABLE row for priority group 5: deploy it first"),
])
def test_a_group_without_headroom_is_refused(group, said):
    """By name."""
    with pytest.raises(QualificationError, match=said):
        read_profile(PRINTED, WHERE, group)
