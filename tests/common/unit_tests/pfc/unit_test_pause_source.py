"""Storms of a host: its processes, on this machine with a stand-in for pfctest; and what verdicts make of them, on the
fake switch."""

import dataclasses
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.pfc.cases import frames
from tests.common.pfc.cases.pauses import GLOBAL_PAUSE, LOSSY, SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.host_pauses import source as pause_source
from tests.common.pfc.host_pauses.entry import HostPort
from tests.common.pfc.host_pauses.pauses import HostDriver, HostInterface
from tests.common.pfc.host_pauses.source import HostSource, HostStorm
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.dut import MARK, Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.traffic import FlowPlan, Role, pfc_frame
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY as LOSSY_METRIC, Status
from tests.common.unit_tests.pfc import fakes
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeFlow, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

STORM = FlowPlan("Pause Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535), needed_s=90)
NOWHERE = (
    "vtb-t0-01 Ethernet0: expected PFC frames from linux-01 eth1 in its receive counters, got them nowhere: check the"
    " cable, and pfc_pause_source"
)
UNSEEN = (
    "expected a storm of which the switch counts at least 17881 pause frames, or that holds the test traffic, got 0"
)
STAND_IN = """
import json, signal, sys, time
if "--iteration=100" in sys.argv:
    sys.exit(0)
if "--p7" in sys.argv:
    sys.exit("error: interface lo is down")
if "--p5" in sys.argv:
    sys.exit(0)
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1) if "--p6" not in sys.argv else None)
if "--p2" not in sys.argv:
    open(SENT_FILE, "a").write("1")
while not ended:
    time.sleep(0.01)
print(json.dumps({"open_share": 0.25, "elapsed_s": 8.0, "asked": sys.argv[1:]}))
"""


class ThisMachine:
    """A host on which commands are run."""

    hostname = "linux-01"

    def shell(self, command, **options):
        """Runs a script."""
        done = subprocess.run(["sh"], input=command, capture_output=True, text=True, check=False)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}


class CutHost(ThisMachine):
    """The same, and while `cut` what it answers is lost."""

    cut = False

    def shell(self, command, **options):
        """Runs a script."""
        answer = super().shell(command, **options)
        if self.cut:
            raise OSError("the connection is gone")
        return answer


class Answers:
    """A host whose commands end as they are told, by name; the others well."""

    hostname = "linux-01"

    def __init__(self, **answers):
        """`answers`: text and exit status."""
        self._answers = answers

    def shell(self, command, **options):
        """Answers a batch."""
        names = re.findall(rf"'{MARK}' '(\w+)'", command)
        ends = [(name, *self._answers.get(name, ("", 0))) for name in names]
        return {"stdout": "".join(f"{text}\n{MARK} {name} {status}\n" for name, text, status in ends), "rc": 0}


@pytest.fixture
def source(tmp_path, tmp_path_factory, monkeypatch):
    """This machine, with the stand-in; what is left of it is ended.

    That it sends is told by a file: lo's own counter counts what any process sends.
    """
    sent = tmp_path_factory.mktemp("counter") / "sent"
    (tmp_path / "pfctest.pyz").write_text(STAND_IN.replace("SENT_FILE", repr(str(sent))))
    monkeypatch.setattr(pause_source, "SENT", f"sent() {{ cat {sent} 2>/dev/null || true; }}")
    made = HostSource(CutHost(), HostPort("linux-01", "lo", sys.executable, str(tmp_path)), 100_000, WallClock())
    yield made
    for noted in tmp_path.glob("*.pid"):
        storm = pause_source._Storm(0, 0.0, *noted.read_text().split())
        if made._runs(storm):
            os.kill(int(storm.pid), signal.SIGKILL)


def test_a_storm_is_started_asked_for_and_stopped(source):
    """It has an end of its own, and its report is kept as evidence that nothing is judged by."""
    source.start(STORM)
    running = source.statistics(STORM)
    assert running.transmitting and running.frames_tx == 0 and running.source == "linux-01 lo", running
    source.stop([STORM.name])
    stopped = source.statistics(STORM)
    assert not stopped.transmitting and stopped.open_s == 2.0, stopped
    assert stopped.report["asked"] == [
        "--device=lo", "--speed=100000M", "--q3=65535", "--p3", "--rate=5960", "--duration=90", "--json"], stopped
    assert stopped.numbers()["not_judged"] == {"elapsed_s": 8.0, "open_share": 0.25}, stopped.numbers()
    assert stopped.most_frames >= 5960 * stopped.lasted_s, stopped
    assert os.listdir(source._port.folder) == ["pfctest.pyz"], "what was written there is removed"
    source.stop([STORM.name])
    source.probe((3, 4))


def test_frames_that_an_interface_has_sent_are_counted():
    """As the kernel counts them."""
    def sent():
        shown = ThisMachine().shell(f"name=lo; {pause_source.SENT}\nsent")
        return int(shown["stdout"])

    before = sent()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"-", ("127.0.0.1", 9))
    assert sent() > before, "it has sent one more"


def test_a_storm_that_died_is_not_running(source):
    """Its report is missing, and no other process is stopped in its place."""
    source.start(STORM)
    os.kill(int(source._storms[STORM.name].pid), signal.SIGKILL)
    gone = any(not source._runs(source._storms[STORM.name]) for _ in range(200))
    assert gone and not source.statistics(STORM).transmitting, "it is dead"
    source.stop([STORM.name])
    assert source.statistics(STORM).report == {}, "nobody reported"


def test_a_storm_that_does_not_begin_is_told_with_its_reason(source):
    """pfctest's own sentence."""
    with pytest.raises(QualificationError) as error:
        source.start(dataclasses.replace(STORM, pause=pfc_frame((7,), 65535)))
    assert str(error.value) == "pause source linux-01 lo: no storm: interface lo is down", str(error.value)
    source.stop([STORM.name])
    assert not source.statistics(dataclasses.replace(STORM, name="another")).transmitting, "never started"


@pytest.mark.parametrize("priority, sentence", [
    (5, "no storm: pfctest ended without a word"), (2, "no storm: it has sent no frame within 0.15 s"),
])
def test_what_sends_nothing_is_no_storm(source, monkeypatch, priority, sentence):
    """And what was started is ended."""
    silent = dataclasses.replace(STORM, pause=pfc_frame((priority,), 65535))
    port = source._port.interface
    monkeypatch.setattr(pause_source, "POLLS", 3 if priority == 2 else pause_source.POLLS)
    with pytest.raises(QualificationError) as error:
        source.start(silent)
    assert str(error.value) == f"pause source linux-01 {port}: {sentence}", str(error.value)
    assert source._runs(source._storms[STORM.name]) == (priority == 2), "its process is known"
    monkeypatch.setattr(pause_source, "POLLS", 200)
    source.stop([STORM.name])
    assert not source._runs(source._storms[STORM.name]), "it has ended"


def process_of(source, number):
    """The process that the host noted for a storm, as a storm of its own to look at."""
    pid, born = Path(source._port.folder, f"lo-{number}.pid").read_text().split()
    return pause_source._Storm(number, 0.0, pid, born)


@pytest.mark.parametrize("how", ["stop", "start"])
def test_a_storm_whose_start_was_cut_is_ended_all_the_same(source, how):
    """By the next storm too: nobody has to know its id."""
    source._host.cut = True
    with pytest.raises(QualificationError, match="the connection is gone"):
        source.start(STORM)
    source._host.cut = False
    left = process_of(source, 1)
    assert source._runs(left) and not source._storms[STORM.name].pid, "it runs, and was never told of"
    if how == "stop":
        source.stop([STORM.name])
    else:
        source.start(dataclasses.replace(STORM, name="another"))
    assert not source._runs(left) and not source.statistics(STORM).transmitting, "it has ended"
    source.stop([STORM.name, "another"])


def test_a_storm_that_could_not_be_stopped_is_not_forgotten(source):
    """The next one does not start beside it, whatever its name."""
    source.start(STORM)
    left, shell = process_of(source, 1), source._host.shell
    source._host.shell = lambda command, **options: {"stdout": "", "stderr": "no route", "rc": 255}
    for call in (lambda: source.stop([STORM.name]), lambda: source.start(STORM)):
        with pytest.raises(QualificationError) as error:
            call()
        assert str(error.value) == "pause source linux-01 lo: the storm's stop did not end: no route", str(error.value)
    source._host.shell = shell
    assert source._runs(left), "nobody has reached it"
    another = dataclasses.replace(STORM, name="another")
    source.start(another)
    assert not source._runs(left) and source.statistics(another).transmitting, "one has taken the other's place"
    source.stop(["another"])


def test_a_script_that_did_not_end_is_told_in_one_sentence(source):
    """Without the script."""
    source._host.shell = lambda command, **options: {"stdout": "", "stderr": "killed\nfor good", "rc": 137}
    with pytest.raises(QualificationError) as error:
        source.start(STORM)
    assert str(error.value) == "pause source linux-01 lo: the storm's start did not end: killed", str(error.value)


def test_a_storm_that_does_not_end_is_killed(source, monkeypatch):
    """And the others are stopped all the same."""
    deaf = dataclasses.replace(STORM, name="deaf", pause=pfc_frame((6,), 65535))
    source.start(deaf)
    source.start(STORM)
    monkeypatch.setattr(pause_source, "POLLS", 3)
    with pytest.raises(QualificationError, match=r"linux-01 lo: the storm \(process \d+\) did not end within 0.15 s"):
        source.stop(["deaf", STORM.name])
    assert not source.statistics(STORM).transmitting and not source.statistics(deaf).transmitting, "both have ended"


@pytest.mark.parametrize("answers, sentence", [
    ({"python": ("sh: python3: not found", 127)}, "python3 is no Python 3.8 or newer there"),
    ({"archive": ("", 1)}, "it has no /run/pfc_generator/pfctest.pyz: copy it there with ansible/pfc_generator.yml"
                           " (pfc_generator_state=copied)"),
    ({"packets": ("PermissionError", 1)}, "its login may not send frames: expected root, or a Python with CAP_NET_RAW"),
    ({"interface": ("error: interface eth9 does not exist: this machine has lo", 2)},
     "interface eth9 does not exist: this machine has lo"),
    ({"interface": ("", 9)}, "it ended with status 9"),
    ({"interface": ("interface eth9 has a default route, and so on: expected another one", 1)},
     "interface eth9 has a default route, and so on: expected another one"),
])
def test_what_a_host_lacks_is_one_sentence(answers, sentence):
    """Before anything is sent."""
    with pytest.raises(QualificationError) as error:
        HostSource(Answers(**answers), HostPort("linux-01", "eth9"), 100_000, WallClock()).check()
    assert str(error.value) == f"pause source linux-01: {sentence}", str(error.value)
    HostSource(Answers(), HostPort("linux-01", "eth9"), 100_000, WallClock()).check()


class FakeSource:
    """A host on the fake switch's cable.

    Attributes:
        probes: so many of them arrive. `storms_arrive`: whether those do.
        dies: whether its process has ended when it is asked for.
        open_s: for how long it says that it left the queue open; None: it says nothing.
        probed: frames of each probe that are counted. `cleared`: whether counters are cleared meanwhile.
    """

    def __init__(self, world, probes=9, dies=False, open_s=0.0, storms_arrive=True, probed=100, cleared=False):
        self._probed, self._cleared = probed, cleared
        self._world, self._probes, self._dies, self._open_s = world, probes, dies, open_s
        self._storms_arrive = storms_arrive
        self._began = {}

    def start(self, plan):
        """The storm begins, as far as the switch is concerned."""
        pauses = self._world.global_pause_classes if plan.pause.is_global else plan.pause.enabled
        self._began[plan.name] = self._world.now
        flow = FakeFlow(plan.fps, None, None, None, pauses=pauses if self._storms_arrive else ())
        self._world.flows[plan.name] = flow
        self._world.start(plan.name)

    def stop(self, names):
        """It ends."""
        for name in names:
            if name in self._began:
                self._world.stop(name)

    def statistics(self, plan):
        """What is known of it."""
        running = self._world.counts(plan.name)[2] and not self._dies
        report = {} if self._open_s is None else {"open_share": self._open_s, "elapsed_s": 1.0}
        return HostStorm(plan, running, 0, 0, source="linux-01 eth1", report=report,
                         lasted_s=self._world.now - self._began[plan.name])

    def probe(self, priorities):
        """A few frames."""
        for priority in priorities if self._probes > 0 else ():
            self._world.pfc_rx[priority] += self._probed
        if self._cleared:
            self._world.pfc_rx = [0] * 8
        self._probes -= 1


def qualify(world, case=SINGLE_LOSSLESS, target=(3,), asic="", **source):
    """The outcome's verdicts by metric; of several priorities the first's."""
    plan = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None)
    pauses = HostInterface(HostPort("linux-01", "eth1"), plan.subject.pair.speed_mbps)
    subject = dataclasses.replace(plan.subject, pauses_from=pauses.where, asic=asic)
    plan = dataclasses.replace(plan, subject=subject, pauses=pauses.open)
    lab = open_lab(plan, Dut(FakeHost(world)), FakeApi(world), FakeClock(world), host_of=lambda name: Answers())
    assert isinstance(lab.generator, HostDriver), "the lab's pauses come from the host"
    lab.generator.sender = lab.pause_source.sender = FakeSource(world, **source)
    outcome = Qualifier(lab).qualify(case, target)
    return outcome, {verdict.metric_name: verdict for verdict in reversed(outcome.verdicts)}


@pytest.fixture(autouse=True)
def counted_in_the_storm(monkeypatch):
    """The fake switch has counted most of a storm before its end."""
    monkeypatch.setattr(fakes, "COUNTED_EARLY", 20_000)


@pytest.mark.parametrize("case, target", [
    (SINGLE_LOSSLESS, (3,)), (LOSSY, (0, 1, 2, 5, 6)),
], ids=lambda one: getattr(one, "plan_id", ""))
def test_a_good_switch_passes(case, target):
    """Every metric, and nothing of the verdict is a number of frames that the host sent."""
    outcome, verdicts = qualify(FakeWorld(), case, target)
    assert {one.status for one in verdicts.values()} == {Status.PASS}, [one.messages for one in verdicts.values()]
    storm = outcome.evidence["flows"]["paused"]["Pause Storm vtb-t0-01 Ethernet0"]
    assert set(storm) == {"source", "lasted_s", "not_judged"}, storm
    names = {check.name for verdict in verdicts.values() for check in verdict.checks}
    assert "pause-not-forwarded" not in names, "the traffic generator knows no frames of the host"


@pytest.mark.parametrize("world, metric, name, said", [
    (dict(ignores_pause=True), LOSSLESS, "blocked-while-paused", "expected 0 frames received while paused, got 2993"),
    (dict(leaked={3: 12}), LOSSLESS, "blocked-while-paused", "expected 0 frames received while paused, got 12"),
    (dict(counts_pause=False), LOSSLESS, "pause-counted", "expected more than 0 PFC frames in the receive counter"),
    (dict(counted_share=0.1), LOSSLESS, "every-pause-counted", "PFC frames in the receive counter once the storm had"),
    (dict(counted_share=3.0), LOSSLESS, "every-pause-counted", "PFC frames in the receive counter once the storm had"),
    (dict(pushed=0), LOSSLESS, "back-pressure", "expected at least 14899 PFC frames sent out of Ethernet64"),
    (dict(lost_in_storm={0: 5}), LOSSY_METRIC, "background-unaffected", "frames received while priority 3 was paused"),
])
def test_a_bad_switch_fails(world, metric, name, said, monkeypatch):
    """By its own check."""
    if world.get("counted_share", 1) < 1:
        monkeypatch.setattr(fakes, "COUNTED_EARLY", 1_000)
    _, verdicts = qualify(FakeWorld(**world))
    bad = {check.name: check.message for check in verdicts[metric].checks if check.status is Status.FAIL}
    assert verdicts[metric].status is Status.FAIL and said in bad[name], verdicts[metric].messages


@pytest.mark.parametrize("case, target, source, sentence", [
    (SINGLE_LOSSLESS, (3,), dict(probes=0), NOWHERE),
    (SINGLE_LOSSLESS, (3,), dict(probes=1, storms_arrive=False), NOWHERE),
    (GLOBAL_PAUSE, (), dict(probes=1, storms_arrive=False), NOWHERE),
    (GLOBAL_PAUSE, (), dict(storms_arrive=False), f"vtb-t0-01 Ethernet0: {UNSEEN}"),
    (GLOBAL_PAUSE, (), {}, f"vtb-t0-01 Ethernet0: {UNSEEN}"),
    (frames.UNKNOWN_OPERATION, (3, 4), dict(storms_arrive=False), f"vtb-t0-01 Ethernet0: {UNSEEN}"),
    (LOSSY, (0, 1), dict(storms_arrive=False, asic="cisco-8000"), f"vtb-t0-01 Ethernet0 priorities 0, 1: {UNSEEN}"),
    (SINGLE_LOSSLESS, (3,), dict(probed=12), NOWHERE.replace("nowhere", "12 times of 100")),
    (SINGLE_LOSSLESS, (3,), dict(cleared=True),
     "vtb-t0-01 Ethernet0: expected PFC receive counters that only grow while linux-01 eth1 sends 100 frames, got one"
     " that fell by 7: leave the switch's counters alone"),
    (SINGLE_LOSSLESS, (3,), dict(dies=True),
     "vtb-t0-01 Ethernet0 priority 3: expected the storm running when frames were counted, got stopped"),
])
def test_what_was_no_storm_is_an_error(case, target, source, sentence):
    """Whatever the traffic looked like: of a storm that changes nothing and is not counted nobody knows that it was."""
    _, verdicts = qualify(FakeWorld(), case, target, **source)
    assert {one.status for one in verdicts.values()} == {Status.ERROR}, verdicts
    assert verdicts[LOSSLESS].cause == sentence, verdicts[LOSSLESS].cause


def test_a_switch_is_not_blamed_where_the_host_says_nothing():
    """Nor does a storm without a report fail where no frame came through."""
    _, verdicts = qualify(FakeWorld(leaked={3: 200_000}), open_s=None)
    assert verdicts[LOSSLESS].status is Status.ERROR, verdicts[LOSSLESS].messages
    assert verdicts[LOSSLESS].cause.endswith("got no report of it, and 200000 frames that came through"), verdicts
    _, verdicts = qualify(FakeWorld(), open_s=None)
    assert verdicts[LOSSLESS].status is Status.PASS, verdicts[LOSSLESS].messages


def test_the_numbers_of_a_storm_that_was_not_seen_are_kept():
    """As evidence, with the sentence."""
    outcome, _ = qualify(FakeWorld(), probes=1, storms_arrive=False)
    assert outcome.evidence["dut_pfc_rx"] == [0] * 8, outcome.evidence


@pytest.mark.parametrize("leaked, status", [(12, Status.ERROR), (200_000, Status.FAIL)])
def test_a_switch_is_blamed_for_more_than_fits_into_the_gaps_of_the_host(leaked, status):
    """10 ms of a line of 1024-byte frames have room for 119,732."""
    _, verdicts = qualify(FakeWorld(leaked={3: leaked}), open_s=0.01)
    assert verdicts[LOSSLESS].status is status, verdicts[LOSSLESS].messages
    if status is Status.ERROR:
        assert verdicts[LOSSLESS].cause == (
            "vtb-t0-01 Ethernet0 priority 3: expected a storm without a gap that explains the frames that came through,"
            " got 10.000 ms in which the host sent none, and 12 frames that came through"), verdicts[LOSSLESS].cause
