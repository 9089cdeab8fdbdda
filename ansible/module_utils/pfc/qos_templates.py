"""QoS and buffer tables of CONFIG_DB: what a switch's own templates make of a configuration, and how they are replaced.

SONiC lets no patch change pools and profiles (sonic-utilities, `gcu_field_operation_validators.conf.json`); it replaces
all these tables by `config qos reload`, which clears them and writes what `sonic-cfggen` makes with the HwSKU's
templates. Here these steps are taken apart: nothing is cleared before it is known what comes instead, tables of another
time can be put back in the same way, and both can be foretold.
"""

from __future__ import annotations

import re
import time
from typing import Any, Mapping

from ansible.module_utils.pfc.config_db import ConfigDbError, Run, Tables, last_line, parse_tables, run_with_file

QOS_TABLES = ("BUFFER_PG", "BUFFER_POOL", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST",
              "BUFFER_PROFILE", "BUFFER_QUEUE", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "DOT1P_TO_TC_MAP",
              "DSCP_TO_FC_MAP", "DSCP_TO_TC_MAP", "LOSSLESS_TRAFFIC_PATTERN", "MAP_PFC_PRIORITY_TO_QUEUE",
              "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP", "QUEUE", "SCHEDULER", "TC_TO_DSCP_MAP",
              "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "WRED_PROFILE")
"""What `config qos clear` removes (sonic-utilities `config/main.py`, `_clear_qos`)."""
DERIVED = re.compile(r"pg_lossless_\d+_\d+m_profile")
"""The names of profiles that buffermgrd makes."""
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


def without_derived(running: Tables, target: Tables) -> Tables:
    """The running tables without the rows that buffermgrd adds to those of `target`: a profile for each speed and
    cable, and who has it, a row for each run of neighbours in `pfc_enable` (sonic-swss `buffermgr.cpp`). It adds them
    when it likes, and removes none. What `target` has of them is looked at.
    """
    whole = {**running, **target}
    keys = {f"{port}|{run}" for port, row in (whole.get("PORT_QOS_MAP") or {}).items()
            for run in _runs(str(row.get("pfc_enable", "")))}
    profiles = {name: row for name, row in (running.get("BUFFER_PROFILE") or {}).items()
                if name in (target.get("BUFFER_PROFILE") or {}) or not DERIVED.fullmatch(name)}
    groups = {key: row for key, row in (running.get("BUFFER_PG") or {}).items()
              if key in (target.get("BUFFER_PG") or {}) or key not in keys or not _is_derived(row)}
    seen = {"BUFFER_PROFILE": profiles, "BUFFER_PG": groups}
    return {table: seen.get(table, rows) for table, rows in running.items() if seen.get(table, True)}


def _is_derived(row: Mapping[str, Any]) -> bool:
    """Whether a group has such a profile; older images write `[BUFFER_PROFILE|name]`."""
    return DERIVED.fullmatch(str(row.get("profile", "")).strip("[]").split("|")[-1]) is not None


def _runs(listed: str) -> list[str]:
    """The runs of neighbours in `2,3,4,6`: `2-4` and `6`."""
    runs: list[list[int]] = []
    for number in sorted(int(part) for part in listed.split(",") if part.strip().isdigit()):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]


def only_qos(tables: Mapping[str, Any]) -> Tables:
    """Those of some tables that are about QoS and buffers."""
    return {table: rows for table, rows in tables.items() if table in QOS_TABLES and rows}
