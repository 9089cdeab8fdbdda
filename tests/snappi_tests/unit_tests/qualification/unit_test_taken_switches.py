"""The switches that a session takes are as they were found in the end, also where one is away for a while. The scripts
run in a real shell, against stand-ins for SONiC's commands."""

import errno
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.common.pfc.lab import configuration, restore
from tests.common.pfc.lab.configuration import RowRestorer
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_configuration import ROWS, tables
from tests.snappi_tests.pfc.qualification.files import ending
from tests.snappi_tests.pfc.qualification.files.session import Session
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY

AWAY = "connection refused"


class Absent(ShellHost):
    """A switch that can be away."""

    is_away = False

    def shell(self, command, **options):
        """Its answer."""
        if self.is_away:
            raise ConnectionError(AWAY)
        return super().shell(command, **options)


@pytest.fixture(autouse=True, params=["the core alone", "with the options that are there"])
def reserved_by(request, monkeypatch):
    """Who is told that the switch is taken changes nothing of this. Nothing is waited for."""
    monkeypatch.setattr(restore, "RETURN_DEADLINE_S", 0.0)
    monkeypatch.setattr(configuration, "FOLLOW_S", 0.0)
    if request.param == "the core alone":
        monkeypatch.setattr(restore, "options", lambda: ())


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running and a few rows of other tables."""
    (tmp_path / "home").mkdir()
    host = Absent.installed(tmp_path / "home")
    host.configure(FOUND, **tables())
    return host


@pytest.fixture
def session(tmp_path):
    """A session that has begun nothing."""
    return Session("run-1", str(tmp_path / "results"))


def leave(session, switch):
    """A module ends while the switch is away."""
    switch.is_away = True
    with pytest.raises(QualificationError, match=f"{AWAY}; the watchdog is not put back yet"):
        session.put_back()
    switch.is_away = False


def test_what_a_module_could_not_put_back_the_next_one_does(session, switch):
    """The watchdog that it finds stopped is not taken for the one that the session found."""
    session.take({switch.hostname: switch})
    leave(session, switch)
    session.take({switch.hostname: switch})
    assert "Ethernet0" not in switch.config_db()["PFC_WD"], "it is measured with its watchdog stopped"
    session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_what_the_last_module_could_not_put_back_the_end_of_the_session_does(session, switch):
    """Which asks once more; nothing is left to do after that."""
    session.take({switch.hostname: switch})
    leave(session, switch)
    session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    switch.is_away = True
    session.put_back()


def test_rows_that_did_not_come_back_are_not_measured(session, switch):
    """The next module has those that were found, and so has the switch in the end."""
    before = switch.config_db()
    dut = session.take({switch.hostname: switch})[switch.hostname]
    configured = RowRestorer(switch, dut.reservation).configured(switch.config_db(), ROWS, Clock())
    with pytest.raises(QualificationError, match="the configuration is not put back yet"), configured:
        switch.is_away = True
    leave(session, switch)
    assert switch.config_db()["BUFFER_QUEUE"] != before["BUFFER_QUEUE"], "nothing was left to put back"
    session.take({switch.hostname: switch})
    assert {**switch.config_db(), "PFC_WD": FOUND} == before, "what is measured"
    session.put_back()
    assert switch.config_db() == before, switch.config_db()


def test_a_row_that_does_not_come_back_keeps_the_watchdog_from_nothing(session, switch):
    """It runs again, the user is told of the row, and the next try is for the row."""
    def refused(clock):
        raise QualificationError("vtb-t0-01: BUFFER_PG|Ethernet0|3-4 is not what was written")

    dut = session.take({switch.hostname: switch})[switch.hostname]
    dut.reservation.restorers["rows"] = refused
    with pytest.raises(QualificationError, match="BUFFER_PG.* is not what was written"):
        session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    tried = []
    dut.reservation.restorers["rows"] = tried.append
    session.put_back()
    assert len(tried) == 1, "the row is still to come back"


def test_a_switch_that_stays_away_keeps_no_other_from_coming_back(session, switch, tmp_path):
    """And comes back itself when it can."""
    (tmp_path / "other").mkdir()
    other = ShellHost.installed(tmp_path / "other")
    session.take({"one": other, "two": switch})
    leave(session, switch)
    assert other.config_db()["PFC_WD"] == FOUND, other.config_db()
    session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_defect_at_one_switch_keeps_no_other_from_coming_back(session, switch, tmp_path):
    """And Ctrl-C meanwhile is not lost."""
    def broken(clock):
        signal.raise_signal(signal.SIGINT)
        raise KeyError("queue")

    (tmp_path / "other").mkdir()
    other = ShellHost.installed(tmp_path / "other")
    duts = session.take({"one": other, "two": switch})
    duts["one"].reservation.restorers["rows"] = broken
    with pytest.raises(KeyboardInterrupt, match="KeyError.*queue"):
        session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    del duts["one"].reservation.restorers["rows"]
    session.put_back()
    assert other.config_db()["PFC_WD"] == FOUND, other.config_db()


def test_what_came_back_at_the_second_try_is_no_note(session, switch):
    """pytest noted the first one as the failure of a fixture."""
    session.take({switch.hostname: switch})
    switch.is_away = True
    with pytest.raises(QualificationError) as failed:
        session.put_back()
    session.notes += ["something else", f"clean-up: {failed.value}"]
    switch.is_away = False
    session.put_back()
    assert session.notes == ["something else"], session.notes


def test_a_switch_whose_answer_got_lost_when_it_was_taken_is_this_run_s(session, switch):
    """The next module takes it."""
    answer = switch.shell

    def unheard(command, **options):
        answer(command, **options)
        if "'take'" in command or "pfcwd stop" in command:
            raise ConnectionError(AWAY)
        return answer(command, **options)

    switch.shell = unheard
    with pytest.raises(QualificationError, match=AWAY):
        session.take({switch.hostname: switch})
    switch.shell = answer
    session.take({switch.hostname: switch})
    session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_all_switches_that_stay_away_are_named(session, switch, tmp_path):
    """With what each of them had."""
    (tmp_path / "other").mkdir()
    other = Absent.installed(tmp_path / "other")
    other.hostname = "vtb-t0-02"
    session.take({"one": other, "two": switch})
    switch.is_away = other.is_away = True
    with pytest.raises(QualificationError, match=f"^vtb-t0-02: {AWAY}; .*; vtb-t0-01: {AWAY}; "):
        session.put_back()
    switch.is_away = other.is_away = False
    session.put_back()


def test_a_switch_that_cannot_be_had_gives_the_others_back(session, switch, tmp_path):
    """Nothing is measured with one of two."""
    (tmp_path / "other").mkdir()
    other = ShellHost.installed(tmp_path / "other")
    switch.is_away = True
    with pytest.raises(QualificationError, match=AWAY):
        session.take({"one": other, "two": switch})
    assert other.config_db()["PFC_WD"] == FOUND, other.config_db()


SIGNALLED = """
import pathlib, signal, sys
from tests.common.unit_tests.pfc.shell_switch import ShellHost
from tests.snappi_tests.pfc.qualification.files.session import Session
number = signal.Signals[sys.argv[1]]
handler = {"default": signal.SIG_DFL, "ignored": signal.SIG_IGN, "own": lambda *signalled: None}[sys.argv[2]]
signal.signal(number, handler)
session = Session("run-1", None)
try:
    session.take({"vtb-t0-01": ShellHost(pathlib.Path(sys.argv[3]))})
    signal.raise_signal(number)
finally:
    session.put_back()
    assert signal.getsignal(number) == handler, "it is another one than before"
"""
"""A session that is signalled while it has a switch: pytest ends it as this does."""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("handler", "ends_by"), [("default", -signal.SIGINT), ("ignored", 0), ("own", 0)])
def test_a_signal_that_would_end_the_process_ends_the_session(switch, number, handler, ends_by):
    """As Ctrl-C does, so the switch is put back; what is ignored (`nohup`) or heeded by somebody else stays so."""
    root = Path(__file__).resolve().parents[4]
    words = [sys.executable, "-c", SIGNALLED, number, handler, switch.home]
    ended = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == ends_by, ended
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_a_switch_is_put_back_comes_afterwards(request, session, switch, number):
    """One who presses Ctrl-C twice, and a runner that interrupts and is killed, find the switch as it was."""
    before = signal.signal(number, signal.default_int_handler)  # `nohup` has SIGHUP ignored
    request.addfinalizer(lambda: signal.signal(number, before))
    session.take({switch.hostname: switch})
    answer = switch.shell

    def interrupted(command, **options):
        signal.raise_signal(number)
        return answer(command, **options)

    switch.shell = interrupted
    with pytest.raises(KeyboardInterrupt):
        session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler, "the handler was not put back"


class FullDisk:
    """A plugin that writes a file when the session ends, as `--junit-xml` does."""

    def pytest_sessionfinish(self):
        """It cannot be written."""
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_switch_is_put_back_before_other_plugins_write_files(session, switch):
    """A full disk lets them not, and then no later hook is called."""
    manager = pytest.PytestPluginManager()
    for plugin in (ending, FullDisk()):
        manager.register(plugin)
    session.began = True
    session.take({switch.hostname: switch})
    config = SimpleNamespace(stash={SESSION_KEY: session}, option=SimpleNamespace(collectonly=False))
    ended = SimpleNamespace(config=config, items=[], exitstatus=pytest.ExitCode.INTERRUPTED)
    with pytest.raises(OSError, match="No space left"):
        manager.hook.pytest_sessionfinish(session=ended, exitstatus=ended.exitstatus)
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_session_of_another_thread_leaves_signals_alone(session, switch):
    """No handler can be set there."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(session.take, {switch.hostname: switch}).result()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "it was set"
    session.put_back()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
