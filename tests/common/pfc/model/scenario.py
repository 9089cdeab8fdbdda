"""A pause storm, the traffic in it and what must happen, as immutable data. `cases.pauses` makes one for each of its
test cases."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ..record.case import priorities_text
from .arithmetic import MAX_QUANTA, holding_fps, share_percent, storm_fps
from .errors import QualificationError
from .traffic import PauseFrame, global_pause_frame, pfc_frame


class Storm(enum.Enum):
    """What a pause storm consists of, and what it must do to the traffic."""

    LOSSLESS = "PFC for lossless priorities: it must hold them"
    LOSSY = "PFC for lossy priorities: it must change nothing"
    GLOBAL = "802.3x pause frames: they must change nothing"
    INVALID = "frames that pause nobody, whatever they look like: they must change nothing"


@dataclass(frozen=True)
class Scenario:
    """A pause storm while traffic runs on the priorities that it is about and on others.

    Attributes:
        storm: what the storm consists of.
        tested: the priorities of the test traffic; a storm of PFC pauses these.
        background: the priorities of the background traffic, none of them tested.
        parts: tested priority -> its part of the test load; empty: the same for each.
        test_percent, background_percent: load of all test (background) flows together, percent of the line rate.
        frame_bytes: size of data frames with FCS.
        storm_lead_s: the storm runs this long before the data starts.
        data_s: data runs this long, each time.
        pause_quanta: pause time in each pause frame.
        storm_refreshes: pause frames sent within one pause time.
        frame: what the storm's frames say; None: what is due for such a storm, PFC that enables the tested priorities
            or 802.3x.
        called: what frames of their own are called in messages, in the plural.
        mix: sizes of data frames with FCS and their weights, instead of `frame_bytes`.
    """

    storm: Storm
    tested: tuple[int, ...]
    background: tuple[int, ...]
    parts: Mapping[int, int] = field(default_factory=dict)
    test_percent: int = 50
    background_percent: int = 50
    frame_bytes: int = 1024
    storm_lead_s: int = 1
    data_s: float = 5
    pause_quanta: int = MAX_QUANTA
    storm_refreshes: int | Fraction = 2
    frame: PauseFrame | None = None
    called: str = ""
    mix: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuses what cannot be measured.

        Raises:
            QualificationError: no tested priority or, where there is background load, none for it; one that is both; or
                more than 100 % of load.
        """
        if not self.tested or (not self.background and self.background_percent):
            raise QualificationError(
                f"a storm needs tested and background priorities, found {list(self.tested)} and {list(self.background)}"
            )
        both = sorted(set(self.tested) & set(self.background))
        if both:
            raise QualificationError(f"priorities {both} are both tested and background")
        if self.test_percent + self.background_percent > 100:
            raise QualificationError(
                f"{self.test_percent} % of test and {self.background_percent} % of background traffic are more than one"
                " port carries"
            )

    @property
    def holds(self) -> bool:
        """Whether the storm must hold the test traffic; every other storm must change nothing."""
        return self.storm is Storm.LOSSLESS

    @property
    def paused(self) -> tuple[int, ...]:
        """The priorities that the storm's frames enable, where these are PFC."""
        if self.storm in (Storm.GLOBAL, Storm.INVALID):
            return ()
        return self.tested if self.frame is None else tuple(bit for bit in self.frame.enabled if bit < 8)

    def pause_frame(self) -> PauseFrame:
        """What the storm consists of."""
        if self.frame is not None:
            return self.frame
        if self.storm is Storm.GLOBAL:
            return global_pause_frame(self.pause_quanta)
        return pfc_frame(self.paused, self.pause_quanta)

    def pauses(self) -> Mapping[str, PauseFrame]:
        """The pause flows of the storm, by name: one whose frames say all."""
        return {"Pause Storm": self.pause_frame()}

    @property
    def moment(self) -> str:
        """When the traffic ran, for messages: `while priority 3 was paused`."""
        if self.storm is Storm.GLOBAL:
            return "in a storm of 802.3x pause frames"
        if self.storm is Storm.INVALID:
            return f"in a storm of {self.called}"
        if self.holds:
            return f"while {priorities_text(self.tested)} {'was' if len(self.tested) == 1 else 'were'} paused"
        return f"in a pause storm on {priorities_text(self.tested)}"

    def share(self, priority: int) -> float:
        """Rate of the flow of a tested or background priority, percent of the line rate."""
        if priority in self.background:
            return share_percent(self.background_percent, len(self.background))
        parts = self.parts or dict.fromkeys(self.tested, 1)
        return share_percent(self.test_percent, sum(parts.values()), parts[priority])

    def storm_fps(self, speed_mbps: int) -> int:
        """Pause frames a second."""
        return storm_fps(self.pause_quanta, speed_mbps, self.storm_refreshes)

    def least_storm_frames(self, speed_mbps: int) -> int:
        """Pause frames below which the storm cannot have held the priorities from its start to the end of the data."""
        return int(holding_fps(self.pause_quanta, speed_mbps) * (self.storm_lead_s + self.data_s))
