"""How faults are written, what each built-in one answers at its hooks, and classes from a user's file."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfctest.frame import PauseFrame, PfcFrame, decode, encode, pfc_frame
from pfctest.timing import RESPONSE_QUANTA, response_allowance_ps
from virtual_testbed import cli
from virtual_testbed.dataplane.control import DISCARD, ERROR, GLOBAL_PAUSE, PFC, Control, ControlFrame, understand
from virtual_testbed.dataplane.counters import Sample
from virtual_testbed.dataplane.hooks import Fault, Hooks, Place, Scope
from virtual_testbed.faults import BUILT_IN, FaultError, absolute, parse_fault
from virtual_testbed.faults.own_file import HOOKS
from virtual_testbed.lifecycle import LifecycleError
from virtual_testbed.tests.dataplane.testbeds import SWITCH, data, names, network, storm, switch_config

SECOND = 10**12
MAC, STATION = "02:00:00:00:00:01", "02:00:00:00:00:99"
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs/faults.md"
NAMES = {
    "pause-ignored", "lossy-queue-paused", "pause-leaks", "slow-response", "zero-quanta-ignored", "zero-source-ignored",
    "empty-vector-honoured", "global-pause-honoured", "pfc-not-counted", "pfc-miscounted", "pfc-counted-as-data",
    "pfc-forwarded", "lossless-dropped", "lossy-dropped", "headroom-missing", "xoff-not-sent", "xoff-one-priority-only",
    "xoff-wrong-priority", "xon-not-sent", "refresh-missing", "zero-source-sent", "malformed-pfc-sent",
    "watchdog-blind", "watchdog-leaks", "watchdog-stop-ignored", "pfc-removal-ignored", "counters-frozen",
    "counters-negative"}


def of(*numbers):
    return frozenset(numbers)


def read(fault, frame):
    """What a fault makes of a frame, given what a healthy port reads."""
    data = encode(frame)
    return parse_fault(fault).parse(data, understand(ControlFrame(data), STATION))


# ---- what is there

def test_all_faults_are_there_and_say_what_they_do():
    assert set(BUILT_IN) == NAMES
    for name, fault in BUILT_IN.items():
        assert fault.name == name and fault.__doc__ and isinstance(parse_fault(name), fault)


def test_every_fault_overrides_hooks_and_nothing_else():
    for fault in BUILT_IN.values():
        own = {name for name in vars(fault) if not name.startswith("_")} - {"name", "options", "defaults"}
        assert own and own <= HOOKS, fault


def test_every_fault_is_in_the_documentation():
    named = re.findall(r"^\| `([a-z-]+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) == NAMES and len(named) == len(NAMES)


def test_every_hook_is_in_the_documentation():
    text = DOCS.read_text(encoding="utf-8")
    assert HOOKS == set(re.findall(r"^\| `([a-z_]+)\(", text, re.MULTILINE))


# ---- places, times, options

@pytest.mark.parametrize("spec, scope", [
    ("pause-ignored", Scope()),
    ("pause-ignored@Ethernet8", Scope(None, "Ethernet8")),
    ("pause-ignored@vtb-t0-01:Ethernet8,priority=3", Scope("vtb-t0-01", "Ethernet8", 3)),
    ("pause-ignored@*", Scope()),
    ("pause-ignored@*,speed=400G", Scope(speed_mbps=400_000)),
    ("pause-ignored@,speed=100000", Scope(speed_mbps=100_000)),
    ("pause-ignored@vtb-t0-01:*,priority=0", Scope("vtb-t0-01", priority=0)),
    ("pause-ignored@*:Ethernet8", Scope(None, "Ethernet8")),
    ("pause-ignored@*,from=2.5s,until=4s", Scope(from_ps=25 * SECOND // 10, until_ps=4 * SECOND)),
    ("pause-ignored@*,from=200ms", Scope(from_ps=SECOND // 5)),
    ("pause-ignored@*,until=10us", Scope(until_ps=10**7)),
    ("pause-ignored@*,from=0.001ns,until=500ns", Scope(from_ps=1, until_ps=500_000)),
])
def test_scopes(spec, scope):
    assert parse_fault(spec).scope == scope


@pytest.mark.parametrize("spec, sentence", [
    ("pause-ignord@Ethernet0", "fault 'pause-ignord' is unknown: expected one of counters-frozen, counters-negative, "),
    ("pause-ignord", "xon-not-sent, zero-quanta-ignored, zero-source-ignored, zero-source-sent, or "
                     "path/to/file.py:ClassName"),
    ("", "fault '' is unknown"),
    ("pause-ignored@", "fault 'pause-ignored@' names no port after '@': expected NAME@PORT, NAME@SWITCH:PORT or "
                       "NAME@*,key=value"),
    ("pause-ignored@:Ethernet0", "names no port"),
    ("pause-ignored@sw:", "names no port"),
    ("pause-ignored@Ethernet0,colour=3", "has no option 'colour': expected priority, speed, from, until"),
    ("pause-leaks@Ethernet0,one_in=3", "has no option 'one_in': expected priority, speed, from, until, period_ms"),
    ("pause-ignored@Ethernet0,priority=9", "priority 9 does not exist: expected 0..7"),
    ("pause-ignored@Ethernet0,priority=x", "'x' is no value for priority: expected 0..7"),
    ("pause-ignored@Ethernet0,priority=3,priority=4", "gives 'priority' twice"),
    ("pause-leaks@Ethernet0,period_ms=0", "'0' is no value for period_ms: expected a whole number from 1 on"),
    ("slow-response@Ethernet0,factor=-1", "'-1' is no value for factor: expected a whole number from 1 on"),
    ("pause-ignored@*,speed=7G", "'7G' is no value for speed: expected one of 1G, 10G, 25G, 40G, 50G, 100G, 200G, "
                                 "400G, 800G, or the same in Mb/s"),
    ("pause-ignored@*,speed=100M", "'100M' is no value for speed"),
    ("pause-ignored@*,from=2.5", "'2.5' is no simulated time: expected such as 2.5s, 200ms, 10us or 500ns"),
    ("pause-ignored@*,from=-1s", "'-1s' is no simulated time"),
    ("pause-ignored@*,from=0.0001ns", "'0.0001ns' is no simulated time"),
    ("pause-ignored@*,from=2s,until=2s", "it ends before it begins: expected until later than from"),
    ("pause-ignored@*,until=0s", "it ends before it begins"),
])
def test_bad_specifications(spec, sentence):
    with pytest.raises(FaultError, match=re.escape(sentence)):
        parse_fault(spec)


def test_a_fault_is_asked_in_its_scope_only():
    hooks = Hooks([parse_fault("pause-ignored@dut:Ethernet0,priority=3,speed=100G,from=1s,until=2s")])

    def shut(place, priority, now_ps):
        hooks.now_ps = now_ps
        return hooks.ask(place, priority, of(priority), lambda fault, queues: fault.shut_queues(priority, queues))

    place = Place("dut", "Ethernet0", 100_000)
    assert shut(place, 3, SECOND) == of() and shut(place, 4, SECOND) == of(4)
    assert shut(place, 3, SECOND - 1) == shut(place, 3, 2 * SECOND) == of(3)
    for other in (Place("dut", "Ethernet4", 100_000), Place("x", "Ethernet0", 100_000), Place("dut", "Ethernet0", 40)):
        assert shut(other, 3, SECOND) == of(3)
    assert hooks.changes_ps == [SECOND, 2 * SECOND]


# ---- what a port makes of pause frames

def test_pauses_that_stop_nothing_or_too_much():
    assert parse_fault("pause-ignored").shut_queues(3, of(3)) == of()
    assert parse_fault("lossy-queue-paused").shut_queues(3, of(3)) == of(1, 3)
    assert parse_fault("lossy-queue-paused").shut_queues(0, of()) == of(1)


def test_times():
    assert parse_fault("pause-leaks").leak_period_ps(3, 0) == SECOND
    assert parse_fault("pause-leaks@*,period_ms=20").leak_period_ps(3, 0) == SECOND // 50
    for speed in RESPONSE_QUANTA:
        healthy = response_allowance_ps(speed)
        assert parse_fault("slow-response").response_ps(healthy) == 4 * healthy
        assert parse_fault("slow-response@*,factor=2").response_ps(healthy) == 2 * healthy


def test_zero_quanta_ignored():
    frame = pfc_frame(MAC, {3: 0, 4: 7, 5: 0})
    assert read("zero-quanta-ignored", frame) == Control(PFC, ((4, 7),))
    assert read("zero-quanta-ignored@*,priority=3", frame) == Control(PFC, ((4, 7), (5, 0)))
    assert read("zero-quanta-ignored", PauseFrame(MAC, 0)) == Control(GLOBAL_PAUSE)


def test_zero_source_ignored():
    frame = pfc_frame("00:00:00:00:00:00", {3: 7})
    assert read("zero-source-ignored", frame) == Control(DISCARD)
    assert read("zero-source-ignored@*,priority=4", frame) == Control(PFC, ((3, 7),))
    assert read("zero-source-ignored", pfc_frame(MAC, {3: 7})) == Control(PFC, ((3, 7),))
    assert read("zero-source-ignored", PauseFrame("00:00:00:00:00:00", 7)) == Control(GLOBAL_PAUSE)


def test_empty_vector_honoured():
    frame = PfcFrame(MAC, 0, (0, 0, 0, 9, 8, 0, 0, 0), STATION)
    assert understand(ControlFrame(encode(frame)), STATION) == Control(PFC)
    assert read("empty-vector-honoured", frame) == Control(PFC, ((3, 9), (4, 8)))
    assert read("empty-vector-honoured@*,priority=4", frame) == Control(PFC, ((4, 8),))
    assert read("empty-vector-honoured", PfcFrame(MAC, 1 << 4, (1,) * 8)) == Control(PFC, ((4, 1),))
    assert read("empty-vector-honoured", PauseFrame(MAC, 7)) == Control(GLOBAL_PAUSE)
    bad = Control(ERROR)
    assert parse_fault("empty-vector-honoured").parse(encode(frame), bad) == bad


def test_global_pause_honoured():
    assert read("global-pause-honoured", PauseFrame(MAC, 7)) == Control(PFC, tuple((n, 7) for n in range(8)))
    assert read("global-pause-honoured@*,priority=2", PauseFrame(MAC, 7)) == Control(PFC, ((2, 7),))
    assert read("global-pause-honoured", pfc_frame(MAC, {3: 7})) == Control(PFC, ((3, 7),))


def test_counting():
    assert parse_fault("pfc-not-counted").counted(3, of(3)) == of()
    assert parse_fault("pfc-miscounted").counted(3, of(3)) == of(4)
    assert parse_fault("pfc-miscounted").counted(7, of(7)) == of(0)
    assert parse_fault("pfc-counted-as-data").counts_as_data(False) is True
    assert parse_fault("pfc-forwarded").forwards_control(False) is True


# ---- buffers and back-pressure

def test_drops_and_headroom():
    assert parse_fault("lossless-dropped").drop_one_in(3, True, 0) == 100
    assert parse_fault("lossless-dropped@*,one_in=4").drop_one_in(0, False, 0) == 0
    assert parse_fault("lossy-dropped@*,one_in=4").drop_one_in(0, False, 0) == 4
    assert parse_fault("lossy-dropped").drop_one_in(3, True, 0) == 0
    assert parse_fault("headroom-missing").headroom_bytes(3, 165568) == 0


def test_back_pressure():
    assert parse_fault("xoff-not-sent").xoff_priorities(3, of(3)) == of()
    assert parse_fault("xoff-one-priority-only").xoff_priorities(3, of(4, 3)) == of(3)
    assert parse_fault("xoff-one-priority-only").xoff_priorities(3, of()) == of()
    assert parse_fault("xoff-wrong-priority").xoff_priorities(3, of(3)) == of(0, 3)
    assert parse_fault("xoff-wrong-priority").xoff_priorities(0, of()) == of()
    assert parse_fault("xon-not-sent").sends_xon(3, True) is False
    assert parse_fault("refresh-missing").refreshes(3, True) is False


def test_frames_that_are_sent_wrong():
    frame = encode(pfc_frame(MAC, {3: 0xFFFF}))
    sent = parse_fault("zero-source-sent").emitted(frame)
    assert decode(sent) == pfc_frame("00:00:00:00:00:00", {3: 0xFFFF})
    sent = parse_fault("malformed-pfc-sent").emitted(frame)
    assert frame.startswith(sent) and len(sent) == 18 + 7 * 2
    assert understand(ControlFrame(sent), STATION) == Control(ERROR)
    for name in ("zero-source-sent", "malformed-pfc-sent"):
        assert parse_fault(f"{name}@*,priority=4").emitted(frame) == frame
        assert parse_fault(f"{name}@*,priority=3").emitted(frame) != frame
    assert parse_fault("zero-source-sent@*,priority=3").emitted(frame[:32]) == frame[:32]


# ---- watchdog, configuration, counters

def test_watchdog():
    sample = Sample(5, pfc_rx=9, on2off=1, paused=True, packets=7, occupancy=208, paused_ps=4)
    assert parse_fault("watchdog-blind").watchdog_sees(3, sample) == Sample(5, 0, 0, False, 7, 208, 0)
    actions = {action: parse_fault("watchdog-leaks").watchdog_action(3, action) for action in (
        "drop", "forward", "alert")}
    assert actions == {"drop": "forward", "forward": "forward", "alert": "alert"}


def test_removals_and_nothing_else_are_swallowed():
    assert parse_fault("watchdog-stop-ignored").watchdog_removal_reaches_hardware(True) is False
    assert parse_fault("watchdog-stop-ignored").pfc_removal_reaches_hardware(True) is True
    assert parse_fault("pfc-removal-ignored").pfc_removal_reaches_hardware(True) is False
    assert parse_fault("pfc-removal-ignored").watchdog_removal_reaches_hardware(True) is True


def test_counters_frozen_keeps_what_was_there_first():
    fault = parse_fault("counters-frozen")
    assert fault.published("Ethernet0", {"a": "1"}) == {"a": "1"}
    assert fault.published("Ethernet0", {"a": "2", "b": "1"}) == {"b": "1"}
    assert fault.published("Ethernet4", {"a": "7"}) == {"a": "7"}
    assert parse_fault("counters-frozen@*,from=1s").published("Ethernet0", {"a": "2"}) == {}
    of_three = parse_fault("counters-frozen@*,priority=3,from=1s")
    fields = {"SAI_PORT_STAT_PFC_3_RX_PKTS": "1", "SAI_PORT_STAT_PFC_4_RX_PKTS": "2", "SAI_PORT_STAT_IF_IN_OCTETS": "3"}
    assert of_three.published("Ethernet0", fields) == {
        "SAI_PORT_STAT_PFC_4_RX_PKTS": "2", "SAI_PORT_STAT_IF_IN_OCTETS": "3"}
    assert of_three.published("Ethernet0:3", {"SAI_QUEUE_STAT_PACKETS": "1"}) == {}


def test_counters_negative():
    fields = {"SAI_PORT_STAT_PFC_3_RX_PKTS": "1", "SAI_PORT_STAT_PFC_4_RX_PKTS": "1001",
              "SAI_PORT_STAT_PFC_3_TX_PKTS": "5"}
    assert parse_fault("counters-negative").published("Ethernet0", fields) == {
        **fields, "SAI_PORT_STAT_PFC_3_RX_PKTS": "-999", "SAI_PORT_STAT_PFC_4_RX_PKTS": "1"}
    assert parse_fault("counters-negative@*,priority=4").published("Ethernet0", fields) == {
        **fields, "SAI_PORT_STAT_PFC_4_RX_PKTS": "1"}


# ---- a file of one's own

HEAD = "from virtual_testbed.dataplane.hooks import Fault\n"
GOOD = HEAD + '''
class Deaf(Fault):
    name = "deaf"
    options = ("queue",)

    def shut_queues(self, priority, queues):
        return queues - {int(self.values.get("queue", 3))}
'''


@pytest.fixture
def write(tmp_path):
    def write(text, name="own.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path
    return write


def test_a_class_of_a_file(write):
    fault = parse_fault(f"{write(GOOD)}:Deaf@Ethernet8,queue=4,priority=4,from=1s")
    assert isinstance(fault, Fault) and fault.scope == Scope(None, "Ethernet8", 4, from_ps=SECOND)
    assert fault.shut_queues(4, of(3, 4)) == of(3) and parse_fault(f"{write(GOOD)}:Deaf").scope == Scope()


def test_a_folder_may_be_called_anything(write, tmp_path):
    (tmp_path / "a@b, c:d").mkdir()
    assert parse_fault(f"{write(GOOD, 'a@b, c:d/own.py')}:Deaf@Ethernet8").scope == Scope(None, "Ethernet8")


def test_a_relative_path_is_the_callers(write, tmp_path, monkeypatch):
    write(GOOD)
    monkeypatch.chdir(tmp_path)
    assert absolute("own.py:Deaf@Ethernet8,queue=4") == f"{tmp_path}/own.py:Deaf@Ethernet8,queue=4"
    assert parse_fault("own.py:Deaf@Ethernet8").scope.port == "Ethernet8"
    for spec in ("pause-ignored@Ethernet8", "nonsense", f"{tmp_path}/own.py:Deaf", ""):
        assert absolute(spec) == spec


@pytest.mark.parametrize("text, name, sentence", [
    ("", "Deaf", "own.py has no class 'Deaf' (it has: none)"),
    (GOOD, "deaf", "own.py has no class 'deaf' (it has: Deaf)"),
    (GOOD, "", "own.py has no class '' (it has: Deaf)"),
    (GOOD, "HEAD", "own.py has no class 'HEAD'"),
    (GOOD, "Fault", "class Fault of {path} is not derived from virtual_testbed.dataplane.hooks.Fault"),
    ("class Deaf: pass", "Deaf", "class Deaf of {path} is not derived from virtual_testbed.dataplane.hooks.Fault"),
    ("import nowhere", "Deaf", "own.py cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
    ("class Deaf(", "Deaf", "own.py cannot be imported: SyntaxError: "),
    ("raise SystemExit", "Deaf", "own.py cannot be imported: SystemExit"),
    (GOOD.replace("name =", "title ="), "Deaf", "class Deaf of {path} has no name: expected a line such as name = "),
    (GOOD.replace('("queue",)', '"queue"'), "Deaf", "has options that are no tuple of texts"),
    (GOOD.replace("shut_queues", "shut_queue"), "Deaf", "'shut_queue' is no hook (docs/faults.md lists them)"),
    (HEAD + "class Deaf(Fault):\n    name = 'deaf'\n", "Deaf", "class Deaf of {path} overrides no hook"),
    (GOOD.replace('"queue",', '"from",'), "Deaf", "has an option 'from', which every fault has already"),
])
def test_a_file_that_cannot_be_used(write, text, name, sentence):
    path = write(text)
    with pytest.raises(FaultError) as caught:
        parse_fault(f"{path}:{name}@Ethernet8")
    assert str(caught.value).startswith(f"fault '{path}:{name}@Ethernet8': ")
    assert sentence.format(path=path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture
def up(monkeypatch, tmp_path):
    """`virtual-testbed up vtb-t0` that starts nothing: what it said, and the faults it would start with."""
    started = []

    def bring_up(testbed, folder, options):
        started.extend(options.faults)
        raise LifecycleError("not started")

    monkeypatch.setattr(cli, "bring_up", bring_up)
    monkeypatch.chdir(tmp_path)

    def up(spec):
        started.clear()
        command = ["up", "vtb-t0", "--testbed-file", str(ROOT / "ansible/testbed.yaml"), "--fault", spec]
        return CliRunner().invoke(cli.main, command).output, list(started)
    return up


def test_the_engine_gets_an_absolute_path(up, write, tmp_path):
    write(GOOD)
    assert up("own.py:Deaf@Ethernet8,queue=4") == (
        "error: not started\n", [f"{tmp_path}/own.py:Deaf@Ethernet8,queue=4"])


@pytest.mark.parametrize("spec, sentence", [
    ("pause-ignored@*,speed=400G", "fault 'pause-ignored@*,speed=400G': testbed vtb-t0 has no link of 400000 Mb/s "
                                   "(it has: 100000)"),
    ("pause-ignored@Ethernet1", "fault 'pause-ignored@Ethernet1': no port Ethernet1 on vtb-t0-01"),
    ("pause-ignored@sw:*", "fault 'pause-ignored@sw:*': testbed vtb-t0 has no switch sw (it has: vtb-t0-01)"),
    ("own.py:Deaf", "own.py\n"),
])
def test_what_the_testbed_does_not_have_is_refused(up, spec, sentence):
    said, started = up(spec)
    assert said.startswith("error: fault ") and sentence in said and not started


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FaultError, match=f"there is no file {re.escape(str(tmp_path))}/own.py"):
        parse_fault(f"{tmp_path}/own.py:Deaf")


def test_options_of_an_own_class_are_checked(write):
    path = write(GOOD + "\n    def __init__(self, scope, **options):\n        super().__init__(scope, **options)\n"
                        "        int(options.get('queue', 3))\n")
    with pytest.raises(FaultError, match="own.py:Deaf@Ethernet8,queue=x': invalid literal for int"):
        parse_fault(f"{path}:Deaf@Ethernet8,queue=x")
    with pytest.raises(FaultError, match="has no option 'colour': expected priority, speed, from, until, queue"):
        parse_fault(f"{path}:Deaf@Ethernet8,colour=x")


def test_an_own_class_may_derive_from_a_built_in_one(write):
    path = write("from virtual_testbed.faults import BUILT_IN\n\n\n"
                 "class Fast(BUILT_IN['pause-leaks']):\n    name = 'fast'\n    defaults = {'period_ms': 1}\n")
    assert parse_fault(f"{path}:Fast").leak_period_ps(3, 0) == SECOND // 1000


def test_the_worked_example_of_the_documentation(tmp_path):
    """Its file through the specification and the data plane: the storm on 3 shuts queue 4, and is counted as 3."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "shifted.py").write_text(next(block for block in blocks if "class Shifted" in block), encoding="utf-8")

    def received(spec):
        fault = [parse_fault(f"{tmp_path}/{spec}")] if spec else []
        flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3), data("four", 1, 0, [4], 4)]
        net = network(switch_config(2), flows, fault)
        net.start_flows(["storm"])
        net.advance_to(SECOND // 10)
        net.start_flows(["three", "four"])
        net.advance_to(SECOND // 5)
        port = net.switch_counters(SWITCH).ports["Ethernet0"]
        assert port.pfc_rx[3] > 500 and not any(port.pfc_rx[:3] + port.pfc_rx[4:])
        return [net.flow_counters(name).frames_rx for name in ("three", "four")]

    healthy = received(None)
    assert healthy[0] == 0 and healthy[1] > 500_000
    assert received("shifted.py:Shifted@Ethernet0,priority=3") == received("shifted.py:Shifted@dut:Ethernet0") == [
        healthy[1], 0]
    assert min(received("shifted.py:Shifted@Ethernet0,by=2")) > 500_000
    for elsewhere in ("Shifted@Ethernet4", "Shifted@Ethernet0,priority=4"):
        assert received(f"shifted.py:{elsewhere}") == healthy


# ---- a fault that begins and ends while traffic runs

def timeline(spec=None):
    """What had been counted after 2, 2.5, 3 and 4 s: frames received by flow, PFC received and sent by priority."""
    flows = [storm("storm", 0, {3: 0xFFFF}), data("three", 1, 0, [3], 3), data("one", 1, 0, [0], 1)]
    net, readings = network(switch_config(2), flows, [parse_fault(spec)] if spec else []), []
    net.start_flows(names(flows))
    for now_ps in (2 * SECOND, 5 * SECOND // 2, 3 * SECOND, 4 * SECOND):
        net.advance_to(now_ps)
        ports = net.switch_counters(SWITCH).ports
        readings.append({"three": net.flow_counters("three").frames_rx, "one": net.flow_counters("one").frames_rx,
                         "pfc_rx": ports["Ethernet0"].pfc_rx, "pfc_tx": ports["Ethernet4"].pfc_tx})
    return readings


def gained(early, late, what):
    """The change of a reading; of PFC counters by priority."""
    return late[what] - early[what] if isinstance(late[what], int) else tuple(
        b - a for a, b in zip(early[what], late[what]))


@pytest.mark.parametrize("fault, what", [
    ("pause-ignored@Ethernet0", "three"), ("lossy-queue-paused@Ethernet0", "one"),
    ("lossy-dropped@Ethernet0,one_in=4", "one"), ("zero-source-ignored@Ethernet0", "three"),
    ("pfc-not-counted@Ethernet0", "pfc_rx"), ("pfc-miscounted@Ethernet0", "pfc_rx"),
    ("xoff-not-sent@Ethernet4", "pfc_tx"), ("xoff-wrong-priority@Ethernet4", "pfc_tx"),
    ("refresh-missing@Ethernet4", "pfc_tx"), ("pause-leaks@Ethernet0,period_ms=10", "three")])
def test_a_fault_takes_effect_from_its_beginning_until_its_end(fault, what):
    healthy, parts = timeline(), fault.split(",")
    spec = ",".join([parts[0], "from=2s", "until=3s", *parts[1:]])
    faulty = timeline(spec)
    assert faulty[0] == healthy[0], "nothing before it begins"
    for early, late in ((0, 1), (1, 2)):
        assert gained(faulty[early], faulty[late], what) != gained(healthy[early], healthy[late], what), (early, late)
    assert timeline(spec.replace("from=2s", "from=4s").replace("until=3s", "until=5s")) == healthy


def test_a_fault_that_has_ended_leaves_a_healthy_port():
    """Exactly one second of a line that obeys no pause, or counts none; then all is as it was."""
    healthy = timeline()
    ignored = timeline("pause-ignored@Ethernet0,from=2s,until=3s")
    assert [reading["three"] for reading in healthy] == [0] * 4
    first, half, whole, last = (reading["three"] for reading in ignored)
    assert first == 0 and last - whole <= 1, "the frame that was on the line"
    assert 5_900_000 < whole < 6_100_000 and abs(whole - 2 * half) < 10_000
    uncounted = timeline("pfc-not-counted@Ethernet0,from=2s,until=3s")
    assert gained(uncounted[0], uncounted[2], "pfc_rx") == (0,) * 8
    assert gained(uncounted[2], uncounted[3], "pfc_rx") == gained(healthy[2], healthy[3], "pfc_rx")
