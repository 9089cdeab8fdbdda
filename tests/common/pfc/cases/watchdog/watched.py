"""What test cases of the watchdog are about on a port: the lossless priorities that it watches there."""

from __future__ import annotations

from ...lab.watchdog_deviations import changes_action, forwards
from ...model.qos import PortQos
from ...record.case import Target
from ..targets import CHANGEABLE, each, together

NEEDS = "a lossless priority that the watchdog watches (PORT_QOS_MAP pfcwd_sw_enable)"


def watched(qos: PortQos) -> Target:
    """The lossless priorities that the watchdog watches once it runs: those that `pfcwd_sw_enable` lists too. Older
    images, which have no such field, watch all of them."""
    listed = qos.row.get("pfcwd_sw_enable")
    if listed is None:
        return qos.lossless
    return tuple(priority for priority in qos.lossless if str(priority) in map(str.strip, str(listed).split(",")))


each_watched = each(watched, NEEDS)
all_watched = together(watched, 1, NEEDS)
several_watched = together(watched, 2, "several lossless priorities that the watchdog watches")
FORWARDS = "a platform whose watchdog has the action `forward`"
all_watched_forwarding = all_watched.where(lambda subject: forwards(subject.asic), FORWARDS)
all_watched_changing = all_watched.where(
    lambda subject: changes_action(subject.asic), "a platform whose watchdog takes another action while it runs"
)
all_watched_changeable = all_watched.where(lambda subject: subject.changeable, CHANGEABLE)
