"""The pytest plugin, in a pytest of its own: what a suite is told of the testbed, and what is left at the end."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_testbed.supervision.state import TestbedFolder

ROOT = Path(__file__).parents[3]
TESTBED_FILE = ROOT / "ansible" / "testbed.yaml"
USAGE_ERROR = 4

SUITE = '''
import os
import subprocess
from pathlib import Path

import pytest
import snappi

NAME = os.environ["VIRTUAL_TESTBED_NAME"]  # it is up before tests are collected


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_otg_answers(virtual_testbed, transport):
    location = virtual_testbed.otg_url if transport == "http" else virtual_testbed.otg_grpc
    variable = "VIRTUAL_TESTBED_OTG" if transport == "http" else "VIRTUAL_TESTBED_OTG_GRPC"
    assert os.environ[variable] == location
    api = snappi.api(location=location, transport=transport)
    config = api.config()
    for port in virtual_testbed.otg_ports[:2]:
        config.ports.add(name=port.switch_port, location=port.location)
    api.set_config(config)
    request = api.metrics_request()
    request.port.port_names = []
    assert {metric.name: metric.link for metric in api.get_metrics(request).port_metrics} == {
        "Ethernet0": "up", "Ethernet4": "up"}
    api.close() if transport == "grpc" else api._transport._session.close()


def test_the_switch_answers(virtual_testbed):
    switch = virtual_testbed.switches["vtb-t0-01"]
    assert (NAME, virtual_testbed.name) == ("vtb-t0", "vtb-t0")
    assert switch.key_file.is_file() and switch.redis_socket.is_socket()
    assert os.environ["VIRTUAL_TESTBED_SSH_PORT"] == str(switch.ssh_port)
    done = subprocess.run(["ssh", "-F", virtual_testbed.ssh_config, switch.name, "hostname"], capture_output=True,
                          text=True, timeout=60)
    assert done.stdout == "vtb-t0-01\\n"


def test_the_files_are_there(virtual_testbed):
    assert "vtb-t0" in virtual_testbed.testbed_file.read_text()
    assert "vtb-t0-01" in virtual_testbed.inventory.read_text()
    assert os.environ["OTG_HOST"] == f"grpc://{virtual_testbed.otg_grpc}"
    assert Path("deployed").read_text() == "vtb-t0"
    assert virtual_testbed.clock_mode == "virtual"
    assert len(virtual_testbed.otg_ports) == 32


def test_that_fails():
    assert False
'''
PLAYBOOK = '''
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.copy: {content: "{{ testbed_name }}", dest: "%s"}
'''


@pytest.fixture
def run(tmp_path):
    """Runs pytest with the plugin in an empty folder, as a program of its own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*arguments, suite="def test_it(): pass\n"):
        (tmp_path / "test_suite.py").write_text(suite)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest_ansible",
                   "-p", "virtual_testbed.pytest_plugin", "--virtual-testbed-state=state",
                   f"--virtual-testbed-file={TESTBED_FILE}"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=180,
                              env={**environment, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)})
    return run


@pytest.mark.slow("a testbed that Ansible deploys: half a minute")
def test_a_suite_is_told_where_everything_is_and_nothing_is_left(run, tmp_path):
    (tmp_path / "deploy.yml").write_text(PLAYBOOK % (tmp_path / "deployed"))
    done = run("-n", "1", "--virtual-testbed=vtb-t0", "--virtual-testbed-clock=virtual",
               "--virtual-testbed-deploy=deploy.yml", "--virtual-testbed-env=OTG_HOST=grpc://{otg_grpc}",
               suite=SUITE)
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    assert "virtual testbed: vtb-t0, OTG at http://127.0.0.1:" in done.stdout
    assert done.returncode == 1
    folder = TestbedFolder(tmp_path / "state" / "vtb-t0")
    assert folder.supervisor() is None and not folder.run.exists() and not folder.runtime.exists()
    engine = folder.log("engine").read_text()
    assert engine.count("virtual clock, on port") == 1  # by the controller alone


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--virtual-testbed=nowhere"], "ERROR: --virtual-testbed: "),
    (["--virtual-testbed=vtb-t0", "--virtual-testbed-fault=gremlins"], "fault 'gremlins' is unknown"),
    (["--virtual-testbed=vtb-t0", "--virtual-testbed-deploy=no.yml"],
     "ERROR: --virtual-testbed-deploy: there is no file no.yml"),
    (["--virtual-testbed=vtb-t0", "--virtual-testbed-env=A"],
     "ERROR: --virtual-testbed-env A: VARIABLE=TEXT expected"),
    (["--virtual-testbed=vtb-t0", "--virtual-testbed-env=A={b}"],
     "ERROR: --virtual-testbed-env A={b}: only otg_url, otg_grpc, clock_url, testbed_file, inventory may be in braces"),
])
def test_a_testbed_that_cannot_come_up_is_a_usage_error(run, tmp_path, arguments, sentence):
    done = run(*arguments)
    assert done.returncode == USAGE_ERROR
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1 and sentence in lines[0], done.stderr
    assert not (tmp_path / "state" / "vtb-t0").exists()


def test_without_the_option_nothing_is_imported_and_the_fixture_says_so(run):
    suite = """
import sys
def test_nothing_is_loaded():
    assert [name for name in sys.modules if name.startswith("virtual_testbed")] == [
        "virtual_testbed", "virtual_testbed.pytest_plugin"]
def test_the_fixture(virtual_testbed):
    pass
"""
    done = run(suite=suite)
    assert "the fixture virtual_testbed needs --virtual-testbed NAME" in done.stdout
    assert "1 passed, 1 error" in done.stdout, done.stdout


def test_help_brings_nothing_up(run, tmp_path):
    done = run("--virtual-testbed=vtb-t0", "--help")
    assert done.returncode == 0
    assert "--virtual-testbed-deploy" in done.stdout
    assert not (tmp_path / "state").exists()
