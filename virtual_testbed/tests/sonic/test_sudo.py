"""How `sudo` reads its arguments, and what it answers."""
from __future__ import annotations

import pytest

from virtual_testbed.sonic.commands.sudo import parse


@pytest.mark.parametrize("words, user, flags, values, command", [
    ("pfcwd stop", "root", "", {}, "pfcwd stop"), ("-n true", "root", "n", {}, "true"),
    ("-H -S -n -u root /bin/sh -c x", "root", "HSn", {}, "/bin/sh -c x"), ("-uadmin id", "admin", "", {}, "id"),
    ("-nHu root id -u", "root", "nH", {}, "id -u"), ("-p prompt id", "root", "", {}, "id"),
    ("-E -- -x", "root", "E", {}, "-x"),
    ("A=1 B=x=y env", "root", "", {"A": "1", "B": "x=y"}, "env"), ("--user=root --login", "root", "i", {}, ""),
    ("-i", "root", "i", {}, ""),
])
def test_arguments(words, user, flags, values, command):
    assert parse(words.split()) == (user, set(flags), values, command.split())


def test_environment_and_refusals(run):
    assert run("sudo A=5 sh -c 'echo $A $USER $LOGNAME $SUDO_USER $HOME'", root=False) == (
        f"5 root root admin {run.root}/root\n")
    assert run("sudo -u admin sh -c 'echo $USER'", root=False) == "admin\n"
    assert run("sudo nothing-here", root=False, status=1) == "sudo: nothing-here: command not found\n"
    assert run("sudo -u nobody id", root=False, status=1) == "sudo: unknown user: nobody\n"
    assert run("sudo sh -c 'exit 7'", root=False, status=7) == ""
    assert run("sudo -k", root=False) == "" and run("sudo -v", root=False) == ""
    assert "usage" in run("sudo", root=False, status=1)


@pytest.mark.parametrize("command", [
    "pfcwd stop", "pfcwd start_default", "pfcwd interval 200", "config save -y", "pfcwd big_red_switch enable",
    "pfcwd counter_poll enable"])
def test_root_is_needed_as_in_sonic(run, command):
    assert run(command, root=False, status=1) == "Root privileges are required for this operation\n"
    assert "privileges" not in run(f"sudo {command}", root=False)
