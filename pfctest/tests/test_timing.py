"""Pause arithmetic against the numbers of IEEE 802.3 and of sonic-mgmt."""
from __future__ import annotations

import pytest

from pfctest import timing


@pytest.mark.parametrize("speed_mbps, byte_ps", [
    (10_000, 800), (25_000, 320), (40_000, 200), (50_000, 160), (100_000, 80), (200_000, 40), (400_000, 20),
    (800_000, 10)])
def test_byte_and_quantum(speed_mbps, byte_ps):
    assert timing.ps_per_byte(speed_mbps) == byte_ps
    assert timing.quantum_ps(speed_mbps) == 64 * byte_ps


@pytest.mark.parametrize("speed_mbps, pps", [(100_000, 5960), (200_000, 11921), (400_000, 23842), (800_000, 47684)])
def test_storm_rate_is_that_of_sonic_mgmt(speed_mbps, pps):
    assert timing.frames_per_second_to_block(speed_mbps) == pps


def test_pause_time():
    assert timing.pause_time_ps(0xFFFF, 100_000) == 335_539_200
    assert timing.pause_time_ps(0, 100_000) == 0


def test_frame_time_counts_preamble_and_gap():
    assert timing.frame_time_ps(64, 100_000) == 84 * 80


@pytest.mark.parametrize("speed_mbps, bit_times", [(10_000, 34304), (100_000, 201_728), (400_000, 463_360)])
def test_response_allowance(speed_mbps, bit_times):
    assert timing.response_allowance_ps(speed_mbps) == bit_times * 10**6 // speed_mbps


@pytest.mark.parametrize("call, text", [
    (lambda: timing.ps_per_byte(0), "speed 0 Mb/s is not an Ethernet speed"),
    (lambda: timing.ps_per_byte(30_000), "speed 30000 Mb/s"),
    (lambda: timing.pause_time_ps(65536, 100_000), "pause of 65536 quanta"),
    (lambda: timing.pause_time_ps(-1, 100_000), "pause of -1 quanta"),
    (lambda: timing.frames_per_second_to_block(100_000, 0), "0 quanta resumes"),
    (lambda: timing.frames_per_second_to_block(100_000, per_pause=0), "leave gaps"),
    (lambda: timing.response_allowance_ps(5_000), "no pause response time is known at 5000"),
])
def test_errors_are_one_sentence(call, text):
    with pytest.raises(timing.TimingError, match=text):
        call()


@pytest.mark.parametrize("speed_mbps, links, pps", [(100_000, 64, 190_738), (100_000, 1, 2_981), (10_000, 1, 299)])
def test_fewest_frames_that_keep_links_paused(speed_mbps, links, pps):
    assert timing.frames_per_second_needed(speed_mbps, links=links) == pps
    assert pps * timing.pause_time_ps(0xFFFF, speed_mbps) >= links * 10**12


@pytest.mark.parametrize("speed_mbps, microseconds", [(100_000, 335.54), (40_000, 838.84), (10_000, 3355.39)])
def test_how_long_65535_quanta_last(speed_mbps, microseconds):
    assert timing.pause_time_ps(0xFFFF, speed_mbps) / 1e6 == pytest.approx(microseconds, abs=0.01)


def test_no_links_and_no_quanta_need_no_frames():
    with pytest.raises(timing.TimingError, match="0 links need no frames"):
        timing.frames_per_second_needed(100_000, links=0)
    with pytest.raises(timing.TimingError, match="0 quanta resumes at once"):
        timing.frames_per_second_needed(100_000, 0)
