"""The data plane against the oracle: every counter equal at random instants."""
from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from virtual_testbed.tests.dataplane.differential import make_case, run_case

SEEDED_CASES = int(os.environ.get("DIFFERENTIAL_CASES", "40"))


@pytest.mark.parametrize("block", range(8))
def test_seeded_cases(block):
    for seed in range(block * SEEDED_CASES // 8, (block + 1) * SEEDED_CASES // 8):
        differences, _ = run_case(make_case(seed))
        assert not differences, f"seed {seed}: " + "; ".join(differences[:5])


def test_cases_with_steady_traffic_skip_cycles():
    skipped = 0
    for seed in range(10):
        differences, net = run_case(make_case(seed, steady=True))
        assert not differences, f"seed {seed}: " + "; ".join(differences[:5])
        skipped += net.statistics().jumps > 0
    assert skipped >= 5


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(100_000, 10**9))
def test_any_case(seed):
    differences, _ = run_case(make_case(seed))
    assert not differences, f"seed {seed}: " + "; ".join(differences[:5])


def test_a_wrong_model_is_noticed():
    """The comparison itself: a fault known to the data plane only must show."""
    case = make_case(3)
    case.faults = ["lossy-dropped@Ethernet8,one_in=2"]
    assert not run_case(case)[0]
    import virtual_testbed.tests.dataplane.differential as differential
    original = differential.oracle_faults
    differential.oracle_faults = lambda faults: original([])
    try:
        assert run_case(case)[0]
    finally:
        differential.oracle_faults = original
