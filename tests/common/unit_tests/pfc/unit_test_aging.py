"""What drops held frames is switched off while a run has the switch, and on again afterwards, whoever sees to that. The
commands run in a real shell, against stand-ins for Cisco's; those of all vendors run on a virtual switch
(`virtual_testbed/tests/sonic/test_vendor_sdk.py`)."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.common.pfc.aging import switching, vendors
from tests.common.pfc.aging.auditor import AgingAuditor
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.lease.lease import LEASE_FILE, Lease, LeaseOwner
from tests.common.pfc.lease.taking import LeaseTaker
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, Status
from tests.common.unit_tests.pfc.shell_switch import FOUND, Clock, ShellHost

SHOW = """\
import pathlib, re, sys
state = pathlib.Path("voq")
if sys.argv[3] == "global":
    print("voq_watchdog_enabled : " + state.read_text())
else:
    state.write_text(re.search("ENABLED, (True|False)", pathlib.Path("script").read_text())[1])
"""
DOCKER = """\
import pathlib, sys
if "tee" in sys.argv:
    pathlib.Path("script").write_text(sys.stdin.read())
"""
FAN_IN, HEADROOM = PlanCase("fan-in", "M2O-1"), PlanCase("headroom", "HEAD-1")
NOT_RUNNING = "print('debug shell server for asic 0 is not running')"
NAME = ShellHost.hostname


def installed(home):
    """A Cisco 8000 that drops what is held."""
    switch = ShellHost.installed(home)
    switch.command("show", SHOW)
    switch.command("docker", DOCKER)
    (home / "voq").write_text("True")
    return switch


def is_on(switch):
    return (switch.home / "voq").read_text() == "True"


@pytest.fixture(autouse=True)
def kind(monkeypatch):
    monkeypatch.setattr(switching, "KIND", "echo cisco-8000")


@pytest.fixture
def switch(tmp_path):
    return installed(tmp_path)


def lab_of(switch, reservation, *others):
    """As much of a lab as is looked at."""
    duts = {one.hostname: Dut(one, reservation=reservation) for one in others}
    return SimpleNamespace(dut=Dut(switch, reservation=reservation), others=duts)


def stopped(switch, run_id="run-1"):
    """The switch is a run's."""
    return SwitchRestorer(switch, run_id, Clock()).watchdog_stopped()


def check(name, status=Status.FAIL):
    return Check(name, LOSSLESS, status, "all 9 frames received", "7", f"{NAME} Ethernet0 priority 3", 3)


def test_it_is_off_in_the_run_and_on_again_after_it(switch):
    with stopped(switch) as lease:
        assert is_on(switch), "nothing is held before the first case"
        AgingAuditor().begin(lab_of(switch, lease))
        kept = json.loads((switch.home / LEASE_FILE).read_text())
        assert not is_on(switch) and kept["schema"] == 3 and "voq-watchdog" in kept["scripts"], kept
    assert is_on(switch) and switch.config_db()["PFC_WD"] == FOUND, "it is on again"
    assert not (switch.home / LEASE_FILE).exists(), "the lease is gone"


def test_what_was_off_stays_off(switch):
    """And the lease is one that every version reads."""
    (switch.home / "voq").write_text("False")
    with stopped(switch) as lease:
        AgingAuditor().begin(lab_of(switch, lease))
        assert json.loads((switch.home / LEASE_FILE).read_text())["schema"] == 1, "it has nothing but the watchdog"
    assert not is_on(switch), "it is switched off"


def test_a_part_that_started_anew_has_it_on_again_until_the_next_case(switch):
    with stopped(switch) as lease:
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        for _ in range(2):
            auditor.begin(lab)
            assert not is_on(switch), "it is switched off"
            (switch.home / "voq").write_text("True")


def test_an_asic_that_has_none_is_left_alone(switch, monkeypatch):
    monkeypatch.setattr(switching, "KIND", "echo broadcom broadcom")
    with stopped(switch) as lease:
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        auditor.begin(lab)
        [drained] = auditor.reconsidered(lab, SINGLE_LOSSLESS, [check("held-frames-drained")])
        assert drained.status is Status.FAIL, drained
        assert is_on(switch) and not lease.scripts, "it is on again"


def test_nothing_is_switched_when_it_cannot_be_written_down(switch):
    with stopped(switch) as lease:
        switch.command("sync", "import sys; sys.exit('sync: No space left on device')")
        with pytest.raises(QualificationError, match="No space left on device"):
            AgingAuditor().begin(lab_of(switch, lease))
        assert is_on(switch), "it is on again"


def test_a_run_that_lost_its_lease_switches_nothing(switch):
    with pytest.raises(ReservationLost, match="run run-2"), stopped(switch) as lease:
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        auditor.begin(lab)
        (switch.home / "voq").write_text("True")
        other = Lease(LeaseOwner("alice", "lab-2", 4711, "boot", 5), "run-2", watchdog=FOUND)
        (switch.home / LEASE_FILE).write_text(other.text())
        auditor.begin(lab)
    assert is_on(switch), "it is on again"


@pytest.mark.parametrize(("program", "sentence"), [
    (NOT_RUNNING, "the VOQ watchdog of Cisco 8000 is unknown ({name}: `aging` printed 'debug shell server for asic 0 "
                  "is not running'); that needs the debug shell running"),
    (SHOW.replace("state.write_text", "str"), "the VOQ watchdog of Cisco 8000 could not be switched off ({name}: "),
    ("import sys; sys.exit('no such command')", "the VOQ watchdog of Cisco 8000 is unknown ({name}: `aging` ended with "
                                                "status 1: no such command)"),
])
def test_what_cannot_be_switched_off_makes_an_error_of_a_failed_check(switch, program, sentence):
    """Of one about held frames; others say what they say."""
    switch.command("show", program)
    checks = [check("held-frames-drained"), check("held-within-buffer", Status.PASS), check("blocked-while-paused")]
    with stopped(switch) as lease:
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        auditor.begin(lab)
        drained, *others = auditor.reconsidered(lab, SINGLE_LOSSLESS, checks)
    assert others == checks[1:] and drained.status is Status.ERROR, others
    expected = "expected all 9 frames received, got 7, where held frames may be dropped: " + f"{NAME}: {sentence}"
    assert drained.message.startswith(f"{NAME} Ethernet0 priority 3: {expected.format(name=NAME)}"), drained.message
    assert is_on(switch) and auditor.audit([lab], None) == [[]] and not auditor.explain(lab), "it is on again"


def test_frames_are_lost_for_other_reasons_where_none_is_held(switch):
    """Lossy ones, and those of a congestion that no pause makes."""
    switch.command("show", NOT_RUNNING)
    lossy = dataclasses.replace(check("no-queue-drops"), metric_name=LOSSY)
    with stopped(switch) as lease:
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        auditor.begin(lab)
        both = [check("nothing-lost"), lossy]
        assert auditor.reconsidered(lab, FAN_IN, both) == both, "a lossy check, and one of another family"
        held = auditor.reconsidered(lab, HEADROOM, [check("nothing-lost"), check("no-queue-drops")])
    assert {one.status for one in held} == {Status.ERROR}, held


def test_every_switch_that_a_case_goes_through_is_switched(switch, tmp_path):
    """Of a chain, any of them may drop what it holds."""
    second = installed_at(tmp_path / "second")
    with stopped(switch) as lease:
        second.command("show", NOT_RUNNING)
        auditor, lab = AgingAuditor(), lab_of(switch, lease)
        lab.others["second"] = Dut(second)
        auditor.begin(lab)
        assert not is_on(switch), "it is switched off"
        [drained] = auditor.reconsidered(lab, SINGLE_LOSSLESS, [check("held-frames-drained")])
    assert drained.status is Status.ERROR and f"{second.hostname}: the VOQ watchdog" in drained.message, drained.status


def installed_at(home):
    """Another switch."""
    home.mkdir()
    switch = installed(home)
    switch.hostname = "vtb-t0-02"
    return switch


KILLED = """
import os, pathlib, signal, sys
from tests.common.pfc.aging import switching
from tests.common.pfc.aging.auditor import AgingAuditor
from tests.common.unit_tests.pfc.shell_switch import ShellHost
from tests.common.unit_tests.pfc.unit_test_aging import lab_of, stopped
switching.KIND = "echo cisco-8000"
switch = ShellHost(pathlib.Path(sys.argv[1]))
with stopped(switch) as lease:
    AgingAuditor().begin(lab_of(switch, lease))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_run(switch):
    """A run of its own process that is killed while it is off."""
    root = Path(__file__).resolve().parents[4]
    ended = subprocess.run([sys.executable, "-c", KILLED, switch.home], cwd=root, check=False, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL, ended
    assert not is_on(switch), "it was too early"


def test_restoring_after_a_killed_run_switches_it_on(switch):
    kill_a_run(switch)
    with LeaseTaker(switch, "restore", Clock()).healed() as seen:
        assert seen.lease.run_id == "run-1", seen
    assert is_on(switch) and switch.config_db()["PFC_WD"] == FOUND, "it is on again"


def test_the_next_run_switches_on_what_a_killed_one_left_off(switch):
    kill_a_run(switch)
    with stopped(switch, "run-2") as lease:
        AgingAuditor().begin(lab_of(switch, lease))
        assert not is_on(switch), "it is switched off"
    assert is_on(switch), "it is on again"


def test_what_cannot_be_switched_on_again_stays_in_the_lease(switch):
    """The watchdog is back, and whoever restores tries again."""
    with pytest.raises(QualificationError, match="`voq-watchdog` ended with status 1"), stopped(switch) as lease:
        AgingAuditor().begin(lab_of(switch, lease))
        switch.command("show", NOT_RUNNING)
    assert switch.config_db()["PFC_WD"] == FOUND and (switch.home / LEASE_FILE).exists(), switch.config_db()["PFC_WD"]
    switch.command("show", SHOW)
    with LeaseTaker(switch, "restore", Clock()).healed(force=True):
        pass
    assert is_on(switch) and not (switch.home / LEASE_FILE).exists(), "it is on again"


@pytest.mark.parametrize(("kind", "key"), [
    ("mellanox mellanox", "packet-aging"),
    ("broadcom broadcom-dnx voq", "credit-watchdog"),
    ("broadcom broadcom-dnx", "credit-watchdog"),
    ("broadcom voq", "credit-watchdog"),
    ("cisco-8000 cisco-8000 voq", "voq-watchdog"),
    ("broadcom broadcom", ""),
    ("vs vs", ""),
    ("", ""),
])
def test_which_asic_has_what(kind, key):
    aging = vendors.aging_of(kind)
    assert (aging.key if aging else "") == key, aging.key if aging else ""
