"""sonic-mgmt's modules for facts on virtual switches: how their answers are read and compared."""
from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scripts import real_sonic
from scripts.against_sonic import facts
from scripts.against_sonic.facts import FactsComparison, FactsModule, differences, read_answers
from scripts.against_sonic.minigraph import minigraph
from scripts.real_sonic import DIFFERS, EQUAL, main

CONFIG = {
    "DEVICE_METADATA": {"localhost": {"hwsku": "sku", "platform": "x86_64-p", "mac": "02:00:00:00:00:01",
                                      "type": "ToRRouter"}},
    "FEATURE": {"swss": {"state": "enabled"}},
    "PORT": {"Ethernet0": {"alias": "Eth1"}, "Ethernet4": {"alias": "Eth2"}},
    "VLAN": {"Vlan10": {"vlanid": "10"}}, "VLAN_MEMBER": {"Vlan10|Ethernet4": {"tagging_mode": "untagged"}},
    "VLAN_INTERFACE": {"Vlan10": {}, "Vlan10|192.0.2.1/24": {}}, "INTERFACE": {"Ethernet0|10.0.0.0/31": {}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
    "MGMT_INTERFACE": {"eth0|127.0.0.1/8": {"gwaddr": "127.0.0.254"}},
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "generator", "port": "Port1"}}}
PRINTED = """one | SUCCESS => {
    "ansible_facts": {
        "discovered_interpreter_python": "python3",
        "ports": {"Ethernet0": 1}
    },
    "changed": false
}
[ERROR]: Task failed: => {
two | FAILED! => {
    "changed": false,
    "msg": "no\\n  file"
}
three | UNREACHABLE! => {
    "changed": false,
    "unreachable": true
}
"""


def test_answers_of_several_switches():
    found = dict(read_answers(PRINTED))
    assert found == {"one": {"ports": {"Ethernet0": 1}}, "two": "no file",
                     "three": "{'changed': False, 'unreachable': True}"}


@pytest.mark.parametrize(("theirs", "ours", "found"), [
    ({"a": {"b": [1]}}, {"a": {"b": [1]}}, []),
    ({"a": {"b": 1, "c": 2}}, {"a": {"b": "1", "d": 3}},
     ["a.b: there 1, here '1'", "a.c: only there", "a.d: only here"]),
    ({"a": {}}, {"a": None}, ["a: there {}, here None"])])
def test_differences(theirs, ours, found):
    assert list(differences(theirs, ours)) == found


class Answers:
    """What a module and the one beside it say, by switch; by its own packages as by SONiC's, or `by_switch`."""

    def __init__(self, by_sonic, ours=None, by_switch=None):
        self._by_sonic, self._ours = by_sonic, ours or {}
        self._by_switch = by_sonic if by_switch is None else by_switch

    def by_sonic(self, module):
        return self._by_sonic

    def ours(self, module):
        return self._ours

    def by_switch(self, module):
        return self._by_switch


@pytest.mark.parametrize(("answers", "found"), [
    (Answers({"one": {"states": {"swss": "enabled"}}}), []),
    (Answers({"one": {"states": {"swss": "enabled"}, "more": 1}}), []),
    (Answers({"one": {"states": {"swss": "disabled"}}}), ["states.swss: there 'disabled', here 'enabled'"]),
    (Answers({"one": {"states": {}}}), ["states.swss: only here"]),
    (Answers({"one": {}}), ["states: missing"]),
    (Answers({"one": "no file"}), ["sonic-mgmt's fails: no file"]),
    (Answers({}), ["sonic-mgmt's fails: no answer"])])
def test_what_a_module_returns_is_what_the_switch_has(answers, found):
    module = FactsModule("feature_facts", expected=lambda config: {
        "states": {name: row["state"] for name, row in config["FEATURE"].items()}})
    comparison = FactsComparison()
    facts._compare(module, answers, {"one": CONFIG}, comparison)
    assert comparison.differences == [f"one feature_facts : {one}" for one in found] and comparison.runs == 1


@pytest.mark.parametrize(("answers", "found"), [
    (Answers({"one": {"a": 1}}, {"one": {"a": 1}}), []),
    (Answers({"one": {"a": 1}}, {"one": {"a": 1, "b": 2}}), ["b: only here"]),
    (Answers({"one": {"a": 1}}, {"one": "no file"}), ["fails: no file"])])
def test_a_module_returns_what_the_one_beside_it_does(answers, found):
    comparison = FactsComparison()
    facts._compare(FactsModule("config_facts", "x", has_ours=True), answers, {"one": CONFIG}, comparison)
    assert comparison.differences == [f"one config_facts x: by this project's module: {one}" for one in found]


@pytest.mark.parametrize(("by_switch", "found"), [
    ({"one": {"a": 1}}, []), ({"one": {"a": 2}}, ["a: there 1, here 2"]),
    ({"one": "no module named x"}, ["fails: no module named x"]),
    ({}, ["fails: no answer"])])
def test_a_module_returns_the_same_by_the_switchs_own_packages(by_switch, found):
    comparison = FactsComparison()
    answers = Answers({"one": {"a": 1}}, by_switch=by_switch)
    facts._compare(FactsModule("config_facts", "x"), answers, {"one": CONFIG}, comparison)
    assert comparison.differences == [f"one config_facts x: by the switch's own packages: {one}" for one in found]


def test_a_module_is_left_out_where_a_switch_has_nothing_for_it():
    comparison = FactsComparison()
    facts._compare(FactsModule("vlan_facts", table="VLAN"), Answers({}), {"one": {"PORT": {}}}, comparison)
    assert (comparison.runs, comparison.differences) == (0, []), "it fails on SONiC too"


def test_what_is_expected_of_a_switch():
    expected = {module.name: module.expected(CONFIG) for module in facts.MODULES}
    assert expected["vlan_facts"]["ansible_vlan_facts"] == {"Vlan10": {
        "name": "Vlan10", "vlanid": "10", "members": {"Ethernet4": {"tagging_mode": "untagged"}},
        "interfaces": [{"addr": "192.0.2.1", "prefixlen": 24}]}}
    assert expected["sonic_basic_facts"]["basic_facts"]["mgmt_interface"] == ["127.0.0.1/8"]
    assert expected["dut_basic_facts"]["dut_basic_facts"]["feature_status"] == {"swss": "enabled"}
    graph = expected["minigraph_facts"]
    assert graph["minigraph_ports"] == {"Ethernet0": {"name": "Ethernet0", "alias": "Eth1"},
                                        "Ethernet4": {"name": "Ethernet4", "alias": "Eth2"}}
    assert graph["minigraph_neighbors"] == {"Ethernet0": {"name": "generator", "port": "Port1", "namespace": ""}}


def test_a_minigraph_names_ports_by_alias():
    graph = "{Microsoft.Search.Autopilot.Evolution}"
    root = ElementTree.fromstring(minigraph("dut", CONFIG))
    plane = root.find(f"{graph}DpgDec/{graph}DeviceDataPlaneInfo")
    interfaces = [[one.text for one in interface] for interface in plane.find(f"{graph}IPInterfaces")]
    vlans = [[one.text for one in vlan] for vlan in plane.find(f"{graph}VlanInterfaces")]
    links = [[one.text for one in link] for link in root.find(f"{graph}PngDec/{graph}DeviceInterfaceLinks")]
    assert (root.findtext(f"{graph}Hostname"), root.findtext(f"{graph}HwSku")) == ("dut", "sku")
    assert interfaces == [["Eth1", "10.0.0.0/31"], ["Vlan10", "192.0.2.1/24"]]
    assert vlans == [["Vlan10", "Eth2", "10"]]
    assert links == [["DeviceInterfaceLink", "generator", "Port1", "dut", "Eth1"]]


@pytest.mark.parametrize(("found", "status"), [
    (FactsComparison(2, 9), EQUAL), (FactsComparison(2, 9, ["one port_facts: a"]), DIFFERS),
    (FactsComparison(2, 0), DIFFERS)])
def test_the_command(tmp_path, monkeypatch, capsys, found, status):
    for name in ("ansible/library/sonic_basic_facts.py", "src/sonic-py-common/sonic_py_common/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(facts, "compare_facts", lambda sonic_mgmt, buildimage: found)
    monkeypatch.setattr(real_sonic, "PARTS", real_sonic.PARTS[-1:])
    assert main(["--sonic-mgmt", str(tmp_path), "--buildimage", str(tmp_path)]) == status
    assert f"ran 2 times and returned {found.facts} facts" in capsys.readouterr().out
