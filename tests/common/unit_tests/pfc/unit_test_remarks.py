"""What is remarkable in the configuration of a port."""

import pytest

from tests.common.pfc.lab.option import options
from tests.common.pfc.remarks.option import OPTION
from tests.common.unit_tests.pfc.fakes import FakeWorld
from tests.common.unit_tests.pfc.unit_test_planning import plan, refusal


def test_remarks_about_a_port():
    """What carries no data, and where two tables disagree; the port is measured all the same."""
    healthy = plan().remarks
    assert healthy == (
        "vtb-t0-01 Ethernet0 priority 7: no DSCP value leads there (DSCP_TO_TC_MAP|AZURE), so no data is sent there",
    ), healthy
    world = FakeWorld()
    world.config_db["QUEUE"] = {"Ethernet0,Ethernet4|3-5": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}}
    world.config_db["DSCP_TO_TC_MAP"]["AZURE"]["8"] = "1"
    assert plan(world).remarks == (
        "vtb-t0-01 Ethernet0 priorities 0, 7: no DSCP value leads there (DSCP_TO_TC_MAP|AZURE), so no data is sent"
        " there",
        "vtb-t0-01 Ethernet0: QUEUE gives a lossless WRED profile to queues [3, 4, 5], and PORT_QOS_MAP enables PFC for"
        " queues [3, 4]: they disagree about what is lossless; PORT_QOS_MAP is taken",
    ), plan(world).remarks
    del world.config_db["QUEUE"]
    assert len(plan(world).remarks) == 1, plan(world).remarks


@pytest.mark.parametrize(("listed", "said"), [
    ("3", "[4]: its row of PORT_QOS_MAP has pfcwd_sw_enable '3'"),
    (None, "[3, 4]: its row of PORT_QOS_MAP has no pfcwd_sw_enable"),
])
def test_lossless_priorities_that_no_watchdog_watches_are_remarked(listed, said):
    """Whoever started it would take them for watched."""
    world = FakeWorld()
    row = world.config_db["PORT_QOS_MAP"]["Ethernet0"]
    row.update(pfcwd_sw_enable=listed) if listed else row.pop("pfcwd_sw_enable")
    expected = f"vtb-t0-01 Ethernet0 has lossless priorities that the watchdog does not watch when it runs, {said}"
    assert expected in plan(world).remarks, plan(world).remarks


def test_a_port_that_is_told_to_do_something_else_is_refused():
    """It is the port under test that has to obey pauses of its lossless priorities only; nothing was changed yet."""
    world = FakeWorld()
    world.config_db["PORT"]["Ethernet64"]["pfc_asym"] = "on"
    assert plan(world).subject.pair.tx.port == "Ethernet64", "no pause comes in there"
    world.config_db["PORT"]["Ethernet0"]["pfc_asym"] = "on"
    assert "PORT|Ethernet0 pfc_asym is on in CONFIG_DB" in refusal(world), refusal(world)
    world = FakeWorld()
    world.config_db["PFC_WD"] = {"GLOBAL": {"BIG_RED_SWITCH": "enable"}}
    assert "BIG_RED_SWITCH is enable in CONFIG_DB" in refusal(world), refusal(world)


def test_the_option_is_found():
    """By its folder."""
    assert OPTION in options(), options()
