"""TAG-1: ports that sort frames by the priority in their VLAN tag (IEEE 802.1p) instead of their DSCP."""

from __future__ import annotations

from collections.abc import Mapping

from ..lab.configuration import configured, read_config, trusting_tags, with_tags
from ..lab.lab import Lab
from ..model.counters import DutCounters
from ..model.measurement import Measurement, PortUnderTest
from ..record.case import PlanCase, Target
from .engine import Finding, Procedure
from .lossless_set import finding
from .pauses import pause_lossless
from .storm_sequence import measure

TAGGED = PlanCase("tagged-lossless", "TAG-1")
PRIORITY_TAG = 0  # IEEE 802.1Q: a tag without a VLAN; the frame is in the port's own, whichever that is
NEEDS = "a switch whose configuration may be changed (a virtual testbed, or --pfc-change-config on hardware)"


def lossless(subject: PortUnderTest) -> list[Target]:
    """All lossless priorities, where the configuration may be changed."""
    return [subject.qos.lossless] if subject.changeable else []


def carry_out(lab: Lab, case: PlanCase, target: Target, before: DutCounters | None) -> Finding:
    """PFC-1's steps for each lossless priority in turn, while both ports trust the tag."""
    pair, config_db = lab.subject.pair, read_config(lab)
    rows = trusting_tags(config_db, lab.dut.name, (pair.rx.port, pair.tx.port))
    other = with_tags(lab, PRIORITY_TAG)
    runs: dict[str, Measurement] = {}
    with configured(lab, config_db, rows):
        for priority in target:
            run = measure(other, pause_lossless(case, (priority,), other.subject.qos), before)
            runs[f"priority {priority}"], before = run, run.after
    return finding(runs, {"vlan_id": PRIORITY_TAG})


CASES: Mapping[PlanCase, Procedure] = {TAGGED: Procedure(carry_out, lossless, NEEDS)}
