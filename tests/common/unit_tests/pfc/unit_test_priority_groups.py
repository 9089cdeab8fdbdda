"""Priority groups whose profiles in APPL_DB have to follow a change of CONFIG_DB: which, and when they have."""

import pytest

from tests.common.pfc.lab.configuration import NAME, as_found, lossless_set
from tests.common.pfc.lab.priority_groups import OwedGroup, owed_groups, wait_for_groups
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import Clock
from tests.common.unit_tests.pfc.unit_test_configuration import tables

LOSSY, LOSSLESS = "ingress_lossy_profile", "pg_lossless_100000_5m_profile"
DERIVED = OwedGroup("Ethernet0", 3, frozenset(), frozenset({NAME, LOSSY}))
NAMED = OwedGroup("Ethernet0", 3, frozenset({LOSSLESS}), frozenset({NAME}))


class Asked:
    """A switch whose APPL_DB has some priority groups."""

    name = "dut"

    def __init__(self, *rows):
        """`rows`: `Ethernet0:3-4 small`."""
        self.printed = "\n".join(f"BUFFER_PG_TABLE:{row}" for row in rows)

    def ask(self, commands):
        """What the one command prints."""
        return dict.fromkeys(commands, self.printed)


def owed(found, changed):
    """What a change asks of each group of Ethernet0: its profiles, none: derived."""
    groups = owed_groups(found, as_found(found, changed), changed, NAME)
    return {group.number: set(group.profiles) for group in groups if group.port == "Ethernet0"}


def set_of(found, *priorities):
    """The rows with which these are lossless."""
    return lossless_set(found, "dut", ("Ethernet0", "Ethernet4"), priorities)


def groups(lossless):
    """BUFFER_PG of both ports, with this profile for lossless priorities."""
    return {f"{port}|{key}": {"profile": profile} for port in ("Ethernet0", "Ethernet4")
            for key, profile in (("0", LOSSY), ("3-4", lossless))}


def test_each_group_of_a_changed_set_is_owed():
    """With the profile that its row has, or a derived one; a lossy group without a row is not."""
    assert owed(tables(), set_of(tables(), 0, 1)) == {0: set(), 1: set(), 2: {LOSSY}}, "the switch derives them"
    named = tables(BUFFER_PG=groups(LOSSLESS))
    assert owed(named, set_of(named, 0, 3)) == {0: {LOSSLESS}, 1: {LOSSY}, 3: {LOSSLESS}, 4: {LOSSY}}, "it has rows"
    null = tables(BUFFER_PG=groups("NULL"))
    assert owed(null, set_of(null, 0, 3)) == {0: set(), 1: {LOSSY}, 3: set(), 4: {LOSSY}}, "NULL: derived"


def test_what_a_derived_group_had_while_it_was_lossy_is_stale():
    found = tables()
    changed = set_of(found, 0, 3)
    stale = {group.number: group.stale for group in owed_groups(found, as_found(found, changed), changed, NAME)}
    assert stale[0] == {LOSSY, NAME} and stale[3] == {NAME}, stale


def test_rows_of_several_profiles_for_one_group_are_as_good_as_one():
    """buffermgrd adds a row to CONFIG_DB itself where it derives a profile, and leaves it there."""
    left = {**groups(LOSSLESS), "Ethernet0|0-6": {"profile": LOSSLESS}}
    found = owed(tables(BUFFER_PG=left), {"BUFFER_PG": {"Ethernet0|0": {"profile": LOSSY}}})
    assert found == {0: {LOSSY, LOSSLESS}}, found


@pytest.mark.parametrize("changed", [
    {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "dot1p_to_tc_map": "AZURE"}}},
    {"SCHEDULER": {NAME: {"weight": "18"}}, "QUEUE": {"Ethernet0|1": {"scheduler": NAME}}},
    {"BUFFER_PG": {"Ethernet0|6": None}},
])
def test_nothing_is_owed_where_no_group_changes(changed):
    """Other maps, other queues; a row of a lossy group that goes."""
    assert owed(tables(), changed) == {}, owed(tables(), changed)


@pytest.mark.parametrize(("group", "rows"), [
    (DERIVED, ("Ethernet0:3 pg_lossless",)),
    (DERIVED, ("Ethernet0:0 ingress_lossy_profile", "Ethernet0:2-4 [BUFFER_PROFILE_TABLE:pg_lossless]")),
    (NAMED, (f"Ethernet4,Ethernet0:3 {LOSSLESS}",)),
    (NAMED, (f"Ethernet0:0-6 {LOSSY}", f"Ethernet0:3-4 [BUFFER_PROFILE_TABLE:{LOSSLESS}]")),
])
def test_a_group_that_has_what_it_has_to_have_is_not_waited_for(group, rows):
    """By any of its rows."""
    clock = Clock()
    wait_for_groups(Asked(*rows), [group], clock)
    assert clock.time == 0, "it was there"


@pytest.mark.parametrize(("group", "rows", "said"), [
    (DERIVED, (), "a profile that is derived in APPL_DB (BUFFER_PG_TABLE) 20 s after CONFIG_DB was changed, got none"),
    (DERIVED, ("Ethernet0:4 pg_lossless", "Ethernet4:3 pg_lossless", "Ethernet0:3"), ", got none"),
    (DERIVED, (f"Ethernet0:3 {LOSSY}",), ", got ingress_lossy_profile"),
    (DERIVED, (f"Ethernet0:3 {NAME}",), ", got PFC_QUALIFICATION"),
    (NAMED, (f"Ethernet0:3-4 {LOSSY}",), "profile pg_lossless_100000_5m_profile in APPL_DB"),
])
def test_a_group_that_does_not_follow_is_told(group, rows, said):
    """By its port and number."""
    clock = Clock()
    with pytest.raises(QualificationError) as error:
        wait_for_groups(Asked(*rows), [group], clock)
    assert str(error.value).startswith("dut Ethernet0 priority group 3: expected "), str(error.value)
    assert said in str(error.value), str(error.value)
    assert clock.time == 20, clock.time
