"""The covering array of PAIRS, and what its rows send."""

import dataclasses
from itertools import combinations, product

import pytest

from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.pairs import cases
from tests.common.pfc.pairs.array import (
    ALL_EIGHT, LARGEST, OWN_OF_EIGHT_TIMES, WITH_LOSSY, PairsRow, covering, holds, least_quanta, levels_on, only_in,
    pause_frame, rows_on,
)
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeWorld
from tests.common.unit_tests.pfc.unit_test_frames import lab_of


@pytest.fixture(name="subject")
def fixture_subject():
    """Ethernet0 of the fake switch, 100 Gb/s."""
    return lab_of(FakeWorld())[0].subject


BOTH = (4, 6)


@pytest.fixture(name="measured")
def fixture_measured(monkeypatch):
    """A lab whose switch says what its ports carry."""
    lab = lab_of(FakeWorld())[0]
    monkeypatch.setattr(cases.frames, "largest", lambda lab: ((9122, 1),))
    return lab


@pytest.mark.parametrize("ip_versions", [(4,), BOTH])
def test_every_two_levels_come_together_but_for_those_that_need_not_hold(subject, ip_versions):
    """All pairs of levels that can be judged are in some row, and no other ones."""
    levels, rows = levels_on(subject, ip_versions), rows_on(subject, ip_versions)
    for one, other in combinations(levels, 2):
        found = {(getattr(row, one), getattr(row, other)) for row in rows}
        wanted = {(first, second) for first in levels[one] for second in levels[other]}
        if {one, other} == {"quanta", "refreshes"}:
            wanted -= {(1024, "1.1")}
        assert found == wanted, (one, other, found ^ wanted)
    assert len(rows) <= 26, "more rows cost more time"


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2, 2), (4, 4, 4, 3, 3, 3, 2), (7, 1, 5, 1, 2), (5, 3, 3)])
def test_every_array_covers_all_pairs_that_are_possible(sizes):
    """The two largest parameters need as many rows as they have pairs; a third more is enough for all."""
    levels = {str(place): tuple(range(size)) for place, size in enumerate(sizes)}

    def possible(part):
        return not ("0" in part and "1" in part and part["0"] == part["1"] == 1)

    rows = covering(levels, possible)
    assert all(possible(row) for row in rows), rows
    for one, other in combinations(levels, 2):
        found = {(row[one], row[other]) for row in rows}
        both = {pair for pair in product(levels[one], levels[other]) if possible(dict(zip((one, other), pair)))}
        assert found == both, (one, other)
    first, second = sorted(sizes)[-2:]
    assert len(rows) <= first * second * 4 / 3, len(rows)


def test_the_rows_are_the_same_each_time(subject):
    """The array is made without chance."""
    assert rows_on(subject, BOTH) == rows_on(subject, BOTH), "two arrays of the same levels differ"


@pytest.mark.parametrize(("speed_mbps", "least"), [(10_000, 256), (40_000, 256), (50_000, 512), (100_000, 1024),
                                                   (400_000, 2048)])
def test_the_least_quanta_hold_although_the_response_varies(speed_mbps, least):
    """Half of the time is longer than the response time of that speed, that of half as many quanta is not."""
    assert least_quanta(speed_mbps) == least, least_quanta(speed_mbps)
    assert holds(least, "2", speed_mbps), f"{least} quanta do not hold"
    assert not holds(least, "1.1", speed_mbps), f"{least} quanta hold"


def test_what_the_frames_of_a_row_say(subject):
    """Enable bits and times by the level of `enabled`."""
    row = PairsRow(1, (3,), "smallest", 9, "its own", "2", 10, "the host's", 4)
    said = {
        level: pause_frame(dataclasses.replace(row, enabled=level), subject, "02:00:00:00:00:01")
        for level in (OWN_OF_EIGHT_TIMES, WITH_LOSSY, ALL_EIGHT)
    }
    assert said[OWN_OF_EIGHT_TIMES].enabled == (3,) and said[OWN_OF_EIGHT_TIMES].quanta == (9,) * 8, said
    assert said[WITH_LOSSY].enabled == (0, 3) and said[WITH_LOSSY].quanta == (9, 0, 0, 9, 0, 0, 0, 0), said
    assert said[ALL_EIGHT].enabled == tuple(range(8)), said
    assert said[ALL_EIGHT].quanta == (9, 9, 9, 9, 0, 9, 9, 9), "the other lossless priority is resumed"


def test_what_failing_rows_have_in_common(subject):
    """A level that all of them have, and no other row."""
    rows = rows_on(subject, BOTH)
    failing = [row for row in rows if row.quanta == 0x8000]
    assert only_in(failing, [row for row in rows if row not in failing]) == ["quanta 0x8000"], failing
    assert only_in(rows, []) == [], "all rows fail: nothing is said"


def test_a_row_that_is_refused_is_an_error_of_both_metrics_and_the_others_are_measured(measured, monkeypatch):
    """A generator may not send frames of some size: the sentence says so, and no verdict is PASS."""
    whole = cases.measure
    rows = [row for row in rows_on(measured.subject, (4,)) if row.enabled != ALL_EIGHT]  # the fake switch resumes none
    monkeypatch.setattr(cases, "rows_on", lambda *found: rows)

    def refusing(lab, scenario, before):
        if scenario.frame_bytes == 64:
            raise QualificationError("64 bytes: refused")
        return whole(lab, scenario, before)

    monkeypatch.setattr(cases, "measure", refusing)
    outcome = Qualifier(measured).qualify(cases.SINGLE, (3,))
    assert {one.status for one in outcome.verdicts} == {Status.ERROR}, [one.messages for one in outcome.verdicts]
    assert all("64 bytes: refused" in " ".join(one.messages) for one in outcome.verdicts), outcome
    measured_rows = [name for name, numbers in outcome.evidence.items() if name[:4] == "row " and "flows" in numbers]
    assert measured_rows, "no row was measured"


@pytest.mark.parametrize("now", [0, 3, 6])
def test_each_row_waits_for_counters_that_come_late(subject, monkeypatch, now):
    """Also where none comes while a storm runs: no row fails, nor begins with what the one before it counted late."""
    rows = [row for row in rows_on(subject, (4,)) if row.enabled != ALL_EIGHT and row.size != LARGEST][:4]
    monkeypatch.setattr(cases, "rows_on", lambda *found: rows)
    outcome = Qualifier(lab_of(FakeWorld(port_poll_s=9.0, now=float(now)))[0]).qualify(cases.SINGLE, (3,))
    failed = [text for one in outcome.verdicts for text in one.messages if one.status is not Status.PASS]
    assert not failed, f"polls from {now} s on: {failed}"
