"""What SONiC lets a patch change: the field operation validators of its generic config updater, as data
(`patch_rules.json`, which names its source).

A table that is not in it may be changed in any way. Of one that is in it a step may only do what a rule allows: to
these fields, by these operations, on these ASICs from this release on. A HwSKU that is in no list may not do that.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

UNKNOWN = "unknown"
_FILE = Path(__file__).with_name("patch_rules.json")


@cache
def _rules() -> Mapping[str, Any]:
    return dict(json.loads(_FILE.read_text(encoding="utf-8")))


def asic_of(hwsku: str) -> str:
    """The chip's name in the rules; `unknown` for a HwSKU that they do not list."""
    return next((asic for asic, skus in _rules()["asics"].items() if hwsku in skus), UNKNOWN)


def refused_table(steps: Iterable[Mapping[str, Any]], hwsku: str, build: str) -> str:
    """The table of the first step of an RFC 6902 patch that is not allowed; empty when all are.

    Args:
        build: `build_version` of the image. Without a part of eight digits (20230531) it counts as the newest.
    """
    release = next((part for part in build.split(".") if re.fullmatch("[0-9]{8}", part)), "")
    for step in steps:
        table, *parts = str(step.get("path", "")).lstrip("/").split("/")
        rules = _rules()["tables"].get(table)
        if rules is not None and not all(_is_allowed(rules, field, str(step.get("op")), asic_of(hwsku), release)
                                         for field in _fields(parts, step.get("value"))):
            return table
    return ""


def _fields(parts: Iterable[str], value: object) -> list[str]:
    """The fields that a step is about, without rows that are named after something with a number (a port)."""
    path = "/".join(part for part in parts if not re.search("[0-9]", part)).lower()
    if not isinstance(value, dict):
        return [path]
    return [f"{path}/{name}" if path else str(name) for name in value]


def _is_allowed(rules: Iterable[Mapping[str, Any]], field: str, operation: str, asic: str, release: str) -> bool:
    rule = next((rule for rule in rules if field in rule["fields"]), None)
    if rule is None or asic not in rule["since"] or operation not in rule["operations"]:
        return False
    return not release or release >= rule["since"][asic]
