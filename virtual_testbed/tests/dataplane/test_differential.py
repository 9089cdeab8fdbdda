"""The data plane against the oracle: every counter equal at random instants (`make differential`: many more cases)."""
from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, given, note, settings, strategies as st

from virtual_testbed.tests.dataplane import differential
from virtual_testbed.tests.dataplane.differential import run_case
from virtual_testbed.tests.dataplane.differential_cases import FAMILIES, build_case, make_case
from virtual_testbed.tests.dataplane.differential_chooser import DrawChooser
from virtual_testbed.tests.dataplane.oracle import Oracle, OracleFault

SEEDS, MORE_SEEDS = range(2), range(2, 8)
EXAMPLES = 30


def told(found, case):
    """What differs, with the case, as a message."""
    return "\n".join([*found[:8], case.describe()]) if found else ""


@functools.cache
def seeded(seed, family):
    """What differs in a seeded case, and whether anything was skipped in it. One process carries a case out once."""
    case = make_case(seed, family)
    found, network = run_case(case)[:2]
    return told(found, case), network.statistics().picoseconds_skipped > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_seeded_cases(family):
    for seed in SEEDS:
        found, _ = seeded(seed, family)
        assert not found, f"make_case({seed}, {family!r}): {found}"


@pytest.mark.slow("three times as many cases")
@pytest.mark.parametrize("family", FAMILIES)
def test_more_seeded_cases(family):
    for seed in MORE_SEEDS:
        found, _ = seeded(seed, family)
        assert not found, f"make_case({seed}, {family!r}): {found}"


@st.composite
def cases(draw):
    """Any case, simplest first."""
    chooser = DrawChooser(draw)
    return build_case(chooser, chooser.choice(list(FAMILIES)))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, print_blob=False,
          suppress_health_check=list(HealthCheck))
@given(cases())
def test_any_case(case):
    found = told(run_case(case)[0], case)
    note(found)
    assert not found


def test_a_case_follows_from_its_seed():
    assert make_case(5).describe() == make_case(5).describe() != make_case(5 + len(FAMILIES)).describe()


def test_steady_traffic_skips():
    """The comparison would mean little if nothing were ever skipped in it."""
    skipped = sum(seeded(seed, "steady")[1] for seed in SEEDS)
    assert skipped >= len(SEEDS) // 2


def test_a_wrong_model_is_noticed(monkeypatch):
    """The comparison itself: a fault known to the data plane only must show."""
    case = make_case(3, "steady")
    case.faults = [OracleFault(f"{name}-dropped", value=2) for name in ("lossy", "lossless")]
    assert not run_case(case)[0]
    monkeypatch.setattr(differential, "build_oracle", lambda case: _healthy(case))
    assert run_case(case)[0]


def _healthy(case):
    oracle = Oracle(case.configs, case.links, case.switch_links)
    oracle.set_traffic(case.ports, case.hosts, case.flows)
    return oracle
