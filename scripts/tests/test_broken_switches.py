"""The suite is proven by the switches it fails: one virtual testbed, broken in another way on each port, judged port by
port by the suite's own steps over SSH and OTG. One port goes through all of it, with Ansible and pytest."""
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import snappi

from tests.common.pfc.dut import Dut, SwitchState
from tests.common.pfc.journal import Journal
from tests.common.pfc.plan import plan_port
from tests.common.pfc.polling import EndpointClock
from tests.common.pfc.ports import ConnectedPort
from tests.common.pfc.run import Outcome, Qualifier
from tests.common.pfc.scenario import SINGLE_LOSSLESS
from tests.common.pfc.verdict import Status
from virtual_testbed.faults import BUILT_IN

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
FAULTS_MD = ROOT / "docs/faults.md"
HANG_S = 400
SWITCH = "vtb-t0-01"
ITEM = f"snappi_tests/pfc/qualification/test_pause_lossless.py::test_pause_single_lossless_priority[{SWITCH}|3]"
OWN_FILE = "shifted.py"  # the worked example of docs/faults.md, relative to the folder where the testbed is started
HEALTHY_RX, HEALTHY_TX = "Ethernet0", "Ethernet64"


@dataclass(frozen=True)
class Case:
    """A port pair with one broken port, and what the suite has to make of it.

    Attributes:
        fault: how it is broken.
        lossless, lossy: the verdicts.
        checks: names of all checks that are not PASS; none: the preflight ends the run.
        message: one of the reasons given, or its beginning; ` ... ` stands for anything.
    """

    fault: str
    lossless: str
    lossy: str
    checks: frozenset[str]
    message: str

    @property
    def name(self) -> str:
        """The fault's name."""
        return re.split("[@:]", self.fault)[0]

    @property
    def priority(self) -> int:
        """The priority under test: the fault's own, else 3."""
        return 4 if "priority=4" in self.fault else 3

    @property
    def pair(self) -> tuple[str, str]:
        """Port under test and tx port: a port of the upper half is broken as the one that data comes in on."""
        port = re.search(r"Ethernet\d+", self.fault)
        assert port is not None, self.fault
        return (HEALTHY_RX, port[0]) if int(port[0][8:]) > 64 else (port[0], HEALTHY_TX)

    def is_said_by(self, text: str) -> bool:
        """Whether a reason, or what the suite printed, has the message."""
        return re.search(".*".join(map(re.escape, self.message.split("..."))), text) is not None


def case(fault: str, verdicts: str, checks: str, message: str) -> Case:
    """`verdicts`: lossless and lossy."""
    return Case(fault, *verdicts.split(), frozenset(checks.split()), f"{SWITCH} {message}")


# Their times are simulated time, so these two come first.
WATCHDOG = case("watchdog-stop-ignored@Ethernet36,until=60s", "ERROR ERROR", "watchdog-stopped",
                "Ethernet36 priority 3: expected a stopped watchdog, got a watchdog that detected a storm although it "
                "was stopped (1 detected)")
FROZEN_IN_THE_RUN = case("counters-frozen@Ethernet40,from=83.5s", "FAIL PASS", "pause-counted every-pause-counted",
                         "Ethernet40 priority 3: expected more than 0 PFC frames in the receive counter, got 0")

# Two faults of one pair, each on a priority of its own, share what is done once for a pair.
CASES = [
    case("pause-ignored@Ethernet4,priority=3", "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure",
         "Ethernet4 priority 3: expected 0 frames received while paused, got "),
    case("lossy-queue-paused@Ethernet4,priority=4", "PASS FAIL", "background-unaffected",
         "Ethernet4 priority 1: expected all ... frames received while priority 4 was paused, got 0"),
    case("pfc-miscounted@Ethernet8,priority=3", "FAIL PASS", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet8 priority 4: expected 0 PFC frames in the receive counter, got "),
    case("pause-leaks@Ethernet8,priority=4", "FAIL PASS", "blocked-while-paused",
         "Ethernet8 priority 4: expected 0 frames received while paused, got "),
    case("counters-negative@Ethernet12,priority=3", "FAIL PASS", "every-pause-counted",
         "Ethernet12 priority 3: expected ... PFC frames in the receive counter once the storm had stopped (1 % more "
         "or less), got "),
    case("pfc-not-counted@Ethernet12,priority=4", "FAIL PASS", "pause-counted every-pause-counted",
         "Ethernet12 priority 4: expected more than 0 PFC frames in the receive counter, got 0"),
    case("pfc-forwarded@Ethernet16", "FAIL PASS", "pause-not-forwarded",
         "Ethernet16 priority 3: expected 0 pause frames forwarded to Ethernet64, got "),
    case("lossless-dropped@Ethernet20,one_in=4", "FAIL PASS",
         "clean-flow background-unaffected held-frames-drained resumed",
         "Ethernet20 priority 3: expected all 1000 frames received without any storm, got 750"),
    case("lossy-dropped@Ethernet24,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed",
         "Ethernet24 priority 0: expected all 1000 frames received without any storm, got 750"),
    case("counters-frozen@Ethernet28", "ERROR ERROR", "",
         "Ethernet28 priority 0: expected 1000 frames with DSCP [8] to leave through queue UC0, got 0"),
    case("headroom-missing@Ethernet68,priority=3", "FAIL PASS", "held-frames-drained",
         "Ethernet0 priority 3: expected all ... frames received once the storm had stopped, got "),
    case("xoff-not-sent@Ethernet68,priority=4", "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
         "Ethernet0 priority 4: expected more than 0 PFC frames sent out of Ethernet68 to hold the sender, got 0"),
    case("refresh-missing@Ethernet72,priority=3", "FAIL PASS", "held-within-buffer held-frames-drained",
         "Ethernet0 priority 3: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused, "),
    case("malformed-pfc-sent@Ethernet72,priority=4", "FAIL PASS", "held-within-buffer held-frames-drained",
         "Ethernet0 priority 4: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused, "),
    case("xoff-wrong-priority@Ethernet76", "PASS FAIL", "no-other-back-pressure",
         "Ethernet0 priority 0: expected 0 PFC frames sent out of Ethernet76, got "),
]
OWN = case(f"{OWN_FILE}:Shifted@Ethernet44,priority=3", "FAIL PASS",
           "blocked-while-paused held-within-buffer back-pressure no-other-back-pressure background-unaffected",
           "Ethernet44 priority 4: expected 0 PFC frames sent out of Ethernet64, got ")
ALL = [WATCHDOG, FROZEN_IN_THE_RUN, *CASES, OWN]


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| ([^|]+) \|$", FAULTS_MD.read_text(encoding="utf-8"), re.MULTILINE)
    caught = {name for name, by in rows if not by.startswith("not yet")}
    assert {name for name, _ in rows} == set(BUILT_IN)
    assert {one.name for one in ALL} == {*caught, OWN_FILE}


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What runtime.json says of the broken testbed, deployed."""
    folder = tmp_path_factory.mktemp("broken")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"), "ANSIBLE_HOME": str(folder),
                   "PFC_REPORT_DB": f"sqlite:///{folder / 'pfc.db'}"}
    command = [BIN / "virtual-testbed", "up", "vtb-t0", "--clock", "virtual", "--json", "--state", folder,
               "--testbed-file", ROOT / "ansible/testbed.yaml", "--owner-pid", str(os.getpid())]
    for one in ALL:
        command += ["--fault", one.fault]
    blocks = re.findall(r"```python\n(.*?)```", FAULTS_MD.read_text(encoding="utf-8"), re.DOTALL)
    (folder / OWN_FILE).write_text(next(block for block in blocks if "class Shifted" in block), encoding="utf-8")
    up = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert up.returncode == 0, up.stderr
    try:
        runtime = json.loads(up.stdout)
        deployed = subprocess.run(
            [BIN / "ansible-playbook", "-i", runtime["inventory"], "deploy_testbed.yml", "-e", "testbed_name=vtb-t0",
             "-e", f"testbed_file={runtime['testbed_file']}"],
            cwd=ROOT / "ansible", env=environment, capture_output=True, text=True, check=False)
        assert deployed.returncode == 0, deployed.stdout
        yield {**runtime, "environment": environment, "folder": folder}
    finally:
        subprocess.run([BIN / "virtual-testbed", "down", "--purge", "--state", folder], cwd=ROOT, check=True)


class OpenSsh:
    """The switch over one SSH connection, as the suite's host objects are."""

    hostname = SWITCH

    def __init__(self, switch: dict[str, Any]) -> None:
        control = Path(switch["redis_socket"]).parent / "ssh"  # a socket's path must be short
        self._ssh = ["ssh", "-q", "-i", switch["key_file"], "-o", f"UserKnownHostsFile={switch['known_hosts']}",
                     "-o", f"ControlPath={control}", "-o", "ControlMaster=auto", "-o", "ControlPersist=yes",
                     "-p", str(switch["ssh_port"]), f"{switch['user']}@{switch['ssh_host']}"]

    def shell(self, command: str, **options: Any) -> dict[str, Any]:
        """Runs a script as root."""
        done = subprocess.run([*self._ssh, "sudo", "sh"], input=command, capture_output=True, text=True, check=False,
                              timeout=HANG_S)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}

    def close(self) -> None:
        """Ends the connection."""
        subprocess.run([*self._ssh, "-O", "exit"], capture_output=True, check=False)


class KnownDut(Dut):
    """A switch whose configuration is read once: nobody changes it between two ports."""

    _state: SwitchState | None = None

    def state(self) -> SwitchState:
        """Configuration, ports and version."""
        self._state = self._state or super().state()
        return self._state


def connected_ports() -> list[ConnectedPort]:
    """The ports of vtb-t0: 16 on each of two traffic generators."""
    places = [(n, 1 + n // 16, 1 + n % 16) for n in range(32)]
    return [ConnectedPort(SWITCH, f"Ethernet{4 * n}", f"snappi-vtb-{chassis}", f"127.1.0.{chassis};1;{port}", 100_000)
            for n, chassis, port in places]


class Bench:
    """Judges ports of the testbed with the suite's own steps."""

    def __init__(self, dut: Dut, testbed: dict[str, Any]) -> None:
        self.clock = EndpointClock(testbed["clock"]["url"])
        self._dut, self._api = dut, snappi.api(location=testbed["otg"]["url"])
        self._qualifiers: dict[tuple[str, str], Qualifier] = {}

    def judge(self, broken: Case) -> Outcome:
        """The first test case of the plan on a port pair, after its preflight."""
        if broken.pair not in self._qualifiers:
            plan = plan_port(self._dut, connected_ports(), *broken.pair)
            self._qualifiers[broken.pair] = Qualifier(plan.lab(self._dut, self._api, self.clock))
        return self._qualifiers[broken.pair].qualify(SINGLE_LOSSLESS, broken.priority)


@contextmanager
def watchdog_stopped(testbed: dict[str, Any]) -> Iterator[Bench]:
    """A bench; the switch's watchdog is stopped meanwhile."""
    host = OpenSsh(testbed["switches"][SWITCH])
    try:
        with Journal(host, "broken").watchdog_stopped():
            yield Bench(KnownDut(host), testbed)
    finally:
        host.close()


def compare(outcome: Outcome, expected: Case) -> None:
    """The verdicts, the checks that are not PASS, and one of the reasons."""
    verdicts = {verdict.metric_name: verdict.status.value for verdict in outcome.verdicts}
    reasons = [message for verdict in outcome.verdicts for message in verdict.messages]
    assert verdicts == {"pfc.lossless": expected.lossless, "pfc.lossy": expected.lossy}, reasons
    checks = {check.name for verdict in outcome.verdicts for check in verdict.checks if check.status is not Status.PASS}
    assert checks == expected.checks, reasons
    assert any(expected.is_said_by(reason) for reason in reasons), reasons


def test_faults_that_begin_or_end_in_simulated_time(testbed: dict[str, Any]) -> None:
    """A watchdog that cannot be stopped in the first minute; counters that stand still from a storm's beginning on."""
    with watchdog_stopped(testbed) as bench:
        compare(bench.judge(WATCHDOG), WATCHDOG)
        bench.clock.sleep(60 - bench.clock.now())
        compare(bench.judge(FROZEN_IN_THE_RUN), FROZEN_IN_THE_RUN)


@pytest.mark.parametrize(("port", "verdicts"), [(HEALTHY_RX, ["PASS", "PASS"]), (OWN.pair[0], ["FAIL", "PASS"])])
def test_the_whole_suite(testbed: dict[str, Any], port: str, verdicts: list[str]) -> None:
    """As it is started for a switch: a healthy port and one that a class of one's own breaks."""
    results = testbed["folder"] / port
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", ITEM, "--testbed", "vtb-t0",
         "--testbed_file", testbed["testbed_file"], "--inventory", testbed["inventory"],
         "--host-pattern", "all", "--pfc-port", port, "--pfc-tx-port", HEALTHY_TX, "--pfc-results", str(results),
         "--pfc-run-id", port, "-p", "no:cacheprovider", "-p", "no:hypothesispytest"],
        cwd=ROOT / "tests", env=testbed["environment"], capture_output=True, text=True, check=False, timeout=HANG_S)
    records = [json.loads(line) for line in (results / "records.jsonl").read_text().splitlines()]
    assert [record["status"] for record in records] == verdicts, ended.stdout
    assert ended.returncode == ("FAIL" in verdicts)
    assert OWN.is_said_by(ended.stdout) == ("FAIL" in verdicts), ended.stdout
    if "FAIL" in verdicts:
        checks = [check for record in records for check in record["checks"]]
        assert {check["name"] for check in checks if check["status"] != "PASS"} == OWN.checks


@pytest.fixture(name="bench", scope="module")
def fixture_bench(testbed: dict[str, Any]) -> Iterator[Bench]:
    """For all ports whose faults are there all the time; the suite's own runs above stop the watchdog themselves."""
    with watchdog_stopped(testbed) as bench:
        yield bench


@pytest.mark.parametrize("broken", CASES, ids=lambda broken: broken.name)
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)
