"""`sonic-cfggen`: the running configuration as JSON, and parts of it (sonic-buildimage `sonic-config-engine`).

Of the real program: -d, -m, -j, -y, -H, -a as sources; --print-data, -v, --var-json [-K], -w as uses, and templates
(-t), into `config-db`, a file or standard output. What the HwSKU's own make, for buffers of either model and for QoS,
is computed (`factory.qos_tables`).
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from virtual_testbed.sonic.commands import config_files, templates
from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.databases import Config, as_json, checked_config, merge, natural, write_config
from virtual_testbed.sonic.factory import BUFFERS, TEMPLATES, of_model, qos_tables
from virtual_testbed.sonic.minigraph import FILE


def _read(path: str, switch: SwitchContext, parse: Callable[[str], Any]) -> Any:
    """The content of a source file. Raises OSError; ValueError that names the file."""
    try:
        text = sys.stdin.read() if path == "-" else switch.file(path).read_text(encoding="utf-8")
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _yaml(text: str) -> Any:
    """YAML content. Raises ValueError."""
    import yaml
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def _apart(data: Any) -> tuple[Any, dict[str, str]]:
    """What is not text, and what is, of an object; anything else as it is."""
    if not isinstance(data, dict):
        return data, {}
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    return {name: value for name, value in data.items() if name not in texts}, texts


def _hwsku_templates(switch: SwitchContext) -> dict[str, str]:
    """The HwSKU's own templates, and of which buffer model each is."""
    folder = f"/usr/share/sonic/device/{switch.profile.platform}/{switch.hwsku}"
    return {f"{folder}/{name}": model for model, name in TEMPLATES.items()}


def _made_by(template: str, data: Config, switch: SwitchContext) -> Config:
    """The tables that one of the HwSKU's templates makes of a configuration."""
    known = _hwsku_templates(switch)
    is_buffers = bool(known[template])
    tables = qos_tables(of_model(data, known[template]), switch.profile)
    return {table: rows for table, rows in tables.items() if table.startswith(BUFFERS) == is_buffers}


def _render(template: str, data: Mapping[str, Any], folder: str | None, switch: SwitchContext) -> Config:
    """Render `FILE[,DESTINATION]`; returns the tables that go into `config-db`, none where it goes elsewhere.

    Args:
        data: tables, and variables.
        folder: where files are too that the template names.

    Raises:
        ValueError: what goes into `config-db` is no configuration.
        TemplateFailure, OSError.
    """
    name, _, destination = template.partition(",")
    if name in _hwsku_templates(switch):
        text = as_json(_made_by(name, {table: rows for table, rows in data.items() if isinstance(rows, dict)}, switch))
    else:
        text = templates.render(name, data, switch.file, folder)
    if destination == "config-db":
        return checked_config(json.loads(text), name)
    if destination:
        switch.file(destination).write_text(f"{text}\n", encoding="utf-8")
    else:
        print(text)
    return {}


def _gather(arguments: argparse.Namespace, switch: SwitchContext) -> tuple[Config, dict[str, str]]:
    """The tables, and the variables for templates, which YAML files may have beside tables."""
    data: Config = switch.running() if arguments.from_db else {}
    if arguments.minigraph:
        data = merge(data, config_files.from_minigraph(switch, arguments.minigraph))
    variables: dict[str, str] = {}
    for path in arguments.json or []:
        data = merge(data, checked_config(_read(path, switch, json.loads), path))
    for path in arguments.yaml or []:
        rows, own = _apart(_read(path, switch, _yaml))
        data = merge(data, checked_config(rows, path))
        variables |= own
    if arguments.additional_data:
        data = merge(data, checked_config(json.loads(arguments.additional_data), "-a"))
    for template in arguments.template or []:
        data = merge(data, _render(template, {**variables, **data}, arguments.template_dir, switch))
    return data, variables


def _value(expression: str, data: Mapping[str, Any]) -> str:
    """What `-v` prints: the value of a Jinja2 expression. Ends the command with one sentence where it has none."""
    try:
        return templates.evaluate(expression, data)
    except templates.TemplateFailure as error:
        sys.exit(f"error: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sonic-cfggen", description="Render configuration file from minigraph data")
    parser.add_argument("-d", "--from-db", action="store_true", help="read config from configdb")
    parser.add_argument("-j", "--json", action="append", help="additional json file input")
    parser.add_argument("-y", "--yaml", action="append", help="yaml file that contains additional variables")
    parser.add_argument("-t", "--template", action="append", help="render the data with the template file")
    parser.add_argument("-m", "--minigraph", nargs="?", const=FILE, help="minigraph xml file")
    parser.add_argument("-T", "--template_dir", help="search base for the template files")
    parser.add_argument("-a", "--additional-data", help="addition data, in json string")
    parser.add_argument("-H", "--platform-info", action="store_true", help="read platform and hardware info")
    parser.add_argument("-n", "--namespace", default=None, help="namespace name")
    parser.add_argument("-K", "--key", help="Lookup for a specific key")
    parser.add_argument("-w", "--write-to-db", action="store_true", help="write config into configdb")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-v", "--var", help="print the value of a variable")
    group.add_argument("--var-json", help="print the value of a variable, in json format")
    group.add_argument("--print-data", action="store_true", help="print all data")
    return parser


def main() -> None:
    """The command."""
    arguments = _parser().parse_args()
    switch = this_switch()
    try:
        data, variables = _gather(arguments, switch)
    except (OSError, ValueError, templates.TemplateFailure) as error:
        sys.exit(f"error: {error}")
    if arguments.write_to_db:
        write_config(switch.config, merge(switch.running(), data))
    if arguments.print_data:
        tables = {table: dict(sorted(data[table].items(), key=lambda item: natural(item[0]))) for table in sorted(data)}
        print(as_json({**variables, **tables}))
    elif arguments.var:
        print(_value(arguments.var, {**variables, **data}))
    elif arguments.var_json and arguments.var_json in data:
        value = data[arguments.var_json]
        print(as_json(value.get(arguments.key, {}) if arguments.key else value))


if __name__ == "__main__":
    run(main)
