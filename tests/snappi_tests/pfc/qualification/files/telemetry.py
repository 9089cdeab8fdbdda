"""A test's verdicts in a sonic-mgmt tree's own telemetry, `tests/common/telemetry`, which is given to what is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.common.pfc.record.collector import metric_verdicts
from tests.common.pfc.record.verdict import DESCRIPTIONS, PortVerdict

DEVICE_ID = "device.id"
DEVICE_PORT_ID = "device.port.id"
"""sonic-mgmt's label keys."""
FAULTS = "test.faults"
"""This project's own label key: what was broken on purpose in the testbed; absent where nothing was."""
NO_UNIT = "N/A"


def record_verdicts(
    verdicts: Sequence[PortVerdict], reporter: Any, gauge_class: Callable[..., Any], faults: Sequence[str] = ()
) -> None:
    """Records the verdict of each device, port and metric of a test: 0 is PASS, 1 is FAIL, as in SONiC's
    `FINAL_STATUS`, which this interface has not; what could not be measured has no value.

    Args:
        verdicts: all of the test, of whatever priorities; none: nothing is reported.
        reporter: sonic-mgmt's `DBReporter`, which its fixture `db_reporter` makes for a test.
        gauge_class: sonic-mgmt's `GaugeMetric`; of several values with the same labels it keeps the last one.
        faults: what was broken on purpose in the testbed.
    """
    found = metric_verdicts(verdicts)
    broken = {FAULTS: "; ".join(faults)} if faults else {}
    for verdict in found:
        gauge = gauge_class(verdict.metric_name, DESCRIPTIONS[verdict.metric_name], NO_UNIT, reporter)
        gauge.record(verdict.status.number, {DEVICE_ID: verdict.device, DEVICE_PORT_ID: verdict.port} | broken)
    if found:
        reporter.report()
