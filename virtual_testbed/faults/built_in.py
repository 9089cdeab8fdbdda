"""All faults that come with the testbed, by name."""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import Fault
from virtual_testbed.faults import buffering, generating, managing, receiving

BUILT_IN: dict[str, type[Fault]] = {
    fault.name: fault for fault in (*receiving.FAULTS, *buffering.FAULTS, *managing.FAULTS, *generating.FAULTS)}
