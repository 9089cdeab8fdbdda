"""What test cases of the watchdog are about on a port: the lossless priorities that it watches there."""

from __future__ import annotations

from ...lab.watchdog_deviations import changes_action, forwards, is_in_software
from ...model.qos import PortQos
from ...record.case import Target
from ..changed_switch import changeable
from ..engine import Targets
from ..targets import each, together

WATCHED = "that the watchdog watches (PORT_QOS_MAP pfcwd_sw_enable)"
IN_SOFTWARE = "a watchdog in software (STATE_DB PFC_WD_STATE_TABLE|PFC_WD RECOVERY_MECHANISM)"
NEEDS = f"a lossless priority {WATCHED}"
SEVERAL = f"several lossless priorities {WATCHED}"


def watched(qos: PortQos) -> Target:
    """The lossless priorities that the watchdog watches once it runs: those that `pfcwd_sw_enable` lists too. Older
    images, which have no such field, watch all of them."""
    listed = qos.row.get("pfcwd_sw_enable")
    if listed is None:
        return qos.lossless
    return tuple(priority for priority in qos.lossless if str(priority) in map(str.strip, str(listed).split(",")))


def in_software(targets: Targets) -> Targets:
    """The same where orchagent is the watchdog."""
    return targets.where(lambda subject: is_in_software(subject.asic), IN_SOFTWARE)


each_watched = in_software(each(watched, NEEDS))
all_watched = in_software(together(watched, 1, NEEDS))
several_watched = in_software(together(watched, 2, SEVERAL))
each_of_several_watched = each_watched.where(several_watched.on, SEVERAL)
FORWARDS = "a platform whose watchdog has the action `forward`"
all_watched_forwarding = all_watched.where(lambda subject: forwards(subject.asic), FORWARDS)
all_watched_changing = all_watched.where(
    lambda subject: changes_action(subject.asic), "a platform whose watchdog takes another action while it runs"
)
all_watched_changeable = changeable(all_watched)
