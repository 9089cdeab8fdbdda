"""The watchdog module: what it predicts, what it runs, what it does not believe."""

import copy

import pytest

from ansible.module_utils.pfc import watchdog
from ansible.module_utils.pfc.config_db import ConfigDbError

ROW = {"action": "drop", "detection_time": "200", "restoration_time": "200", "pfc_stat_history": "disable"}
DEFAULT = {"Ethernet0": ROW, "Ethernet4": ROW, "GLOBAL": {"POLL_INTERVAL": "200"}}


@pytest.fixture
def pfcwd(library, fake_module, switch):
    """Runs the module with these arguments; the warnings are part of the result."""
    def run(check_mode=False, **params):
        defaults = {"ports": ["all"], "action": "drop", "detection_time": 200, "restoration_time": 200,
                    "poll_interval": None, "table": None, "file": None, "assume": {}}
        module = fake_module(switch, {**defaults, **params}, check_mode)
        return {**library("pfcwd").run_module(module), "warnings": module.warnings}
    return run


STATES = [
    {"state": "default"},
    {"state": "stopped"},
    {"state": "stopped", "ports": ["Ethernet4"]},
    {"state": "started", "poll_interval": 100},
    {"state": "started", "ports": ["Ethernet0", "Ethernet8"], "action": "forward", "detection_time": 400,
     "restoration_time": None},
    {"state": "restored", "table": {"Ethernet8": {"detection_time": 300, "action": "alert"}, "GLOBAL": {}}},
    {"state": "restored", "table": {}},
]


@pytest.mark.parametrize("found", [{}, DEFAULT, {"Ethernet4": {**ROW, "action": "alert"},
                                                 "GLOBAL": {"BIG_RED_SWITCH": "enable"}}])
@pytest.mark.parametrize("wanted", STATES, ids=str)
def test_check_mode_foretells_the_change_and_a_second_run_makes_none(pfcwd, switch, found, wanted):
    if found:
        switch.tables["PFC_WD"] = copy.deepcopy(found)
    foretold = pfcwd(check_mode=True, **wanted)
    assert not switch.changes()
    assert pfcwd(**wanted) == foretold
    assert switch.tables.get("PFC_WD", {}) == foretold["table"]
    assert foretold["changed"] == (foretold["table"] != found)
    commands = len(switch.changes())
    again = pfcwd(**wanted)
    assert not again["changed"] and again["diff"]["before"] == again["diff"]["after"] == {}
    assert len(switch.changes()) == commands


def test_the_commands_are_sonics(pfcwd, switch):
    assert pfcwd(state="default")["table"] == DEFAULT
    pfcwd(state="stopped", ports=["Ethernet4"])
    pfcwd(state="started", ports=["Ethernet8"], detection_time=400, restoration_time=None, poll_interval=100)
    pfcwd(state="stopped")
    assert switch.changes() == [
        ["pfcwd", "start_default"],
        ["pfcwd", "stop", "Ethernet4"],
        ["pfcwd", "interval", "100"],
        ["pfcwd", "start", "--action", "drop", "--restoration-time", "800", "Ethernet8", "400"],
        ["pfcwd", "stop"],
    ]
    assert switch.tables["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "100"}}


def test_a_longer_poll_interval_comes_after_the_longer_times(pfcwd, switch):
    pfcwd(state="started", detection_time=600, restoration_time=600, poll_interval=500)
    assert [command[1] for command in switch.changes()] == ["start", "interval"]


def test_every_port_means_those_with_pfc(pfcwd):
    assert set(pfcwd(state="started")["table"]) == {"Ethernet0", "Ethernet4", "Ethernet8"}


def test_the_times_grow_with_the_number_of_ports(tables):
    tables["PORT"].update({f"Ethernet{100 + number}": {} for number in range(40)})
    classic, newer = watchdog.after_default(tables)
    assert classic["GLOBAL"] == {"POLL_INTERVAL": "400"} and classic["Ethernet0"]["detection_time"] == "400"
    assert newer == DEFAULT


def test_rows_of_an_older_image_are_as_good(pfcwd, switch):
    old = {name: value for name, value in ROW.items() if name != "pfc_stat_history"}
    switch.tables["PFC_WD"] = {**copy.deepcopy(DEFAULT), "Ethernet0": old}
    assert not pfcwd(state="default")["changed"]
    assert pfcwd(state="restored", table=DEFAULT)["changed"], "restoring is exact"


def test_internal_ports_have_the_default_too(tables):
    tables["PORT"]["Ethernet8"]["role"] = "Int"
    assert watchdog.default_ports(tables) == ["Ethernet0", "Ethernet4", "Ethernet8"]


def test_default_does_nothing_where_the_switch_says_so(pfcwd, switch):
    switch.tables["DEVICE_METADATA"]["localhost"]["default_pfcwd_status"] = "disable"
    result = pfcwd(state="default")
    assert not result["changed"] and "default_pfcwd_status is not `enable`" in result["warnings"][0]


def test_check_mode_starts_from_what_earlier_tasks_set(pfcwd, switch, tables):
    switch.tables.update(DEVICE_NEIGHBOR={}, PORT_QOS_MAP={})
    assume = {name: tables[name] for name in ("DEVICE_NEIGHBOR", "PORT_QOS_MAP")}
    assert not pfcwd(check_mode=True, state="default", assume={"DEVICE_NEIGHBOR": {}})["table"].get("Ethernet0")
    assert pfcwd(check_mode=True, state="default", assume=assume)["table"] == DEFAULT


def test_restoring_from_a_backup(pfcwd, switch, tmp_path):
    file = tmp_path / "found.json"
    file.write_text('{"schema": 1, "tables": {"PFC_WD": null}}')
    switch.tables["PFC_WD"] = copy.deepcopy(DEFAULT)
    assert pfcwd(state="restored", file=str(file))["changed"] and "PFC_WD" not in switch.tables
    file.write_text('{"schema": 1, "tables": {}}')
    with pytest.raises(ConfigDbError, match="holds no table PFC_WD"):
        pfcwd(state="restored", file=str(file))


@pytest.mark.parametrize("wanted, words", [
    ({"state": "stopped", "ports": ["Ethernet1"]},
     "port Ethernet1 does not exist; the switch has Ethernet0, Ethernet4, Ethernet8, Ethernet40"),
    ({"state": "started", "ports": ["Ethernet40"]}, "PFC is not enabled on port Ethernet40"),
    ({"state": "started", "detection_time": 50}, "detection_time is 50 ms, and must be 100 to 5000 ms"),
    ({"state": "started", "poll_interval": 400}, "poll_interval is 400 ms, and must not be above the shortest"),
    ({"state": "default", "ports": ["Ethernet0"]}, "for the whole switch"),
])
def test_bad_arguments_are_one_sentence_and_change_nothing(pfcwd, switch, wanted, words):
    with pytest.raises(ConfigDbError, match=words):
        pfcwd(**wanted)
    assert not switch.changes()


def test_a_poll_interval_above_another_ports_times_is_refused_first(pfcwd, switch):
    switch.tables["PFC_WD"] = copy.deepcopy(DEFAULT)
    with pytest.raises(ConfigDbError, match=r"must not be above Ethernet4's detection_time \(200 ms\)"):
        pfcwd(state="started", ports=["Ethernet0"], detection_time=500, restoration_time=500, poll_interval=300)
    assert not switch.changes()


def test_a_command_that_does_nothing_is_not_believed(pfcwd, switch):
    switch.tables["PFC_WD"] = copy.deepcopy(DEFAULT)
    switch.broken["pfcwd stop"] = (0, "", "")
    with pytest.raises(ConfigDbError, match=r"`pfcwd stop` ended well, but PFC_WD\|Ethernet0 is .* should be absent"):
        pfcwd(state="stopped")


def test_a_command_that_fails_is_quoted(pfcwd, switch):
    switch.broken["pfcwd start_default"] = (1, "", "Root privileges are required for this operation\n")
    with pytest.raises(ConfigDbError, match="`pfcwd start_default` ended with status 1: Root privileges"):
        pfcwd(state="default")
