"""A storm whose pauses are flows of the traffic generator: it counts what it sent, and what came out of other ports."""

import dataclasses

import pytest

from tests.common.pfc.lab.lab import PauseSource, no_host
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.traffic import FlowStats
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.unit_test_measurement import STORM, counters, gained, measured

LEAST = 17881
"""Of a storm at 100 Gb/s: a second, and the 5 s of its data."""


def stormed(frames, forwarded=0, counted=0, **rest):
    """A run whose storm had so many frames; some came out of the tx port in the end, and the switch counted some."""
    running, stopped = FlowStats(STORM, True, frames, 0), FlowStats(STORM, False, frames, forwarded)
    return measured(phases={"paused": {STORM.name: running}, "drained": {STORM.name: stopped}},
                    after=counters(gained(3, counted)), **rest)


@pytest.mark.parametrize(("frames", "status"), [(LEAST, Status.PASS), (LEAST - 1, Status.ERROR), (0, Status.ERROR)])
def test_a_storm_that_is_too_thin_is_no_measurement(frames, status):
    """Its pauses lapsed between two frames: what arrives then says nothing of the switch."""
    [found] = PauseSource().storm_ran(stormed(frames))
    assert (found.status, found.where) == (status, "vtb-t0-01 Ethernet1 priority 3"), found
    assert found.expected == f"a storm of at least {LEAST} pause frames", found.expected


@pytest.mark.parametrize(("counted", "status"), [(20000, Status.PASS), (19999, Status.FAIL), (0, Status.FAIL)])
def test_the_switch_counts_what_was_sent(counted, status):
    found = PauseSource().every_pause_counted(stormed(20000, counted=counted), 3)
    assert (found.status, found.seen) == (status, counted), found
    assert found.expected == "20000 PFC frames in the receive counter once the storm had stopped", found.expected
    none = PauseSource().every_pause_counted(stormed(20000, counted=counted), 4)
    assert (none.status, none.expected.split()[0]) == (Status.PASS, "0"), "none was sent for another priority"


@pytest.mark.parametrize(("forwarded", "status"), [(0, Status.PASS), (1, Status.FAIL)])
def test_no_pause_leaves_by_another_port(forwarded, status):
    """Also none of 802.3x, which is about the whole port."""
    [found] = PauseSource().none_forwarded(stormed(20000, forwarded))
    said = f"vtb-t0-01 Ethernet1 priority 3: expected 0 pause frames forwarded to Ethernet64, got {forwarded}"
    assert (found.status, found.message) == (status, said), found
    whole = dataclasses.replace(stormed(20000, forwarded), scenario=Scenario(Storm.GLOBAL, (3,), (0,)))
    [found] = PauseSource().none_forwarded(whole)
    assert (found.status, found.where) == (status, "vtb-t0-01 Ethernet1"), found


def test_pauses_from_a_host_that_nobody_knows_are_refused():
    with pytest.raises(QualificationError, match="^fanout-01: pauses are to come from there, and no way to reach it"):
        no_host("fanout-01")
