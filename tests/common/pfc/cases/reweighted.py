"""M2O-7: one lossy queue of the port under test gets a scheduler of its own, with a third more weight, and the
line must be shared by that while lossy data from two ports is too much for it; then the queue's row is put back. What
an ASIC is told of one queue must take effect, and leave the others as they were. Nothing lossless is sent: which lossy
frames are dropped where they enter would be chance then (`congestion`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..lab.configuration import NAME, as_found, configured, keys_of_port, read_config, reference
from ..lab.lab import Lab
from ..lab.reservation import Rows
from ..model.qos import ConfigDb
from ..record.case import PlanCase, Target
from ..record.verdict import LOSSY
from .changed_switch import changeable, inside
from .congestion import OfferedLoad, load_case, offered_load, timing
from .engine import Table
from .ingress import IngressLoad, equal_ports
from .loads import SECOND
from .scheduler_shares import WEIGHTED, read_schedulers

CHANGED_WEIGHT = PlanCase("m2o-weight-changed", "M2O-7", (LOSSY,))
LOSSY_PERCENT = 75
"""Of the line of each of two ports: of lossy priorities of equal weights each wants more than it gets, also the one
that has a third more."""
MOST_WEIGHT = 100  # of a scheduler, by sonic-scheduler.yang


@contextmanager
def reweighted(lab: Lab, _: Target) -> Iterator[Lab]:
    """A queue has another weight inside the `with` block.

    Raises:
        QualificationError: a queue has no scheduler from which its share would follow, or its row is other ports' too;
            or the switch did not take the rows, or did not take those back that were found.
    """
    config_db = read_config(lab)
    rows = heavier(lab, config_db)
    with configured(lab, config_db, rows):
        yield replace(lab, config_db=as_found(config_db, rows))


def too_much_lossy(lab: Lab, target: Target) -> OfferedLoad:
    """Lossy data alone from two ports, more than the line has room for."""
    times = timing(lab, 2 * LOSSY_PERCENT)
    loads = [IngressLoad(port, lab.subject.qos.reached_lossy, LOSSY_PERCENT, times.data_s)
             for port in equal_ports(lab.subject)]
    return offered_load(lab, loads, times=times)


def heavier(lab: Lab, config_db: ConfigDb) -> Rows:
    """The rows that give the lossy queue of the least weight a third more, up to `MOST_WEIGHT` (1 and 2 stay), and with
    it those that its row is for too: more than four bits hold where it has SONiC's default, 14."""
    qos = lab.subject.qos
    schedulers = read_schedulers(config_db, qos)
    queue = min(qos.reached_lossy, key=lambda number: (schedulers[number].strict, schedulers[number].weight))
    weight = min(schedulers[queue].weight * 4 // 3, MOST_WEIGHT)
    scheduler = {"type": WEIGHTED, "weight": str(weight)}
    keys = keys_of_port(config_db, lab.dut.name, "QUEUE", qos.port)
    key = next(one for one, queues in keys.items() if queue in queues)
    row = config_db["QUEUE"][key]
    changed = {**row, "scheduler": reference(row, "scheduler", "SCHEDULER")}
    return {"SCHEDULER": {NAME: scheduler}, "QUEUE": {key: changed}}


several_lossy = changeable(SECOND).where(
    lambda subject: len(subject.qos.reached_lossy) > 1, "several lossy priorities that DSCP values lead to"
)
CASES: Table = {CHANGED_WEIGHT: inside(reweighted, load_case(too_much_lossy, several_lossy))}
