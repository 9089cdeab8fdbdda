"""QoS and buffer tables by the switch's templates, and what a switch makes of them."""

import pytest

from ansible.module_utils.pfc import qos_templates, readiness
from ansible.module_utils.pfc.config_db import ConfigDbError

MADE = {
    "BUFFER_POOL": {"egress_lossless_pool": {"size": "1000", "type": "egress"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m", "Ethernet40": "300m"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "tc_to_pg_map": "AZURE"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3", "4": "6"}},
}


@pytest.fixture
def deploy(library, fake_module, switch):
    """Runs config_db_tables with the switch's templates."""
    switch.templates = MADE
    switch.tables["DEVICE_METADATA"]["localhost"]["platform"] = "x86_64-arista_7060_cx32s"

    def run(check_mode=False, **params):
        defaults = {"state": "present", "templates": True, "merge": ["CABLE_LENGTH"], "absent": {}, "backup": None,
                    "tables": {"CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}}}, "backup_also": []}
        return library("config_db_tables").run_module(fake_module(switch, {**defaults, **params}, check_mode))
    return run


def test_templates_make_the_tables_and_what_is_named_lies_over_them(deploy, switch):
    foretold = deploy(check_mode=True)
    assert not switch.tables.get("BUFFER_POOL") and foretold["changed"]
    done = deploy()
    assert {key: done[key] for key in ("diff", "tables", "wanted")} == {
        key: foretold[key] for key in ("diff", "tables", "wanted")}
    assert switch.tables["CABLE_LENGTH"] == {"AZURE": {"Ethernet0": "5m", "Ethernet40": "300m"}}
    assert switch.tables["PORT_QOS_MAP"] == MADE["PORT_QOS_MAP"], "rows of other ports are gone"
    assert not any(command[:2] == ["config", "apply-patch"] for command in switch.commands)
    count = len(switch.commands)
    assert not deploy()["changed"] and len(switch.commands) == count + 2, "it reads, and asks what templates make"


def test_what_buffermgrd_adds_is_no_difference(deploy, switch, monkeypatch):
    """It adds it at any time; a row of another lossless set, which was left behind, goes with all the others."""
    whole = switch.run
    profile = {"profile": "pg_lossless_100000_5m_profile"}

    def run(command):
        answer = whole(command)
        if "--write-to-db" in command:
            switch.tables["BUFFER_PROFILE"] = {profile["profile"]: {"xoff": "165568"}}
            switch.tables["BUFFER_PG"] = {"Ethernet0|3-4": dict(profile)}
        return answer
    monkeypatch.setattr(switch, "run", run)
    assert deploy()["changed"] and switch.tables["BUFFER_PG"] == {"Ethernet0|3-4": profile}
    assert not deploy()["changed"]
    switch.tables["BUFFER_PG"]["Ethernet0|0-6"] = dict(profile)
    assert deploy()["changed"] and switch.tables["BUFFER_PG"] == {"Ethernet0|3-4": profile}
    switch.tables["BUFFER_PG"]["Ethernet0|3-4"] = {"profile": "ingress_lossy_profile"}
    assert deploy()["changed"] and switch.tables["BUFFER_PG"] == {"Ethernet0|3-4": profile}


def test_templates_are_those_of_the_platform_and_of_the_buffer_model(switch):
    switch.templates = MADE
    metadata = {"platform": "p", "hwsku": "h"}
    for model, name in (("traditional", "buffers.json.j2"), ("dynamic", "buffers_dynamic.json.j2")):
        tables = {"DEVICE_METADATA": {"localhost": {**metadata, "buffer_model": model}}, "QUEUE": {"x": {}}}
        assert qos_templates.made_by_templates(switch.run, tables) == MADE
        folder = "/usr/share/sonic/device/p/h"
        assert switch.commands[-1][3:] == [
            "-t", f"{folder}/{name},config-db", "-t", f"{folder}/qos.json.j2,config-db", "-y",
            "/etc/sonic/sonic_version.yml", "--print-data"]


def test_templates_that_make_nothing_change_nothing(deploy, switch, tables):
    switch.templates = {"QUEUE": {"Ethernet0|3": {}}}
    with pytest.raises(ConfigDbError, match="qos.json.j2 make no PORT_QOS_MAP or no BUFFER_POOL for Arista-7060CX"):
        deploy()
    switch.broken["sonic-cfggen -j"] = (1, "", "jinja2.exceptions.TemplateNotFound: buffers.json.j2")
    with pytest.raises(ConfigDbError, match="`sonic-cfggen -j` ended with status 1: jinja2.*buffers.json.j2"):
        deploy()
    assert switch.tables["PORT_QOS_MAP"] == tables["PORT_QOS_MAP"] and "BUFFER_POOL" not in switch.tables


def test_what_was_found_comes_back_without_a_patch(deploy, switch, tables, tmp_path):
    switch.tables["BUFFER_POOL"] = {"own_pool": {"size": "7"}}
    backup = str(tmp_path / "found.json")
    deploy(backup=backup)
    assert "own_pool" not in switch.tables["BUFFER_POOL"]
    result = deploy(state="restored", templates=False, tables={}, backup=backup)
    assert result["changed"] and switch.tables["BUFFER_POOL"] == {"own_pool": {"size": "7"}}
    assert switch.tables["PORT_QOS_MAP"] == tables["PORT_QOS_MAP"] and "CABLE_LENGTH" not in switch.tables
    assert not any(command[:2] == ["config", "apply-patch"] for command in switch.commands)


def test_tables_that_cannot_be_written_leave_those_from_before(switch):
    before = {"BUFFER_POOL": {"own_pool": {"size": "7"}}}
    switch.tables.update(before)
    whole, written = switch.run, []

    def run(command):
        if "--write-to-db" in command:
            written.append(command)
            if len(written) == 1:
                return 1, "", "No space left on device"
        return whole(command)
    with pytest.raises(ConfigDbError, match="No space left on device"):
        qos_templates.replace_qos(run, before, MADE)
    assert qos_templates.only_qos(switch.tables) == before


def test_new_pools_wait_until_the_old_ones_are_gone(switch, monkeypatch):
    slept = []
    monkeypatch.setattr(qos_templates.time, "sleep", slept.append)
    switch.pools = ["one"] * 4
    qos_templates.replace_qos(switch.run, {}, MADE)
    assert len(slept) == 3 and qos_templates.only_qos(switch.tables) == MADE


# ---- what the switch makes of it

def ready(library, fake_module, switch, ports, timeout=0):
    """Runs ports_ready."""
    return library("ports_ready").run_module(fake_module(switch, {"ports": ports, "timeout": timeout}))


def test_a_port_with_link_and_buffers_is_ready(library, fake_module, switch):
    switch.tables.update(MADE)
    switch.links = {"Ethernet0": "up\n"}
    for groups in (["BUFFER_PG_TABLE:Ethernet0:0", "BUFFER_PG_TABLE:Ethernet0:3-6"],
                   ["BUFFER_PG_TABLE:Ethernet0:3", "BUFFER_PG_TABLE:Ethernet0:6"]):
        switch.groups = groups
        assert not ready(library, fake_module, switch, ["Ethernet0"])["changed"]


@pytest.mark.parametrize("links, groups, words", [
    ({}, [], "after 0 s Ethernet0 has no buffer for priority group 3, 6 in BUFFER_PG_TABLE"),
    ({"Ethernet0": "up"}, ["BUFFER_PG_TABLE:Ethernet0:3-4", "BUFFER_PG_TABLE:Ethernet4:6"],
     "Ethernet0 has no buffer for priority group 6 in BUFFER_PG_TABLE"),
])
def test_a_port_without_buffers_is_named(library, fake_module, switch, links, groups, words):
    switch.tables.update(MADE)
    switch.links, switch.groups = links, groups
    with pytest.raises(ConfigDbError, match=words):
        ready(library, fake_module, switch, ["Ethernet0"])


def test_it_waits(library, fake_module, switch, monkeypatch):
    switch.tables.update(MADE)
    switch.groups = ["BUFFER_PG_TABLE:Ethernet0:3-6"]
    monkeypatch.setattr(library("ports_ready").time, "sleep", lambda _: switch.links.update(Ethernet0="up"))
    assert not ready(library, fake_module, switch, ["Ethernet0"], timeout=60)["without_link"] and switch.links


@pytest.mark.parametrize("links", [{}, {"Ethernet0": "down"}])
def test_of_a_port_without_a_link_it_warns(library, fake_module, switch, links):
    switch.tables.update(MADE)
    switch.links, switch.groups = links, ["BUFFER_PG_TABLE:Ethernet0:3-6"]
    module = fake_module(switch, {"ports": ["Ethernet0"], "timeout": 0})
    assert library("ports_ready").run_module(module)["without_link"] == ["Ethernet0"]
    assert module.warnings == ["after 0 s no link at Ethernet0"]


def test_a_port_without_pfc_is_named(library, fake_module, switch):
    switch.tables["PORT_QOS_MAP"] = {"Ethernet4": {"dscp_to_tc_map": "AZURE"}}
    for port, found in (("Ethernet0", "no row"), ("Ethernet4", "no pfc_enable")):
        with pytest.raises(ConfigDbError, match=f"PORT_QOS_MAP has {found} for {port}: the templates of the HwSKU"):
            ready(library, fake_module, switch, [port])


def test_lossless_groups_without_a_map_are_those_of_the_priorities():
    assert readiness.lossless_groups({"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}}, "Ethernet0") == [3, 4]
