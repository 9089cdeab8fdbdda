"""The test cases of the plan: what each is called, the scenario that carries it out, and on which priorities.

A *target* is the set of priorities that a scenario is about, ascending; the empty one is the whole port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .errors import QualificationError
from .qos import DSCP_VALUES, PRIORITIES, PortQos
from .scenario import PlanCase, Scenario, Storm, named

Target = tuple[int, ...]

SINGLE_LOSSLESS = PlanCase("pause-lossless-single", "PFC-1")
SEVERAL_LOSSLESS = PlanCase("pause-lossless-several", "PFC-2")
LOSSY = PlanCase("pause-lossy", "PFC-3")
GLOBAL_PAUSE = PlanCase("global-pause", "PFC-4")


def pause_lossless(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test cases 1 and 2 of the plan: lossless priorities are paused, everything else that some DSCP reaches is
    background.

    Raises:
        QualificationError: a priority is not lossless on the port, no DSCP reaches it, or none reaches any other.
    """
    for priority in target:
        if priority not in qos.lossless:
            raise QualificationError(
                f"{qos.where(priority)}: it is not lossless, PORT_QOS_MAP|{qos.port} pfc_enable has"
                f" {list(qos.lossless)}"
            )
    return Scenario(case, Storm.LOSSLESS, _reached(target, qos), _others(target, qos))


def pause_lossy(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test case 3 of the plan: a storm on lossy priorities, everything else that some DSCP reaches is background. Both
    together fill the line.

    Raises:
        QualificationError: a priority is lossless, no DSCP reaches it, or none reaches any (other) one.
    """
    if not target:
        raise QualificationError(
            f"{qos.device} {qos.port}: DSCP_TO_TC_MAP|{qos.dscp_map} leads to lossless priorities only, so there is no "
            "lossy traffic that a pause could disturb"
        )
    for priority in target:
        if priority in qos.lossless:
            raise QualificationError(
                f"{qos.where(priority)}: it is lossless, PORT_QOS_MAP|{qos.port} pfc_enable has {list(qos.lossless)}"
            )
    return Scenario(case, Storm.LOSSY, _reached(target, qos), _others(target, qos))


def global_pause(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """Test case 4 of the plan: a storm of 802.3x pause frames; all 64 DSCP values, the same load for each, fill the
    line.

    Raises:
        QualificationError: the switch does not say which priority some DSCP value is.
    """
    missing = [dscp for dscp in DSCP_VALUES if not any(dscp in dscps for dscps in qos.dscps.values())]
    if missing:
        raise QualificationError(
            f"{qos.device} {qos.port}: DSCP_TO_TC_MAP|{qos.dscp_map} has no entry for DSCP {missing[:4]}"
            f" ({len(missing)} of {len(DSCP_VALUES)}): {case.plan_id} sends all of them"
        )
    parts = {priority: len(dscps) for priority, dscps in qos.dscps.items()}
    return Scenario(case, Storm.GLOBAL, qos.reachable, (), parts, test_percent=100, background_percent=0)


@dataclass(frozen=True)
class _Carried:
    """How a case is carried out: its scenario for a target, and its targets unless the user names some."""

    scenario: Callable[[PlanCase, Target, PortQos], Scenario]
    targets: Callable[[PortQos], list[Target]]


def _each_lossless(qos: PortQos) -> list[Target]:
    return [(priority,) for priority in qos.lossless]


def _all_lossless(qos: PortQos) -> list[Target]:
    return [qos.lossless] if len(qos.lossless) > 1 else []


def _all_lossy(qos: PortQos) -> list[Target]:
    return [tuple(priority for priority in qos.reachable if priority not in qos.lossless)]


def _whole_port(qos: PortQos) -> list[Target]:
    return [()]


_PLAN: Mapping[PlanCase, _Carried] = {
    SINGLE_LOSSLESS: _Carried(pause_lossless, _each_lossless),
    SEVERAL_LOSSLESS: _Carried(pause_lossless, _all_lossless),
    LOSSY: _Carried(pause_lossy, _all_lossy),
    GLOBAL_PAUSE: _Carried(global_pause, _whole_port),
}
PLAN: tuple[PlanCase, ...] = tuple(_PLAN)


def make_scenario(case: PlanCase, target: Target, qos: PortQos) -> Scenario:
    """The scenario that carries out `case` for `target` on a port with these priorities.

    Raises:
        QualificationError: it cannot be carried out there.
    """
    return _PLAN[case].scenario(case, target, qos)


def targets(case: PlanCase, qos: PortQos, sets: Sequence[Target] = ()) -> list[Target]:
    """What `case` is about on a port: once for each target. None: the port has no two lossless priorities (PFC-2).

    Args:
        case: the case.
        qos: the port's priorities.
        sets: sets of priorities that the user wants paused together: those of lossless priorities are for PFC-2, those
            of lossy ones for PFC-3. A case that gets none of them has its own targets.

    Raises:
        QualificationError: a set is for neither.
    """
    asked = [one for one in sets if _meant(one, qos) is case]
    return asked or _PLAN[case].targets(qos)


def check_sets(sets: Iterable[Target], chosen: Sequence[PlanCase], qos: PortQos) -> None:
    """Whether each set that the user wants paused together can be, by a case that was selected.

    Raises:
        QualificationError: it cannot; the sentence says why.
    """
    for one in sets:
        case = _meant(one, qos)
        if case not in chosen:
            raise QualificationError(
                f"{qos.device} {qos.port}: pausing {named(one)} together is {case.plan_id} ({case.name}), which is not"
                f" among the selected test cases ({', '.join(other.plan_id for other in chosen)})"
            )
        make_scenario(case, one, qos)


def select(names: Iterable[str]) -> tuple[PlanCase, ...]:
    """The cases that have one of these plan ids or names, in the plan's order; no name: the whole plan.

    Raises:
        QualificationError: a name that no case has; the sentence lists those that there are.
    """
    wanted = [name for name in names if name]
    known = {name.lower(): case for case in PLAN for name in (case.plan_id, case.name)}
    for name in wanted:
        if name.lower() not in known:
            listed = ", ".join(f"{case.plan_id} ({case.name})" for case in PLAN)
            raise QualificationError(f"scenario '{name}' is not in the plan; it has {listed}")
    chosen = {known[name.lower()] for name in wanted} or set(PLAN)
    return tuple(case for case in PLAN if case in chosen)


def parse_set(text: str) -> Target:
    """A set of priorities as the user writes it, `3,4`.

    Raises:
        QualificationError: it is no list of priorities.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part in map(str, PRIORITIES) for part in parts):
        raise QualificationError(f"'{text}' is no set of priorities: expected numbers from 0 to 7, as in 3,4")
    return tuple(sorted({int(part) for part in parts}))


def _meant(priorities: Target, qos: PortQos) -> PlanCase:
    """The case that pauses such a set at once."""
    lossless = [priority for priority in priorities if priority in qos.lossless]
    if not lossless:
        return LOSSY
    if len(lossless) == len(priorities) > 1:
        return SEVERAL_LOSSLESS
    found = "one lossless priority alone" if len(priorities) == 1 else "lossless and lossy priorities together"
    raise QualificationError(
        f"{qos.device} {qos.port}: {named(priorities)}: {found}; a set to be paused at once has several lossless"
        f" priorities (of {list(qos.lossless)}) or lossy ones only"
    )


def _reached(target: Target, qos: PortQos) -> Target:
    """`target`, each of which some DSCP value must reach."""
    for priority in target:
        if priority not in qos.dscps:
            raise QualificationError(
                f"{qos.where(priority)}: no DSCP value reaches it, DSCP_TO_TC_MAP|{qos.dscp_map} leads to "
                f"{list(qos.reachable)} only"
            )
    return target


def _others(target: Target, qos: PortQos) -> Target:
    return tuple(other for other in qos.reachable if other not in target)
