"""The lab files: what they say, and one sentence for everything that is wrong with them."""
from __future__ import annotations

from pathlib import Path

import pytest

from virtual_testbed.engine.testbed import read_arguments
from virtual_testbed.lab_files.cables import GeneratorLink, SwitchLink
from virtual_testbed.lab_files.description import DescriptionError, generator_location, load_testbed, virtual_testbeds
from virtual_testbed.sonic.command_wrappers import BUILD
from virtual_testbed.supervision.plan import Options, make_plan
from virtual_testbed.supervision.state import TestbedFolder, read_json

PROJECT = Path(__file__).parents[3] / "ansible" / "testbed.yaml"


def test_classic_entry(load):
    testbed = load()
    assert (testbed.name, testbed.inv_name) == ("lab-t0", "lab")
    assert [switch.name for switch in testbed.switches] == ["lab-t0-01"]
    assert list(testbed.switches[0].hwsku.ports) == ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"]
    assert testbed.generators == {"snappi-lab-1": "127.1.0.1", "snappi-lab-2": "127.1.0.2"}
    assert [(link.location, link.switch_port, link.speed_mbps) for link in testbed.generator_links] == [
        ("127.1.0.1;1;1", "Ethernet0", 100000), ("127.1.0.1;1;2", "Ethernet4", 100000),
        ("127.1.0.2/3", "Ethernet8", 40000)]
    assert testbed.switch_links == ()  # the other switch is of another testbed
    assert testbed.entry["comment"] == "four ports"


def test_all_virtual_testbeds_of_a_file(tmp_path):
    names = [testbed.name for testbed in virtual_testbeds(PROJECT)]
    assert names == ["vtb-t0", "vtb-chain", "vtb-t1", "vtb-t1-mismatch", "vtb-mixed", "vtb-t0-64x400g",
                     "vms-snappi-sonic-multidut", "vms-snappi-sonic-multidut-400g"], "in the file's order"
    (tmp_path / "testbed.yaml").write_text("- conf-name: lab-1\n  virtual: false\n")
    assert virtual_testbeds(tmp_path / "testbed.yaml") == [], "hardware is none"


def test_newer_entry(load):
    testbed = load("lab-new")
    assert [switch.name for switch in testbed.switches] == ["lab-t0-01", "lab-t0-02"]
    assert testbed.generators == {"snappi-lab-1": "127.1.0.1"}
    assert [link.location for link in testbed.generator_links] == ["127.1.0.1;1;1", "127.1.0.1;1;2", "127.1.0.1;2;1"]
    assert [link.switch for link in testbed.generator_links] == ["lab-t0-01", "lab-t0-01", "lab-t0-02"]
    assert [(link.a, link.b) for link in testbed.switch_links] == [
        (("lab-t0-01", "Ethernet12"), ("lab-t0-02", "Ethernet12"))]


def test_only_generators_with_a_cable_belong_to_a_testbed(lab, load):
    path = lab / "files" / "sonic_lab_links.csv"
    path.write_text(path.read_text().replace("snappi-lab-2,Port3", "snappi-lab-1,Port3"))
    assert load().generators == {"snappi-lab-1": "127.1.0.1"}


def test_three_switches_in_a_row_reach_the_engine(tmp_path):
    testbed = load_testbed("vtb-chain", PROJECT)
    assert testbed.generators == {"snappi-vtb-3": "127.1.0.3", "snappi-vtb-4": "127.1.0.4"}
    assert [link.switch for link in testbed.generator_links] == [
        f"vtb-chain-0{number}" for number in (1, 2, 3) for _ in range(4)]
    folder = TestbedFolder(tmp_path / "vtb-chain")
    plan = make_plan(testbed, folder, tmp_path, Options(clock="virtual"))
    assert [child.name for child in plan.children if child.kind == "ssh"] == [
        "vtb-chain-01.ssh", "vtb-chain-02.ssh", "vtb-chain-03.ssh"]
    assert len({read_json(folder.path / f"{switch.name}.json")["mac"] for switch in plan.switches}) == 3
    engine = read_json(folder.path / "engine.json")
    assert engine["switch_links"] == [
        {"a": ["vtb-chain-01", "Ethernet124"], "b": ["vtb-chain-02", "Ethernet120"], "speed_mbps": 100000,
         "cable_m": 40},
        {"a": ["vtb-chain-02", "Ethernet124"], "b": ["vtb-chain-03", "Ethernet120"], "speed_mbps": 100000,
         "cable_m": 40}]
    arguments = read_arguments(folder.path / "engine.json")
    assert arguments.switch_links == testbed.switch_links and arguments.generator_links == testbed.generator_links
    assert arguments.switch_links[0] == SwitchLink(
        ("vtb-chain-01", "Ethernet124"), ("vtb-chain-02", "Ethernet120"), 100000, 40)
    assert arguments.generator_links[-1] == GeneratorLink("127.1.0.4;3;2", "vtb-chain-03", "Ethernet12", 100000, 5)


def test_a_t1_its_neighbours_and_its_replacement(tmp_path):
    testbed = load_testbed("vtb-t1", PROJECT)
    assert testbed.generators == {"snappi-vtb-5": "127.1.0.5", "snappi-vtb-6": "127.1.0.6"}
    behind = [link.switch for link in testbed.generator_links]
    assert {name: behind.count(name) for name in behind} == {
        "vtb-t1-rep-01": 32, "vtb-t1-t0-01": 4, "vtb-t1-t0-02": 4}  # none on the T1
    assert [(link.a, link.b) for link in testbed.switch_links] == [
        (("vtb-t1-01", "Ethernet0"), ("vtb-t1-t0-01", "Ethernet124")),
        (("vtb-t1-01", "Ethernet4"), ("vtb-t1-t0-02", "Ethernet124"))]
    assert {switch.hwsku.hwsku for switch in testbed.switches} == {"Arista-7060CX-32S-C32"}


def test_a_switch_with_another_build(tmp_path):
    testbed = load_testbed("vtb-t1-mismatch", PROJECT)
    folder = TestbedFolder(tmp_path / "vtb-t1-mismatch")
    plan = make_plan(testbed, folder, tmp_path, Options(clock="virtual"))
    builds = {switch.name: read_json(folder.path / f"{switch.name}.json")["build"] for switch in plan.switches}
    assert builds == {"vtb-t1-01": BUILD, "vtb-t1-t0-01": BUILD, "vtb-t1-rep-01": "202411.virtual",
                      "vtb-t1-rep-02": BUILD}
    assert [switch.hwsku for switch in plan.switches][-1] == "Dell-Z9864f-O64"


def test_cables_of_three_speeds():
    links = load_testbed("vtb-mixed", PROJECT).generator_links
    assert [link.speed_mbps // 1000 for link in links] == ([100] * 4 + [400] * 4) * 2 + [800]


def test_64_cables_of_400g_to_four_generators():
    testbed = load_testbed("vtb-t0-64x400g", PROJECT)
    assert testbed.switch_links == () and [switch.hwsku.hwsku for switch in testbed.switches] == ["DellEMC-Z9664f-O64"]
    assert testbed.generators == {f"snappi-vtb-{number}": f"127.1.0.{number}" for number in (9, 10, 11, 12)}
    assert list(testbed.generator_links) == [
        GeneratorLink(f"127.1.0.{9 + number // 16};1;{1 + number % 16}", "vtb-t0-64x400g-01", f"Ethernet{4 * number}",
                      400_000, 5) for number in range(64)]


def test_a_testbed_file_that_stands_apart_from_its_lab(lab, load, tmp_path):
    assert load().entry["lab_folder"] == str(lab)
    (tmp_path / "apart").mkdir()
    apart = tmp_path / "apart" / "testbed.yaml"
    apart.write_text("- {name: lab-t0, duts: [lab-t0-01], inv_name: lab, topo: {name: lab-4}, virtual: true, "
                     "lab_folder: ../ansible}\n")
    testbed = load_testbed("lab-t0", apart, lab / "profiles")
    assert len(testbed.generator_links) == 3 and testbed.entry["lab_folder"] == str(lab)


# file below ansible/, text to replace, its replacement, what the sentence must say
WRONG = {
    "HwSKU has no such port": ("files/sonic_lab_links.csv", "Ethernet4,", "Ethernet5,", [
        "sonic_lab_links.csv row 3: lab-t0-01 (Tiny-4x100G) has no port Ethernet5",
        "it has 4: Ethernet0 ... Ethernet12"]),
    "two cables in one switch port": ("files/sonic_lab_links.csv", "Ethernet4,", "Ethernet0,", [
        "row 3: lab-t0-01 Ethernet0 is linked already in", "links.csv row 2"]),
    "two cables in one generator port": ("files/sonic_lab_links.csv", "Card1/Port2", "Card1/Port1", [
        "row 3: snappi-lab-1 Card1/Port1 is linked already in"]),
    "both ends the same": ("files/sonic_lab_links.csv", "snappi-lab-1,Card1/Port1", "lab-t0-01,Ethernet0", [
        "row 2: both ends are lab-t0-01 Ethernet0"]),
    "both ends on one switch": (
        "files/sonic_lab_links.csv", "snappi-lab-1,Card1/Port2,100000,3,Access\nlab-t0-01,Ethernet8,snappi-lab-2,Port3",
        "lab-t0-01,Ethernet8", ["row 3: both ends are on lab-t0-01; a cable connects two devices"]),
    "one end": ("files/sonic_lab_links.csv", "snappi-lab-1,Card1/Port1", "snappi-lab-1,", [
        "row 2: a link has two ends, but EndPort is empty"]),
    "speed": ("files/sonic_lab_links.csv", "40000", "33000", [
        "row 4: BandWidth 33000 is no speed of a SONiC port in Mb/s (one of 10000, 25000"]),
    "speed with a unit": ("files/sonic_lab_links.csv", "40000", "40G", ["row 4: BandWidth 40G"]),
    "no speed": ("files/sonic_lab_links.csv", "40000", "", ["row 4: BandWidth (empty)"]),
    "faster than the port": ("files/sonic_lab_links.csv", "40000", "400000", [
        "row 4: BandWidth 400000 is no speed of lab-t0-01 Ethernet8 (it has 100000, 50000, 40000, 25000, 10000 Mb/s)"]),
    "unknown peer": ("files/sonic_lab_links.csv", "snappi-lab-2,Port3", "snappi-lab-9,Port3", [
        "row 4: snappi-lab-9 is not in", "sonic_lab_devices.csv"]),
    "peer of another kind": ("files/sonic_lab_links.csv", "snappi-lab-2,Port3", "lab-pdu,1", [
        "row 4: lab-pdu is of Type Pdu; a virtual testbed connects switches and traffic generators only"]),
    "generator port's name": ("files/sonic_lab_links.csv", "Card1/Port2", "1/2", [
        "row 3: a traffic generator's port is named CardN/PortM or PortM, found 1/2"]),
    "column": ("files/sonic_lab_links.csv", "BandWidth", "Speed", ["links.csv: has no column BandWidth (needed: "]),
    "too many cells": ("files/sonic_lab_links.csv", "2,Access", "2,Access,x,y", ["row 2: has more cells than"]),
    "no link": ("files/sonic_lab_links.csv", "lab-t0-01", "lab-pdu", [
        "links.csv: no link between a traffic generator and one of lab-t0-01"]),
    "DUT not in the CSV": ("testbed.yaml", "lab-t0-01", "lab-t0-07", [
        "testbed.yaml line 2: DUT lab-t0-07 is not in", "devices.csv"]),
    "DUT of another kind": ("files/sonic_lab_devices.csv", "DevSonic", "Server", [
        "devices.csv row 2: DUT lab-t0-01 must be of Type DevSonic, found Server"]),
    "topology of a switch that is not there": ("testbed.yaml", "comment: four ports", "dut_topo: {lab-t0-07: lab-4}", [
        "line 2: dut_topo names lab-t0-07, which is not one of the testbed's switches (lab-t0-01)"]),
    "topology of a switch that does not exist": ("testbed.yaml", "comment: four ports", "dut_topo: {lab-t0-01: x}", [
        "line 2: dut_topo x needs", "topo_x.yml, which does not exist"]),
    "topologies of switches as a list": ("testbed.yaml", "comment: four ports", "dut_topo: [lab-4]", [
        "line 2: dut_topo must be a dictionary with names of switches, found ['lab-4']"]),
    "build that is none": ("testbed.yaml", "comment: four ports", "virtual_builds: {lab-t0-01: \"a b\"}", [
        "line 2: virtual_builds of lab-t0-01 is 'a b'; it takes letters, digits, `_`, `.` and `-`"]),
    "HwSKU": ("files/sonic_lab_devices.csv", "lab-t0-01,127.0.0.1/8,Tiny-4x100G", "lab-t0-01,127.0.0.1/8,Huge", [
        "devices.csv row 2: lab-t0-01: HwSku Huge is not one that a virtual switch can be (known: Tiny-4x100G)"]),
    "device twice": ("files/sonic_lab_devices.csv", "lab-t0-02", "lab-t0-01", ["row 3: lab-t0-01 stands already in"]),
    "two generators of one address": ("files/sonic_lab_devices.csv", "127.1.0.2/8", "127.1.0.1/8", None),
    "generator's address": ("files/sonic_lab_devices.csv", "127.1.0.2/8", "chassis2", [
        "row 5: ManagementIp chassis2 of traffic generator snappi-lab-2 is no IP address"]),
    "group": ("files/graph_groups.yml", "- lab", "- other", ["graph_groups.yml: lists no group lab", "inv_name"]),
    "no inv_name": ("testbed.yaml", "  inv_name: lab\n  comment", "  comment", [
        "line 2: testbed lab-t0 has no inv_name"]),
    "inv_name is a path": ("testbed.yaml", "inv_name: lab\n  comment", "inv_name: ../lab\n  comment", [
        "line 2: inv_name '../lab' cannot be used as a name"]),
    "inv_name of the state folder": ("testbed.yaml", "inv_name: lab\n  comment", "inv_name: log\n  comment", [
        "inv_name 'log' cannot be used as a name"]),
    "no DUT": ("testbed.yaml", "  dut: [lab-t0-01]\n  inv_name: lab\n  comment", "  inv_name: lab\n  comment", [
        "line 2: testbed lab-t0 has no `dut`"]),
    "DUT twice": ("testbed.yaml", "dut: [lab-t0-01]\n  inv_name: lab\n  comment",
                  "dut: [lab-t0-01, lab-t0-01]\n  inv_name: lab\n  comment", ["names a DUT twice"]),
    "topology": ("testbed.yaml", "lab-4", "lab-5", ["line 2: topo lab-5 needs", "topo_lab-5.yml"]),
    "name twice": ("testbed.yaml", "lab-hw", "lab-t0", ["line 18: testbed lab-t0 stands already in", "line 2"]),
    "entry without name": ("testbed.yaml", "conf-name: lab-hw", "config: x", [
        "line 18: a testbed needs a `conf-name`"]),
    "not YAML": ("testbed.yaml", "  comment: four", "comment: [four", ["testbed.yaml: is not YAML"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_sentence_for_what_is_wrong(lab, load, case):
    file, old, new, parts = WRONG[case]
    path = lab / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    if parts is None:  # no port of one is a port of the other: allowed
        load()
        return
    with pytest.raises(DescriptionError) as raised:
        load()
    sentence = str(raised.value)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


def test_generator_that_sonic_mgmt_would_not_recognise(lab, load):
    for name in ("sonic_lab_devices.csv", "sonic_lab_links.csv"):
        path = lab / "files" / name
        path.write_text(path.read_text().replace("snappi-lab-2", "tester-2"))
    with pytest.raises(DescriptionError, match="row 5: traffic generator tester-2 .* one of snappi, ixia, stc"):
        load()


def test_two_generators_with_one_location(lab, load):
    devices, links = lab / "files" / "sonic_lab_devices.csv", lab / "files" / "sonic_lab_links.csv"
    devices.write_text(devices.read_text().replace("127.1.0.2/8", "127.1.0.1/8"))
    links.write_text(links.read_text().replace("snappi-lab-2,Port3", "snappi-lab-2,Card1/Port1"))
    with pytest.raises(DescriptionError, match="row 4: .* location 127.1.0.1;1;1, which .* row 2 has already"):
        load()


def test_unknown_testbed_lists_the_valid_ones(load):
    with pytest.raises(DescriptionError, match=r"no testbed lab-t9 \(it has: lab-t0, lab-new, lab-hw\)"):
        load("lab-t9")


def test_hardware_is_refused(load):
    with pytest.raises(DescriptionError, match="^testbed lab-hw is hardware; `virtual-testbed` only starts virtual"):
        load("lab-hw")


@pytest.mark.parametrize("key, what", [("tgs: [snappi-lab-1]", "tgs: [snappi-lab-7]"),
                                       ("tgs: [snappi-lab-1]", "tgs: [lab-pdu]")])
def test_generators_that_the_entry_lists_must_be_some(lab, load, key, what):
    path = lab / "testbed.yaml"
    path.write_text(path.read_text().replace(key, what))
    with pytest.raises(DescriptionError, match="snappi-lab-7 is not in|lab-pdu is listed in `tgs`, but is of Type Pdu"):
        load("lab-new")


@pytest.mark.parametrize("name", ["files/graph_groups.yml", "files/sonic_lab_devices.csv", "files/sonic_lab_links.csv",
                                  "testbed.yaml"])
def test_missing_file(lab, load, name):
    (lab / name).unlink()
    with pytest.raises(DescriptionError, match=f"{name}: cannot be read \\(No such file or directory\\)"):
        load()


def test_broken_profile(lab, load):
    (lab / "profiles" / "Tiny-4x100G.json").write_text('{"breakouts": {}, "ports": [{"name": "E"}]}')
    with pytest.raises(DescriptionError, match="Tiny-4x100G.json: not a HwSKU profile .*speed"):
        load()


@pytest.mark.parametrize("port, location", [("Card1/Port16", "127.1.0.1;1;16"), ("Port7", "127.1.0.1/7")])
def test_location_as_sonic_mgmt_builds_it(port, location):
    assert generator_location("127.1.0.1", port, "") == location


def test_testbed_file_that_is_no_list(lab):
    (lab / "testbed.yaml").write_text("a: b\n")
    with pytest.raises(DescriptionError, match="a testbed file is a list of testbeds, found dict"):
        load_testbed("a", lab / "testbed.yaml")
