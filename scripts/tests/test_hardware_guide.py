"""The guide for a vendor's lab: its example files are taken out of the page and given to the programs that read them,
and the sentences that it explains are looked up in the code."""
import ast
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import ansible.module_utils
import pytest

from tests.common.pfc.lab.planning import connected_port
from tests.common.pfc.model.ports import PortState, choose_pair
from tests.common.snappi_tests.port import generator_ports
from tests.common.snappi_tests.snappi_fixtures import api_server, api_transport
from tests.common.testbed import TestbedInfo

ROOT = Path(__file__).resolve().parent.parent.parent
ansible.module_utils.__path__.append(str(ROOT / "ansible/module_utils"))  # as Ansible finds this project's

from ansible.module_utils.pfc import graph, hwsku, layout, testbed  # noqa: E402

BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "hardware.md"
SWITCH = "acme-sw-01"
TESTBED = "acme-t0-1"
SKU = "Arista-7060CX-32S-C32"
FILE = re.compile(r"^`([^`\n]+)`[^\n]*:[^\n]*\n(?:[^`#\n][^\n]*\n)*\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(.+?)` \| ", re.MULTILINE)
MESSAGES = re.compile(r"^## What the messages mean$(.*?)^## ", re.MULTILINE | re.DOTALL)


@pytest.fixture(name="lab", scope="module")
def fixture_lab(tmp_path_factory):
    """The folder of the example lab."""
    folder = tmp_path_factory.mktemp("acme-lab")
    for name, content in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    shutil.copy(ROOT / "ansible/vars/hwsku" / f"{SKU}.yml", folder / "vars/hwsku")
    return folder


def run_tool(name, *arguments):
    """Runs one of Ansible's programs as the guide says; returns what it printed."""
    environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"),
                                "ANSIBLE_HOME": str(ROOT / ".ansible")}
    done = subprocess.run([str(BIN / name), *map(str, arguments)], cwd=ROOT, env=environment, capture_output=True,
                          text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entry_of(lab):
    """The example's testbed, as the suite reads it."""
    return TestbedInfo(lab / "testbed.yaml").entry(TESTBED)


def test_the_page_has_every_file_that_it_lists(lab):
    names = {str(path.relative_to(lab)) for path in lab.rglob("*") if path.is_file()}
    assert names == {"testbed.yaml", "acme", "group_vars/sonic_acme/login.yml", "files/graph_groups.yml",
                     "group_vars/sonic_acme/snappi_api_server.yml", "files/sonic_acme_devices.csv",
                     "files/sonic_acme_links.csv", "vars/topo_acme-t0-4.yml", f"vars/hwsku/{SKU}.yml",
                     "vars/hwsku/Acme-S4-C4.yml"}


def test_the_suite_finds_the_generators_ports_and_a_pair(lab):
    chassis = ("acme-ixia-1a", "acme-ixia-1b")
    facts = graph.graph_facts(graph.read_graph(str(lab / "files"), "acme"), [SWITCH, *chassis], {})
    chassis = {peer: {"device_info": facts["device_info"][peer]} for peer in chassis}
    ports = [connected_port(port) for port in generator_ports([SWITCH], facts, chassis)]
    assert [port.location for port in ports] == ["10.20.0.50;1;1", "10.20.0.50;1;2", "10.20.0.50;2;1", "10.20.0.50;2;2"]
    pair = choose_pair(ports, "Ethernet4", None, {port.port: PortState(True, True, 100_000) for port in ports})
    assert (pair.rx.port, pair.tx.port) == ("Ethernet4", "Ethernet8")


def test_the_api_server_and_its_account(lab):
    entry = entry_of(lab)
    variables = json.loads(run_tool("ansible-inventory", "-i", lab / "acme", "--host", SWITCH))
    host = SimpleNamespace(inventory_variables=lambda: variables)
    assert api_transport(entry) == "ixnetwork" and api_server(entry, host) == ("10.20.0.40", "443")
    assert api_server({**entry, "tg_api_server": "", "ptf_ip": "10.20.0.41"}, host) == ("10.20.0.41", "443")
    assert variables["snappi_api_server"]["user"] == "pfc" and variables["ansible_user"] == "admin"
    assert variables["ansible_host"] == "10.20.0.11"


@pytest.mark.parametrize("sku", [SKU, "Acme-S4-C4"])
def test_the_switch_gets_a_layout(lab, sku):
    description = testbed.describe(TESTBED, str(lab / "testbed.yaml"), "/nowhere")
    own = description["duts"][SWITCH] | {"hwsku": sku}
    ports = {f"Ethernet{4 * place}": {} for place in range(4)}
    switch = layout.SwitchFacts(SWITCH, own, ports, {"hwsku": sku})
    tables = layout.lay_out(description, switch)["tables"]
    assert {"CABLE_LENGTH", "PORT", "VLAN_INTERFACE"} <= set(tables)
    assert description["duts"][SWITCH]["known_ports"] and hwsku.load(str(lab / "vars/hwsku"), "Acme-S4-C4") == {
        "ports": [*ports]}
    assert set(tables["VLAN_MEMBER"]) == {f"Vlan1000|Ethernet{4 * place}" for place in range(4)}


@pytest.mark.parametrize("playbook", ["deploy_testbed.yml", "remove_testbed.yml"])
def test_the_playbooks_take_the_inventory(lab, playbook):
    printed = run_tool("ansible-playbook", "-i", lab / "acme", ROOT / "ansible" / playbook, "--syntax-check", "-e",
                       f"testbed_name={TESTBED}", "-e", f"testbed_file={lab / 'testbed.yaml'}")
    assert playbook in printed


def test_a_qualification_gets_as_far_as_the_switch(lab, tmp_path):
    """The switch is not there: that is what it says, with all files read."""
    shutil.copytree(lab, tmp_path / "lab")
    inventory = tmp_path / "lab/acme"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"ansible_host=127.0.0.1 ansible_port={unused.getsockname()[1]}"
        inventory.write_text(inventory.read_text().replace("ansible_host=10.20.0.11", closed))
        done = subprocess.run([sys.executable, str(ROOT / "scripts/qualify.py"), "--testbed", TESTBED, "--testbed-file",
                               str(tmp_path / "lab/testbed.yaml")], cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | {"PFC_REPORT_DB": f"sqlite:///{tmp_path}/pfc.db"}, check=False,
                              timeout=120)
    written = re.search(r"evidence and logs: (results/\S+)", done.stdout)
    if written:
        shutil.rmtree(ROOT / written[1])
    assert done.returncode == 3
    assert f"{SWITCH} cannot be reached over SSH" in done.stdout + done.stderr


@functools.cache
def literals():
    """Every text of the code that may become part of a message: `...` stands where a value is put in."""
    found = []
    for path in [*(ROOT / "tests/common").rglob("*.py"), ROOT / "scripts/qualify.py", ROOT / "scripts/testbeds.py"]:
        if "unit_tests" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
                    found.append("".join(map(str, parts)))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return found


def fixed_parts(sentence):
    """What of a sentence is not a value: without what is shorter than a word."""
    return [part for part in map(str.strip, sentence.split("...")) if len(re.sub(r"\W", "", part)) > 4]


def sentences():
    """Those that the page explains."""
    section = MESSAGES.search(PAGE.read_text(encoding="utf-8"))
    return [row.replace("\\|", "|") for row in ROW.findall(section[1] if section else "")]


def test_the_table_of_messages_is_read():
    assert len(sentences()) > 35


@pytest.mark.parametrize("sentence", sentences())
def test_the_code_still_says_what_the_guide_explains(sentence):
    parts = fixed_parts(sentence)
    texts = literals()
    assert parts, f"{sentence!r} has no fixed part"
    missing = [part for part in parts if not any(part in text for text in texts)]
    assert not missing, f"no message of the code has {missing}"
