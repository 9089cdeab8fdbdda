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
