"""Cases that make the watchdog watch what they make lossless."""

from dataclasses import replace

from tests.common.pfc.cases.plan import lack_of
from tests.common.pfc.cases.reconfigured import SEVEN_WATCHED
from tests.common.pfc.cases.watchdog import actions
from tests.common.pfc.cases.watchdog.watched import HAS_FIELD, SEVERAL
from tests.common.unit_tests.pfc.fakes import FakeWorld
from tests.common.unit_tests.pfc.unit_test_planning import plan


def test_cases_of_the_watchdog_need_the_field():
    """A note says what is lacking; a set that is made lossless is watched where the field is there, whatever it has."""
    world = FakeWorld()
    row = world.config_db["PORT_QOS_MAP"]["Ethernet0"]
    subject = replace(plan(world).subject, changeable=True)
    assert {lack_of(case, subject) for case in (actions.DROP_SEVERAL, SEVEN_WATCHED)} == {None}, subject.qos
    row["pfcwd_sw_enable"] = ""
    subject = replace(plan(world).subject, changeable=True)
    assert (lack_of(actions.DROP_SEVERAL, subject), lack_of(SEVEN_WATCHED, subject)) == (SEVERAL, None), subject.qos
    del row["pfcwd_sw_enable"]
    subject = replace(plan(world).subject, changeable=True)
    found = (lack_of(actions.DROP_SEVERAL, subject), lack_of(SEVEN_WATCHED, subject))
    assert found == (SEVERAL, HAS_FIELD), found
