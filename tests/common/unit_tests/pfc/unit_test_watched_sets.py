"""Cases that make the watchdog watch what they make lossless."""

from dataclasses import replace

from tests.common.pfc.cases import reconfigured
from tests.common.pfc.cases.watchdog import actions
from tests.common.pfc.cases.watchdog.watched import HAS_FIELD, SEVERAL
from tests.common.unit_tests.pfc.fakes import FakeWorld
from tests.common.unit_tests.pfc.unit_test_planning import plan


def lacks(world):
    """What the port lacks for a storm of several watched priorities, and for a set of seven that is watched."""
    subject = replace(plan(world).subject, changeable=True)
    several = actions.CASES[actions.DROP_SEVERAL].targets
    seven = reconfigured.CASES[reconfigured.SEVEN_WATCHED].targets
    return several.lack(subject), seven.lack(subject)


def test_cases_of_the_watchdog_need_the_field():
    """A note says what is lacking; a set that is made lossless is watched where the field is there, whatever it has."""
    world = FakeWorld()
    row = world.config_db["PORT_QOS_MAP"]["Ethernet0"]
    assert lacks(world) == (None, None), row
    row["pfcwd_sw_enable"] = ""
    assert lacks(world) == (SEVERAL, None), row
    del row["pfcwd_sw_enable"]
    assert lacks(world) == (SEVERAL, HAS_FIELD), row
