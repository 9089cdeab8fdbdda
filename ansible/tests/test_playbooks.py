"""The playbooks, run against a virtual switch over SSH: what they set, and that they put it back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ANSIBLE = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DUT = "vtb-t0-01"


class Lab:
    """A running virtual testbed and the commands of this test."""

    def __init__(self, state):
        self.state = Path(state)
        self.folder = self.state / "vtb-t0"
        self.lab = self.state / "lab"
        self.environment = {**os.environ, "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
                            "ANSIBLE_HOME": str(self.state / "ansible")}

    def testbed(self, *arguments):
        """Run virtual-testbed."""
        subprocess.run([BIN / "virtual-testbed", *arguments, "--state", self.state], check=True, timeout=120,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def play(self, playbook, *options, inventory=None, testbed_file=None, name="vtb-t0"):
        """(exit status, output, tasks that changed something on the switch or None) of a playbook."""
        done = subprocess.run(
            [BIN / "ansible-playbook", "-i", inventory or self.folder / "vtb", ANSIBLE / playbook, "-e",
             f"testbed_name={name}", "-e", f"testbed_file={testbed_file or self.folder / 'testbed.yaml'}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, cwd=self.state,
            env={**self.environment, "PWD": str(self.state)})
        recap = re.search(rf"^{DUT} .*changed=(\d+)", done.stdout, re.MULTILINE)
        return done.returncode, done.stdout, int(recap[1]) if recap else None

    def ssh(self, command):
        """Output of a command on the switch."""
        return subprocess.run(["ssh", "-F", self.folder / "ssh" / "config", DUT, command], check=True, timeout=60,
                              stdout=subprocess.PIPE, text=True).stdout

    def configuration(self):
        """CONFIG_DB."""
        return json.loads(self.ssh("sudo sonic-cfggen -d --print-data"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A virtual testbed that nothing was deployed on."""
    running = Lab(tmp_path_factory.mktemp("vtb"))
    try:
        running.testbed("up", "vtb-t0", "--clock", "virtual")
        yield running
    finally:
        running.testbed("down", "vtb-t0")


def changed_lines(output):
    """The lines of the diffs that Ansible printed."""
    return [line for line in output.splitlines() if re.match(r"[+-] ", line)]


@pytest.mark.slow("a dozen playbooks, one after another")
def test_deploy_foretold_done_repeated_and_removed(lab):
    found = lab.configuration()
    status, foretold, changed = lab.play("deploy_testbed.yml", "--check", "--diff")
    assert (status, changed) == (0, 3), foretold
    assert lab.configuration() == found and "found" not in lab.ssh("ls /etc/sonic")

    status, output, changed = lab.play("deploy_testbed.yml", "--diff")
    assert (status, changed) == (0, 3), output
    assert changed_lines(output) == changed_lines(foretold) != []
    deployed = lab.configuration()
    assert len(deployed["VLAN_MEMBER"]) == 32 and deployed["PFC_WD"]["GLOBAL"] == {"POLL_INTERVAL": "200"}
    assert json.loads(lab.ssh("cat /etc/sonic/config_db.json")) == deployed

    for options in ([], ["--check", "--diff"]):
        status, output, changed = lab.play("deploy_testbed.yml", *options)
        assert (status, changed, changed_lines(output)) == (0, 0, []), output
    assert lab.configuration() == deployed

    status, foretold, changed = lab.play("remove_testbed.yml", "--check", "--diff")
    assert (status, changed) == (0, 4) and lab.configuration() == deployed, foretold
    status, output, changed = lab.play("remove_testbed.yml", "--diff")
    assert (status, changed) == (0, 4), output
    assert changed_lines(output) == changed_lines(foretold)
    assert lab.configuration() == found and "found" not in lab.ssh("ls /etc/sonic")
    status, output, changed = lab.play("remove_testbed.yml")
    assert (status, changed) == (0, 0) and "so nothing was deployed" in output


@pytest.mark.slow("two playbooks")
def test_a_switch_with_dynamic_buffers_is_deployed_with_its_own_templates(lab):
    """And has what it had when the testbed is removed; ports are waited for by the groups that the switch derives."""
    lab.ssh("sudo sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic")
    try:
        found = lab.configuration()
        assert lab.play("deploy_testbed.yml")[0] == 0
        deployed = lab.configuration()
        assert deployed["BUFFER_PG"]["Ethernet0|3-4"] == {"profile": "NULL"}
        assert "size" not in deployed["BUFFER_POOL"]["ingress_lossless_pool"]
        assert lab.play("remove_testbed.yml")[0] == 0
        assert lab.configuration() == found
    finally:
        lab.ssh("sudo sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model traditional")


@pytest.mark.slow("eight playbooks, one after another")
def test_the_watchdog_in_its_three_states(lab):
    assert lab.play("deploy_testbed.yml")[0] == 0
    states = [(["-e", "pfcwd_state=stopped", "-e", "pfcwd_ports=Ethernet0,Ethernet4"], 30),
              (["-e", "pfcwd_state=started", "-e", "pfcwd_ports=Ethernet4"], 31),
              (["-e", "pfcwd_state=stopped"], 0), (["-e", "pfcwd_state=default"], 32)]
    for options, ports in states:
        status, output, changed = lab.play("pfcwd.yml", *options)
        assert (status, changed, len(lab.configuration()["PFC_WD"])) == (0, 1, ports + 1), output
    assert lab.play("pfcwd.yml", *states[-1][0])[2] == 0


@pytest.mark.parametrize("playbook, options, words", [
    ("deploy_testbed.yml", {"name": "vtb-t9"}, r"testbed.yaml has no testbed vtb-t9 (it has: vtb-t0)"),
    ("deploy_testbed.yml", {"name": ""}, "no testbed is named; say -e testbed_name=NAME"),
    ("deploy_testbed.yml", {"inventory": "elsewhere,"},
     "switch vtb-t0-01 of testbed vtb-t0 is not in the inventory elsewhere, (it has: elsewhere)"),
    ("deploy_testbed.yml", {"inventory": "unreachable"},
     "switch vtb-t0-01 cannot be reached over SSH at 127.0.0.1:1 (ssh: connect to host 127.0.0.1 port 1: Connection"),
    ("deploy_testbed.yml", {"testbed_file": "lab/testbed.yaml"},
     "lab/files/sonic_vtb_links.csv row 4: vtb-t0-01 has no port Ethernet9 (its 32 ports: Ethernet0, Ethernet4, "),
    ("pfcwd.yml", {"state": "stoped"}, "pfcwd_state is stoped, and must be stopped, started or default"),
    ("remove_testbed.yml", {"inventory": "unreachable"}, "switch vtb-t0-01 cannot be reached over SSH at 127.0.0.1:1"),
])
def test_what_is_wrong_is_said_and_nothing_is_changed(lab, playbook, options, words):
    shutil.rmtree(lab.lab, ignore_errors=True)
    for name in ("files", "vars"):
        shutil.copytree(ANSIBLE / name, lab.lab / name)
    shutil.copy(ANSIBLE / "testbed.yaml", lab.lab)
    links = lab.lab / "files" / "sonic_vtb_links.csv"
    links.write_text(links.read_text().replace("Ethernet8,", "Ethernet9,"))
    port = re.compile(r"ansible_port=\d+")
    (lab.state / "unreachable").write_text(port.sub("ansible_port=1", (lab.folder / "vtb").read_text()))
    before = lab.configuration()
    chosen = dict(options)
    state = chosen.pop("state", "stopped")
    status, output, changed = lab.play(playbook, "-e", f"pfcwd_state={state}", **chosen)
    assert status != 0 and not changed
    assert words in re.sub(r"\s+", " ", output), output
    assert lab.configuration() == before
