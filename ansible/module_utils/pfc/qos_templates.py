"""QoS and buffer tables of CONFIG_DB: what a switch's own templates make of a configuration, and how they are replaced.

SONiC lets no patch change pools and profiles (sonic-utilities, `gcu_field_operation_validators.conf.json`); it replaces
all these tables by `config qos reload`, which clears them and writes what `sonic-cfggen` makes with the HwSKU's
templates. Here these steps are taken apart: nothing is cleared before it is known what comes instead, tables of another
time can be put back in the same way, and both can be foretold.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from ansible.module_utils.pfc.config_db import ConfigDbError, Run, Tables, last_line, parse_tables, run_with_file

QOS_TABLES = ("BUFFER_PG", "BUFFER_POOL", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST",
              "BUFFER_PROFILE", "BUFFER_QUEUE", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "DOT1P_TO_TC_MAP",
              "DSCP_TO_FC_MAP", "DSCP_TO_TC_MAP", "LOSSLESS_TRAFFIC_PATTERN", "MAP_PFC_PRIORITY_TO_QUEUE",
              "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP", "QUEUE", "SCHEDULER", "TC_TO_DSCP_MAP",
              "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "WRED_PROFILE")
"""What `config qos clear` removes (sonic-utilities `config/main.py`, `_clear_qos`)."""
DEVICE_FOLDER = "/usr/share/sonic/device"
VERSION_FILE = "/etc/sonic/sonic_version.yml"
CLEARED_S = 30  # as `config qos reload` waits
POLL_S = 0.5


def made_by_templates(run: Run, configuration: Tables) -> Tables:
    """The QoS and buffer tables that the switch's templates make of a configuration without any.

    Raises:
        ConfigDbError: the HwSKU has no templates, or they make nothing of it.
    """
    metadata = configuration.get("DEVICE_METADATA", {}).get("localhost", {})
    platform = metadata.get("platform", "")
    hwsku = metadata.get("hwsku", "")
    buffers = "buffers_dynamic.json.j2" if metadata.get("buffer_model") == "dynamic" else "buffers.json.j2"
    templates = [f"{DEVICE_FOLDER}/{platform}/{hwsku}/{name}" for name in (buffers, "qos.json.j2")]
    options = [word for template in templates for word in ("-t", f"{template},config-db")]
    rest = {table: rows for table, rows in configuration.items() if table not in QOS_TABLES}
    text = run_with_file(run, ["sonic-cfggen", "-j"], rest, [*options, "-y", VERSION_FILE, "--print-data"])
    made = parse_tables(text, f"what sonic-cfggen makes with {' and '.join(templates)}", only=QOS_TABLES)
    tables = {table: rows for table, rows in made.items() if rows}
    if not tables.get("PORT_QOS_MAP") or not tables.get("BUFFER_POOL"):
        raise ConfigDbError(f"{' and '.join(templates)} make no PORT_QOS_MAP or no BUFFER_POOL for {hwsku}")
    return tables


def replace_qos(run: Run, before: Tables, after: Tables) -> None:
    """Have these QoS and buffer tables in CONFIG_DB and no others; where that fails, those from before.

    Raises:
        ConfigDbError: it failed.
    """
    try:
        _clear(run)
        _write(run, after)
    except ConfigDbError:
        _write(run, before)
        raise


def _clear(run: Run) -> None:
    """Clear all of them, and wait until no pool is left in use: new ones may have the same names."""
    command = ["config", "qos", "clear"]
    status, out, err = run(command)
    if status != 0:
        raise ConfigDbError(f"`{' '.join(command)}` ended with status {status}: {last_line(err or out)}")
    deadline = time.monotonic() + CLEARED_S
    while run(["sonic-db-cli", "APPL_DB", "KEYS", "BUFFER_POOL_TABLE:*"])[1].strip() and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _write(run: Run, tables: Tables) -> None:
    if tables:
        run_with_file(run, ["sonic-cfggen", "-j"], tables, ["--write-to-db"])


def only_qos(tables: Mapping[str, Any]) -> Tables:
    """Those of some tables that are about QoS and buffers."""
    return {table: rows for table, rows in tables.items() if table in QOS_TABLES and rows}
