"""What a testbed's entry says that its measurements have to allow for."""

import dataclasses

import pytest

from tests.common.pfc.conditions.option import KEY
from tests.common.pfc.lab import option
from tests.common.pfc.lab.option import tolerances_of
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.tolerances import EXACT, HARDWARE

WHERE = f"testbed rack-1: {KEY}"


def test_what_an_entry_says_is_taken():
    """For the rest the general values hold."""
    said = {"line_percent": 97.5, "pfc_queues": 4, "reason": "a busy control plane, and a card with four queues"}
    found = tolerances_of({"conf-name": "rack-1", "pfc_conditions": said})
    assert found == dataclasses.replace(HARDWARE, **said), found


@pytest.mark.parametrize("said, sentence", [
    ([98], f"{WHERE} is [98], it takes a dictionary with line_percent, load_tolerance_percent, "),
    ({"load": 98, "reason": "x"}, f"{WHERE} is {{'load': 98, 'reason': 'x'}}, it takes a dictionary with "),
    ({"line_percent": 98}, f"{WHERE} has no reason: every record carries it"),
    ({"line_percent": 101, "reason": "x"}, f"{WHERE} has line_percent 101, it takes a number from 10 to 100"),
    ({"line_percent": "98", "reason": "x"}, f"{WHERE} has line_percent '98', it takes a number from 10 to 100"),
    ({"storm_limit_s": 5, "reason": "x"}, f"{WHERE} has storm_limit_s 5, it takes a number from 30 to 3600"),
    ({"count_tolerance_percent": True, "reason": "x"}, f"{WHERE} has count_tolerance_percent True, it takes a number"),
    ({"whole_seconds": 1, "reason": "x"}, f"{WHERE} has whole_seconds 1, it takes true or false"),
    ({"trust_generator": "yes", "reason": "x"}, f"{WHERE} has trust_generator 'yes', it takes true or false"),
    ({"starts_beside": "no", "reason": "x"}, f"{WHERE} has starts_beside 'no', it takes true or false"),
    ({"pfc_queues": 6, "reason": "x"}, f"{WHERE} has pfc_queues 6, it takes 8 or 4"),
])
def test_what_an_entry_cannot_say_is_refused(said, sentence):
    """In one sentence that names the testbed, what was found and what would be right."""
    with pytest.raises(QualificationError) as error:
        tolerances_of({"conf-name": "rack-1", "pfc_conditions": said})
    assert str(error.value).startswith(sentence), str(error.value)


@pytest.mark.parametrize("entry, expected", [
    ({"clock": "http://127.0.0.1:1/clock"}, EXACT),
    ({"clock": "http://127.0.0.1:1/clock", "clock_exact": False}, HARDWARE),
    ({"realtime_clock": "http://127.0.0.1:1/clock"}, HARDWARE),
    ({}, HARDWARE),
])
def test_only_generators_that_share_an_exact_clock_are_measured_exactly(entry, expected):
    """One may take its time whatever the clock."""
    assert tolerances_of({"conf-name": "rack-1", **entry}) == expected, entry


def test_the_entry_may_have_them():
    """They change what a verdict means."""
    assert KEY in option.testbed_keys(), option.testbed_keys()
