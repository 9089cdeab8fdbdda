"""What test cases of the watchdog are about on a port: the lossless priorities that it watches there."""

from __future__ import annotations

from ..targets import CHANGEABLE, each, together

NEEDS = "a lossless priority that the watchdog watches (PORT_QOS_MAP pfcwd_sw_enable)"

each_watched = each(lambda qos: qos.watched, NEEDS)
all_watched = together(lambda qos: qos.watched, 1, NEEDS)
several_watched = together(lambda qos: qos.watched, 2, "several lossless priorities that the watchdog watches")
all_watched_changeable = all_watched.where(lambda subject: subject.changeable, CHANGEABLE)
