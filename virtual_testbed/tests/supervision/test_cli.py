"""The command line: what it prints, and one sentence and an exit status for what is wrong."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from virtual_testbed.sonic.profile import FOLDER
from virtual_testbed.supervision import cli
from virtual_testbed.supervision.lifecycle import bring_up, down_command
from virtual_testbed.supervision.state import STATE_VARIABLE, TestbedFolder


@pytest.fixture
def virtual_testbed(command, lab, tmp_path, up, folder, monkeypatch):
    """Run `virtual-testbed` on the lab, with fake children."""
    from virtual_testbed.lab_files.description import load_testbed
    monkeypatch.setattr(cli, "load_testbed", lambda name, file: load_testbed(
        name, file, lab / "profiles" if file.parent == lab else FOLDER))
    monkeypatch.setattr(cli, "bring_up", lambda testbed, where, options: up(
        clock=options.clock, faults=options.faults, root_view=options.root_view, swss=options.swss))

    def run(verb, *arguments):
        where = ["--state", tmp_path / "state"]
        if verb == "up":
            where += ["--testbed-file", lab / "testbed.yaml"]
        return command(verb, *arguments, *where)
    return run


def sentence(result):
    """The error of a command that failed as it should."""
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result.stderr


def test_a_life(virtual_testbed, folder):
    result = virtual_testbed("up", "lab-t0", "--clock", "virtual", "--fault", "pause-ignored@Ethernet0")
    assert result.exit_code == 0, result.output
    runtime = folder.read_runtime()
    for part in ("testbed lab-t0 is up", "ssh -F", runtime["otg"]["url"], f"virtual, {runtime['clock']['url']}",
                 "pause-ignored@Ethernet0", "bin/virtual-testbed down lab-t0"):
        assert part in result.stdout
    assert "lab-t0 is up already" in sentence(virtual_testbed("up", "lab-t0"))
    result = virtual_testbed("status")
    assert result.exit_code == 0, result.output
    for part in ("testbed lab-t0: up\n", "\nclock: virtual, at 0.000 s, 0.000 ms behind\n",
                 "\nssh to lab-t0-01: ssh -F ", f"\nOTG: {runtime['otg']['url']}\n"):
        assert part in result.stdout
    assert "root view of lab-t0-01: environment (a test)" in result.stdout
    assert "logged in" in virtual_testbed("logs", "lab-t0", "lab-t0-01.ssh").stdout
    assert "all is up" in virtual_testbed("logs", "lab-t0").stdout
    assert "it has: engine, lab-t0-01.redis, lab-t0-01.ssh, supervisor" in sentence(
        virtual_testbed("logs", "lab-t0", "nothing"))
    assert virtual_testbed("down").stdout == "testbed lab-t0 is down now\n"
    result = virtual_testbed("status", "lab-t0")
    assert result.exit_code == 1 and result.stdout == "testbed lab-t0: down (it is not up)\n"
    result = virtual_testbed("down", "lab-t0", "--purge")
    assert result.exit_code == 0 and result.stdout == "testbed lab-t0 was not up, its switches are forgotten\n"
    assert not folder.path.exists()


def test_scripts_of_a_checkout(virtual_testbed, folder, tmp_path):
    (tmp_path / "orchagent").mkdir()
    for name in ("pfc_detect_broadcom.lua", "pfc_restore.lua"):
        (tmp_path / "orchagent" / name).write_text("return {}")
    result = virtual_testbed("up", "lab-t0", "--swss", tmp_path)
    assert result.exit_code == 0, result.output
    assert f"scripts of {tmp_path}" in result.stdout and folder.read_runtime()["swss"] == str(tmp_path)
    assert json.loads((folder.path / "engine.json").read_text())["swss"] == str(tmp_path), "the engine is not told"
    assert f"\nwatchdog: scripts of {tmp_path}\n" in virtual_testbed("status").stdout


def test_json(virtual_testbed, folder):
    result = virtual_testbed("up", "lab-t0", "--json")
    assert json.loads(result.stdout) == folder.read_runtime()
    found = json.loads(virtual_testbed("status", "--json").stdout)
    assert [(one["testbed"], one["state"], one["clock_now"]["mode"]) for one in found] == [("lab-t0", "up", "realtime")]
    assert found[0]["runtime"] == folder.read_runtime()


@pytest.mark.parametrize("arguments, part", [
    (("lab-t9",), "no testbed lab-t9 (it has: lab-t0, lab-new, lab-hw)"),
    (("lab-hw",), "testbed lab-hw is hardware; `virtual-testbed` only starts virtual ones"),
    (("lab-t0", "--fault", "sunspots"), "fault 'sunspots' is unknown"),
    (("lab-t0", "--fault", "pause-ignored@Ethernet99"), "no port Ethernet99 on lab-t0-01"),
    (("lab-t0", "--fault", "xoff-elsewhere@Ethernet0,on=Ethernet99"), "no port Ethernet99 on lab-t0-01"),
    (("lab-t0", "--fault", "pause-ignored@sw:Ethernet0"), "testbed lab-t0 has no switch sw (it has: lab-t0-01)"),
    (("lab-t0", "--swss", "/nowhere"), "/nowhere/orchagent/pfc_detect_broadcom.lua: No such file or directory"),
])
def test_up_of_what_is_not_right(virtual_testbed, folder, arguments, part):
    assert part in sentence(virtual_testbed("up", *arguments))
    assert not folder.path.exists()


def test_down_and_status_of_nothing(virtual_testbed):
    assert virtual_testbed("down").stdout.startswith("no testbed is up in ")
    assert virtual_testbed("down", "lab-t0").stdout.startswith("testbed lab-t0 is not up in ")
    assert "no testbed lab-t0 is known in" in sentence(virtual_testbed("status", "lab-t0"))
    assert "no testbed lab-t0 is known in" in sentence(virtual_testbed("logs", "lab-t0"))


def test_state_folder_that_cannot_be_made(command, lab, tmp_path, monkeypatch, load):
    monkeypatch.setattr(cli, "load_testbed", lambda name, file: load(name))
    (tmp_path / "file").write_text("")
    result = command("up", "lab-t0", "--state", tmp_path / "file" / "state")
    assert "Not a directory" in sentence(result)


def test_the_command_that_stops_a_testbed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(STATE_VARIABLE, raising=False)
    program = Path(sys.executable).with_name("virtual-testbed")
    assert program.is_file()
    assert down_command(TestbedFolder(tmp_path / ".virtual_testbed" / "lab")) == f"{program} down lab"
    elsewhere = TestbedFolder(tmp_path / "my state" / "lab")
    assert down_command(elsewhere) == f"{program} down lab --state '{tmp_path}/my state'"
    monkeypatch.setenv(STATE_VARIABLE, "my state")
    assert down_command(elsewhere) == f"{program} down lab"
    monkeypatch.chdir(program.parent.parent)
    assert down_command(elsewhere).startswith("bin/virtual-testbed down lab")


def test_bring_up_is_what_the_command_uses():
    assert cli.bring_up is bring_up


def test_the_examples_of_the_help_are_taken():
    lines = [line.strip() for line in cli.EXAMPLES.splitlines()]
    typed = [line.split("   ")[0].split()[1:] for line in lines if line.startswith("virtual-testbed")]
    assert len(typed) == 5
    for name, *words in typed:
        cli.main.commands[name].make_context(name, words)
