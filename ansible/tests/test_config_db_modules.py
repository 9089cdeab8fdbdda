"""config_db_tables, config_db_save and config_facts on a switch that is a dictionary."""

import json

import pytest

from ansible.module_utils.pfc.config_db import ConfigDbError

VLAN = {"VLAN": {"Vlan1000": {"vlanid": 1000}}}


@pytest.fixture
def apply(library, fake_module, switch):
    """Runs config_db_tables with these arguments."""
    def run(check_mode=False, **params):
        defaults = {"state": "present", "tables": {}, "merge": [], "templates": False, "absent": {}, "backup": None,
                    "backup_also": []}
        return library("config_db_tables").run_module(fake_module(switch, {**defaults, **params}, check_mode))
    return run


def test_tables_are_set_once(apply, switch):
    result = apply(tables=VLAN)
    assert result["changed"] and switch.tables["VLAN"] == {"Vlan1000": {"vlanid": "1000"}}
    diff = result["diff"][0]
    assert diff["before"] == {} and diff["after"] == {"VLAN": {"Vlan1000": {"vlanid": "1000"}}}
    changes = len(switch.changes())
    again = apply(tables=VLAN)
    assert not again["changed"] and again["patch"] == [] and len(switch.changes()) == changes


def test_check_mode_says_the_same_and_changes_nothing(apply, switch, tmp_path):
    backup = tmp_path / "found.json"
    checked = apply(check_mode=True, tables=VLAN, backup=str(backup))
    assert checked["changed"] and not switch.changes() and not backup.exists()
    assert apply(tables=VLAN, backup=str(backup)) == checked


def test_what_was_found_comes_back(apply, switch, tables, tmp_path):
    backup = str(tmp_path / "found.json")
    first = {"PORT": {"Ethernet0": {"speed": 40000}}, **VLAN}
    apply(tables=first, merge=["PORT"], backup=backup)
    apply(tables={"VLAN": {"Vlan7": {"vlanid": 7}}}, absent={"DEVICE_NEIGHBOR": ["*"], "VLAN": ["*"]}, backup=backup,
          backup_also=["PFC_WD"])
    assert "DEVICE_NEIGHBOR" not in switch.tables and set(switch.tables["VLAN"]) == {"Vlan7"}
    switch.tables["PFC_WD"] = {"Ethernet0": {"action": "drop"}}
    result = apply(state="restored", backup=backup, backup_also=["PFC_WD"])
    assert switch.tables == {**tables, "PFC_WD": {"Ethernet0": {"action": "drop"}}}
    assert switch.speeds() == [("Ethernet0", "40000"), ("Ethernet0", "100000")]
    assert result["tables"] == ["DEVICE_NEIGHBOR", "PORT", "VLAN"]
    assert not apply(state="restored", backup=backup, backup_also=["PFC_WD"])["changed"]


def test_nothing_is_restored_without_a_backup(apply, switch, tmp_path):
    assert not apply(state="restored", backup=str(tmp_path / "none.json"))["changed"]
    assert not switch.changes()


def test_the_backup_is_there_before_the_first_change(apply, switch, tmp_path):
    backup = tmp_path / "found.json"
    switch.broken["config apply-patch"] = (2, "", "Failed to apply patch\n")
    with pytest.raises(ConfigDbError, match="Failed to apply patch"):
        apply(tables=VLAN, backup=str(backup))
    assert json.loads(backup.read_text())["tables"] == {"VLAN": None}


def test_a_patch_that_changes_nothing_is_not_believed(apply, switch):
    switch.broken["config apply-patch"] = (0, "Patch applied successfully.", "")
    with pytest.raises(ConfigDbError, match=r"ended well, but VLAN\|Vlan1000 is absent and should be"):
        apply(tables=VLAN)


@pytest.fixture
def save(library, fake_module, switch, tmp_path, monkeypatch):
    """Runs config_db_save; the saved configuration is a file of the test."""
    path = tmp_path / "config_db.json"
    monkeypatch.setattr("ansible.module_utils.pfc.config_db.PERSISTENT_CONFIG", str(path))

    def run(check_mode=False, pending=False, saved=None):
        if saved is not None:
            path.write_text(json.dumps(saved))
        params = {"tables": ["PORT", "VLAN"], "pending": pending}
        return library("config_db_save").run_module(fake_module(switch, params, check_mode))
    return run


def test_a_configuration_is_saved_when_it_differs(save, switch, tables):
    assert save()["unsaved"] == ["PORT"] and switch.saved == tables
    assert not save(saved={**tables, "VLAN": {}, "FEATURE": {}})["changed"]


def test_in_check_mode_a_pending_change_counts(save, switch, tables):
    assert not save(check_mode=True, saved=tables)["changed"]
    assert save(check_mode=True, pending=True, saved=tables)["changed"]
    assert not save(pending=True, saved=tables)["changed"]
    assert switch.saved is None


def test_facts_have_sonic_mgmts_shape(library, tables):
    facts = library("config_facts").make_facts({
        **tables, "VLAN_INTERFACE": {"Vlan1000": {"grat_arp": "enabled"}, "Vlan1000|fc02:1000::1/64": {}},
        "PORTCHANNEL": {"PortChannel1": {"mtu": "9100"}, "PortChannel2": {}},
        "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet40": {}, "PortChannel1|Ethernet4": {}}})
    assert facts["VLAN_INTERFACE"] == {"Vlan1000": {"grat_arp": "enabled", "fc02:1000::1/64": {}}}
    assert facts["PORTCHANNEL"] == {"PortChannel1": {"mtu": "9100", "members": ["Ethernet4", "Ethernet40"]},
                                    "PortChannel2": {}}
    assert facts["port_name_to_alias_map"]["Ethernet4"] == "et1"
    assert facts["port_alias_to_name_map"]["et1"] == "Ethernet4"
    assert facts["port_index_map"] == {"Ethernet0": 0, "Ethernet4": 1, "Ethernet8": 2, "Ethernet40": 3}
    assert facts["DEVICE_METADATA"]["localhost"]["default_pfcwd_status"] == "enable"


def test_ports_without_an_index_are_counted(library):
    maps = library("config_facts").make_port_maps({"Ethernet40": {}, "Ethernet4": {}})
    assert maps["port_index_map"] == {"Ethernet4": 0, "Ethernet40": 1}


def test_the_facts_of_a_namespace_and_of_a_file(library, fake_module, switch, tmp_path):
    module = library("config_facts")
    switch.broken["sonic-cfggen -d"] = (0, "{}", "")
    params = {"source": "running", "filename": None, "namespace": "asic0", "host": "x"}
    assert module.read_tables(fake_module(switch, params)) == {}
    assert switch.commands == [["sonic-cfggen", "-d", "--print-data", "-n", "asic0"]]
    assert module.persistent_path(None, "asic1") == "/etc/sonic/config_db1.json"
    missing = {"source": "persistent", "filename": str(tmp_path / "no.json"), "namespace": None}
    with pytest.raises(ConfigDbError, match="no.json cannot be read"):
        module.read_tables(fake_module(switch, missing))
