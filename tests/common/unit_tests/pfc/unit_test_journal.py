"""The watchdog is put back, whatever happens. The scripts run in a real shell, against stand-ins for SONiC's
commands."""

import json
import os
import subprocess
import sys

import pytest

from tests.common.pfc.errors import QualificationError
from tests.common.pfc.journal import Journal

FOUND = {
    "GLOBAL": {"POLL_INTERVAL": "200"},
    "Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"},
}
STATE_FILE = ".pfc_qualification/state_found.json"
PFCWD = """\
import json, sys
rows = json.load(open("config_db.json"))
rows["PFC_WD"] = {key: row for key, row in rows["PFC_WD"].items() if key == "GLOBAL"}
json.dump(rows, open("config_db.json", "w"))
"""
CONFIG = """\
import json, sys
assert sys.argv[1] == "load" and sys.argv[3] == "-y", sys.argv
rows = json.load(open("config_db.json"))
for table, content in json.load(open(sys.argv[2])).items():
    rows.setdefault(table, {}).update(content)
json.dump(rows, open("config_db.json", "w"))
"""


class Clock:
    """Time that passes only while someone waits."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        """Seconds."""
        return self.time

    def sleep(self, seconds):
        """Time passes."""
        self.time += seconds


class ShellHost:
    """A switch whose home directory is a folder, with a few of its commands."""

    hostname = "vtb-t0-01"

    def __init__(self, home):
        self.home = home
        (home / "bin").mkdir()
        self.configure(FOUND)
        self.command("pfcwd", PFCWD)
        self.command("config", CONFIG)
        self.command("sonic-cfggen", "print(open('config_db.json').read())")

    def command(self, name, program):
        """Installs a command."""
        path = self.home / "bin" / name
        path.write_text(f"#!{sys.executable}\n{program}")
        path.chmod(0o755)

    def configure(self, watchdog):
        """Sets the watchdog's configuration."""
        (self.home / "config_db.json").write_text(json.dumps({"PFC_WD": watchdog}))

    def config_db(self):
        """The configuration."""
        return json.loads((self.home / "config_db.json").read_text())

    def shell(self, command, module_ignore_errors=False):
        """Runs a script as Ansible's module does."""
        environment = {**os.environ, "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.home, env=environment, capture_output=True, text=True, check=False
        )
        return {"stdout": done.stdout.rstrip("\n"), "stderr": done.stderr, "rc": done.returncode}


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running."""
    return ShellHost(tmp_path)


def stopped(switch, run_id="run-1"):
    """The watchdog stopped, as a `with` block."""
    return Journal(switch, run_id, Clock()).watchdog_stopped()


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
    """And the state found is on the switch meanwhile, and only then."""
    with stopped(switch):
        assert switch.config_db()["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "200"}}, switch.config_db()
        kept = json.loads((switch.home / STATE_FILE).read_text())
        assert kept == {"schema": 1, "run_id": "run-1", "tables": {"PFC_WD": FOUND}}, kept
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert not (switch.home / ".pfc_qualification").exists(), "the file is still there"


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


def test_what_killed_runs_left_is_healed_by_the_next(switch, caplog):
    """The state at the end is that before the first run, however many were killed, and whatever was deployed since."""
    for run_id in ("run-1", "run-2"):
        journal = Journal(switch, run_id)
        journal._keep(journal._look())
        switch.shell("pfcwd stop")  # and killed
    switch.configure({"Ethernet0": {"action": "forward", "detection_time": "600"}})
    with stopped(switch, "run-3"):
        pass
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()
    assert "run run-1 ended without putting the watchdog back" in caplog.text, caplog.text


def test_nothing_is_changed_when_the_state_cannot_be_kept(switch):
    """No file, no `pfcwd stop`."""
    (switch.home / ".pfc_qualification").write_text("a file where the folder belongs")
    with pytest.raises(QualificationError, match="vtb-t0-01: `keep` ended with status"), stopped(switch):
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
    assert (switch.home / STATE_FILE).exists(), "the file is gone"


def test_it_is_put_back_when_stopping_breaks_off(switch):
    """`pfcwd stop` changed something and failed."""
    switch.command(
        "pfcwd", PFCWD + "import os\nif not os.path.exists('failed'):\n    open('failed', 'w')\n    sys.exit(1)\n"
    )
    with pytest.raises(QualificationError, match="`stop` ended with status 1"), stopped(switch):
        pytest.fail("the block must not run")
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


@pytest.mark.parametrize("text", ["half a li", '{"run_id": "x", "tables": {"PFC_WD": []}}'])
def test_an_unreadable_file_stops_the_run(switch, text):
    """Someone has to look: nothing is overwritten, and the watchdog still runs."""
    (switch.home / ".pfc_qualification").mkdir()
    (switch.home / STATE_FILE).write_text(text)
    with pytest.raises(QualificationError, match="state_found.json on the switch cannot be read"), stopped(switch):
        pytest.fail("the block must not run")
    assert (switch.home / STATE_FILE).read_text() == text, "the file was overwritten"
    assert switch.config_db()["PFC_WD"] == FOUND, switch.config_db()


def test_a_folder_in_the_files_place_stops_the_run(switch):
    """It cannot hold the state, so nothing is changed."""
    (switch.home / STATE_FILE).mkdir(parents=True)
    with pytest.raises(QualificationError, match="vtb-t0-01: `left` ended with status 1"), stopped(switch):
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


def test_a_switch_that_stays_away_is_told(switch):
    """The sentence says that the watchdog is not back, and the file stays for the next run."""
    with pytest.raises(QualificationError) as error, stopped(switch):
        lose(switch, 100)
    assert str(error.value) == (
        "vtb-t0-01: connection refused; the watchdog is not put back yet, the next run does that from"
        " .pfc_qualification/state_found.json on the switch"
    ), str(error.value)
    assert (switch.home / STATE_FILE).exists(), "the file is gone"
