"""The preflight of many ports of one switch: what keeps one from being measured keeps no other, and the counters are
waited for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..lab.lab import Lab
from ..lab.preflight import (
    check_path, check_ports, check_queues, clean_flow_checks, clean_flows, know_timing, send_clean_flows,
    settled_queues, waited_counters,
)
from ..model.counters import DutCounters
from ..model.errors import QualificationError
from ..model.traffic import FlowStats
from ..record.verdict import Check
from .at_once import build_together

PreflightResult = list[Check] | QualificationError
"""Checks of the clean flow: PASS, or FAIL for a priority whose frames the switch loses without any storm. Or why the
port cannot be measured."""


def preflight_in_batches(batches: Sequence[Sequence[Lab]]) -> tuple[dict[str, PreflightResult], DutCounters]:
    """Runs the preflight on port pairs of one switch.

    Args:
        batches: pairs that are looked at at once, no port in two of them; one batch after the other.

    Returns:
        Port under test -> what came of it; and the switch's counters after it, which have everything in them that came
        before.

    Raises:
        QualificationError: nothing can be measured at all.
    """
    labs = [lab for batch in batches for lab in batch]
    first = labs[0]
    ports = [lab.port for lab in labs]
    before = waited_counters(first, ports)
    errors = {lab.port: error for lab in labs if (error := _error(check_ports, lab.subject, before))}
    fit = [lab for lab in labs if lab.port not in errors]
    if fit and not first.generator.is_timed:
        know_timing(fit[0])
        before = waited_counters(first, ports)
    stats = dict[str, dict[str, FlowStats]]()
    for batch in batches:
        results = _send_clean_flows_of_all([lab for lab in batch if lab.port not in errors])
        errors |= {port: found for port, found in results.items() if isinstance(found, QualificationError)}
        stats |= {port: found for port, found in results.items() if not isinstance(found, QualificationError)}
    measurable = [lab for lab in labs if lab.port in stats]
    errors |= {lab.port: error for lab in measurable if (error := _error(check_path, lab.subject, stats[lab.port]))}
    after = settled_queues(first, before, stats)
    for lab in measurable:
        error = _error(check_queues, lab, (before, after), stats[lab.port])
        errors |= {lab.port: error} if error and lab.port not in errors else {}
    clean: dict[str, PreflightResult] = {lab.port: clean_flow_checks(lab, stats[lab.port]) for lab in measurable}
    return clean | errors, after


def _send_clean_flows_of_all(labs: Sequence[Lab]) -> dict[str, dict[str, FlowStats] | QualificationError]:
    """Sends the clean flows of these ports at once; where that cannot be done, each port's alone, so that one failing
    port does not block the others. Port under test -> flow -> statistics; or why it could not be done."""
    flows = {lab.port: clean_flows(lab) for lab in labs}
    try:
        if not labs:
            return {}
        traffic = build_together([(lab.builder, flows[lab.port]) for lab in labs])
        stats = send_clean_flows(labs[0], traffic)
        return {port: {flow.name: stats[flow.name] for flow in own} for port, own in flows.items()}
    except QualificationError as error:
        if len(labs) == 1:
            return {labs[0].port: error}
    return {lab.port: _send_clean_flows_of_all([lab])[lab.port] for lab in labs}


def _error(look: Callable[..., None], *arguments: Any) -> QualificationError | None:
    """What a look at one port raises; others are looked at too."""
    try:
        look(*arguments)
    except QualificationError as error:
        return error
    return None
