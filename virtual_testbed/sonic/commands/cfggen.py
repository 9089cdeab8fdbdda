"""`sonic-cfggen`: the running configuration as JSON, and parts of it (sonic-buildimage `sonic-config-engine`).

Of the real program: -d, -j, -y, -H, -a as sources; --print-data, -v, --var-json [-K], -w as uses. Of templates (-t)
only the HwSKU's own, for buffers of either model and for QoS, and only into `config-db`; what they make is
`factory.qos_tables`.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.databases import Config, as_json, checked_config, merge, natural, write_config
from virtual_testbed.sonic.factory import BUFFERS, TEMPLATES, of_model, qos_tables


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


def _made_by(template: str, data: Config, switch: SwitchContext) -> Config:
    """The tables that a template makes of a configuration. Raises ValueError: it is none of these."""
    folder = f"/usr/share/sonic/device/{switch.profile.platform}/{switch.hwsku}"
    known = {f"{folder}/{name},config-db": model for model, name in TEMPLATES.items()}
    if template not in known:
        raise ValueError(f"template {template} cannot be rendered here: expected {' or '.join(known)}")
    is_buffers = bool(known[template])
    tables = qos_tables(of_model(data, known[template]), switch.profile)
    return {table: rows for table, rows in tables.items() if table.startswith(BUFFERS) == is_buffers}


def _gather(arguments: argparse.Namespace, switch: SwitchContext) -> tuple[Config, dict[str, str]]:
    """The tables, and the variables for templates, which YAML files may have beside tables."""
    data: Config = switch.running() if arguments.from_db else {}
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
        data = merge(data, _made_by(template, data, switch))
    return data, variables


def _variable(data: Any, expression: str) -> Any:
    """`DEVICE_METADATA.localhost.hwsku` or `DEVICE_METADATA['localhost']['hwsku']`; None when absent."""
    for part in expression.replace("['", ".").replace("']", "").replace('["', ".").replace('"]', "").split("."):
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sonic-cfggen", description="Render configuration file from minigraph data")
    parser.add_argument("-d", "--from-db", action="store_true", help="read config from configdb")
    parser.add_argument("-j", "--json", action="append", help="additional json file input")
    parser.add_argument("-y", "--yaml", action="append", help="yaml file that contains additional variables")
    parser.add_argument("-t", "--template", action="append", help="render the data with the template file")
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
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    if arguments.write_to_db:
        write_config(switch.config, merge(switch.running(), data))
    if arguments.print_data:
        tables = {table: dict(sorted(data[table].items(), key=lambda item: natural(item[0]))) for table in sorted(data)}
        print(as_json({**variables, **tables}))
    elif arguments.var:
        value = _variable(data, arguments.var)
        print("" if value is None else value)
    elif arguments.var_json and arguments.var_json in data:
        value = data[arguments.var_json]
        print(as_json(value.get(arguments.key, {}) if arguments.key else value))


if __name__ == "__main__":
    run(main)
