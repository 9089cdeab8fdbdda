"""Ansible's own modules, unmodified, with and without pipelining and become."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_testbed.tests.sonic.conftest import MAC, NAME

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ping:
    - setup: {{gather_subset: ["!all", "min"]}}
    - command: sh -c 'echo $USER; id -un'
      become: true
    - shell: cat /sys/class/net/Ethernet0/address | tr a-f A-F
    - copy: &file {{dest: /etc/sonic/{name}.json, content: '{{"PFC_WD": {{"GLOBAL": {{"POLL_INTERVAL": "400"}}}}}}'}}
      become: true
    - copy: *file
      become: true
    - stat: {{path: /etc/sonic/{name}.json}}
    - fetch: {{src: /etc/sonic/{name}.json, dest: "{folder}/fetched-{name}", flat: true}}
    - copy: {{src: "{folder}/local", dest: relative-{name}}}
    - command: config load /etc/sonic/{name}.json -y
      become: true
    - command: pfcwd stop
      ignore_errors: true
"""

RESULTS = """
from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "results"

    def v2_runner_on_ok(self, result, **_):
        print(self._dump_results(result.result, indent=None))

    v2_runner_on_failed = v2_runner_on_unreachable = v2_runner_on_ok
"""  # Ansible prints each result as a line of JSON


@pytest.mark.parametrize("pipelining", [False, pytest.param(True, marks=pytest.mark.slow("the playbook once more"))])
def test_modules(switch, tmp_path, pipelining):
    name = f"pipelining-{pipelining}"
    (tmp_path / "local").write_text("local\n")
    (tmp_path / "results.py").write_text(RESULTS)
    (tmp_path / "play.yml").write_text(PLAY.format(folder=tmp_path, name=name))
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "ANSIBLE_HOME": str(tmp_path / "ansible"), "LANG": "C.UTF-8",
        "ANSIBLE_PIPELINING": str(pipelining), "ANSIBLE_STDOUT_CALLBACK": "results",
        "ANSIBLE_CALLBACK_PLUGINS": str(tmp_path),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(switch.redis.folder),
        "ANSIBLE_SSH_ARGS": f"-o ControlMaster=auto -o ControlPersist=10 -o UserKnownHostsFile={tmp_path}/known_hosts "
                            "-o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes -o IdentityAgent=none"}
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run([str(program), "-i", str(switch.inventory()), str(tmp_path / "play.yml")], env=environment,
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    ping, setup, root, shell, copied, again, stat, _, _, _, refused = tasks
    assert ping["ping"] == "pong" and root["stdout_lines"][0] == "root" and shell["stdout"] == MAC.upper()
    assert copied["changed"] is True and again["changed"] is False and stat["stat"]["size"] > 10
    assert refused["rc"] == 1 and refused["stderr"] == "Root privileges are required for this operation"
    assert (tmp_path / f"fetched-{name}").read_bytes() == (switch.root / f"etc/sonic/{name}.json").read_bytes()
    assert (switch.root / f"home/admin/relative-{name}").read_text() == "local\n"
    assert '"POLL_INTERVAL": "400"' in switch.output("sonic-cfggen -d --var-json PFC_WD")
    if switch.ready["root_view"] == "namespace":
        assert root["stdout_lines"][1] == "root"
        assert setup["ansible_facts"]["ansible_hostname"] == NAME
        assert setup["ansible_facts"]["ansible_user_id"] == "admin"
