"""The data plane against the oracle: every counter equal at random instants."""
from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from virtual_testbed.tests.dataplane import differential
from virtual_testbed.tests.dataplane.differential import make_case, run_case
from virtual_testbed.tests.dataplane.oracle import OracleFaults

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


def test_a_wrong_model_is_noticed(monkeypatch):
    """The comparison itself: a fault known to the data plane only must show."""
    case = make_case(0, steady=True)
    case.faults = [f"{name}-dropped@{port},one_in=2" for name in ("lossy", "lossless") for port in case.config.ports]
    assert not run_case(case)[0]
    monkeypatch.setattr(differential, "oracle_faults", lambda faults: OracleFaults())
    assert run_case(case)[0]
