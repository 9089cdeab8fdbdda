"""What a sender achieved: the gaps between its frames, and how long a queue that they pause would have been open."""
from __future__ import annotations

from array import array

_BIN_NS = 250
_BINS = 1 << 16
"""Gaps up to 16 ms are sorted into bins of 250 ns; of longer ones only the longest is known."""


class Gaps:
    """Instants at which frames of one class were sent on one interface, reduced to what can be said of them.

    The instants are those of this process: frame `n` left between `begin[n]` and `end[n]`, the times just before and
    after the call that sent it. A pause that frame `n` starts or renews ends no earlier than `begin[n] + pause`, and
    the next frame renewed it no later than `end[n + 1]`; the queue is taken to be open in between. So a queue at the
    other end of a wire without delay variation was open for that long at most. What two such times have in common
    (a call that lasts for longer than a pause) counts once.

    A call that sends several frames on the interface, one a round, sends them throughout: no round is taken to be
    quicker than those of the quickest call were on average. So the last frame left no earlier than after all rounds
    but one, the first no later than with all rounds but one still to come; all that the call lasted longer may lie
    between any two of its frames, and is counted as one gap. A round that lasts longer than a pause is shut for as long
    as the pause.

    Args:
        pause_ns: how long a frame pauses the queue; None: not known.

    Attributes:
        sends: how often frames were sent; `open_ns` how long the queue was open since the first.
        first_ns, last_ns: begin of the first call and of the last; `longest_ns` the longest time between two.
        rounds: frames on the interface in each call to come.
    """

    def __init__(self, pause_ns: int | None) -> None:
        self.pause_ns = pause_ns
        self.sends = self.open_ns = self.longest_ns = 0
        self.first_ns = self.last_ns = 0
        self.rounds = 1
        self._quickest_ns: int | None = None  # round
        self._shut_until_ns = self._reckoned_ns = self._end_ns = 0
        self._bins = array("Q", bytes(8 * (_BINS + 1)))
        self._limit_ns = pause_ns if pause_ns is not None else 1 << 62

    def expect(self, rounds: int) -> None:
        """Says how many frames on the interface each call to come has."""
        self.rounds = rounds

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Frames were sent between these instants."""
        others_ns = self._others_ns(end_ns - begin_ns) if self.rounds > 1 else 0
        if self.sends:
            gap_ns = begin_ns - self.last_ns
            place = gap_ns // _BIN_NS
            self._bins[place if place < _BINS else _BINS] += 1
            if gap_ns > self.longest_ns:
                self.longest_ns = gap_ns
            self._reckon(end_ns - others_ns, end_ns)
        else:
            self.first_ns = begin_ns
        self.sends += 1
        self.last_ns = self._end_ns = begin_ns
        self._shut_until_ns = begin_ns + others_ns + self._limit_ns

    def _others_ns(self, length_ns: int) -> int:
        """The least time for which all rounds but one of a call of this length kept the queue shut."""
        round_ns = length_ns // self.rounds
        if self._quickest_ns is None or round_ns < self._quickest_ns:
            self._quickest_ns = round_ns
        return min(self._quickest_ns, self._limit_ns) * (self.rounds - 1)

    def _reckon(self, until_ns: int, end_ns: int) -> None:
        """The queue was open from the end of the last pause until then, unless that has been counted.

        In a call that counts so all has been counted until its end: its other frames kept the queue shut.
        """
        since_ns = self._shut_until_ns if self._shut_until_ns > self._reckoned_ns else self._reckoned_ns
        if until_ns > since_ns:
            self.open_ns += until_ns - since_ns
            self._reckoned_ns = end_ns

    def finish(self, now_ns: int) -> None:
        """The storm ends now: what the last frame paused may have run out before."""
        if self.sends:
            self._reckon(now_ns, now_ns)
            self._end_ns = max(now_ns, self.last_ns)

    @property
    def elapsed_ns(self) -> int:
        """From the first frame to the last, or to the end of the storm."""
        return self._end_ns - self.first_ns

    @property
    def open_share(self) -> float | None:
        """Share of the time since the first frame in which the queue was open, 0..1; None: not known."""
        if self.pause_ns is None or not self.elapsed_ns:
            return None
        return min(1.0, self.open_ns / self.elapsed_ns)  # the last call may end after the time that is looked at

    def quantile_ns(self, share: float) -> int | None:
        """The gap that `share` (0..1) of all gaps do not exceed, to 250 ns; None without gaps."""
        gaps = self.sends - 1
        if gaps < 1:
            return None
        wanted = share * gaps
        seen = 0
        for place, count in enumerate(self._bins):
            seen += count
            if seen >= wanted and seen:
                return min((place + 1) * _BIN_NS, self.longest_ns) if place < _BINS else self.longest_ns
        return self.longest_ns
