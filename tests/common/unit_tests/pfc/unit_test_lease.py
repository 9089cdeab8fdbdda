"""Who owns a lease, whether that process lives, and what the file says."""

import dataclasses
import json
import os
import subprocess

import pytest

from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lease import lease as leases
from tests.common.pfc.lease.lease import LASTS_S, Lease, LeaseOwner, Seen, find, refuse_if_taken
from tests.common.pfc.model.errors import QualificationError

WATCHDOG = {"Ethernet0": {"action": "drop"}}


def ended():
    """A process of this machine that has ended, and was waited for."""
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = LeaseOwner.of(process.pid)
        process.kill()
    return owner


def seen(owner, age_s=0):
    """A lease as it was found."""
    return Seen(Lease(owner, "run-1", watchdog=WATCHDOG), age_s, "digest")


def printed(lease, **changes):
    """What `LOOK` prints of a lease whose file was changed."""
    return f"12\ndigest\n{json.dumps(json.loads(lease.text()) | changes)}\n"


def test_this_process_lives_and_an_ended_one_is_dead():
    """Both are of this machine."""
    assert not LeaseOwner.of(os.getpid()).is_dead(), "this process"
    assert ended().is_dead(), "an ended process"


def test_a_process_that_ended_and_was_not_waited_for_is_dead():
    """A zombie."""
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = LeaseOwner.of(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert owner.is_dead(), "a zombie"


def test_another_process_with_the_same_number_is_not_the_owner():
    """It started at another time."""
    mine = LeaseOwner.of(os.getpid())
    assert dataclasses.replace(mine, started=mine.started - 1).is_dead(), "the number was given again"


@pytest.mark.parametrize("system", ["", "another boot", "another boot pid:[4026531836]"])
def test_a_process_of_another_system_is_not_known_to_be_dead(system):
    """Another machine, the same one before it was started again, another container: its lease runs out."""
    other = dataclasses.replace(ended(), system=system)
    assert not other.is_dead() and not other.is_here(), other
    assert not seen(other, LASTS_S - 1).is_over(), "it runs on"
    assert seen(other, LASTS_S).is_over() and seen(other, -LASTS_S).is_over(), "it is over"


def test_a_machine_without_proc_knows_nothing(monkeypatch, tmp_path):
    """No Linux: leases run out, nothing is taken for dead, and none of one's own is."""
    gone = ended()
    monkeypatch.setattr(leases, "PROC", tmp_path)
    assert not gone.is_dead(), "nothing says so"
    assert LeaseOwner.of(os.getpid()).system == "", "nothing to know it by"


def test_a_hidden_process_counts_as_alive(monkeypatch):
    """/proc is mounted so that it shows no process of others, but the number is in use."""
    mine = LeaseOwner.of(os.getpid())
    monkeypatch.setattr(leases, "_stat", lambda pid: None)
    assert not mine.is_dead(), "it may live"


def test_what_is_written_is_what_is_read():
    """Age and digest are the switch's."""
    lease = Lease(LeaseOwner("alice", "lab-2", 4711, "boot", 5), "run-1", watchdog=WATCHDOG)
    assert find("vtb-t0-01", printed(lease), 0) == Seen(lease, 12, "digest"), printed(lease)
    assert find("vtb-t0-01", "\n", 0) is None, "there is none"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": 7}, "its schema is 7, expected 1 to 3"),
        ({"owner": {}}, "it has no 'user'"),
        ({"tables": {"PFC_WD": []}}, "PFC_WD is no table"),
    ],
)
def test_a_foreign_file_is_told(changes, said):
    """The sentence names the file, what is wrong, and what to do."""
    text = printed(Lease(ended(), "run-1", watchdog=WATCHDOG), **changes)
    with pytest.raises(QualificationError) as error:
        find("vtb-t0-01", text, 0)
    assert str(error.value) == (
        f"vtb-t0-01: .pfc_qualification/lease.json on the switch cannot be read ({said}); look at it, put the watchdog"
        " back by hand and remove it"
    ), str(error.value)


def test_a_lock_that_is_held_is_told():
    """Another process hangs with it."""
    with pytest.raises(ReservationLost, match="cannot be looked at: the lock of the home directory is held"):
        find("vtb-t0-01", "the lock of the home directory is held by another process", leases.TAKEN)


def test_the_refusal_names_the_run_and_how_long():
    """One sentence."""
    with pytest.raises(ReservationLost) as error:
        refuse_if_taken("vtb-t0-01", seen(LeaseOwner("alice", "lab-2", 4711, "boot", 5), 100))
    assert str(error.value) == (
        "vtb-t0-01: run run-1 (process 4711 of alice on lab-2) has this switch, and its lease runs out in 500 s unless"
        " it goes on; wait for its end, or stop it and run `pfc-restore NAME`"
    ), str(error.value)


@pytest.mark.parametrize("found", [None, "own", "dead"])
def test_who_may_have_the_switch(found):
    """Nobody has it, this process, or a dead one."""
    owners = {"own": LeaseOwner.of(os.getpid()), "dead": ended()}
    refuse_if_taken("vtb-t0-01", None if found is None else seen(owners[found]))
