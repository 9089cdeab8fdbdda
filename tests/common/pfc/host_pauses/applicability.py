"""Which test cases can be carried out where pauses come from a host, and what the others lack then."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.measurement import PortUnderTest
from ..record.case import PlanCase

PAUSED_BY_HOST = ("PFC", "FRAME", "SIZE")  # storms that are started, last, and are stopped
WITHOUT_PAUSES = ("LOAD", "M2O", "SPEED")  # M2O-6 and SPEED-4 apart
NOT_SHOWN = "a sender that counts its pause frames: neither the switch nor the traffic shows whether these arrived"
EXCEPT: Mapping[str, str] = {
    "PFC-4": NOT_SHOWN,
    "FRAME-4": NOT_SHOWN,
    "FRAME-5": NOT_SHOWN,
    "FRAME-6": NOT_SHOWN,
    "FRAME-7": NOT_SHOWN,
    "FRAME-8": "a generator that knows its own pause frames where they come out",
    "FRAME-9": "a sender of other frames than MAC control",
    "FRAME-10": NOT_SHOWN,
    "M2O-6": "a traffic generator as the source of pauses",
    "SPEED-4": "a traffic generator as the source of pauses",
}
OF_FAMILIES: Mapping[str, str] = {
    "COUNT": "a sender that counts its pause frames",
    "TIME": "a sender of pauses at exact times",
    "CLASS": "a sender of pauses at exact times",
}
ANYTHING_ELSE = "a traffic generator as the source of pauses"


def lacking(case: PlanCase, subject: PortUnderTest) -> str:
    """What it would take to carry out a case, beside what a host can send; empty: nothing, or pauses come from the
    traffic generator."""
    if not subject.pauses_from:
        return ""
    if case.plan_id in EXCEPT:
        lack = EXCEPT[case.plan_id]
    elif case.family in (*PAUSED_BY_HOST, *WITHOUT_PAUSES):
        return ""
    else:
        lack = OF_FAMILIES.get(case.family, ANYTHING_ELSE)
    return f"{lack} (here pauses come from {subject.pauses_from})"
