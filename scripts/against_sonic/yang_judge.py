"""Judges configurations by YANG models: a program that reads a question and writes an answer, both JSON.

sonic-yang-mgmt, which turns a CONFIG_DB into YANG data, and the binding of libyang that it imports have to be on
PYTHONPATH. The question: `models`, a folder; `configurations`, CONFIG_DBs by name; `samples`, YANG data by name. The
answer: `configurations`, by name the `violations` (each `place` and `what`) and the tables `without_model`; `samples`,
by name what is refused in them, nothing where they are accepted.
"""
from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import libyang
import sonic_yang

_STEP = re.compile(r"/(?:[\w.-]+:)?(?P<name>[\w.@-]+)(?P<keys>(?:\[[^=\]]+=(?:'[^']*'|\"[^\"]*\")\])*)")
_KEY = re.compile(r"=(?:'([^']*)'|\"([^\"]*)\")\]")
_ROWS = "_LIST"


def place_of(path: str) -> str:
    """Table, key and field of a path in YANG data.

    `/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/mtu` is `PORT|Ethernet0 mtu`; what is no such path stays.
    """
    steps = list(_STEP.finditer(path))[1:]
    if not steps:
        return path
    words = [steps[0]["name"]]
    for step in steps[1:]:
        keys = "|".join(single or double for single, double in _KEY.findall(step["keys"]))
        words.append(keys if step["name"].endswith(_ROWS) or keys else step["name"])
    key, *fields = [word for word in words[1:] if word] or [""]
    return " ".join([f"{words[0]}|{key}" if key else words[0], *fields])


def judge(yang: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """What the models say about a CONFIG_DB.

    A row that SONiC cannot even translate is named and left out, so that the others are judged too.
    """
    left = copy.deepcopy(dict(config))
    violations = list(_translate(yang, left))
    try:
        yang.loadData(left)
    except sonic_yang.SonicYangException as error:
        cause = error.__context__
        if not isinstance(cause, libyang.LibyangError):
            raise
        violations += [{"place": place_of(path), "what": what} for path, what in cause.violations]
    return {"violations": violations, "without_model": sorted(yang.tablesWithOutYang)}


def _translate(yang: Any, config: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Take out of a CONFIG_DB what SONiC does not translate; yields it."""
    for table in [table for table in config if table in yang.confDbYangMap]:
        for key in list(config[table]):
            try:
                yang._xlateConfigDBtoYang({table: {key: copy.deepcopy(config[table][key])}}, {})
            except Exception as error:  # noqa: B902 (SONiC raises no narrower one)
                del config[table][key]
                yang.elementPath = []
                yield {"place": f"{table}|{key}", "what": "cannot be translated: " + " ".join(str(error).split())}


def refusal(context: Any, data: object) -> str:
    """Why the models refuse YANG data; empty where they accept it."""
    try:
        context.parse_data_mem(json.dumps(data), "json", no_state=True, strict=True, json_string_datatypes=True)
    except libyang.LibyangError as error:
        return str(error)
    return ""


def main() -> None:
    """Answer."""
    question = json.load(sys.stdin)
    yang = sonic_yang.SonicYang(question["models"], print_log_enabled=False)
    yang.loadYangModel()
    json.dump({"configurations": {name: judge(yang, config) for name, config in question["configurations"].items()},
               "samples": {name: refusal(yang.ctx, data) for name, data in question["samples"].items()}}, sys.stdout)


if __name__ == "__main__":
    main()
