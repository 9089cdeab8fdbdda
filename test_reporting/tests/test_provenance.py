"""Where a run says that its verdicts come from."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

provenance = import_module("test_reporting.pfc.provenance")  # the package has a function of that name


@dataclass(frozen=True)
class Port:
    """A wired port."""

    device: str
    port: str
    generator: str
    location: str


@dataclass(frozen=True)
class Pair:
    """A pair of them."""

    rx: Port
    tx: Port


@dataclass(frozen=True)
class Priorities:
    """What is configured of a port's priorities."""

    lossless: tuple = (3, 4)
    dscps: tuple = ()
    dscp_map: str = "AZURE"


@dataclass(frozen=True)
class Pool:
    """A pool."""

    pool: str = "egress_lossless_pool"
    size_bytes: int = 1000


@dataclass(frozen=True)
class Subject:
    """What a run measures."""

    pair: Pair
    qos: Priorities
    buffer: Pool = Pool()


def git(folder, *arguments):
    """Runs git with an identity of its own."""
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder), *arguments], check=True,
                   capture_output=True)


def test_the_commit_says_whether_files_were_changed(tmp_path):
    assert provenance.suite_commit(tmp_path) == "", "in no checkout there is none"
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1", encoding="ascii")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "a")
    commit = provenance.suite_commit(tmp_path)
    assert len(commit) == 40, commit
    (tmp_path / "new").write_text("1", encoding="ascii")
    assert provenance.suite_commit(tmp_path) == commit, "a new file changes nothing that is there"
    (tmp_path / "a").write_text("2", encoding="ascii")
    assert provenance.suite_commit(tmp_path) == f"{commit} and changes", "a changed one does"


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.suite_commit(Path(__file__).parent) == "", "git is not there"


@pytest.mark.parametrize("told", ["", "ada"])
def test_the_operator_is_who_the_environment_says(monkeypatch, told):
    monkeypatch.setenv(provenance.OPERATOR, told)
    found = provenance.operator()
    assert found == told if told else "@" in found, found


def test_the_command_is_that_of_whoever_started_it(monkeypatch):
    monkeypatch.setenv(provenance.COMMAND, "pfc-qualify --port Ethernet8")
    assert provenance.command() == "pfc-qualify --port Ethernet8", provenance.command()
    monkeypatch.delenv(provenance.COMMAND)
    monkeypatch.setattr("sys.argv", ["/x/pytest/__main__.py", "-k", "a b"])
    assert provenance.command() == "python -m pytest -k 'a b'", provenance.command()


def test_the_ports_have_the_generators_behind_them_and_the_priorities_configured():
    pair = Pair(Port("dut", "Ethernet0", "ixia-1", "10.0.0.1;1;1"), Port("dut", "Ethernet4", "ixia-2", "10.0.0.2;1;1"))
    found = provenance.provenance([Subject(pair, Priorities(dscps={4: (4, 5), 3: (3,)}))], "SN-1", lambda _: [3])
    assert found["ports"]["tx"] == {
        "device": "dut", "port": "Ethernet4", "generator": "ixia-2", "location": "10.0.0.2;1;1"}
    assert found["ports"]["under_test"]["port"] == "Ethernet0" and found["serial"] == "SN-1"
    assert found["priorities"] == {
        "lossless": [3, 4], "watched": [3], "dscps": {"3": [3], "4": [4, 5]}, "dscp_map": "AZURE",
        "pool": "egress_lossless_pool", "pool_bytes": 1000}


def test_ports_that_are_configured_alike_are_said_once():
    ports = [Port("dut", f"Ethernet{number}", "ixia-1", f"10.0.0.1;1;{number}") for number in range(3)]
    both = Priorities(dscps={3: (3,)})
    priorities = [both, replace(both, lossless=(3,)), both]
    subjects = [Subject(Pair(port, ports[0]), qos) for port, qos in zip(ports, priorities)]
    found = provenance.provenance(subjects, watched=lambda qos: qos.lossless)
    assert not {"ports", "priorities"} & set(found), f"those are of one port: {found}"
    alike, other = found["priorities_by_ports"]
    assert (alike["ports"], alike["watched"]) == (["Ethernet0", "Ethernet2"], [3, 4]), alike
    assert (other["ports"], other["watched"]) == (["Ethernet1"], [3]), other


def test_what_is_not_known_is_not_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.provenance().keys() == {"operator", "command"}
