"""What is said of the gaps, against a plain reckoning over the list of them."""
from __future__ import annotations

from hypothesis import given, strategies as st

from pfctest.gaps import Gaps

PAUSE_NS = 1000
CALLS = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 400)), min_size=2, max_size=60)


def instants(calls):
    """(begin, end) of calls, given how long after the end of the one before each begins, and how long it takes."""
    now = 0
    for before, length in calls:
        yield now + before, now + before + length
        now += before + length


@given(CALLS)
def test_open_time_is_what_no_pause_covers_at_the_worst(calls):
    found, sent = Gaps(PAUSE_NS), list(instants(calls))
    for begin, end in sent:
        found.add(begin, end)
    expected = sum(max(0, later[1] - earlier[0] - PAUSE_NS) for earlier, later in zip(sent, sent[1:]))
    assert found.open_ns == expected
    if sent[-1][0] > sent[0][0]:
        assert found.open_share == expected / (sent[-1][0] - sent[0][0])
    gaps = sorted(later[0] - earlier[0] for earlier, later in zip(sent, sent[1:]))
    assert found.longest_ns == gaps[-1]
    for share in (0.5, 0.99):
        exact = gaps[max(0, -int(-share * len(gaps) // 1) - 1)]
        assert exact <= found.quantile_ns(share) <= exact + 250


def test_the_end_of_a_storm_counts():
    found = Gaps(PAUSE_NS)
    found.add(0, 10)
    found.finish(4000)
    assert (found.open_ns, found.open_share) == (3000, 0.75)


def test_what_is_not_known_is_none():
    assert Gaps(None).open_share is None and Gaps(PAUSE_NS).open_share is None
    assert Gaps(PAUSE_NS).quantile_ns(0.5) is None


def test_gaps_longer_than_the_bins():
    found = Gaps(PAUSE_NS)
    for begin in (0, 10**9, 3 * 10**9):
        found.add(begin, begin)
    assert found.quantile_ns(0.99) == 2 * 10**9


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 9000)), min_size=1, max_size=40), st.integers(0, 9000),
       st.integers(1, 5))
def test_no_time_counts_twice(calls, wait, rounds):
    found, sent = Gaps(PAUSE_NS), list(instants(calls))
    found.expect(rounds)
    for begin, end in sent:
        found.add(begin, end)
        assert found.open_share is None or 0 <= found.open_share <= 1
    now = sent[-1][1] + wait
    found.finish(now)
    assert found.open_ns <= found.elapsed_ns == now - sent[0][0]
    if rounds == 1:
        ends = [end for _, end in sent[1:]] + [now]
        covered = {time for (begin, _), end in zip(sent, ends) for time in range(begin + PAUSE_NS, end)}
        assert found.open_ns == len(covered)


def batches(rounds, round_ns, interrupted):
    """(begin, end, instants of the frames) of calls without a rest; call n stops after frame k for as long as it says:
    {n: (k, ns)}.
    """
    now = 0
    for number in range(6):
        begin, frames = now, []
        frame, length = interrupted.get(number, (0, 0))
        for place in range(rounds):
            frames.append(now + round_ns // 2)
            now += round_ns + (length if place == frame else 0)
        yield begin, now, frames


def test_frames_of_a_batch_leave_throughout_the_call():
    found = Gaps(PAUSE_NS)
    found.expect(256)
    for begin, end, _ in batches(256, 20, {}):
        found.add(begin, end)
    assert found.open_ns == 0 and end > 6 * PAUSE_NS, "calls that last longer than a pause, of frames that come in time"


@given(st.integers(2, 50), st.integers(1, 400), st.integers(1, 5), st.integers(0, 49), st.integers(0, 9000))
def test_a_batch_that_was_interrupted_left_the_queue_open(rounds, round_ns, number, place, length):
    found, left = Gaps(PAUSE_NS), []
    found.expect(rounds)
    for begin, end, frames in batches(rounds, round_ns, {number: (place % rounds, length)}):
        found.add(begin, end)
        left += frames
    found.finish(end)
    assert found.open_ns >= sum(max(0, later - earlier - PAUSE_NS) for earlier, later in zip(left, [*left[1:], end]))
    assert found.open_ns <= 2 * max(0, length + 3 * round_ns - PAUSE_NS)


def test_a_batch_of_pauses_shorter_than_its_rounds_keeps_nothing_shut():
    found = Gaps(5)
    found.expect(100)
    for begin, end, _ in batches(100, 1000, {}):
        found.add(begin, end)
    found.finish(end)
    assert found.open_share > 0.99
