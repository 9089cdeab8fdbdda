"""What SONiC lets a patch change: the field operation validators of its generic config updater (sonic-utilities
`gu_common.py`, `field_operation_validators.py`), by the file that the switch's Python has too
(`vendor/host/generic_config_updater`, which names its source).

A table that is not in it may be changed in any way. Of one that is in it a step may only do what a rule allows: to
these fields, by these operations, on these ASICs from this release on. A HwSKU that is in no list may not do that.
Whole rows of BUFFER_PROFILE may be added, replaced and removed on any ASIC.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from virtual_testbed.sonic.databases import Config

UNKNOWN = "unknown"
NEVER_REMOVED = ("/PFC_WD/GLOBAL/POLL_INTERVAL", "/PFC_WD/GLOBAL", "/LOOPBACK_INTERFACE/Loopback0")
_FILE = Path(__file__).with_name("vendor") / "host/generic_config_updater/gcu_field_operation_validators.conf.json"
_OF_PROFILES = "buffer_profile_config_update_validator"
Step = Mapping[str, Any]
Rules = Iterable[Mapping[str, Any]]


@cache
def _file() -> Mapping[str, Any]:
    return dict(json.loads(_FILE.read_text(encoding="utf-8")))


def asic_of(hwsku: str) -> str:
    """The chip's name in the rules; `unknown` for a HwSKU that they do not list."""
    families = _file()["helper_data"]["rdma_config_update_validator"].values()
    return next((asic for family in families for asic, skus in family.items() if hwsku in skus), UNKNOWN)


def refusal(steps: Iterable[Step], hwsku: str, build: str) -> str:
    """What SONiC says to the first step of an RFC 6902 patch that is not allowed; empty when all are.

    Args:
        steps: from what is configured to what is wanted.
        hwsku: of the switch.
        build: `build_version` of the image. Without a part of eight digits (20230531) it counts as the newest.
    """
    steps = list(steps)
    for path in NEVER_REMOVED:
        if any(step["op"] == "remove" and step["path"] == path for step in steps):
            return f"Given patch operation is invalid. Operation: remove is illegal on field: {path}"
    release = next((part for part in build.split(".") if re.fullmatch("[0-9]{8}", part)), "")
    for step in steps:
        table = str(step["path"]).lstrip("/").partition("/")[0]
        for validator in _file()["tables"].get(table, {}).get("field_operation_validators", ()):
            if not _is_allowed(step, table, validator.rpartition(".")[2], asic_of(hwsku), release):
                return f"Modification of {table} table is illegal- validating function {validator} returned False"
    return ""


def violations(config: Config) -> list[str]:
    """What SONiC's YANG model of the watchdog (sonic-buildimage `sonic-pfcwd.yang`) says of times that are shorter than
    the interval at which it polls, or where GLOBAL has none; one sentence for each. Nothing else of SONiC's models is
    checked.
    """
    rows = config.get("PFC_WD", {})
    if "GLOBAL" not in rows:
        return []
    poll_ms = str(rows["GLOBAL"].get("POLL_INTERVAL", "none"))
    times = [(port, name, str(row[name])) for port, row in rows.items()
             for name in ("detection_time", "restoration_time") if name in row]
    return [f"Data Loading Failed:{name} must be greater than or equal to POLL_INTERVAL ({port}: {time_ms} ms, "
            f"POLL_INTERVAL: {poll_ms})" for port, name, time_ms in times if not _is_as_long(time_ms, poll_ms)]


def _is_as_long(time_ms: str, poll_ms: str) -> bool:
    return time_ms.isdecimal() and poll_ms.isdecimal() and int(time_ms) >= int(poll_ms)


def _is_allowed(step: Step, table: str, validator: str, asic: str, release: str) -> bool:
    operation = str(step["op"])
    _, *parts = str(step["path"]).lstrip("/").split("/")
    if validator == _OF_PROFILES:
        if len(parts) == 1:
            return operation in ("add", "remove", "replace")
        fields = [field.rpartition("/")[2] for field in _fields("/".join(parts).lower(), step.get("value"))]
    else:
        named = [part for part in parts if not re.search("[0-9]", part)]
        fields = _fields("/".join(named).lower(), step.get("value"))
    rules = _file()["tables"][table]["validator_data"]["rdma_config_update_validator"].values()
    return all(_has_rule(rules, field, operation, asic, release) for field in fields)


def _fields(path: str, value: object) -> list[str]:
    """The fields that a step is about."""
    if not isinstance(value, dict):
        return [path]
    return [f"{path}/{name}" if path else str(name) for name in value]


def _has_rule(rules: Rules, field: str, operation: str, asic: str, release: str) -> bool:
    rule = next((rule for rule in rules if field in rule["fields"]), None)
    if rule is None or asic not in rule["platforms"] or operation not in rule["operations"]:
        return False
    return not release or release >= rule["platforms"][asic]
