"""snappi's client, mended from outside where it is slow and where it is loud: what it sends and what it reads stay the
same."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import snappi
import yaml


UNDER_REVIEW = ("ieee_media_defaults", "auto_negotiate")
"""Properties of layer 1 that OTG keeps under review, and that a configuration for IxNetwork has to have."""
DEPRECATED = ("rx_name",)
"""Properties of a flow's ends that snappi_ixnetwork reads all the same, and no other."""


def quiet_snappi() -> None:
    """From now on snappi does not print a warning for each port and flow of each configuration, that a property which
    is set on purpose is under review or deprecated. Of any other property it still does."""
    for name in UNDER_REVIEW:
        snappi.Layer1._STATUS.pop(name, None)
    for name in DEPRECATED:
        snappi.FlowPort._STATUS.pop(name, None)


def make_snappi_fast() -> None:
    """From now on snappi reads answers with a JSON parser, and looks choices up.

    They are JSON, but it gives them to a YAML parser written in Python, which takes a thousand times as long; for
    each property it lists all attributes of the object. Together a sixth of the time of a run on a virtual
    testbed."""
    snappi.snappi.yaml = SimpleNamespace(safe_load=_load, safe_dump=yaml.safe_dump)
    snappi.snappi.OpenApiObject._has_choice = has_choice


def has_choice(thing: Any, name: str) -> bool:
    """Whether a property of one of snappi's objects is one of those that exclude each other."""
    return hasattr(type(thing), "choice") and name in thing._TYPES.get("choice", {"enum": ()})["enum"]


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return yaml.load(text, yaml.CSafeLoader)
