"""Flows of a phase, and the same flows again for a later one.

A flow is started once in a pushed configuration: a traffic generator may take a second start of a flow that has ended
for none, silently. So "the same traffic again" is a second set of flows. The flows of one phase are started together,
and delays say which comes when: a flow that is started beside running ones starts late on some generators.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.traffic import FlowPlan

RESUMED = "Resumed"
"""The phase in which the traffic of a storm is sent again without one."""


def later(flows: Iterable[FlowPlan], phase: str) -> list[FlowPlan]:
    """Flows as those of a later phase."""
    return [replace(flow, name=f"{phase} {flow.name}", phase=phase) for flow in flows]


def again(flows: Iterable[FlowPlan]) -> list[FlowPlan]:
    """The same flows for the time without a storm, in which they begin at once."""
    return [replace(flow, delay_ns=0) for flow in later(flows, RESUMED)]
