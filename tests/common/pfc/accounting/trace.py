"""Which frames a port's queue counters show: each flow of data is sent another number of frames, by which it is known,
on whatever queue of whatever port it is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ..lab.lab import Lab
from ..lab.preflight import clean_flows
from ..model.measurement import PortUnderTest
from ..model.qos import PRIORITIES
from ..model.traffic import FlowPlan, FlowStats
from ..record.case import priorities_text
from .books import SENT, Books, Counter
from .bystanders import bystander_flows
from .explained import data_ends

UNIT = 128
"""The smallest number of frames, more than twice `OWN`: what numbers and sums of them are apart."""
OWN = 50
"""Frames that a queue may have sent besides, in a quarter of a minute: hosts resolve their gateways, protocols run."""
BEGINNING = "frames sent once more, of each priority and port another number, show that"


def numbered_flows(lab: Lab) -> list[FlowPlan]:
    """Data of every priority to the port under test and, where an option has some, between other ports, each with a
    number of frames of its own."""
    own = clean_flows(lab)
    others = bystander_flows(lab.subject)
    return [replace(flow, frames=frames, seconds=None)
            for flow, frames in zip((*own, *others), numbers(len(own), len(others)), strict=True)]


def numbers(own: int, others: int) -> list[int]:
    """Numbers of frames for flows to the port under test, and for others: no number, and no sum of several to the port
    under test, is within `OWN` frames of another."""
    largest = 1 << own
    to_others = range(UNIT * largest + UNIT // 2, UNIT * (largest + others), UNIT)
    return [*(UNIT << index for index in range(own)), *to_others]


@dataclass(frozen=True)
class Trace:
    """What was read around such flows.

    Attributes:
        subject: the port under test.
        before, after: all counters.
        flows: the statistics of the flows.
    """

    subject: PortUnderTest
    before: Books
    after: Books
    flows: Sequence[FlowStats]

    @property
    def sentence(self) -> str:
        """What the port's queue counters show; nothing where they show what left."""
        found = next(self._causes(), "")
        return f"{BEGINNING} {found}" if found else ""

    @property
    def port(self) -> str:
        """The port under test."""
        return self.subject.pair.rx.port

    def _causes(self) -> Iterator[str]:
        """What explains the counters that are wrong, the simplest first."""
        gains = self.after.gains(self.before)
        sent = {self._queue(flow): flow.frames_rx for flow in self.flows}
        own = [Counter(self.port, SENT, queue) for queue in PRIORITIES]
        over = {one: gains[one] - sent.get(one, 0) for one in own if one in gains}
        wrong = {one: extra for one, extra in over.items() if not 0 <= extra <= OWN}
        if not wrong or not any(sent.get(one) for one in own):
            return
        if any(flow.frames_tx != flow.plan.frames for flow in self.flows):
            return  # what was not sent says nothing
        moved = _moved(wrong, {one: sent[one] for one in wrong if sent.get(one) and _is_about(gains[one], 0)})
        if moved:
            yield "frames of " + ", of ".join(f"{who} {self._leave_by} UC{queue}" for queue, who in moved.items())
        shown = {one: [at for at, frames in sent.items() if _is_about(gains[one], frames)] for one in over}
        ports = {at.port for found in shown.values() for at in found}
        if ports and self.port not in ports:
            yield f"the counters of {self.port} are those of {', '.join(sorted(ports))}"
        further = {(at.number or 0) - (one.number or 0) for one, found in shown.items() for at in found}
        if len(further) == 1 and further != {0} and len(wrong) > 2:
            by = further.pop()
            off = f"{abs(by)} " if abs(by) > 1 else ""
            yield f"each queue of {self.port} shows the counters of the queue {off}{'before' if by < 0 else 'after'} it"
        less = [one for one, extra in wrong.items() if extra < 0]
        more = [one for one, extra in wrong.items() if extra > 0]
        spread = len(less) == 1 and 0 <= sum(wrong.values()) <= OWN * len(more)
        if spread and not all(shown[one] for one in wrong):
            yield f"some frames of priority {less[0].number} {self._leave_by} {_names(more)}"
        if len(wrong) == len(less) == 1:  # too few are missing to tell them from what hosts send, but by their number
            few = [one for one, extra in over.items() if -wrong[less[0]] <= extra <= OWN]
            if len(few) == 1:
                yield f"some frames of priority {less[0].number} {self._leave_by} {_names(few)}"
        if not any(gains[one] for one in over):
            yield self._at_rest()
        yield f"queues {_names(wrong)} of {self.port} count other frames than those that leave by them"

    @property
    def _leave_by(self) -> str:
        """What is said of frames, before the queue."""
        return f"that come in on {self.subject.pair.tx.port} leave {self.port} by queue"

    def _queue(self, flow: FlowStats) -> Counter:
        """The counter that a flow belongs to."""
        return Counter(data_ends(self.subject, flow.plan)[1], SENT, flow.plan.priority)

    def _at_rest(self) -> str:
        """No counter of the port moves: it stands still, unless another port's, which is idle, stands where it does."""
        stands = {port: self._counts(port) for port in {one.port for one in self.after.counts}}
        alike = sorted(port for port, counts in stands.items() if counts == stands[self.port] and port != self.port)
        if not alike:
            return f"the counters of {self.port} stand still"
        if any(stands[self.port].values()) and len(alike) == 1:
            return f"the counters of {self.port} are those of {alike[0]}"
        return f"the counters of {self.port} stand still, or are those of another port, which is idle"

    def _counts(self, port: str) -> dict[Counter, int]:
        return {one._replace(port=""): count for one, count in self.after.counts.items() if one.port == port}


def _moved(wrong: Mapping[Counter, int], lost: Mapping[Counter, int]) -> dict[int, str]:
    """Queue -> whose frames it counts besides its own: where it counts too many, and as many are lost elsewhere.

    Args:
        wrong: counter -> how many more it counts than left by it.
        lost: of these, those that count none of the frames that should leave by them -> how many these are.
    """
    moved: dict[int, str] = {}
    left = dict(lost)
    for one, extra in wrong.items():
        if one not in lost:
            found = _sum_of(extra, left)
            left = {each: frames for each, frames in left.items() if each not in found}
            if found:
                moved[one.number or 0] = priorities_text(sorted(each.number or 0 for each in found))
    return moved


def _sum_of(extra: int, lost: Mapping[Counter, int]) -> tuple[Counter, ...]:
    """Those whose frames together are about so many; nothing where there are none. A few may be missing: a priority has
    several DSCP values, one of which may be concerned too."""
    several = (some for size in range(1, len(lost) + 1) for some in combinations(lost, size))
    return next((some for some in several if abs(extra - sum(lost[one] for one in some)) <= OWN), ())


def _names(queues: Iterable[Counter]) -> str:
    return ", ".join(f"UC{one.number}" for one in queues)


def _is_about(gained: int, frames: int) -> bool:
    return frames <= gained <= frames + OWN
