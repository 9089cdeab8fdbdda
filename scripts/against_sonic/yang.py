"""SONiC's YANG models: do they accept the CONFIG_DB of virtual switches?"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from scripts.against_sonic.checkout import Checkout, CheckoutError
from scripts.against_sonic.installation import STAND_IN

PACKAGES = {"oopt_gnpy_libyang": "oopt-gnpy-libyang", "pyang": "pyang"}
"""What is imported, and what it is called where it is installed from."""
_JUDGE = Path(__file__).with_name("yang_judge.py")
_MODELS, _TRANSLATION = Path("src/sonic-yang-models"), Path("src/sonic-yang-mgmt")
_SAMPLES = _MODELS / "tests/yang_model_tests"
_REFUSED_FOR_NOTHING = ("None", "Verify")
"""What SONiC's test cases name as the reason of a refusal when there is none."""


@dataclass(frozen=True)
class Judgement:
    """What the models say about one CONFIG_DB.

    Attributes:
        violations: sentences, each with table, key and field.
        without_model: tables that no model describes.
    """

    violations: tuple[str, ...]
    without_model: tuple[str, ...]


@dataclass
class Samples:
    """SONiC's own test data, as judged here: how many, how many of them are to be refused, and which are judged
    otherwise than SONiC's tests expect.
    """

    cases: int = 0
    to_refuse: int = 0
    otherwise: dict[str, str] = field(default_factory=dict)


def write_models(buildimage: Checkout, folder: Path) -> int:
    """Write all models, those that are templates rendered as SONiC's build does it; returns how many.

    Raises:
        CheckoutError: the checkout has none.
    """
    source = _part(buildimage, _MODELS)
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(source / "yang-templates"), trim_blocks=True)
    models = {path.name: path.read_text(encoding="utf-8") for path in source.glob("yang-models/*.yang")}
    for name in templates.list_templates(["j2"]):
        models[name.removesuffix(".j2")] = templates.get_template(name).render(yang_model_type="py")
    for name, text in models.items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(models)


def judge(buildimage: Checkout, models: Path, configurations: Mapping[str, Any]) -> dict[str, Judgement]:
    """Judge CONFIG_DBs, each by a name.

    Raises:
        CheckoutError: the checkout has no translation of CONFIG_DB, or its models or its translation fail.
    """
    answer = _ask(buildimage, {"models": str(models), "configurations": configurations, "samples": {}})
    return {name: Judgement(tuple(f"{one['place']}: {one['what']}" for one in found["violations"]),
                            tuple(found["without_model"]))
            for name, found in answer["configurations"].items()}


def judge_samples(buildimage: Checkout, models: Path) -> Samples:
    """Judge the data of SONiC's tests of the models.

    Raises:
        CheckoutError: as above, or the checkout has no such data.
    """
    folder = _part(buildimage, _SAMPLES)
    expected, data = _merged(folder / "tests"), _merged(folder / "tests_config")
    judged = {name: data[name] for name in expected if name in data}
    answer = _ask(buildimage, {"models": str(models), "configurations": {}, "samples": judged})["samples"]
    found = Samples(len(judged))
    for name in judged:
        is_to_refuse = _is_to_refuse(expected[name])
        found.to_refuse += is_to_refuse
        if is_to_refuse != bool(answer[name]):
            found.otherwise[name] = answer[name] or "accepted, where SONiC's tests expect a refusal"
    return found


def _is_to_refuse(case: Mapping[str, Any]) -> bool:
    if "verify" in case:
        return False
    return bool(case.get("eStr")) or case.get("eStrKey", "None") not in _REFUSED_FOR_NOTHING


def _merged(folder: Path) -> dict[str, Any]:
    """Everything in the JSON files of a folder, by name."""
    return {name: value for path in sorted(folder.glob("*.json"))
            for name, value in json.loads(path.read_text(encoding="utf-8")).items()}


def _part(buildimage: Checkout, name: Path) -> Path:
    if not (buildimage.folder / name).is_dir():
        raise CheckoutError(f"{buildimage.folder} has no {name}: expected a checkout of sonic-buildimage with it")
    return buildimage.folder / name


def _ask(buildimage: Checkout, question: Mapping[str, Any]) -> Any:
    """SONiC's translation has modules of its own names, so it runs in a process of its own."""
    paths = os.pathsep.join(map(str, (STAND_IN, _part(buildimage, _TRANSLATION))))
    ended = subprocess.run([sys.executable, str(_JUDGE)], input=json.dumps(question), capture_output=True, text=True,
                           check=False, env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"})
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["no reason given"]
        raise CheckoutError(f"{buildimage.folder}: its YANG models cannot be asked: {lines[-1]}")
    return json.loads(ended.stdout)
