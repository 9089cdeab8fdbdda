"""What is sent in each case of the plan, and what each is about."""

import dataclasses
from fractions import Fraction

import pytest

from tests.common.pfc.cases import pauses, plan as cases
from tests.common.pfc.cases.pauses import SEVERAL_LOSSLESS, global_pause, pause_lossless, pause_lossy
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.unit_tests.pfc.unit_test_planning import plan, sentence_of


def test_the_scenario_of_case_one():
    """Everything that some DSCP reaches is background, the other lossless priority included; 50 + 50 % is not
    exceeded."""
    scenario = pause_lossless((3,), plan().subject.qos)
    assert scenario.background == (0, 1, 2, 4, 5, 6), scenario.background
    total = Fraction(scenario.share(3)) + 6 * Fraction(scenario.share(0))
    assert 99.99 < total <= 100, f"{float(total)} % of the line rate"


def test_scenarios_that_make_no_sense_are_refused():
    """Also when the code that makes them is wrong."""
    qos = plan().subject.qos
    for part, make in {
        "it is not lossless": lambda: pause_lossless((1,), qos),
        "needs tested and background priorities": lambda: Scenario(Storm.LOSSLESS, (3,), ()),
        "priorities [3] are both tested and background": lambda: Scenario(Storm.LOSSY, (3,), (3, 4)),
        "more than one port carries": lambda: Scenario(Storm.LOSSLESS, (3,), (4,), test_percent=60),
    }.items():
        with pytest.raises(QualificationError) as error:
            make()
        assert part in str(error.value), f"expected {part!r} in {error.value}"


def test_what_each_case_is_about():
    """Every lossless priority alone, all together, all lossy ones together, the whole port."""
    subject, qos = plan().subject, plan().subject.qos
    own = {case.plan_id: cases.targets(case, subject) for case in pauses.CASES}
    assert own == {"PFC-1": [(3,), (4,)], "PFC-2": [(3, 4)], "PFC-3": [(0, 1, 2, 5, 6)], "PFC-4": [()]}, own
    more = dataclasses.replace(qos, lossless=(2, 3, 4))
    assert pause_lossless((2, 4), more).background == (0, 1, 3, 5, 6), "3 is lossless, and not paused"
    single = dataclasses.replace(subject, qos=dataclasses.replace(qos, lossless=(3,)))
    assert cases.targets(SEVERAL_LOSSLESS, single) == [], "one lossless priority is not several"


def test_the_other_scenarios():
    """Which priorities, and how the load is divided: exactly 100 % in the last, 1/64 for each DSCP value."""
    qos = plan().subject.qos
    several = pause_lossless((3, 4), qos)
    assert (several.tested, several.background, several.paused) == ((3, 4), (0, 1, 2, 5, 6), (3, 4)), several
    assert several.share(3) == 25.0, several.share(3)
    lossy = pause_lossy((0, 1), qos)
    assert (lossy.tested, lossy.background, lossy.holds) == ((0, 1), (2, 3, 4, 5, 6), False), lossy
    pause = global_pause((), qos)
    assert (pause.tested, pause.background, pause.paused) == ((0, 1, 2, 3, 4, 5, 6), (), ()), pause
    shares = {priority: Fraction(pause.share(priority)) for priority in pause.tested}
    assert sum(shares.values()) == 100 and shares[0] == Fraction(100, 64), shares


def test_targets_that_a_case_cannot_have_are_refused():
    """Each sentence names port and priority."""
    qos = plan().subject.qos
    for part, (make_scenario, target, where) in {
        "vtb-t0-01 Ethernet0 priority 1: it is not lossless": (pause_lossless, (1, 3), qos),
        "vtb-t0-01 Ethernet0 priority 3: it is lossless, PORT_QOS_MAP|Ethernet0": (pause_lossy, (3,), qos),
        "vtb-t0-01 Ethernet0 priority 7: no DSCP value reaches it": (pause_lossy, (7,), qos),
        "DSCP_TO_TC_MAP|AZURE leads to lossless priorities only": (pause_lossy, (), qos),
        "needs tested and background": (pause_lossy, (1,), dataclasses.replace(qos, dscps={1: (0,)})),
    }.items():
        sentence = sentence_of(make_scenario, target, where)
        assert part in sentence, f"expected {part!r} in {sentence!r}"
