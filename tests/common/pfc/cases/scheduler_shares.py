"""How a port divides its line among queues that want more than it has: the switch's QUEUE and SCHEDULER tables, and
what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ..model.errors import QualificationError
from ..model.numbered_rows import numbers_by_key
from ..model.qos import ConfigDb, PortQos

WEIGHTED = "DWRR"
HEAVIEST = 100  # of all weights (SAI: 1 to 100)
WEIGHT_BYTES = 128  # that a turn has for each of a queue's weight, on a virtual switch; SAI leaves it to the ASIC


@dataclass(frozen=True)
class Scheduler:
    """A queue's scheduler: strict queues come before all weighted ones, the highest number first.

    Attributes:
        strict: whether it is a strict one.
        weight: of a weighted one.
    """

    strict: bool
    weight: int = 1


def turn_frames(weight: int, frame_bytes: int) -> int:
    """The most frames of a size (with FCS) that a queue of a weight sends in one turn."""
    return ceil(Fraction(weight * WEIGHT_BYTES, frame_bytes))


def read_schedulers(config_db: ConfigDb, qos: PortQos) -> dict[int, Scheduler]:
    """The scheduler of each queue that some DSCP value reaches.

    `read_port_qos` has seen to it that the queue of a priority has its number, and the preflight has seen each leave
    through it.

    Raises:
        QualificationError: a queue has none, or one of which its share of the line does not follow.
    """
    return {priority: read_scheduler(config_db, qos, priority) for priority in qos.reachable}


def read_scheduler(config_db: ConfigDb, qos: PortQos, queue: int) -> Scheduler:
    """The scheduler of one queue; raises QualificationError as `read_schedulers`."""
    keys = (key for key, queues in numbers_by_key(config_db, "QUEUE", qos.port).items() if queue in queues)
    row = next((config_db["QUEUE"][key] for key in keys), {})
    name = str(row.get("scheduler", "")).strip("[]").split("|")[-1]
    profile = config_db.get("SCHEDULER", {}).get(name)
    kind, weight = ("", "") if profile is None else (str(profile.get("type")), str(profile.get("weight", 1)))
    if kind == "STRICT":
        return Scheduler(strict=True)
    if kind == WEIGHTED and weight.isdigit() and int(weight):
        return Scheduler(False, int(weight))
    found = f"SCHEDULER|{name} with type {kind!r}, weight {weight!r}" if profile else f"scheduler {name or 'none'!r}"
    raise QualificationError(
        f"{qos.where(queue)}: QUEUE|{qos.port}|{queue} has {found}, from which its share of a congested line does not"
        f" follow: expected a scheduler of type STRICT, or {WEIGHTED} with a weight"
    )


def divide(wanted: Mapping[int, Fraction], schedulers: Mapping[int, Scheduler]) -> dict[int, Fraction]:
    """What each queue gets of a line, 1 being all of it.

    Nothing is divided where the line has room for all, so no scheduler is needed then. Otherwise strict queues take
    what they want, the highest number first. Of the rest each weighted queue gets in proportion to its weight; what one
    does not want goes to the others in the same proportion (the fluid limit of deficit round robin with frames of one
    size).

    Args:
        wanted: queue -> what comes in for it, as a part of the line.
        schedulers: queue -> scheduler.
    """
    if sum(wanted.values()) <= 1:
        return dict(wanted)
    got: dict[int, Fraction] = {}
    left = Fraction(1)
    for queue in sorted((queue for queue in wanted if schedulers[queue].strict), reverse=True):
        got[queue] = min(left, wanted[queue])
        left -= got[queue]
    waiting = {queue: schedulers[queue].weight for queue in wanted if queue not in got}
    while waiting:
        part = left / sum(waiting.values())
        content = {queue: wanted[queue] for queue, weight in waiting.items() if wanted[queue] <= part * weight}
        if not content:
            return got | {queue: part * weight for queue, weight in waiting.items()}
        got |= content
        left -= sum(content.values())
        waiting = {queue: weight for queue, weight in waiting.items() if queue not in content}
    return got


def divide_beside(config_db: ConfigDb, qos: PortQos, full: Collection[int], percent: int) -> dict[int, Fraction]:
    """Priority -> its part of the line while these have more than enough waiting, and all others that some DSCP value
    reaches send so much of the line together: light ones get less than they send. One of the others whose scheduler
    does not say it (queue 7 of SONiC's has none) is taken to get all that it sends. Empty where it does not follow of
    these themselves."""
    others = qos.others(full)
    wanted = {priority: Fraction(percent, 100 * len(others)) for priority in others} | dict.fromkeys(full, Fraction(1))
    schedulers = dict.fromkeys(others, Scheduler(strict=True))
    for priority in wanted:
        try:
            schedulers[priority] = read_scheduler(config_db, qos, priority)
        except QualificationError:
            if priority in full:
                return {}
    return divide(wanted, schedulers)
