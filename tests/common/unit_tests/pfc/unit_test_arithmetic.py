"""Pause time, storm rate and load, against figures worked out by hand and given in the test plan."""

from fractions import Fraction

import pytest

from tests.common.pfc.model import arithmetic


@pytest.mark.parametrize(
    "speed_mbps, microseconds", [(10000, "3355.39"), (40000, "838.85"), (100000, "335.54"), (400000, "83.88")]
)
def test_pause_time(speed_mbps, microseconds):
    """65535 quanta of 512 bit times, as the plan's documents have them (one cuts 838.848 off to 838.84)."""
    seen = f"{float(arithmetic.pause_seconds(65535, speed_mbps) * 10 ** 6):.2f}"
    assert seen == microseconds, f"expected {microseconds} us at {speed_mbps} Mb/s, got {seen}"


@pytest.mark.parametrize("speed_mbps, fps", [(100000, 5960), (200000, 11921), (400000, 23842), (800000, 47684)])
def test_storm_rate_renews_a_pause_twice(speed_mbps, fps):
    """The rates that sonic-mgmt uses."""
    seen = arithmetic.storm_fps(65535, speed_mbps)
    assert seen == fps, f"expected {fps} frames/s, got {seen}"


def test_sixty_four_links_need_190738_pause_frames_a_second():
    """The figure in switch-pfc-test is the sum over 64 links, not the rate of one."""
    seen = arithmetic.holding_fps(65535, 100000) * 64
    assert abs(seen - 190738) < 5, f"expected about 190738, got {float(seen):.1f}"


def test_line_rate_counts_preamble_and_gap():
    """A 1024-byte frame takes 1044 byte times."""
    seen = arithmetic.line_rate_fps(1024, 100000)
    assert seen == Fraction(10**11, 8 * 1044), f"got {seen}"


@pytest.mark.parametrize("percent", [50, 45, 10, 100])
@pytest.mark.parametrize("flows", range(1, 65))
def test_shares_never_exceed_what_was_asked_for(percent, flows):
    """And fall short of it by no more than a rounding."""
    share = arithmetic.share_percent(percent, flows)
    total = Fraction(share) * flows
    assert total <= percent, f"{flows} flows of {share} % sum to {float(total)} %"
    assert percent - total < Fraction(1, 10**12), f"{flows} flows of {share} % sum to {float(total)} %"
