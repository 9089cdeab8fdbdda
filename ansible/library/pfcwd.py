#!/usr/bin/python
"""Ansible module: the PFC watchdog of a SONiC switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.pfc import config_db, watchdog
from ansible.module_utils.pfc.config_db import ConfigDbError
from ansible.module_utils.pfc.watchdog import Rows, StartArguments

DOCUMENTATION = r"""
---
module: pfcwd
short_description: Start, stop or restore the PFC watchdog of a SONiC switch
description:
  - Uses SONiC's command C(pfcwd), and only when CONFIG_DB is not as wanted already.
  - Reads CONFIG_DB again afterwards and fails when the command did not do what it says.
  - Check mode and diff show what the command would make of the table PFC_WD.
options:
  state:
    description:
      - C(stopped), no watchdog on I(ports).
      - C(started), a watchdog on I(ports) with the times given; C(all) means every port that has pfc_enable.
      - C(default), what C(pfcwd start_default) leaves. On a switch whose default_pfcwd_status is not C(enable) that is
        nothing, which a warning says.
      - C(restored), exactly I(table), or the table PFC_WD of I(file).
    type: str
    choices: [stopped, started, default, restored]
    required: true
  ports:
    description: Ports, or C(all).
    type: list
    elements: str
    default: [all]
  action:
    description: What happens to a queue in a storm; for C(started).
    type: str
    choices: [drop, forward, alert]
    default: drop
  detection_time:
    description: Time in ms that a queue must be paused to be in a storm; for C(started).
    type: int
    default: 200
  restoration_time:
    description: Time in ms without pause frames that ends a storm; for C(started). Twice the detection time if absent.
    type: int
  poll_interval:
    description: Time in ms between two looks at the queues, for all ports; for C(started). Left as it is if absent.
    type: int
  table:
    description: For C(restored), the table PFC_WD as C({key - {field - value}}); empty for none.
    type: dict
  file:
    description: For C(restored), a file that C(config_db_tables) saved.
    type: path
  assume:
    description: >-
      Tables that earlier tasks set. In check mode, where those did not run, the prediction starts from them.
    type: dict
    default: {}
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: No watchdog while a pause storm is sent
  pfcwd:
    state: stopped

- name: On two ports
  pfcwd:
    state: started
    ports: [Ethernet0, Ethernet4]
    action: drop
    detection_time: 400
    restoration_time: 400
    poll_interval: 200
"""

RETURN = r"""
table:
  description: The table PFC_WD as it is now, in check mode as it would be.
  returned: success
  type: dict
before:
  description: The table PFC_WD as it was found.
  returned: success
  type: dict
commands:
  description: The commands that were run.
  returned: success
  type: list
"""


@dataclass(frozen=True)
class WatchdogPlan:
    """Commands that change the watchdog: `outcomes` are the tables that count as done, the first is the one predicted.

    `exact`: a missing pfc_stat_history is not the same as `disable`.
    """

    outcomes: list[Rows]
    commands: list[list[str]]
    load: Rows
    warning: str = ""
    exact: bool = False

    def is_done(self, rows: Rows) -> bool:
        """Whether the table is as it shall be."""
        if self.exact:
            return rows in self.outcomes
        return any(watchdog.same(rows, outcome) for outcome in self.outcomes)


def make_plan(params: Mapping[str, Any], tables: Mapping[str, Any], saved: Rows) -> WatchdogPlan:
    """What the arguments ask of a switch with this configuration.

    Args:
        params: the module's arguments.
        tables: CONFIG_DB.
        saved: the table for `restored`.

    Raises:
        ConfigDbError: an argument does not fit the switch.
    """
    makers = {"stopped": _stop, "started": _start, "default": _default}
    if params["state"] == "restored":
        return _restore(tables, saved)
    return makers[params["state"]](params, tables)


def _stop(params: Mapping[str, Any], tables: Mapping[str, Any]) -> WatchdogPlan:
    """`pfcwd stop`."""
    ports = watchdog.chosen_ports(tables, params["ports"])
    named = [] if "all" in params["ports"] else ports
    return WatchdogPlan([watchdog.after_stop(tables, ports)], [["pfcwd", "stop", *named]], {})


def _start(params: Mapping[str, Any], tables: Mapping[str, Any]) -> WatchdogPlan:
    """`pfcwd start`."""
    arguments = StartArguments(params["action"], params["detection_time"], params["restoration_time"],
                               params["poll_interval"])
    arguments.check()
    ports = watchdog.chosen_ports(tables, params["ports"])
    every_port = "all" in params["ports"]
    poll_now = watchdog.with_rows(tables).get(watchdog.GLOBAL, {}).get("POLL_INTERVAL")
    outcome = watchdog.after_start(tables, ports, arguments, every_port)
    return WatchdogPlan([outcome], watchdog.start_commands(["all"] if every_port else ports, arguments, poll_now), {})


def _default(params: Mapping[str, Any], tables: Mapping[str, Any]) -> WatchdogPlan:
    """`pfcwd start_default`."""
    if "all" not in params["ports"]:
        raise ConfigDbError(f"state default is for the whole switch, not for ports ({', '.join(params['ports'])})")
    warning = ""
    if not watchdog.defaults_on(tables):
        warning = ("DEVICE_METADATA|localhost default_pfcwd_status is not `enable`: `pfcwd start_default` does nothing "
                   "on this switch")
    return WatchdogPlan(watchdog.after_default(tables), [["pfcwd", "start_default"]], {}, warning)


def _restore(tables: Mapping[str, Any], saved: Rows) -> WatchdogPlan:
    """Exactly a saved table: rows go with `pfcwd stop`, and come with `config load`, which only adds."""
    ports, drop_global, load = watchdog.restore_steps(watchdog.with_rows(tables), saved)
    commands = [["pfcwd", "stop", *ports]] if ports else []
    if drop_global:
        commands.append(["sonic-db-cli", "CONFIG_DB", "DEL", f"{watchdog.TABLE}|{watchdog.GLOBAL}"])
    return WatchdogPlan([saved], commands, load, exact=True)


def saved_rows(params: Mapping[str, Any]) -> Rows:
    """The table that `restored` asks for."""
    if params["state"] != "restored":
        return {}
    if params["table"] is not None:
        return config_db.as_strings({watchdog.TABLE: params["table"]})[watchdog.TABLE]
    backup = config_db.read_backup(params["file"])
    if backup is None or watchdog.TABLE not in backup:
        raise ConfigDbError(f"{params['file']} holds no table {watchdog.TABLE}")
    return dict(backup[watchdog.TABLE] or {})


def assumed(tables: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """CONFIG_DB as it will be once earlier tasks have set these rows."""
    result = dict(tables)
    for table, rows in config_db.as_strings(more).items():
        found = tables.get(table, {})
        result[table] = {**found, **{key: {**found.get(key, {}), **row} for key, row in rows.items()}}
    return result


def run_module(module: Any) -> dict[str, Any]:
    """Do what the arguments ask for; the module's result."""
    tables = config_db.read_running(module.run_command)
    if module.check_mode:
        tables = assumed(tables, module.params["assume"])
    before = watchdog.with_rows(tables)
    plan = make_plan(module.params, tables, saved_rows(module.params))
    if plan.warning:
        module.warn(plan.warning)
    if plan.is_done(before):
        return {"changed": False, "before": before, "table": before, "commands": [], "diff": _diff(before, before)}
    after = plan.outcomes[0] if module.check_mode else _carry_out(module, plan)
    return {"changed": True, "before": before, "table": after, "commands": plan.commands, "diff": _diff(before, after)}


def _carry_out(module: Any, plan: WatchdogPlan) -> Rows:
    """Run the commands; the table that results."""
    for command in plan.commands:
        status, out, err = module.run_command(command)
        if status != 0:
            raise ConfigDbError(f"`{' '.join(command)}` ended with status {status}: {config_db.last_line(err or out)}")
    if plan.load:
        data = {watchdog.TABLE: plan.load}
        config_db.run_with_file(module.run_command, ["config", "load"], data, ["-y"])
    after = watchdog.with_rows(config_db.read_running(module.run_command))
    if not plan.is_done(after):
        wrong = config_db.unlike({watchdog.TABLE: after}, {watchdog.TABLE: plan.outcomes[0]}, [watchdog.TABLE])
        done = ", ".join(f"`{' '.join(command)}`" for command in plan.commands) or "`config load`"
        raise ConfigDbError(f"{done} ended well, but {wrong}")
    return after


def _diff(before: Rows, after: Rows) -> dict[str, Any]:
    """The rows that differ."""
    old, new = config_db.changed_rows({watchdog.TABLE: before}, {watchdog.TABLE: after}, [watchdog.TABLE])
    return {"before_header": "CONFIG_DB", "after_header": "CONFIG_DB", "before": old, "after": new}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["stopped", "started", "default", "restored"], "required": True},
            "ports": {"type": "list", "elements": "str", "default": ["all"]},
            "action": {"type": "str", "choices": ["drop", "forward", "alert"], "default": "drop"},
            "detection_time": {"type": "int", "default": watchdog.DEFAULT_MS},
            "restoration_time": {"type": "int"},
            "poll_interval": {"type": "int"},
            "table": {"type": "dict"},
            "file": {"type": "path"},
            "assume": {"type": "dict", "default": {}},
        },
        mutually_exclusive=[("table", "file")],
        required_if=[("state", "restored", ["table", "file"], True)],
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run_module(module))
    except ConfigDbError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
