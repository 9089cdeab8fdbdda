"""The command that runs sonic-mgmt's tests: what it refuses, what it reads, what it prints; and, where a checkout and
Python 3.12 are, one of its tests on a good switch and on a broken one."""
from __future__ import annotations

import ast
import contextlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.against_sonic.minigraph import minigraph
from scripts.suite import REFUSED
from scripts.testbeds import TESTBED_FILE, Failure, Refusal, files_of
from scripts.upstream import __main__ as command
from scripts.upstream import python_3_12, running
from scripts.upstream.options import EXAMPLES, UpstreamRequest, check, parser
from scripts.upstream.running import TheirRun, taken_places, their_command, their_environment, unused_ports
from scripts.upstream.table import (
    ERROR, FAILED, NOT_RUN, PASSED, SKIPPED, OutcomeRow, UpstreamSession, counts, one_line, table,
)
from scripts.upstream.tree import COPIED, OVER_SSH, changed_in, copy_tree, find_tree, functions_of, state_of
from tests.common.clone import ROOT
from tests.common.pfc.record.verdict import Status
from virtual_testbed.lab_files.description import load_testbed, virtual_testbeds
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.minigraph import tables_of
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic_mgmt.simulated_sleep import WATCHERS
from virtual_testbed.supervision.endpoints import Endpoints

TEST = "snappi_tests/pfc/test_x.py::test_y[3-100.0]"
ANOTHER = "snappi_tests/pfc/test_x.py::test_z"
TRACES = command.Traces(True, ["a.yml"], ["x"], [])
FILES = {
    "tests/snappi_tests/pfc/test_x.py": "import pytest\n\n\ndef test_y():\n    pass\n\n\ndef helper():\n    pass\n",
    "tests/snappi_tests/pfcwd/test_w.py": "def test_w():\n    pass\n",
    "tests/common/snappi_tests/ports.py": "", "ansible/files/graph_groups.yml": "- lab\n",
    ".gitignore": "tests/_cache\n",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example", *words],
                   check=True, capture_output=True)


@pytest.fixture(name="checkout")
def fixture_checkout(tmp_path: Path) -> Path:
    """What a checkout is known by, in git."""
    folder = tmp_path / "sonic-mgmt"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "all")
    return folder


@pytest.fixture(name="lab")
def fixture_lab(tmp_path: Path) -> Endpoints:
    (tmp_path / "testbed.yaml").write_text("- conf-name: vtb-x\n  topo: tgen-t0-32\n", encoding="utf-8")
    return Endpoints("vtb-x", "http://127.0.0.1:1", "127.0.0.1:2", "virtual", "http://127.0.0.1:1/clock",
                     tmp_path / "testbed.yaml", tmp_path / "vtb", tmp_path / "none",
                     {"dut": SimpleNamespace(ssh_port=2222)}, ())


def refused(*words: str) -> str:
    with pytest.raises(Refusal) as raised:
        check(parser().parse_args([*words]))
    return str(raised.value)


def test_what_is_no_checkout_is_refused(tmp_path: Path, checkout: Path) -> None:
    assert refused() == "no checkout given: `make upstream SONIC_MGMT=<a checkout of sonic-mgmt>`"
    assert "none is not a folder" in refused(str(tmp_path / "none"))
    assert "has no tests/snappi_tests/pfc: expected a checkout of sonic-mgmt" in refused(str(tmp_path))
    (checkout / "ansible/files/graph_groups.yml").unlink()
    assert "has no ansible/files/graph_groups.yml" in refused(str(checkout))


def test_tests_faults_and_testbeds_that_are_none_are_refused(checkout: Path) -> None:
    assert refused(str(checkout), "--tests", "test_y,nix").endswith("has 'nix' in its name; there are test_w, test_y")
    assert refused(str(checkout), "--fault", "nix").startswith("fault 'nix' is unknown")
    assert "has no port Ethernet3" in refused(str(checkout), "--fault", "pause-ignored@Ethernet3")
    assert refused(str(checkout), "--testbed", "nix").startswith("testbed 'nix' is not in ")
    assert refused(str(checkout), "--options=-k 'a") == (
        "--options: -k 'a: not words as a shell has them (No closing quotation)")
    assert refused(str(checkout), "--nix") == "unrecognized arguments: --nix"


def typed(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own: at its end it ends all children of its process, whoever started them."""
    return subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT, capture_output=True, text=True, check=False,
                          timeout=60)


def test_a_chassis_has_the_habits_that_are_asked_for(checkout: Path, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_3_12, "_candidates", lambda: iter([str(python_that_says(tmp_path, "3.12"))]))
    for words, habits in (([], None), (["--ixnetwork"], ()), (["--habit", "slow-stop,card=x"], ("slow-stop", "card=x")),
                          (["--ixnetwork", "--habit", "slow-stop", "--habit", "relinks"], ("slow-stop", "relinks"))):
        assert check(parser().parse_args([str(checkout), *words])).habits == habits, words
    assert refused(str(checkout), "--habit", "nix").startswith("habit 'nix': there is none of that name; habits are ")


@pytest.mark.parametrize("habits", [None, (), ("slow-stop",)])
def test_the_testbed_gets_the_habits_and_the_lab_ixnetwork(checkout: Path, tmp_path: Path,
                                                           habits: tuple[str, ...] | None,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    options = parser().parse_args([str(checkout), "--results", str(tmp_path)])
    wanted = UpstreamRequest(find_tree(str(checkout)), Path(), (), (), habits)
    brought_up = []
    written = []

    @contextlib.contextmanager
    def virtual_testbed(*arguments: object) -> Iterator[object]:
        brought_up.append(arguments[-1])
        yield files_of("vtb-t0", {"testbed_file": tmp_path / "testbed.yaml", "inventory": tmp_path / "vtb"})

    monkeypatch.setattr(command, "virtual_testbed", virtual_testbed)
    monkeypatch.setattr(command, "deploy", lambda *arguments: None)
    monkeypatch.setattr(command, "run_theirs", lambda run, *arguments: written.append(run.ixnetwork))
    command.measure(options, wanted, command.their_run(wanted, tmp_path, Path(), tmp_path))
    assert brought_up == [habits] and written == [habits is not None]


@pytest.mark.parametrize("habits, said", [
    (None, ""), ((), ", behind IxNetwork's API"), (("a", "b"), ", behind IxNetwork's API of a chassis with a, b")])
def test_it_says_what_is_spoken_to(habits: tuple[str, ...] | None, said: str) -> None:
    assert command.spoken(habits) == said


def test_the_command_refuses_in_one_sentence() -> None:
    ended = typed("scripts.upstream")
    assert ended.returncode == REFUSED
    assert ended.stderr == "error: no checkout given: `make upstream SONIC_MGMT=<a checkout of sonic-mgmt>`\n"
    assert not ended.stdout


def python_that_says(folder: Path, version: str) -> Path:
    program = folder / f"python-{version}"
    program.write_text(f"#!/bin/sh\necho {version}\n", encoding="ascii")
    program.chmod(0o755)
    return program


def test_another_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, said in ((str(python_that_says(tmp_path, "3.13")), "is Python 3.13"),
                        ("/bin/true", "is none that can make"),
                        ("nix", "nix is not a program: expected Python 3.12")):
        with pytest.raises(Refusal, match=said):
            python_3_12.find_python(given)
    right = python_that_says(tmp_path, "3.12")
    assert python_3_12.find_python(str(right)) == right
    monkeypatch.setattr(python_3_12, "_candidates", lambda: iter(["/bin/true", str(right)]))
    assert python_3_12.find_python("") == right
    monkeypatch.setattr(python_3_12, "_candidates", lambda: iter([str(tmp_path / "python-3.13"), "/nowhere"]))
    with pytest.raises(Refusal, match="needs Python 3.12, no other one .* and there is none here"):
        python_3_12.find_python("")


def test_packages_are_pinned_and_what_cannot_be_installed_is_a_failure(tmp_path: Path) -> None:
    assert len(python_3_12.packages()) > 50 and all(line.count("==") == 1 for line in python_3_12.packages())
    with pytest.raises(Failure, match="the packages that sonic-mgmt needs cannot be installed: /bin/false -m venv"):
        python_3_12.environment_of_theirs(Path("/bin/false"), tmp_path / "env")


def test_a_copy_has_what_is_run_and_the_checkout_is_as_before(checkout: Path, tmp_path: Path) -> None:
    (checkout / "tests/_cache").mkdir()
    (checkout / "tests/link").symlink_to("nowhere")
    tree = find_tree(str(checkout))
    before = state_of(tree)
    assert before == "?? tests/link\n"
    copy_tree(tree, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == sorted(set(COPIED) - {"test_reporting"})
    assert (tmp_path / "copy/tests/link").is_symlink() and not (tmp_path / "copy/tests/_cache").exists()
    assert state_of(tree) == before
    assert changed_in(tmp_path / "copy", tree) == [], "what is not copied is no change"
    (tmp_path / "copy/tests/priority").mkdir()
    (tmp_path / "copy/tests/priority/more").touch()
    (tmp_path / "copy/ansible/files/graph_groups.yml").write_text("- vtb\n", encoding="utf-8")
    (tmp_path / "copy/tests/snappi_tests/pfcwd/test_w.py").unlink()
    assert changed_in(tmp_path / "copy", tree) == ["ansible/files/graph_groups.yml",
                                                   "tests/snappi_tests/pfcwd/test_w.py"]
    (checkout / "ansible/files/graph_groups.yml").write_text("- lab\n- vtb\n", encoding="utf-8")
    assert state_of(tree) != before


def test_a_change_shows_without_git_too(tmp_path: Path, checkout: Path) -> None:
    subprocess.run(["rm", "-r", str(checkout / ".git")], check=True)
    tree = find_tree(str(checkout))
    before = state_of(tree)
    assert "graph_groups.yml" in before and state_of(tree) == before
    (checkout / "tests/new").touch()
    assert state_of(tree) != before


def test_the_tests_of_a_checkout(checkout: Path) -> None:
    assert functions_of(find_tree(str(checkout))) == ["snappi_tests/pfc/test_x.py::test_y",
                                                      "snappi_tests/pfcwd/test_w.py::test_w"]
    (checkout / "tests/snappi_tests/pfc/test_x.py").write_text("def (", encoding="ascii")
    with pytest.raises(Refusal, match="test_x.py cannot be read: invalid syntax"):
        functions_of(find_tree(str(checkout)))


def test_the_tests_over_ssh_of_a_checkout(checkout: Path) -> None:
    """Files, each with functions, or with classes of them."""
    for name in OVER_SSH:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("def test_one():\n    pass\n\n\nclass TestMore:\n    def test_two(self):\n"
                                     "        pass\n\n\nclass Helper:\n    def test_none(self):\n        pass\n")
    found = functions_of(find_tree(str(checkout)), OVER_SSH)
    assert len(found) == 2 * len(OVER_SSH)
    assert found[-2:] == ["qos/test_buffer_traditional.py::test_one",
                          "qos/test_buffer_traditional.py::TestMore::test_two"]
    wanted = check(parser().parse_args([str(checkout), "--over-ssh", "--tests", "test_two"]))
    assert wanted.suites == OVER_SSH
    with pytest.raises(Refusal, match="no test of .*test_portstat.py and .* has 'test_y' in its name"):
        check(parser().parse_args([str(checkout), "--over-ssh", "--tests", "test_y"]))
    (checkout / OVER_SSH[0]).unlink()
    with pytest.raises(Refusal, match="test_ecn_config_update.py cannot be read: .*No such file"):
        check(parser().parse_args([str(checkout), "--over-ssh", "--tests", "test_two"]))


def test_tests_over_ssh_are_for_the_layer_of_the_switch(tmp_path: Path, lab: Endpoints) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path, suites=OVER_SSH)
    testbed_file = tmp_path / "testbed.yaml"
    for topology, expected in (("tgen-t0-32", "any,t0"), ("tgen-t1-64", "any,t1"), ("ptf64", "any")):
        testbed_file.write_text(f"- conf-name: x\n  topo: {topology}\n", encoding="utf-8")
        words = their_command(run, replace(lab, testbed_file=testbed_file), "vtb")
        assert words[words.index("--topology") + 1] == expected
    assert words[-1] == "qos/test_buffer_traditional.py"


def test_their_pytest_gets_their_settings_and_nothing_of_ours(tmp_path: Path, lab: Endpoints) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", ("a", "b"), tmp_path, ("--pfc-same-generator",))
    own = {"PATH": "/bin", "PYTHONPATH": "x", "ANSIBLE_CONFIG": "y", "PFC_COMMAND": "z", "ANSIBLE_HOME": "/a"}
    found = their_environment(run, lab, own)
    assert found["PYTHONPATH"] == f"..{os.pathsep}{ROOT / 'virtual_testbed/sonic_mgmt'}"
    assert found["ANSIBLE_CONFIG"] == "../ansible" and found["ANSIBLE_HOME"] == "/a" and "PFC_COMMAND" not in found
    assert found["VIRTUAL_TESTBED_SSH_PORT"] == "2222", "where the first switch is"
    assert found["GRPC_ENABLE_FORK_SUPPORT"] == "0", "what Ansible forks would hang now and then"
    assert found["UPSTREAM_TESTS"] == "a,b" and found["VIRTUAL_TESTBED_CLOCK"] == "http://127.0.0.1:1/clock"
    words = their_command(run, lab, "vtb")
    assert words[-3:] == ["--pfc-same-generator", "snappi_tests/pfc", "snappi_tests/pfcwd"]


def test_the_testbed_has_the_name_that_their_tests_have_for_it(tmp_path: Path, lab: Endpoints) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path)
    assert "../ansible/vtb-x.yaml" in their_command(run, lab, "vtb")
    lab.testbed_file.write_text("- conf-name: vtb-x\n  topo: x\n  sonic_mgmt_name: theirs\n", encoding="utf-8")
    words = their_command(run, lab, "vtb")
    assert words[words.index("--testbed_file") + 1:][:3] == ["../ansible/theirs.yaml", "--testbed", "theirs"]


@pytest.mark.parametrize("ixnetwork", [False, True])
def test_what_is_loaded_is_what_is_said(tmp_path: Path, lab: Endpoints, ixnetwork: bool) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path, ixnetwork=ixnetwork)
    words = their_command(run, lab, "vtb")
    loaded = [word for option, word in itertools.pairwise(words) if option == "-p"]
    said = taken_places(run)
    assert said[0] == "Ansible's wait_for" and len(said) == 1 + len(loaded)
    assert all(text.endswith(f" ({plugin})") for text, plugin in zip(said[1:], loaded))
    assert ("plain_otg" in loaded) is not ixnetwork, "IxNetwork has statistics"
    assert any("nnpy" in text for text in said), "an empty package is one too"
    assert taken_places(replace(run, suites=OVER_SSH)) == [*said, "the PTF container (ptf_host)"]


def test_no_module_of_theirs_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ansible/library").mkdir(parents=True)
    (tmp_path / "ansible/library/interface_facts.py").touch()
    assert running.replaced_modules(tmp_path) == []
    (tmp_path / "ansible/library/wait_for.py").touch()
    assert running.replaced_modules(tmp_path) == ["wait_for"], "which is Ansible's own today"


def test_every_run_has_minigraphs(tmp_path: Path, lab: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """sonic-mgmt's `minigraph_facts` reads them."""
    steps: list[str] = []
    monkeypatch.setattr(running, "read_endpoints", lambda folder: lab)
    monkeypatch.setattr(running, "write_lab", lambda *arguments: steps.append("lab"))
    for name in ("shut_unused_ports", "write_minigraphs"):
        monkeypatch.setattr(running, name, lambda _, name=name: steps.append(name))
    monkeypatch.setattr(running, "_run", lambda *arguments: steps.append("tests"))
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path)
    running.run_theirs(run, tmp_path, lambda row: None)
    assert steps == ["shut_unused_ports", "write_minigraphs", "lab", "tests"]


def test_tests_are_those_for_the_number_of_switches(tmp_path: Path, lab: Endpoints) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path)
    one = their_command(run, lab, "vtb")
    assert one[one.index("--topology") + 1] == "tgen", "of one switch"
    two = their_command(run, replace(lab, switches={**lab.switches, "dut2": SimpleNamespace(ssh_port=2223)}), "vtb")
    assert two[two.index("--topology") + 1] == "multidut-tgen", "of two"


def test_a_host_in_the_place_of_a_ptf_container_is_for_tests_over_ssh(tmp_path: Path, lab: Endpoints) -> None:
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path)
    with running.plain_host(run, lab) as port:
        assert port is None and not (tmp_path / running.PTF_LOG).exists()


def test_without_such_a_host_the_lab_has_none(tmp_path: Path, lab: Endpoints, capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    access = SimpleNamespace(ssh_host="127.0.0.1", user="admin", key_file=tmp_path / "key")
    monkeypatch.setattr(running, "MODULE", "virtual_testbed.none")
    run = TheirRun(tmp_path / "copy", tmp_path / "env/bin/python", (), tmp_path, suites=OVER_SSH)
    with running.plain_host(run, replace(lab, switches={"dut": access})) as port:
        assert port is None
    assert "no host in the place of a PTF container" in capsys.readouterr().out


def test_a_switch_reads_the_minigraph_that_is_made_of_its_configuration() -> None:
    profile = load_profile("DellEMC-Z9664f-O64")
    factory = factory_config(profile, "dut")
    given = {"PORT": factory["PORT"], "DEVICE_METADATA": {"localhost": {
                 **factory["DEVICE_METADATA"]["localhost"], "type": "ToRRouter"}},
             "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "generator", "port": "Card1/Port1"}},
             "INTERFACE": {"Ethernet8": {}, "Ethernet8|10.0.0.0/31": {}}, "VLAN": {"Vlan10": {"vlanid": "10"}},
             "VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}},
             "VLAN_INTERFACE": {"Vlan10": {}, "Vlan10|192.0.2.1/24": {}},
             "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
             "MGMT_INTERFACE": {"eth0|192.0.2.9/24": {"gwaddr": "192.0.2.1"}}}
    given["PORT"] = {**given["PORT"], "Ethernet0": {**given["PORT"]["Ethernet0"], "speed": "100000"}}
    found = tables_of(minigraph("dut", given, with_speeds=True), profile, factory)
    for name in ("DEVICE_NEIGHBOR", "INTERFACE", "VLAN_MEMBER", "VLAN_INTERFACE", "LOOPBACK_INTERFACE",
                 "MGMT_INTERFACE"):
        assert found[name] == given[name], name
    assert found["PORT"]["Ethernet0"]["speed"] == "100000"
    assert found["DEVICE_METADATA"]["localhost"]["type"] == "ToRRouter"
    assert [port for port, row in found["PORT"].items() if row["admin_status"] == "up"] == ["Ethernet0", "Ethernet8"]


def test_ports_without_a_cable_are_those_of_no_link() -> None:
    testbeds = {testbed.name: unused_ports(testbed) for testbed in virtual_testbeds(TESTBED_FILE)}
    assert testbeds["vtb-t0"] == {}, "all of them have a cable"
    two = testbeds["vms-snappi-sonic-multidut"]
    assert list(two) == ["sonic-s6100-dut1", "sonic-s6100-dut2"]
    assert two == testbeds["vms-snappi-sonic-multidut-400g"], "cabled alike"
    assert all(len(ports) == 60 for ports in two.values()), "six of 66 have one"
    used = {"Ethernet0", "Ethernet64", "Ethernet68", "Ethernet72", "Ethernet76", "Ethernet124"}
    assert not any(used & set(ports) for ports in two.values()), "and these are not shut"


def test_the_lab_of_400g_has_the_names_and_cables_of_the_other_and_one_speed() -> None:
    """sonic-mgmt's items for 400G want ports of that speed at the same places, under the same names."""
    one, other = (load_testbed(f"vms-snappi-sonic-multidut{more}", TESTBED_FILE) for more in ("", "-400g"))
    assert [switch.name for switch in other.switches] == [switch.name for switch in one.switches]
    assert [(link.switch, link.switch_port) for link in other.generator_links] == [
        (link.switch, link.switch_port) for link in one.generator_links]
    assert {link.speed_mbps for link in other.generator_links} == {400_000}
    assert {link.speed_mbps for link in one.generator_links} == {100_000, 400_000}
    assert other.entry["sonic_mgmt_name"] == one.name and other.inv_name != one.inv_name


def session_of(*rows: OutcomeRow, planned: int = 0, ended: int | None = 0) -> UpstreamSession:
    session = UpstreamSession()
    names = [row.test for row in rows] + [f"{ANOTHER}{number}" for number in range(planned - len(rows))]
    assert session.take({"planned": names, "left_out": []}) is None
    for row in rows:
        session.take({"test": row.test, "result": row.result, "reason": row.reason, "seconds": row.seconds})
    if ended is not None:
        session.take({"ended": ended})
    return session


@pytest.mark.parametrize("results, planned, ended, is_same, status", [
    ([PASSED], 1, 0, True, Status.PASS), ([PASSED], 1, 0, False, Status.ERROR), ([PASSED], 2, 0, True, Status.ERROR),
    ([PASSED], 1, None, True, Status.ERROR), ([PASSED], 1, 2, True, Status.ERROR),
    ([PASSED, SKIPPED], 2, 0, True, Status.ERROR), ([PASSED, ERROR], 2, 1, True, Status.ERROR),
    ([FAILED, ERROR], 3, 1, True, Status.FAIL), ([FAILED], 1, 1, False, Status.FAIL)])
def test_only_what_all_passed_is_a_pass(results: list[str], planned: int, ended: int | None, is_same: bool,
                                        status: Status) -> None:
    session = session_of(*(OutcomeRow(f"{TEST}{number}", result) for number, result in enumerate(results)),
                         planned=planned, ended=ended)
    assert command.status_of(session.all_rows(), session, is_same) is status


def test_a_test_that_did_not_end_was_not_run() -> None:
    rows = session_of(OutcomeRow(TEST, PASSED, seconds=61.2), planned=2, ended=None).all_rows()
    assert [row.result for row in rows] == [PASSED, NOT_RUN] and counts(rows) == "1 passed, 1 not run of 2"
    assert counts([]) == "nothing of 0"


def test_the_table_has_reasons_in_one_line_and_whole_names() -> None:
    printed = table([OutcomeRow(TEST, FAILED, "Failed: Flow\n  should be   paused", 61.4)])
    assert "pfc/test_x::test_y[3-100.0]" in printed and "Failed: Flow should be paused" in printed and " 61 " in printed
    assert one_line("a " * 100, 20) == "a a a a a a a a a..." and one_line("a\nb") == "a b"


def test_the_report_says_what_was_run(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_3_12, "_candidates", lambda: iter([str(python_that_says(tmp_path, "3.12"))]))
    options = parser().parse_args([str(checkout), "--fault", "pause-ignored", "--results", str(tmp_path)])
    session = session_of(OutcomeRow(TEST, FAILED, "Failed: no", 2.0), OutcomeRow(ANOTHER, PASSED))
    session.left_out = ["a::test_reboot"]
    status = command.conclude(options, check(options), session, tmp_path, TRACES, 100.0)
    said = capsys.readouterr().out
    assert status == 1 and "1 passed, 1 failed of 2 after 100 s" in said and "pause-ignored" in said
    assert "unchanged (git status before and after)" in said and "restart the switch or its services: 1 tests" in said
    assert "\nits files that differ in the copy that was run: a.yml;" in said
    assert "; its Ansible modules that were replaced: none\n" in said
    assert "\nreplaced by something of this project: x (docs/other-suites.md)\n" in said
    assert "counted by: grep -c '\"result\": \"passed\"' " in said
    report = json.loads((tmp_path / command.REPORT).read_text(encoding="utf-8"))
    assert report["unchanged"] and [row["result"] for row in report["tests"]] == [FAILED, PASSED]
    head = subprocess.run(["git", "-C", str(checkout), "log", "-1", "--format=%H"], check=True, capture_output=True,
                          text=True).stdout.strip()
    assert report["commit"].startswith(head)
    own = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%H of %cs"], check=True, capture_output=True,
                         text=True).stdout.strip()
    assert report["project"].removesuffix(", changed since") == own and report["seconds"] == 100


def test_nothing_to_run_is_an_error(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_3_12, "_candidates", lambda: iter([str(python_that_says(tmp_path, "3.12"))]))
    options = parser().parse_args([str(checkout), "--results", str(tmp_path)])
    (tmp_path / "pytest.log").write_text("a\nE   ModuleNotFoundError: No module named 'x'\n", encoding="utf-8")
    with pytest.raises(Failure, match="no test is left to run: E ModuleNotFoundError: No module named 'x'"):
        command.conclude(options, check(options), UpstreamSession(), tmp_path, TRACES, 1.0)


def test_examples_are_understood() -> None:
    lines = [re.split(r"\s{3,}", line.strip())[0] for line in EXAMPLES.splitlines() if line.startswith("  python")]
    assert len(lines) == 6
    for line in lines:
        assert parser().parse_args(shlex.split(line)[3:]).checkout == "~/sonic-mgmt"


SONIC_MGMT = os.environ.get("SONIC_MGMT", "")
ONE_SWITCH = ("vtb-t0", "test_pfc_pause_single_lossless_prio[vtb-t0-01|3")
TWO_SWITCHES = ("vms-snappi-sonic-multidut", "test_pfc_pause_single_lossless_prio[sonic-s6100-dut1|3-tgen_port_info0")


@pytest.mark.skipif(not SONIC_MGMT, reason="SONIC_MGMT (a checkout of sonic-mgmt) is not set")
@pytest.mark.parametrize("file, function", sorted(WATCHERS))
def test_what_waits_for_its_own_threads_is_there(file: str, function: str) -> None:
    """Under another name it would let simulated time pass as fast as the machine allows."""
    text = (Path(SONIC_MGMT).expanduser() / "tests" / file).read_text(encoding="utf-8")
    found = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert function in found, f"{file} has no {function}: who waits there now?"


@pytest.mark.slow("four virtual testbeds, an environment of another Python, four tests of another suite: minutes")
@pytest.mark.skipif(not SONIC_MGMT, reason="SONIC_MGMT (a checkout of sonic-mgmt) is not set")
@pytest.mark.parametrize("fault, result, status", [("", PASSED, 0), ("pause-ignored@*", FAILED, 1)])
@pytest.mark.parametrize("testbed, test", [ONE_SWITCH, TWO_SWITCHES])
def test_their_lossless_test_judges_a_virtual_switch(tmp_path: Path, testbed: str, test: str, fault: str, result: str,
                                                     status: int) -> None:
    ended = subprocess.run([sys.executable, "-m", "scripts.upstream", SONIC_MGMT, "--testbed", testbed, "--tests", test,
                            "--results", str(tmp_path), *(["--fault", fault] if fault else [])], cwd=ROOT,
                           capture_output=True, text=True, check=False)
    report = json.loads(next(tmp_path.glob("upstream-*/upstream.json")).read_text(encoding="utf-8"))
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert [row["result"] for row in report["tests"]] == [result] and report["unchanged"]


@pytest.mark.slow("three virtual testbeds, an environment of another Python, four tests of another suite: minutes")
@pytest.mark.skipif(not SONIC_MGMT, reason="SONIC_MGMT (a checkout of sonic-mgmt) is not set")
@pytest.mark.parametrize("words, test, results, status", [
    (["--ixnetwork"], ONE_SWITCH[1], [PASSED], 0),
    (["--ixnetwork", "--fault", "pause-ignored@*"], ONE_SWITCH[1], [FAILED], 1),
    (["--habit", "sends-what-was-held"], "test_multidut_pfcwd_all_to_all", [PASSED, PASSED], 0)])
def test_their_tests_judge_a_virtual_switch_through_ixnetwork(tmp_path: Path, words: list[str], test: str,
                                                              results: list[str], status: int) -> None:
    """All to all counts on it that a chassis sends what PFC held."""
    ended = subprocess.run([sys.executable, "-m", "scripts.upstream", SONIC_MGMT, "--tests", test, "--results",
                            str(tmp_path), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(next(tmp_path.glob("upstream-*/upstream.json")).read_text(encoding="utf-8"))
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert [row["result"] for row in report["tests"]] == results and report["unchanged"]
