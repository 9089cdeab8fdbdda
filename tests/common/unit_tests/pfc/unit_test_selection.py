"""What the user selects: test cases by name, and sets of priorities to be paused together."""

import dataclasses

import pytest

from tests.common.pfc.cases.pauses import CASES, GLOBAL_PAUSE, LOSSY, SEVERAL_LOSSLESS, SINGLE_LOSSLESS
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.selection.cases_named import select
from tests.common.pfc.selection.sets import check_sets, parse_set, sets_of
from tests.common.unit_tests.pfc.unit_test_planning import plan, sentence_of


def test_a_set_is_for_the_case_that_pauses_it():
    """Lossless ones are for PFC-2, lossy ones for PFC-3."""
    qos = plan().subject.qos
    asked = {case.plan_id: sets_of(case, [(0, 1), (6,)], qos) for case in CASES}
    assert asked == {"PFC-1": [], "PFC-2": [], "PFC-3": [(0, 1), (6,)], "PFC-4": []}, asked
    more = dataclasses.replace(qos, lossless=(2, 3, 4))
    subsets = sets_of(SEVERAL_LOSSLESS, [(2, 4), (3, 4), (0,)], more)
    assert subsets == [(2, 4), (3, 4)], subsets
    for wrong, part in {
        (3,): "vtb-t0-01 Ethernet0: priority 3: one lossless priority alone; a set to be paused at once has several",
        (1, 3): "vtb-t0-01 Ethernet0: priorities 1, 3: lossless and lossy priorities together; a set",
    }.items():
        sentence = sentence_of(sets_of, SEVERAL_LOSSLESS, [wrong], qos)
        assert sentence.startswith(part), sentence


def test_sets_that_no_selected_case_pauses_are_refused():
    """Nothing that the user asks for is left out silently."""
    qos = plan().subject.qos
    check_sets([(3, 4), (0, 6)], port_cases(), qos)
    for wrong, expected in {
        (3, 4): "vtb-t0-01 Ethernet0: pausing priorities 3, 4 together is PFC-2 (pause-lossless-several), which is not"
        " among the selected test cases (PFC-1, PFC-3)",
        (0, 7): "vtb-t0-01 Ethernet0 priority 7: no DSCP value reaches it, DSCP_TO_TC_MAP|AZURE leads to"
        " [0, 1, 2, 3, 4, 5, 6] only",
    }.items():
        sentence = sentence_of(check_sets, [wrong], (SINGLE_LOSSLESS, LOSSY), qos)
        assert sentence == expected, sentence


@pytest.mark.parametrize("text", ["", "3,", "3,8", "3-4", "three"])
def test_sets_that_are_none_are_refused(text):
    """In one sentence."""
    expected = f"'{text}' is no set of priorities: expected numbers from 0 to 7, as in 3,4"
    assert sentence_of(parse_set, text) == expected, sentence_of(parse_set, text)


def test_cases_are_selected_by_id_and_by_name():
    """In the plan's order, whatever the user's; a name that no case has is refused with those that there are."""
    assert select([]) == select([""]) == port_cases(), "no name is the whole plan"
    assert select(["global-pause", "pfc-1", "PFC-1"]) == (SINGLE_LOSSLESS, GLOBAL_PAUSE), "expected two cases"
    assert select(["pfc"]) == tuple(CASES), "a family is all of its cases"
    sentence = sentence_of(select, ["PFC-9"])
    assert sentence.startswith("scenario 'PFC-9' is not in the plan; it has PFC-1 to PFC-4"), sentence
