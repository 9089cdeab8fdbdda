"""The rendered files as their readers understand them: YAML, Ansible's own inventory reader, OpenSSH's `ssh -G`."""
from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from virtual_testbed.supervision.plan import LaunchPlan, Options, make_plan
from virtual_testbed.supervision.render import inventory, render_all, rendered_entry
from virtual_testbed.supervision.state import TestbedFolder, read_json, write_json

ENGINE = {"ready": True, "otg_url": "http://127.0.0.1:8443", "clock_url": "http://127.0.0.1:8444/clock"}


@pytest.fixture
def make(load, tmp_path):
    """A plan, in a folder whose path has all that needs quoting."""
    def plan(name="lab-t0", **options):
        folder = TestbedFolder(tmp_path / "a state # of 50% {x}" / name)
        run_folder = tmp_path / "run"
        run_folder.mkdir()
        folder.path.mkdir(parents=True)
        return make_plan(load(name), folder, run_folder, Options(**options))
    return plan


def listed(path):
    """What ansible-inventory reads from a file."""
    environment = {**os.environ, "ANSIBLE_HOME": str(path.parent)}
    program = Path(sys.executable).with_name("ansible-inventory")
    done = subprocess.run([program, "-i", path, "--list"], env=environment, cwd=path.parent, capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def test_plan_survives_its_file(make, tmp_path):
    plan = make("lab-new", clock="virtual", faults=("pause-ignored",))
    write_json(tmp_path / "plan.json", plan.to_json())
    assert LaunchPlan.from_json(read_json(tmp_path / "plan.json")) == plan


def test_virtual_testbed_names_its_clock(make):
    entry = rendered_entry(make(clock="virtual"), ENGINE)
    assert entry["tg_api_server"] == "127.0.0.1:8443"
    assert entry["tg_api_transport"] == "http"
    assert entry["clock"] == "http://127.0.0.1:8444/clock"
    assert (entry["conf-name"], entry["dut"], entry["comment"]) == ("lab-t0", ["lab-t0-01"], "four ports")


@pytest.mark.parametrize(("mode", "key"), [("virtual", "clock"), ("realtime", "realtime_clock")])
def test_a_clock_that_follows_the_wall_clock_has_a_key_of_its_own(make, mode, key):
    plan = make(clock=mode)
    stale = {"clock": "http://stale/clock", "realtime_clock": "http://stale/clock"}
    entry = rendered_entry(replace(plan, entry={**plan.entry, **stale}), ENGINE)
    assert {name: url for name, url in entry.items() if name in stale} == {key: "http://127.0.0.1:8444/clock"}


def test_behind_ixnetworks_api_the_clock_is_not_exact(make):
    """A chassis starts and stops flows in its own time; what else the entry says stays."""
    plan = make(clock="virtual")
    said = replace(plan, entry={**plan.entry, "pfc_conditions": {"starts_beside": False, "reason": "generator-check"}})
    entry = rendered_entry(said, {**ENGINE, "ixnetwork_url": "https://127.0.0.1:8445"})
    assert (entry["tg_api_server"], entry["tg_api_transport"]) == ("127.0.0.1:8445", "ixnetwork")
    assert entry["clock_exact"] is False and entry["pfc_conditions"]["starts_beside"] is False
    assert "clock_exact" not in rendered_entry(replace(plan, entry=entry), ENGINE), "over OTG it is exact"


def test_testbed_says_what_is_broken_on_purpose(make):
    plan = make(faults=("/home/me/shifted.py:Shifted@Ethernet0,by=2", "lossy-dropped"))
    assert rendered_entry(plan, ENGINE)["faults"] == ["shifted.py:Shifted@Ethernet0,by=2", "lossy-dropped"]
    stale = replace(plan, faults=(), entry={**plan.entry, "faults": ["stale"]})
    assert "faults" not in rendered_entry(stale, ENGINE), "nothing is broken now"


def test_testbed_file_has_one_entry(make):
    plan = make("lab-new")
    render_all(plan, ENGINE, {"lab-t0-01": 2201, "lab-t0-02": 2202})
    entries = yaml.safe_load(Path(plan.folder, "testbed.yaml").read_text())
    assert [(entry["name"], entry["duts"]) for entry in entries] == [("lab-new", ["lab-t0-01", "lab-t0-02"])]
    assert entries[0]["tg_api_server"] == "127.0.0.1:8443"  # that of the file is replaced


def test_inventory_as_ansible_reads_it(make):
    plan = make()
    render_all(plan, ENGINE, {"lab-t0-01": 2201})
    found = listed(Path(plan.folder, "lab"))
    assert found["sonic"]["children"] == ["sonic_lab"]
    assert found["lab"]["children"] == ["sonic", "snappi_chassis"]
    assert found["sonic_lab"]["hosts"] == ["lab-t0-01"]
    assert found["snappi_chassis"]["hosts"] == ["snappi-lab-1", "snappi-lab-2"]
    assert found["ptf"]["hosts"] == ["lab-t0-ptf"]
    variables = found["_meta"]["hostvars"]["lab-t0-01"]
    assert variables["ansible_host"] == "127.0.0.1" and variables["ansible_port"] == 2201
    assert variables["ansible_user"] == "admin" and variables["hwsku"] == "Tiny-4x100G"
    assert variables["iface_speed"] == 100000
    assert variables["ansible_ssh_private_key_file"] == f"{plan.folder}/ssh/id_ed25519"
    assert variables["ansible_control_path_dir"] == f"{plan.run_folder}/cp"
    assert variables["ansible_python_interpreter"] == "python3"
    assert found["_meta"]["hostvars"]["snappi-lab-2"]["ansible_host"] == "127.1.0.2"


def test_ssh_options_as_openssh_reads_them(make):
    plan = make()
    render_all(plan, ENGINE, {"lab-t0-01": 2201})
    options = listed(Path(plan.folder, "lab"))["_meta"]["hostvars"]["lab-t0-01"]["ansible_ssh_common_args"]
    expected = f"userknownhostsfile {plan.folder}/ssh/known_hosts"
    for arguments in (["-F", "none", *shlex.split(options), "127.0.0.1"],
                      ["-F", f"{plan.folder}/ssh/config", "lab-t0-01"]):
        done = subprocess.run(["ssh", "-G", *arguments], capture_output=True, text=True, check=True)
        seen = done.stdout.splitlines()
        assert expected in seen
        assert "stricthostkeychecking true" in seen and "identitiesonly yes" in seen
    assert "port 2201" in seen and "user admin" in seen and "hostname 127.0.0.1" in seen


def test_known_hosts_pin_address_and_name(make):
    plan = make()
    render_all(plan, ENGINE, {"lab-t0-01": 2201})
    line = Path(plan.folder, "ssh", "known_hosts").read_text()
    public = Path(plan.folder, "switches", "lab-t0-01", "host_key.pub").read_text().split()
    assert line == f"[127.0.0.1]:2201,lab-t0-01 {public[0]} {public[1]}\n"


def test_every_switch_is_in_the_inventory(make):
    text = inventory(make("lab-new"), {"lab-t0-01": 2201, "lab-t0-02": 2202})
    assert "lab-t0-02 ansible_host=127.0.0.1 ansible_port=2202" in text
