"""What test cases of the watchdog are about on a port: the lossless priorities that it watches there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...lab.watchdog_deviations import changes_action, forwards, is_in_software
from ...model.qos import ConfigDb, PortQos
from ...record.case import Target
from ..changed_switch import changeable
from ..engine import Targets
from ..targets import each, together

FIELD = "pfcwd_sw_enable"  # of PORT_QOS_MAP, since 202205
WATCHED = f"that the watchdog watches (PORT_QOS_MAP {FIELD})"
IN_SOFTWARE = "a watchdog in software (STATE_DB PFC_WD_STATE_TABLE|PFC_WD RECOVERY_MECHANISM)"
NEEDS = f"a lossless priority {WATCHED}"
SEVERAL = f"several lossless priorities {WATCHED}"
HAS_FIELD = f"the field {FIELD} of PORT_QOS_MAP, without which the watchdog watches nothing"


def watched(qos: PortQos) -> Target:
    """The lossless priorities that the watchdog watches once it runs: those that `pfcwd_sw_enable` lists too. A port
    without this field has none (sonic-swss `qosorch.cpp`), but on images that do not know it: there it has all."""
    listed = _row(qos).get(FIELD)
    if listed is None:
        return qos.lossless if lacks_field(qos.config_db) else ()
    return tuple(priority for priority in qos.lossless if str(priority) in map(str.strip, str(listed).split(",")))


def watched_alike(qos: PortQos, ports: Iterable[str]) -> bool:
    """Whether the watchdog watches the same priorities at other ports, which have the same lossless ones."""
    return all(watched(replace(qos, port=port)) == watched(qos) for port in ports)


def follows_set(qos: PortQos) -> bool:
    """Whether the watchdog watches what becomes lossless, the field being written with it where it is there."""
    return FIELD in _row(qos) or lacks_field(qos.config_db)


def lacks_field(config_db: ConfigDb) -> bool:
    """Whether an image is known to be one that does not know `pfcwd_sw_enable`: 201811 to 202111, by the version of its
    CONFIG_DB. (That of later builds of 202012, which know it, is the same; they write it into each row.)"""
    said = str(config_db.get("VERSIONS", {}).get("DATABASE", {}).get("VERSION", ""))
    if any(FIELD in row for row in config_db.get("PORT_QOS_MAP", {}).values()):
        return False
    return re.fullmatch(r"version_([12]_.*|3_0_[0-4])", said) is not None


def _row(qos: PortQos) -> Mapping[str, Any]:
    return qos.config_db.get("PORT_QOS_MAP", {}).get(qos.port, {})


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
