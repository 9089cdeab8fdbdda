"""M2O-1 to M2O-5: two ports send into one, without a storm."""

from __future__ import annotations

from collections.abc import Mapping

from ..lab.lab import Lab
from ..model.measurement import PortUnderTest
from ..record.case import PlanCase, Target
from .congestion import Load, make_load, room_s, timing
from .congestion_checks import LoadMaker, carry_out
from .engine import OldProcedure as Procedure
from .targets import whole_port
from .ingress_load import IngressLoad, equal_ports, lossless_priorities, lossy_priorities

TOO_MUCH_LOSSLESS = PlanCase("m2o-lossless", "M2O-1")
TOO_MUCH_LOSSY = PlanCase("m2o-lossy", "M2O-2")
TOO_MUCH_OF_BOTH = PlanCase("m2o-lossless-and-lossy", "M2O-3")
VARYING = PlanCase("m2o-varying-load", "M2O-4")
NO_CONGESTION = PlanCase("m2o-no-congestion", "M2O-5")

BASE_LOSSLESS, BASE_LOSSY, MORE = 15, 20, 60  # percent of each tx port's line in M2O-4


def too_much(lossless_percent: int, lossy_percent: int) -> LoadMaker:
    """More than the line has room for: so much of its line from each of two ports, for all lossless priorities together
    and for all lossy ones."""

    def load(lab: Lab, target: Target) -> Load:
        times = timing(lab, 2 * (lossless_percent + lossy_percent))
        return make_load(lab, _from_both(lab, lossless_percent, lossy_percent, times.data_s), times=times)

    return load


def no_congestion(lab: Lab, target: Target) -> Load:
    """45 % from each of two ports."""
    return make_load(lab, _from_both(lab, 18, 27, room_s(lab)))


def varying(lab: Lab, target: Target) -> Load:
    """Traffic that the line has room for, and into it more lossless data from one port, half as long later from the
    other one too, until both have stopped: 70, 130, 190, 130 and again 70 % of the line.

    Each of the two lasts until the shared buffer would have been filled by both.
    """
    lossless, ports = lossless_priorities(lab.subject), equal_ports(lab.subject)
    length_s = timing(lab, 2 * (BASE_LOSSLESS + BASE_LOSSY + MORE)).settled_s
    start_s, base_s = (0.1, 6.0) if lab.clock.exact else (3.0, 20.0)
    more = [IngressLoad(port, lossless, MORE, length_s, start_s + n * length_s / 2) for n, port in enumerate(ports)]
    return make_load(lab, [*_from_both(lab, BASE_LOSSLESS, BASE_LOSSY, base_s), *more])


def _from_both(lab: Lab, lossless_percent: int, lossy_percent: int, seconds: float) -> list[IngressLoad]:
    kinds = (lossless_priorities(lab.subject), lossless_percent), (lossy_priorities(lab.subject), lossy_percent)
    return [
        IngressLoad(port, priorities, percent, seconds)
        for port in equal_ports(lab.subject)
        for priorities, percent in kinds
    ]


def with_second_port(subject: PortUnderTest) -> list[Target]:
    """The whole port, where two ports can send into it data of both kinds."""
    both = equal_ports(subject) and lossless_priorities(subject) and lossy_priorities(subject)
    return whole_port(subject) if both else []


NEEDS = (
    "a second tx port: of the same speed, up, on another traffic generator than the port under test, and with the same"
    " priorities, some of them lossless and some lossy"
)
CASES: Mapping[PlanCase, Procedure] = {
    TOO_MUCH_LOSSLESS: Procedure(carry_out(too_much(88, 12)), with_second_port, NEEDS),
    TOO_MUCH_LOSSY: Procedure(carry_out(too_much(15, 60)), with_second_port, NEEDS),
    TOO_MUCH_OF_BOTH: Procedure(carry_out(too_much(40, 60)), with_second_port, NEEDS),
    VARYING: Procedure(carry_out(varying), with_second_port, NEEDS),
    NO_CONGESTION: Procedure(carry_out(no_congestion), with_second_port, NEEDS),
}
