"""How snappi reads what an API server answers."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import snappi
import yaml


def read_answers_as_json() -> None:
    """From now on snappi reads answers with a JSON parser. They are JSON, but it gives them to a YAML parser written in
    Python, which takes a thousand times as long: a tenth of the time of a run on a virtual testbed."""
    snappi.snappi.yaml = SimpleNamespace(safe_load=_load, safe_dump=yaml.safe_dump)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return yaml.load(text, yaml.CSafeLoader)
