"""Reading configuration files. A command ends with one sentence where one cannot be used."""
from __future__ import annotations

import json
import sys

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.databases import Config, checked_config, merge
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.minigraph import FILE, MinigraphError, tables_of

DEFAULT_FILE = "/etc/sonic/config_db.json"
INITIAL_FILE = "/etc/sonic/init_cfg.json"
GOLDEN_FILE = "/etc/sonic/golden_config_db.json"


def read(switch: SwitchContext, name: str) -> Config:
    """A configuration file."""
    try:
        text = sys.stdin.read() if name == "/dev/stdin" else switch.file(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"error: {name} cannot be read: {getattr(error, 'strerror', None) or error}")
    return parse(text, name)


def parse(text: str, name: str) -> Config:
    """A configuration from JSON. `name`: of where it comes from."""
    try:
        return checked_config(json.loads(text), name)
    except json.JSONDecodeError as error:
        sys.exit(f"error: {name} is not JSON: {error}")
    except ValueError as error:
        sys.exit(f"error: {error}")


def whole(switch: SwitchContext, name: str) -> Config:
    """A file's configuration; hardware and address are the machine's where it does not say
    (`load_sysinfo_if_missing`).
    """
    found = read(switch, name)
    identity = factory(switch)["DEVICE_METADATA"]["localhost"]
    metadata = {field: identity[field] for field in ("hwsku", "platform", "mac")}
    return merge({"DEVICE_METADATA": {"localhost": metadata}}, found)


def from_minigraph(switch: SwitchContext, name: str = FILE) -> Config:
    """The tables of a minigraph."""
    try:
        return tables_of(switch.file(name).read_text(encoding="utf-8"), switch.profile, factory(switch))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"error: {name} cannot be read: {getattr(error, 'strerror', None) or error}")
    except MinigraphError as error:
        sys.exit(f"error: {name} {error}")


def factory(switch: SwitchContext) -> Config:
    """What a switch has that was never configured."""
    return factory_config(switch.profile, switch.name, switch.mac)


def saved(switch: SwitchContext) -> Config:
    """What a switch starts with: what was saved, else the factory's."""
    return whole(switch, DEFAULT_FILE) if switch.file(DEFAULT_FILE).exists() else factory(switch)
