"""What traffic must change on a switch: for each counter of each port how far it may have moved, derived from what the
generators counted.

| counter | what a data flow explains where it enters | where it leaves |
|---|---|---|
| `RX_OK` | from as many frames as arrived to as many as were sent | |
| `RX_DRP`, drops of its priority group | at most those that were lost | |
| `TX_OK`, `Counter/pkts` of its queue | | as many as arrived |
| `TX_DRP`, `Drop/pkts` of its queue | | at most those that were lost |
| `PFC Tx` of its priority | where its sender may be held any number, which a case judges; of a flow beside a case 0 | |

Where more frames arrived than were sent, as many as were sent stand for those that arrived.

A pause flow explains, on the port that it pauses, at most as many frames as were sent in `PFC Rx` of the priorities
that it enables, in `RX_OK`, `RX_DRP` and `RX_ERR` (whether a switch counts them there is judged by COUNT). Nothing
explains anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..model.measurement import PortUnderTest
from ..model.traffic import FlowPlan, FlowStats, Role
from .books import (
    DROPPED, GROUP_DROPS, PFC_RX, PFC_TX, RX_DRP, RX_OK, SENT, TX_DRP, TX_OK, Counter,
)

ANY = 1 << 63
RX_ERR = "RX_ERR"


@dataclass(frozen=True)
class Explained:
    """How far a counter may have moved: from `least` to `most`."""

    least: int = 0
    most: int = 0

    def __add__(self, other: Explained) -> Explained:
        """What both explain together."""
        return Explained(self.least + other.least, min(ANY, self.most + other.most))

    def holds(self, gained: int, own: int) -> bool:
        """Whether that explains what a counter gained, of which up to `own` are the switch's and the hosts' own."""
        return self.least <= gained <= self.most + own


def explained(
    subject: PortUnderTest, totals: Iterable[FlowStats], groups: Mapping[int, int], held: Collection[int]
) -> dict[Counter, Explained]:
    """What flows explain; a counter that is absent none moves.

    Args:
        subject: the port under test, with the ports that flows use which name none.
        totals: what the generators counted for each flow.
        groups: priority -> its priority group.
        held: priorities whose senders the switch may pause.
    """
    return together(
        _pauses(subject, flow) if flow.plan.pause is not None else _data(subject, flow, groups, held)
        for flow in totals
    )


def together(parts: Iterable[Mapping[Counter, Explained]]) -> dict[Counter, Explained]:
    """What several explain together."""
    found: dict[Counter, Explained] = {}
    for part in parts:
        for counter, one in part.items():
            found[counter] = found.get(counter, Explained()) + one
    return found


def data_ends(subject: PortUnderTest, plan: FlowPlan) -> tuple[str, str]:
    """The ports where the frames of a data flow enter and leave."""
    return plan.enters or subject.pair.tx.port, plan.leaves or subject.pair.rx.port


def _data(
    subject: PortUnderTest, flow: FlowStats, groups: Mapping[int, int], held: Collection[int]
) -> dict[Counter, Explained]:
    enters, leaves = data_ends(subject, flow.plan)
    priority = flow.plan.priority
    assert priority is not None, f"flow {flow.plan.name} carries no priority"
    frames = min(flow.frames_tx, flow.frames_rx)
    arrived = Explained(frames, frames)
    lost = Explained(0, max(0, flow.frames_tx - flow.frames_rx))
    may_be_held = priority in held and flow.plan.role is not Role.BYSTANDER
    return {
        Counter(enters, RX_OK): Explained(frames, flow.frames_tx),
        Counter(enters, RX_DRP): lost,
        Counter(enters, GROUP_DROPS, groups.get(priority, priority)): lost,
        Counter(enters, PFC_TX, priority): Explained(0, ANY if may_be_held else 0),
        Counter(leaves, TX_OK): arrived,
        Counter(leaves, SENT, priority): arrived,
        Counter(leaves, TX_DRP): lost,
        Counter(leaves, DROPPED, priority): lost,
    }


def _pauses(subject: PortUnderTest, flow: FlowStats) -> dict[Counter, Explained]:
    assert flow.plan.pause is not None, f"flow {flow.plan.name} is no storm"
    port = flow.plan.enters or subject.pair.rx.port
    sent = Explained(0, ANY if subject.pauses_from else flow.frames_tx)
    counters = [Counter(port, PFC_RX, priority) for priority in flow.plan.pause.enabled]
    return {counter: sent for counter in (*counters, *(Counter(port, column) for column in (RX_OK, RX_DRP, RX_ERR)))}
