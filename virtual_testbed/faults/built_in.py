"""All faults that come with the testbed, by name."""
from __future__ import annotations

from virtual_testbed.dataplane.model.hooks import Fault
from virtual_testbed.faults import (
    buffering, chattering, configuring, counting, generating, interplay, managing, receiving)

BUILT_IN: dict[str, type[Fault]] = {fault.name: fault for module in (
    receiving, interplay, buffering, managing, configuring, counting,
    generating, chattering) for fault in module.FAULTS}
