"""One run at a time has the switch, and what a killed one left is put back. The scripts run in a real shell, against
stand-ins for SONiC's commands."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lab.restore import read_state
from tests.common.pfc.lab.watchdog import FORGET_POLL_INTERVAL
from tests.common.pfc.lease.lease import LASTS_S, LEASE_FILE, Lease, LeaseOwner
from tests.common.pfc.lease.taking import LeaseTaker
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_restore import lose, stopped

ELSEWHERE = LeaseOwner("alice", "lab-2", 4711, "another boot", 5)


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running."""
    return ShellHost.installed(tmp_path)


def killed_run(switch, run_id="run-1", script="true"):
    """A run of its own process that is killed while it has the switch; `script` brings back what it changed."""
    program = (
        "import os, signal, sys, pathlib\n"
        "from tests.common.pfc.lab.restore import SwitchRestorer\n"
        "from tests.common.unit_tests.pfc.shell_switch import ShellHost\n"
        "host = ShellHost(pathlib.Path(sys.argv[1]))\n"
        "with SwitchRestorer(host, sys.argv[2]).watchdog_stopped() as lease:\n"
        "    lease.scripts['watchdog-polls'] = sys.argv[3]\n"
        "    host.shell(lease.write())\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[4]
    ended = subprocess.run([sys.executable, "-c", program, switch.home, run_id, script], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL, ended
    assert (switch.home / LEASE_FILE).exists() and "Ethernet0" not in switch.config_db()["PFC_WD"], "it was too early"


def leave(switch, owner):
    """A run of `owner` has the switch: it took the lease and stopped the watchdog."""
    (switch.home / ".pfc_qualification").mkdir()
    (switch.home / LEASE_FILE).write_text(Lease(owner, "run-1", watchdog=FOUND).text() + "\n")
    switch.shell("pfcwd stop")


def last_touched(switch, seconds_ago):
    """The lease was last touched that long ago."""
    touched = time.time() - seconds_ago
    os.utime(switch.home / LEASE_FILE, (touched, touched))


def test_the_watchdog_is_stopped_inside_and_as_before_after(switch):
    """And the state found is on the switch meanwhile, and only then."""
    with stopped(switch):
        assert switch.config_db()["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "200"}}, switch.config_db()
        kept = json.loads((switch.home / LEASE_FILE).read_text())
        assert (kept["run_id"], kept["owner"]["pid"]) == ("run-1", os.getpid()), kept
        assert kept["tables"] == {"PFC_WD": FOUND}, kept
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / ".pfc_qualification").exists(), "the file is still there"


@pytest.mark.parametrize("script", [FORGET_POLL_INTERVAL, "true"])
def test_a_polling_interval_that_was_not_there_goes(switch, script):
    """A run that was killed while it used the watchdog left one; also one that wrote no script for it."""
    found = {"Ethernet0": FOUND["Ethernet0"]}
    switch.configure(found)
    killed_run(switch, "run-1", script)
    switch.configure({"GLOBAL": {"POLL_INTERVAL": "100"}})
    with stopped(switch, "run-2"):
        pass
    assert switch.config_db()["PFC_WD"] == found, switch.config_db()


def test_what_killed_runs_left_is_healed_by_the_next(switch, caplog):
    """The state at the end is that before the first run, however many were killed, and whatever was deployed since."""
    for run_id in ("run-1", "run-2"):
        killed_run(switch, run_id)
    switch.configure({"Ethernet0": {"action": "forward", "detection_time": "600"}})
    with stopped(switch, "run-3"):
        pass
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    said = " ".join(caplog.messages)  # without the form of the log, which is the tree's
    assert "run run-2 (process " in said, said
    assert "ended without putting back what it changed" in said, said


def test_nothing_is_changed_when_the_state_cannot_be_kept(switch):
    """No file, no `pfcwd stop`."""
    (switch.home / ".pfc_qualification").write_text("a file where the folder belongs")
    with pytest.raises(QualificationError, match="cannot be written .*; nothing was changed"), stopped(switch):
        pytest.fail("the block must not run")
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_switch_that_does_not_take_its_state_back_is_told_and_remembered(switch):
    """The sentence names the row, and the file stays for the next run."""
    switch.command("config", "")
    with pytest.raises(QualificationError) as error, stopped(switch):
        pass
    assert "the watchdog's configuration is not as it was found (PFC_WD|Ethernet0 differs)" in str(error.value), str(
        error.value
    )
    assert (switch.home / LEASE_FILE).exists(), "the file is gone"


@pytest.mark.parametrize("text", ["", "half a li", '{"run_id": "x"}', '{"schema": 2}', "[]"])
def test_an_unreadable_file_stops_the_run(switch, text):
    """Someone has to look: nothing is overwritten, and the watchdog still runs."""
    (switch.home / ".pfc_qualification").mkdir()
    (switch.home / LEASE_FILE).write_text(text)
    with pytest.raises(QualificationError, match="lease.json on the switch cannot be read"), stopped(switch):
        pytest.fail("the block must not run")
    assert (switch.home / LEASE_FILE).read_text() == text, "the file was overwritten"
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_folder_in_the_files_place_stops_the_run(switch):
    """It cannot hold the state, so nothing is changed."""
    (switch.home / LEASE_FILE).mkdir(parents=True)
    with pytest.raises(QualificationError, match="cannot be read .*directory"), stopped(switch):
        pytest.fail("the block must not run")
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_lease_that_was_given_up_unheard_is_not_lost(switch):
    """The switch did it, and its answer did not arrive."""
    answer = switch.shell

    def shell(command, **options):
        done = answer(command, **options)
        if "rmdir" in command:
            raise ConnectionError("connection reset")
        return done

    switch.shell = shell
    with stopped(switch):
        pass
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / LEASE_FILE).exists(), "the lease is still there"


def test_a_lease_that_was_written_unheard_is_this_run_s(switch):
    """The connection broke before the answer, and Ansible ran the command again: it finds the lease there."""
    answer = switch.shell

    def shell(command, **options):
        if "@@pfc-qualification@@' 'take'" in command:
            answer(command, **options)
        return answer(command, **options)

    switch.shell = shell
    with stopped(switch) as lease:
        assert lease.token in (switch.home / LEASE_FILE).read_text(), "the lease is another one"
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / LEASE_FILE).exists(), "the lease is still there"


def test_a_switch_that_stays_away_is_told(switch):
    """The sentence says that the watchdog is not back, and the file stays for the next run."""
    with pytest.raises(QualificationError) as error, stopped(switch):
        lose(switch, 100)
    assert str(error.value) == (
        "vtb-t0-01: connection refused; the watchdog is not put back yet, the next run or `pfc-restore"
        " NAME` does that from .pfc_qualification/lease.json on the switch"
    ), str(error.value)
    assert (switch.home / LEASE_FILE).exists(), "the file is gone"


def test_a_second_run_is_refused_while_the_first_lives(switch):
    """In one sentence; nothing of the first is touched, and it puts the watchdog back."""
    with stopped(switch):
        before = (switch.home / LEASE_FILE).read_text()
        with pytest.raises(ReservationLost) as error, stopped(switch, "run-2"):
            pytest.fail("the block must not run")
        owner = LeaseOwner.of(os.getpid())
        said = str(error.value)
        assert said.startswith(f"vtb-t0-01: run run-1 ({owner}) has this switch, and its lease runs out in "), said
        assert (switch.home / LEASE_FILE).read_text() == before, "the lease was changed"
        assert "Ethernet0" not in switch.config_db()["PFC_WD"], "the watchdog was put back under the first run"
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


@pytest.mark.parametrize("seconds_ago", [LASTS_S + 1, -LASTS_S - 3600])
def test_a_lease_from_elsewhere_is_taken_over_when_it_runs_out(switch, seconds_ago):
    """By the switch's clock, and also when that was set back since; not before."""
    leave(switch, ELSEWHERE)
    last_touched(switch, LASTS_S - 60)
    with pytest.raises(ReservationLost, match="process 4711 of alice on lab-2"), stopped(switch, "run-2"):
        pytest.fail("the block must not run")
    last_touched(switch, seconds_ago)
    with stopped(switch, "run-2"):
        pass
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_of_two_runs_that_find_the_same_dead_one_only_the_first_takes_over(switch):
    """The second sees that the file is another one, looks again, and is refused."""
    leave(switch, ELSEWHERE)
    last_touched(switch, LASTS_S + 1)
    answer, first = switch.shell, stopped(switch, "run-2")

    def shell(command, **options):
        if f"> {LEASE_FILE}.new" in command:  # run-2 is faster than run-3
            switch.shell = answer
            first.__enter__()
        return answer(command, **options)

    switch.shell = shell
    with pytest.raises(ReservationLost, match="run run-2 "), stopped(switch, "run-3"):
        pytest.fail("the block must not run")
    first.__exit__(None, None, None)
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_run_that_lost_its_lease_puts_nothing_back(switch):
    """Another one measures now and puts it back; the sentence says which."""
    with pytest.raises(ReservationLost) as error, stopped(switch):
        (switch.home / LEASE_FILE).write_text(Lease(ELSEWHERE, "run-2", watchdog=FOUND).text())
    assert str(error.value) == (
        "vtb-t0-01: this run lost its lease of the switch (it is now that of run run-2 (process 4711 of alice on"
        " lab-2)); nothing that was measured since counts"
    ), str(error.value)
    assert "Ethernet0" not in switch.config_db()["PFC_WD"], "the watchdog was put back under run-2"
    assert (switch.home / LEASE_FILE).exists(), "the lease of run-2 is gone"


def test_each_reading_of_the_counters_makes_the_lease_last(switch):
    """And fails once it is lost, so that nothing measured without it becomes a verdict."""
    with pytest.raises(ReservationLost), stopped(switch) as lease:
        dut = Dut(switch, reservation=lease)
        last_touched(switch, LASTS_S - 1)
        with pytest.raises(QualificationError):  # this switch has no counters
            dut.counters()
        assert time.time() - (switch.home / LEASE_FILE).stat().st_mtime < 60, "the lease was not touched"
        (switch.home / LEASE_FILE).unlink()
        with pytest.raises(ReservationLost, match="pfc-restore or someone ended it"):
            dut.counters()


def test_a_switch_that_another_run_has_is_not_even_planned(switch):
    """Before tests are collected; this process' own lease is no hindrance."""
    with stopped(switch), pytest.raises(QualificationError, match="`version` ended"):  # it has none
        read_state(Dut(switch))
    leave(switch, ELSEWHERE)
    with pytest.raises(ReservationLost, match="process 4711 of alice on lab-2"):
        read_state(Dut(switch))


def test_a_full_disk_leaves_no_half_lease(switch):
    """And the watchdog runs on."""
    switch.command("sync", "import sys; sys.exit('sync: No space left on device')")
    with pytest.raises(QualificationError, match=r"cannot be written \(sync: No space left"), stopped(switch):
        pytest.fail("the block must not run")
    assert list((switch.home / ".pfc_qualification").iterdir()) == [], "half a lease is left"
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def heal(switch, force=False):
    """Puts back what a run left; the lease found."""
    with LeaseTaker(switch, "restore", Clock()).healed(force) as seen:
        return seen


def test_without_a_lease_nothing_is_healed(switch):
    """Nothing is changed."""
    switch.configure({"Ethernet0": {"action": "forward"}})
    assert heal(switch) is None, "there was none"
    assert switch.config_db()["PFC_WD"] == {"Ethernet0": {"action": "forward"}}, switch.config_db()


@pytest.mark.parametrize("owner", ["dead", "elsewhere"])
def test_restoring_heals_without_a_run(switch, owner):
    """A dead run of this machine, and whatever another machine has."""
    if owner == "dead":
        killed_run(switch)
    else:
        leave(switch, ELSEWHERE)
    seen = heal(switch)
    assert seen.lease.run_id == "run-1", seen
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / ".pfc_qualification").exists(), "the lease is still there"


def test_restoring_spares_a_run_that_lives_here_unless_forced(switch):
    """The user can stop that one."""
    with pytest.raises(ReservationLost, match="pfc-restore or someone ended it"), stopped(switch):
        with pytest.raises(ReservationLost, match="run run-1 "):
            heal(switch)
        assert "Ethernet0" not in switch.config_db()["PFC_WD"], "the watchdog was put back under the run"
        heal(switch, force=True)
        assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_failure_on_the_way_does_not_keep_the_state_from_being_put_back(switch):
    """The traffic generator does not answer, for instance."""
    leave(switch, ELSEWHERE)
    with pytest.raises(QualificationError, match="no answer"), LeaseTaker(switch, "restore", Clock()).healed():
        raise QualificationError("no answer")
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
