"""Rows of CONFIG_DB that a run changed and that are in its lease: they come back, whoever has to see to that. The
scripts run in a real shell, against stand-ins for SONiC's commands."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.pfc.lab.configuration import as_found
from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.lease.lease import LEASE_FILE, Lease, LeaseOwner
from tests.common.pfc.lease.taking import LeaseTaker
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_configuration import changed, tables


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running and a few rows of other tables."""
    host = ShellHost.installed(tmp_path)
    host.configure(FOUND, **tables())
    return host


def test_the_rows_found_are_in_the_lease_before_anything_changes(switch):
    """Its schema says that there are rows; one that was not there is null."""
    restorer, configured = changed(switch)
    with restorer.watchdog_stopped() as lease, configured(lease):
        kept = json.loads((switch.home / LEASE_FILE).read_text())
        assert kept["schema"] == 2 and kept["tables"]["BUFFER_QUEUE"]["Ethernet0|2"] is None, kept
    assert not (switch.home / ".pfc_qualification").exists(), "the file is still there"


def test_nothing_is_changed_when_the_rows_cannot_be_written_down(switch):
    """The disk is full by then."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with restorer.watchdog_stopped() as lease:
        switch.command("sync", "import sys; sys.exit('sync: No space left on device')")
        with pytest.raises(QualificationError, match="No space left on device"), configured(lease):
            pytest.fail("the block must not run")
        assert {**switch.config_db(), "PFC_WD": FOUND} == before, switch.config_db()


KILLED = """
import os, pathlib, signal, sys
from tests.common.pfc.lab.configuration import RowRestorer
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.unit_tests.pfc.shell_switch import Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_configuration import ROWS
switch = ShellHost(pathlib.Path(sys.argv[1]))
restorer = SwitchRestorer(switch, "run-1", Clock())
with restorer.watchdog_stopped() as lease, RowRestorer(switch, lease).configured(switch.config_db(), ROWS, Clock()):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_run(switch):
    """A run of its own process that is killed while it has changed rows."""
    root = Path(__file__).resolve().parents[4]
    ended = subprocess.run([sys.executable, "-c", KILLED, switch.home], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL, ended
    assert switch.config_db()["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "2", "it was too early"


def test_the_next_run_measures_the_configuration_before_the_one_that_was_killed(switch):
    """It plans with it, has it before the first storm, and leaves it."""
    before = switch.config_db()
    kill_a_run(switch)
    seen = leased(switch)
    assert {**as_found(switch.config_db(), seen.rows), "PFC_WD": FOUND} == before, "what a plan is made from"
    with SwitchRestorer(switch, "run-2", Clock()).watchdog_stopped():
        assert {**switch.config_db(), "PFC_WD": FOUND} == before, "what is measured"
    assert switch.config_db() == before, switch.config_db()


def test_restoring_puts_rows_back(switch):
    """Without another run."""
    before = switch.config_db()
    kill_a_run(switch)
    with LeaseTaker(switch, "restore", Clock()).healed() as seen:
        assert seen.lease.run_id == "run-1", seen
    assert switch.config_db() == before, switch.config_db()


def test_a_run_that_lost_its_lease_changes_no_row(switch):
    """Another one has the switch."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with pytest.raises(ReservationLost, match="run run-2"), restorer.watchdog_stopped() as lease:
        other = Lease(LeaseOwner("alice", "lab-2", 4711, "boot", 5), "run-2", watchdog=FOUND)
        (switch.home / LEASE_FILE).write_text(other.text())
        with configured(lease):
            pytest.fail("the block must not run")
    assert {**switch.config_db(), "PFC_WD": FOUND} == before, switch.config_db()


def leased(switch):
    """What the file on the switch says."""
    content = json.loads((switch.home / LEASE_FILE).read_text())
    rows = {table: keys for table, keys in content["tables"].items() if table != "PFC_WD"}
    return Lease(LeaseOwner.of(os.getpid()), content["run_id"], watchdog=content["tables"]["PFC_WD"], rows=rows)
