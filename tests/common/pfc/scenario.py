"""What to send and what must happen, as immutable data. Test cases of the plan are functions that make a `Scenario`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .arithmetic import MAX_QUANTA, holding_fps, share_percent, storm_fps
from .errors import QualificationError
from .qos import PortQos


@dataclass(frozen=True)
class PlanCase:
    """A test case of the plan: its name in records, e.g. `pause-lossless-single`, and its section, e.g. `PFC-1`."""

    name: str
    plan_id: str


@dataclass(frozen=True)
class Scenario:
    """A pause storm on some priorities while traffic runs on those and on others.

    Attributes:
        case: the test case of the plan that it carries out.
        tested: the priorities that the storm pauses and that the test traffic uses.
        background: the priorities of the background traffic, none of them tested.
        test_percent, background_percent: load of all test (background) flows together, percent of the line rate.
        frame_bytes: size of data frames with FCS.
        storm_lead_s: the storm runs this long before the data starts.
        data_s: data runs this long, each of the two times.
        pause_quanta: pause time in each pause frame.
        storm_refreshes: pause frames sent within one pause time.
    """

    case: PlanCase
    tested: tuple[int, ...]
    background: tuple[int, ...]
    test_percent: int = 50
    background_percent: int = 50
    frame_bytes: int = 1024
    storm_lead_s: int = 1
    data_s: int = 5
    pause_quanta: int = MAX_QUANTA
    storm_refreshes: int = 2

    def __post_init__(self) -> None:
        """Refuses what cannot be measured.

        Raises:
            QualificationError: no tested or background priority, one that is both, or more than 100 % of load.
        """
        if not self.tested or not self.background:
            raise QualificationError(
                f"scenario {self.case.name} needs tested and background priorities, "
                f"found {list(self.tested)} and {list(self.background)}"
            )
        both = sorted(set(self.tested) & set(self.background))
        if both:
            raise QualificationError(f"scenario {self.case.name}: priorities {both} are both tested and background")
        if self.test_percent + self.background_percent > 100:
            raise QualificationError(
                f"scenario {self.case.name}: {self.test_percent} % of test and {self.background_percent} % of "
                "background traffic are more than one port carries"
            )

    def test_share(self) -> float:
        """Rate of each test flow, percent of the line rate."""
        return share_percent(self.test_percent, len(self.tested))

    def background_share(self) -> float:
        """Rate of each background flow, percent of the line rate."""
        return share_percent(self.background_percent, len(self.background))

    def storm_fps(self, speed_mbps: int) -> int:
        """Pause frames a second."""
        return storm_fps(self.pause_quanta, speed_mbps, self.storm_refreshes)

    def least_storm_frames(self, speed_mbps: int) -> int:
        """Pause frames below which the storm cannot have held the priorities from its start to the end of the data."""
        return int(holding_fps(self.pause_quanta, speed_mbps) * (self.storm_lead_s + self.data_s))


def pause_lossless_single(priority: int, qos: PortQos) -> Scenario:
    """Test case 1 of the plan (PFC-1): one lossless priority is paused, everything else that some DSCP reaches is
    background.

    Raises:
        QualificationError: the priority is not lossless on the port, no DSCP reaches it, or none reaches any other.
    """
    if priority not in qos.lossless:
        raise QualificationError(
            f"{qos.where(priority)}: it is not lossless, PORT_QOS_MAP|{qos.port} pfc_enable has {list(qos.lossless)}"
        )
    if priority not in qos.dscps:
        raise QualificationError(
            f"{qos.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{qos.dscp_map} leads to "
            f"{list(qos.reachable)} only"
        )
    background = tuple(other for other in qos.reachable if other != priority)
    return Scenario(SINGLE_LOSSLESS, tested=(priority,), background=background)


SINGLE_LOSSLESS = PlanCase("pause-lossless-single", "PFC-1")
_MAKERS: Mapping[PlanCase, Callable[[int, PortQos], Scenario]] = {SINGLE_LOSSLESS: pause_lossless_single}


def make_scenario(case: PlanCase, priority: int, qos: PortQos) -> Scenario:
    """The scenario that carries out `case` for `priority` on a port with these priorities.

    Raises:
        QualificationError: it cannot be carried out there.
    """
    return _MAKERS[case](priority, qos)
