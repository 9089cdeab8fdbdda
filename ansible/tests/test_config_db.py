"""The difference between two configurations, and the patch that removes it."""

import json
from pathlib import Path

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible.module_utils.pfc import config_db
from ansible.module_utils.pfc.config_db import NEVER_REMOVED, ConfigDbError, Wanted, apply_wanted, make_patch
from virtual_testbed.sonic import patch_rules

FOUND = {"VLAN": {"Vlan1": {"vlanid": "1"}},
         "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet4": {}},
         "PORT": {"Ethernet0": {"speed": "40000", "alias": "et1"}}}

NAMES = st.sampled_from(["a", "b|c", "d/e", "f~g"])
ROWS = st.dictionaries(NAMES, st.dictionaries(NAMES, st.sampled_from(["1", "2"]), max_size=3), min_size=1, max_size=3)
DATABASES = st.dictionaries(st.sampled_from(["T", "U", "V"]), ROWS, max_size=3)


@given(before=DATABASES, after=DATABASES)
def test_the_patch_leads_from_any_configuration_to_any_other(before, after):
    patch = make_patch(before, after, ["T", "U", "V"])
    result = jsonpatch.JsonPatch(patch).apply(before)
    assert result == after
    assert bool(patch) == (before != after)
    assert make_patch(after, after, ["T", "U", "V"]) == []


def test_only_tables_that_are_named_are_touched():
    assert make_patch({"T": {"a": {}}}, {}, ["U"]) == []


def test_a_table_goes_with_its_last_row():
    wanted = Wanted(absent={"VLAN": ["*"]})
    assert make_patch(FOUND, apply_wanted(FOUND, wanted), wanted.names) == [{"op": "remove", "path": "/VLAN"}]


def test_a_step_names_one_field_with_its_key_escaped():
    before, after = ({"INTERFACE": {"Ethernet0|10.0.0.0/31": {"x": value}}} for value in "12")
    assert make_patch(before, after, ["INTERFACE"]) == [
        {"op": "replace", "path": "/INTERFACE/Ethernet0|10.0.0.0~131/x", "value": "2"}]


def test_rows_are_exact_unless_their_table_is_merged():
    tables = {"PORT": {"Ethernet0": {"speed": "100000"}}}
    assert apply_wanted(FOUND, Wanted(tables=tables))["PORT"] == {"Ethernet0": {"speed": "100000"}}
    merged = apply_wanted(FOUND, Wanted(tables=tables, merge=frozenset({"PORT"})))
    assert merged["PORT"] == {"Ethernet0": {"speed": "100000", "alias": "et1"}}


def test_other_rows_stay_unless_absent():
    tables = {"VLAN": {"Vlan2": {"vlanid": "2"}}}
    assert set(apply_wanted(FOUND, Wanted(tables=tables))["VLAN"]) == {"Vlan1", "Vlan2"}
    kept = apply_wanted(FOUND, Wanted(tables={"INTERFACE": {"Ethernet0": {}}},
                                      absent={"INTERFACE": ["Ethernet0", "Ethernet0|*"]}))
    assert set(kept["INTERFACE"]) == {"Ethernet0", "Ethernet4"}


def test_a_row_that_no_patch_may_remove_stays_unless_its_table_goes():
    """SONiC refuses `remove /LOOPBACK_INTERFACE/Loopback0`, and `/PFC_WD/GLOBAL`."""
    deployed = {"Loopback0": {}, "Loopback0|10.1.0.32/32": {}, "Loopback1": {}}
    after = apply_wanted({"LOOPBACK_INTERFACE": deployed}, Wanted(exact={"LOOPBACK_INTERFACE": {"Loopback1": {}}}))
    assert after == {"LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback1": {}}}
    assert apply_wanted({"LOOPBACK_INTERFACE": deployed}, Wanted(exact={"LOOPBACK_INTERFACE": None})) == {}
    watched = {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop"}}
    after = apply_wanted({"PFC_WD": watched}, Wanted(exact={"PFC_WD": {"Ethernet4": {"action": "drop"}}}))
    assert after == {"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet4": {"action": "drop"}}}


def test_exact_tables_come_back_and_go_again():
    wanted = Wanted(exact={"VLAN": None, "ACL": {"x": {"y": "1"}}})
    assert apply_wanted(FOUND, wanted) == {"ACL": {"x": {"y": "1"}}}


def test_values_are_strings_as_in_the_database():
    assert config_db.as_strings({"T": {"k": {"n": 5, "b": True, "l": [1]}, "e": None}}) == {
        "T": {"k": {"n": "5", "b": "true", "l": ["1"]}, "e": {}}}


def test_ports_are_in_panel_order():
    names = ["Ethernet0", "Ethernet4", "Ethernet40"]
    assert sorted(reversed(names), key=config_db.natural) == names


@pytest.mark.parametrize("answer, words", [
    ((1, "", "Traceback\nno database\n"), "status 1: no database"),
    ((0, "hello", ""), "is not JSON"),
    ((0, "[]", ""), "not a set of tables"),
])
def test_a_switch_that_does_not_answer_is_one_sentence(answer, words):
    with pytest.raises(ConfigDbError, match=words):
        config_db.read_running(lambda command: answer)


def test_a_backup_keeps_what_was_found_first(tmp_path):
    path = str(tmp_path / "found.json")
    assert config_db.read_backup(path) is None
    first = config_db.to_back_up(FOUND, None, ["VLAN", "ACL"])
    config_db.write_backup(path, first)
    later = {"VLAN": {"Vlan9": {}}, "PORT": {"Ethernet0": {}}}
    assert config_db.to_back_up(later, config_db.read_backup(path), ["VLAN", "PORT"]) == {
        "VLAN": FOUND["VLAN"], "ACL": None, "PORT": {"Ethernet0": {}}}
    assert [file.name for file in tmp_path.iterdir()] == ["found.json"]


@pytest.mark.parametrize("content", ["", "{}", '{"tables": {"VLAN": 5}}', '{"tables": []}'])
def test_a_damaged_backup_is_refused(tmp_path, content):
    path = tmp_path / "found.json"
    path.write_text(content)
    with pytest.raises(ConfigDbError, match="found.json is not a saved configuration"):
        config_db.read_backup(str(path))


def test_a_command_gets_its_file_and_the_file_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []

    def run(command):
        seen.append((command[:2], json.loads(Path(command[2]).read_text()), command[3:]))
        return 2, "", "refused\n"

    with pytest.raises(ConfigDbError, match="`config load` ended with status 2: refused"):
        config_db.run_with_file(run, ["config", "load"], {"a": 1}, ["-y"])
    assert seen == [(["config", "load"], {"a": 1}, ["-y"])]
    assert not list(tmp_path.iterdir())


def test_the_rows_that_no_patch_removes_are_those_that_the_virtual_switch_refuses_to_remove():
    """Of a table with a field of such a row it is the row that stays."""
    refused = {tuple(path.split("/")[1:3]) for path in patch_rules.NEVER_REMOVED}
    assert refused == set(NEVER_REMOVED.items()), refused
