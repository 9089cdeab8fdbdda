"""Whether pauses arrived that a case sent: what the receive counters of their port gained.

A generator counts what it sends, and a cable, a fanout or a feature of the generator may swallow it. Where the switch
must do nothing about the frames, it does just that when none comes. So some counter of the port must show them. Which
one that is, no standard says, and switches differ: any of these will do, as nothing else comes in there that could
raise it so far. A counter of pauses says what the frames are; the others say how many came, and of which size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ..cases.switch_counters import IN_OCTETS, port_hash
from ..model.checking import Place, error_unless
from ..model.measurement import PortUnderTest
from ..model.tolerances import KEY
from ..model.traffic import PAUSE_ADDRESS, FlowStats, PauseFrame
from ..record.verdict import Check, Status
from .books import PFC_RX, PFC_TX, Counter
from .explained import data_ends

RECEIVED = "received"
STORM_ARRIVED = "storm-arrived"
PAUSES = "SAI_PORT_STAT_PAUSE_RX_PKTS"
ERRORS = "SAI_PORT_STAT_IF_IN_ERRORS"
FRAMES = (
    "SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS", "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS",
    "SAI_PORT_STAT_IF_IN_MULTICAST_PKTS", "SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_PORT_STAT_IF_IN_UNKNOWN_PROTOS",
)
"""What orchagent polls of each port (`port_stat_ids` in sonic-swss `portsorch.cpp`) and may count such frames; a switch
whose SAI lacks one does not have it in COUNTERS_DB."""
LONGEST_BYTES = 1518
"""Of frames that switch and hosts send by themselves."""


def received(text: str) -> dict[str, int]:
    """The receive counters of a port that show pauses: what `port_hash_command` printed."""
    return port_hash(text, (PAUSES, IN_OCTETS, ERRORS, *FRAMES))


@dataclass(frozen=True)
class Arrival:
    """What was sent to a port, and what it counted.

    Attributes:
        subject: the port under test.
        totals: what the generators counted for each of its flows.
        received: what each receive counter of COUNTERS_DB gained.
        gains: what the counters gained that the switch's commands show.
        own: how many frames may have come in that no flow sent.
        beside: how many data frames came in by the port that flows of other ports under test sent.
    """

    subject: PortUnderTest
    totals: Sequence[FlowStats]
    received: Mapping[str, int]
    gains: Mapping[Counter, int]
    own: int
    beside: int = 0

    def check(self, metric: str) -> Check | None:
        """Checks that the pauses arrived; None: the generators sent none to the port. A testbed may vouch for them:
        then the check only informs. Where only PFC's own counters were read, they say nothing that a case does not."""
        if not self._sent or self.subject.pauses_from or not (self.received or self._is_silent):
            return None
        shown = self._shown()
        counter = max(shown, key=lambda name: shown[name], default="")
        most = f"at most {shown[counter]}, in {counter}" if counter and shown[counter] > 0 else "0 in any of them"
        expected = (
            f"at least {self._needed} of {self._sent} {self._called} sent to the port in one of its receive counters"
            f" (COUNTERS_DB), which shows that they arrived, or trust_generator in {KEY}, where that was seen otherwise"
        )
        met = shown.get(counter, 0) >= self._needed
        seen = f"{shown[counter]} in {counter}" if met else most
        check = error_unless(STORM_ARRIVED, Place(self.subject.where(), metric), met, expected, seen)
        informs = check.status is Status.ERROR and self.subject.tolerances.trust_generator
        return replace(check, required=False) if informs else check

    @property
    def _storms(self) -> list[tuple[PauseFrame, int]]:
        """The frames of each pause flow into the port, and how many were sent."""
        port = self.subject.pair.rx.port
        return [
            (flow.plan.pause, flow.frames_tx) for flow in self.totals
            if flow.plan.pause is not None and (flow.plan.enters or port) == port
        ]

    @property
    def _sent(self) -> int:
        return sum(frames for _, frames in self._storms)

    @property
    def _silent(self) -> int:
        """How many of the frames pause nobody."""
        return sum(frames for frame, frames in self._storms if not pauses_somebody(frame))

    @property
    def _pfc_counted(self) -> int:
        """At least so many PFC frames were counted: as many as for one of the priorities that they pause."""
        port = self.subject.pair.rx.port
        return max((self.gains.get(Counter(port, PFC_RX, priority), 0) for priority in self._enabled), default=0)

    @property
    def _is_silent(self) -> bool:
        """Whether some of the frames pause nobody: a switch owes them no effect and no count."""
        return self._silent > 0

    @property
    def _called(self) -> str:
        kinds = {pauses_somebody(frame) for frame, frames in self._storms if frames}
        return " and ".join("pause frames" if kind else "frames that pause nobody" for kind in sorted(kinds))

    @property
    def _needed(self) -> int:
        """All of them, as near as counts agree; of PFC, whose counts cases judge, half: so many hold a pause."""
        percent = 100 - self.subject.tolerances.count_tolerance_percent if self._is_silent else 50
        return ceil(self._sent * percent / 100)

    def _shown(self) -> dict[str, int]:
        """Counter -> how many of the frames it shows at most."""
        found = {str(counter): gain for counter, gain in self.gains.items() if self._is_of_pauses(counter)}
        if PAUSES in self.received:
            found[PAUSES] = pauses = self.received[PAUSES]
            if self._is_silent and pauses <= self._silent:  # it counts 802.3x alone, and PFC has counters of its own
                pfc = min(self._pfc_counted, self._sent - self._silent)
                found[f"{PAUSES} and those of PFC"] = pauses + pfc
        if self._is_held():
            found["PFC Tx, which holds senders"] = self._sent
        bad = max(0, self.received.get(ERRORS, 0))
        if self._needed > self.own:
            found |= {name: self.received[name] - bad - self._data for name in FRAMES if name in self.received}
        smallest = min((flow.plan.frame_bytes for flow in self.totals if flow.plan.pause is not None), default=64)
        if self._needed * smallest > self.own * LONGEST_BYTES and not self._data and IN_OCTETS in self.received:
            found[IN_OCTETS] = self.received[IN_OCTETS] // smallest - bad
        return found

    def _is_of_pauses(self, counter: Counter) -> bool:
        """Whether it is a PFC receive counter that these frames may have raised, be it wrongly."""
        of_port = counter.port == self.subject.pair.rx.port and counter.column == PFC_RX
        return of_port and not (self._is_silent and counter.number in self._enabled)

    def _is_held(self) -> bool:
        """Whether the switch paused a sender because it held its frames: for a priority that the frames pause; wrongly,
        for another one, if some of the frames pause nobody."""
        sent = {one.number for one, gain in self.gains.items() if one.column == PFC_TX and gain > 0}
        return bool(sent - self._enabled if self._is_silent else sent & self._enabled)

    @property
    def _enabled(self) -> set[int]:
        """The priorities that the frames pause."""
        return enabled_by(frame for frame, _ in self._storms if pauses_somebody(frame))

    @property
    def _data(self) -> int:
        """Data frames that came in by the port as well."""
        return self.beside + data_into(self.subject.pair.rx.port, self.subject, self.totals)


def data_into(port: str, subject: PortUnderTest, totals: Iterable[FlowStats]) -> int:
    """Data frames that flows of a port under test sent into a port."""
    flows = (flow for flow in totals if flow.plan.pause is None)
    return sum(flow.frames_tx for flow in flows if data_ends(subject, flow.plan)[0] == port)


def pauses_somebody(frame: PauseFrame) -> bool:
    """Whether it is a PFC frame that enables a priority."""
    is_changed = frame.operation_code is not None or frame.ether_type is not None
    is_pfc = not frame.is_global and not is_changed and frame.destination == PAUSE_ADDRESS
    return is_pfc and bool(enabled_by([frame]))


def enabled_by(frames: Iterable[PauseFrame]) -> set[int]:
    """The priorities that PFC frames enable."""
    return {priority for frame in frames for priority in frame.enabled if priority < 8}
