"""What a run changed on a switch is put back, whatever happens. The scripts run in a real shell, against stand-ins for
SONiC's commands."""

import pytest

from tests.common.pfc.lab import restore
from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, PFCWD, Clock, ShellHost


@pytest.fixture(autouse=True, params=["the core alone", "with the options that are there"])
def reserved_by(request, monkeypatch):
    """Who is told that the switch is taken changes nothing of this."""
    if request.param == "the core alone":
        monkeypatch.setattr(restore, "options", lambda: ())


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running."""
    return ShellHost.installed(tmp_path)


def stopped(switch, run_id="run-1"):
    """The watchdog stopped, as a `with` block."""
    return SwitchRestorer(switch, run_id, Clock()).watchdog_stopped()


def lose(switch, calls):
    """The switch does not answer the next `calls` calls."""
    answer, left = switch.shell, [None] * calls

    def shell(command, **options):
        if left:
            left.pop()
            raise ConnectionError("connection refused")
        return answer(command, **options)

    switch.shell = shell


def test_the_watchdog_is_stopped_inside_and_as_before_after(switch):
    """And nothing else is left on the switch."""
    with stopped(switch):
        assert switch.config_db()["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "200"}}, switch.config_db()
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / ".pfc_qualification").exists(), "something is left there"


@pytest.mark.parametrize("exception", [RuntimeError, KeyboardInterrupt])
def test_it_is_put_back_when_the_run_breaks(switch, exception):
    """By a failure, or by Ctrl-C."""
    with pytest.raises(exception), stopped(switch):
        raise exception
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_watchdog_found_stopped_stays_so(switch):
    """No row is made up."""
    switch.configure({})
    with stopped(switch):
        pass
    assert switch.config_db()["PFC_WD"] == {}, switch.config_db()


def test_a_switch_that_another_run_has_is_said_to_be_lost(switch):
    """Not to have failed a command."""
    restorer = SwitchRestorer(switch, "run-1", Clock())
    reservation = restorer.stop_watchdog()
    reservation.still_ours = reservation.check = lambda: "false"
    with pytest.raises(ReservationLost):
        restorer.stop_watchdog()
    assert "Ethernet0" not in switch.config_db()["PFC_WD"], "nothing was changed"


def test_all_that_does_not_come_back_is_told(switch):
    """A row, and the watchdog after it."""
    def refused(clock):
        raise QualificationError("vtb-t0-01: BUFFER_PG|Ethernet0|3-4 is not what was written")

    restorer = SwitchRestorer(switch, "run-1", Clock())
    restorer.stop_watchdog().restorers["rows"] = refused
    switch.command("config", "")
    with pytest.raises(QualificationError, match="BUFFER_PG.* is not what was written; .*PFC_WD.Ethernet0 differs"):
        restorer.put_back()


def test_it_is_put_back_when_stopping_breaks_off(switch):
    """`pfcwd stop` changed something and failed."""
    switch.command(
        "pfcwd", PFCWD + "import os\nif not os.path.exists('failed'):\n    open('failed', 'w')\n    sys.exit(1)\n"
    )
    with pytest.raises(QualificationError, match="`stop` ended with status 1"), stopped(switch):
        pytest.fail("the block must not run")
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_the_state_put_back_is_that_of_the_moment_of_the_change(switch):
    """A run that was planned while another one had the watchdog stopped puts the watchdog of that one's end back."""
    with stopped(switch, "run-1"):
        late = stopped(switch, "run-2")
    with late:
        pass
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_switch_that_comes_back_is_waited_for(switch):
    """Its SSH server was started again."""
    with stopped(switch):
        lose(switch, 3)
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_switch_that_does_not_take_its_state_back_is_told(switch):
    """By the row, and by how it comes back."""
    switch.command("config", "")
    with pytest.raises(QualificationError) as error, stopped(switch) as reservation:
        pass
    said = str(error.value)
    assert "the watchdog's configuration is not as it was found (PFC_WD|Ethernet0 differs); " in said, said
    assert said.endswith(reservation.remedy) and reservation.remedy, said


def test_a_switch_that_stays_away_is_told(switch):
    """The sentence says that the watchdog is not back, and who sees to that."""
    with pytest.raises(QualificationError) as error, stopped(switch) as reservation:
        lose(switch, 100)
    assert str(error.value) == (
        f"vtb-t0-01: connection refused; the watchdog is not put back yet, {reservation.remedy}"
    ), str(error.value)


def test_without_an_option_the_state_found_is_said(switch, monkeypatch):
    """Nothing but this process knows it."""
    monkeypatch.setattr(restore, "options", lambda: ())
    with pytest.raises(QualificationError, match="PFC_WD has to be {'GLOBAL': .* again, by hand"), stopped(switch):
        lose(switch, 100)
