"""How faults are written, what each built-in one answers at its hooks, and classes from a user's file."""
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pfctest.frame import GlobalPauseFrame, PfcFrame, decode, encode, pfc_frame
from pfctest.timing import RESPONSE_QUANTA, response_allowance_ps
from virtual_testbed.dataplane.model.configuration import SchedulerConfig
from virtual_testbed.dataplane.model.control_frames import (DISCARD, ERROR, GLOBAL_PAUSE, LOST, PFC, Control,
                                                            MacControlFrame, understand)
from virtual_testbed.dataplane.model.counters import Sample
from virtual_testbed.dataplane.model.hooks import Hooks, PortPlace, Scope
from virtual_testbed.faults import BUILT_IN, Fault, FaultError, parse_fault
from virtual_testbed.faults.fault_loader import HOOKS
from virtual_testbed.tests.dataplane.testbeds import SECOND

MAC, STATION = "02:00:00:00:00:01", "02:00:00:00:00:99"
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs/faults.md"
NAMES = {
    "pause-ignored", "lossy-queue-paused", "pause-leaks", "slow-response", "zero-quanta-ignored", "zero-source-ignored",
    "empty-vector-honoured", "global-pause-honoured", "pfc-not-counted", "pfc-miscounted", "pfc-counted-as-data",
    "pfc-forwarded", "lossless-dropped", "lossy-dropped", "headroom-missing", "xoff-not-sent", "xoff-one-priority-only",
    "xoff-wrong-priority", "xon-not-sent", "refresh-missing", "zero-source-sent", "malformed-pfc-sent",
    "watchdog-blind", "watchdog-leaks", "watchdog-stop-ignored", "pfc-removal-ignored", "counters-frozen",
    "counters-negative", "pause-long", "times-swapped", "times-rounded", "pause-short",
    "pause-outlives-flap", "unknown-opcode-honoured", "any-destination-honoured",
    "pfc-counted-as-drop", "weights-ignored", "pfc-unasked", "watchdog-false-alarm", "watchdog-late", "watchdog-wide",
    "watchdog-polls-add-up",
    "watchdog-never-restores", "watchdog-uncounted", "drops-uncounted", "finished-flows-stay-started", "resume-all",
    "resume-lowest",
    "pause-replaces", "refresh-ignored", "shorter-ignored", "one-time-for-all", "pause-acts-elsewhere",
    "pfc-counted-elsewhere", "pause-ignored-after-link-up", "size-dropped", "misclassified", "xoff-elsewhere",
    "xoff-from-lossy", "watchdog-action-missing", "watchdog-restores-late", "watchdog-undo-missing",
    "watchdog-second-storm-missed", "drops-counted-as-sent", "sent-counted-as-received", "counters-of-another",
    "queue-miscounted", "bytes-miscounted", "octets-miscounted", "drop-bytes-miscounted", "counters-wrap",
    "queue-watermarks-miscounted", "counters-late", "pause-late", "headroom-short",
    "xoff-early", "counted-short", "chatter", "storm-never-arrives", "control-uncounted", "held-frames-aged",
    "aging-stays-on", "frames-copied",
    "maps-unbound", "map-entry-wrong", "maps-kept", "lossless-groups-missing", "buffer-change-lost", "egress-limited",
    "xon-late", "xon-early", "headroom-divided", "pfc-lost-with-watchdog", "weights-forgotten", "weights-reset",
    "weights-kept", "headroom-reclaimed", "headroom-watermark-of-port", "pause-time-miscounted",
    "shared-watermark-with-headroom", "maps-forgotten",
    "watchdog-calm-adds-up",
    "watchdog-action-kept", "watchdog-set-kept", "watchdog-any-pause", "watchdog-restores-in-storm",
    "watchdog-one-port-only", "watchdog-hits-another", "watchdog-drops-counted-as-sent", "drops-counted-twice",
    "watermarks-frozen", "switch-reboots"}
NEEDED = {"pause-acts-elsewhere": "on=Ethernet4", "pfc-counted-elsewhere": "on=Ethernet4",
          "xoff-elsewhere": "on=Ethernet4", "misclassified": "ip=4,to=0", "counters-of-another": "of=Ethernet4",
          "map-entry-wrong": "priority=4,to=0", "watchdog-hits-another": "to=4"}
"""Options without which a fault says nothing."""


def of(*numbers):
    return frozenset(numbers)


def read(fault, frame):
    """What a fault makes of a frame, given what a healthy port reads."""
    data = encode(frame)
    return parse_fault(fault).parse(data, understand(MacControlFrame(data), STATION))


# ---- what is there

def test_all_faults_are_there_and_say_what_they_do():
    assert set(BUILT_IN) == NAMES
    for name, fault in BUILT_IN.items():
        spec = f"{name}@*,{NEEDED[name]}" if name in NEEDED else name
        assert fault.name == name and fault.__doc__ and isinstance(parse_fault(spec), fault)
        assert {*fault.port_options} <= {*fault.options}


def test_every_fault_overrides_hooks_and_nothing_else():
    for fault in BUILT_IN.values():
        own = {name for base in fault.__mro__ if base is not Fault for name in vars(base) if not name.startswith("_")}
        own -= {"name", "options", "defaults", "port_options", "moved", "stays", "shares", "number", "least",
                "words"}
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
    ("pause-ignord@Ethernet0", "fault 'pause-ignord' is unknown: expected one of aging-stays-on, "),
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
    ("pause-short@Ethernet0,percent=100", "100 is no value for percent: expected 1..99"),
    ("octets-miscounted@Ethernet0,only=x", "'x' is no value for only: expected received or sent"),
    ("octets-miscounted@Ethernet0,percent=0", "'0' is no value for percent: expected a whole number from 1 on"),
    ("drop-bytes-miscounted@Ethernet0,percent=-1", "'-1' is no value for percent: expected a whole number from 0 on"),
    ("weights-ignored@Ethernet0,order=odd", "'odd' is no value for order: expected even or strict"),
    ("watchdog-uncounted@Ethernet0,only=x", "'x' is no value for only: expected storms, frames, last or received"),
    ("pause-acts-elsewhere@Ethernet0", "it needs the option on: expected another port of the switch, such as "),
    ("xoff-elsewhere@Ethernet0,on=Ethernet0", "on=Ethernet0 is the port itself: expected another one of the switch"),
    ("xoff-elsewhere@Ethernet0,on=Ethernet4,only=x", "'x' is no value for only: expected yes or no"),
    ("counters-of-another", "it needs the option of: expected another port of the switch"),
    ("one-time-for-all@*,which=x", "'x' is no value for which: expected longest or first"),
    ("misclassified@*,to=0", "it needs the options to, and ip or dscp: expected such as ip=6,to=0"),
    ("misclassified@*,ip=5,to=0", "'5' is no value for ip: expected 4 or 6"),
    ("misclassified@*,dscp=64,to=0", "'64' is no value for dscp: expected 0..63"),
    ("size-dropped@*,min=9,max=8", "no size lies from min to max"),
    ("pause-short@*,permille=1000", "1000 is no value for permille: expected 1..999"),
    ("pause-short@*,percent=50,quanta=9", "percent and quanta are given: expected one of them"),
    ("pause-long@*,percent=100", "100 is no value for percent: expected 101 or more"),
    ("held-frames-aged@*,always=1", "'1' is no value for always: expected yes or no"),
    ("held-frames-aged@*,ms=0", "'0' is no value for ms: expected a whole number from 1 on"),
    ("counted-short@*,of=data", "'data' is no value for of: expected pfc-received or watchdog-drops"),
    ("xoff-from-lossy@*,pauses=8", "'8' is no value for pauses: expected 0..7"),
    ("watchdog-undo-missing@*,only=x", "'x' is no value for only: expected dropping, received, pfc or sending"),
    ("xon-late@*,once_changed=x", "'x' is no value for once_changed: expected yes or no"),
    ("counters-wrap@*,bits=8,before=257", "257 is no value for before: expected at most what 8 bits can count"),
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

    place = PortPlace("dut", "Ethernet0", 100_000)
    assert shut(place, 3, SECOND) == of() and shut(place, 4, SECOND) == of(4)
    assert shut(place, 3, SECOND - 1) == shut(place, 3, 2 * SECOND) == of(3)
    others = (PortPlace("dut", "Ethernet4", 100_000), PortPlace("x", "Ethernet0", 100_000),
              PortPlace("dut", "Ethernet0", 40))
    for other in others:
        assert shut(other, 3, SECOND) == of(3)
    assert hooks.changes_ps == [SECOND, 2 * SECOND]


# ---- what a port makes of pause frames

def test_pauses_that_stop_nothing_or_too_much():
    assert parse_fault("pause-ignored").shut_queues(3, of(3)) == of()
    assert parse_fault("lossy-queue-paused").shut_queues(3, of(3)) == of(1, 3)
    assert parse_fault("lossy-queue-paused").shut_queues(0, of()) == of(1)


def test_times():
    assert parse_fault("pause-leaks").leak_period_ps(3, 0) == SECOND
    assert parse_fault("held-frames-aged").aging_ps(3, False, 0) == SECOND // 10
    assert parse_fault("held-frames-aged@*,ms=20").aging_ps(3, True, 0) == 0
    assert parse_fault("held-frames-aged@*,ms=20,always=yes").aging_ps(3, True, 0) == SECOND // 50
    assert parse_fault("pause-leaks@*,period_ms=20").leak_period_ps(3, 0) == SECOND // 50
    for speed in RESPONSE_QUANTA:
        healthy = response_allowance_ps(speed)
        assert parse_fault("slow-response").response_ps(healthy) == 4 * healthy
        assert parse_fault("slow-response@*,factor=2").response_ps(healthy) == 2 * healthy
        assert parse_fault("pause-late").response_ps(healthy) - healthy == SECOND // 2_000_000
    assert read("pause-short@*,permille=995", pfc_frame(MAC, {3: 1000, 4: 1})) == Control(PFC, ((3, 995), (4, 1)))
    assert read("pause-short@*,quanta=200", pfc_frame(MAC, {3: 1000, 4: 1})) == Control(PFC, ((3, 800), (4, 1)))
    assert read("pause-long@*,priority=3", pfc_frame(MAC, {3: 1000, 4: 1})) == Control(PFC, ((3, 1500), (4, 1)))
    assert read("pause-long", pfc_frame(MAC, {3: 0xFFFF, 4: 0})) == Control(PFC, ((3, 0xFFFF), (4, 0)))


def test_zero_quanta_ignored():
    frame = pfc_frame(MAC, {3: 0, 4: 7, 5: 0})
    assert read("zero-quanta-ignored", frame) == Control(PFC, ((4, 7),))
    assert read("zero-quanta-ignored@*,priority=3", frame) == Control(PFC, ((4, 7), (5, 0)))
    assert read("zero-quanta-ignored", GlobalPauseFrame(MAC, 0)) == Control(GLOBAL_PAUSE)


def test_storm_never_arrives():
    lost = Control(LOST)
    empty, other = PfcFrame(MAC, 0, (9,) * 8), pfc_frame("00:00:00:00:00:00", {3: 7})
    for options, arriving in (("", ()), ("@*,only=global", (empty, other)), ("@*,only=pfc", (empty,)),
                              ("@*,only=other", (other,)), ("@*,only=pfc,priority=4", (empty, other))):
        for frame in (empty, other):
            assert (read(f"storm-never-arrives{options}", frame) != lost) == (frame in arriving), (options, frame)
    assert read("storm-never-arrives@*,only=global", GlobalPauseFrame(MAC, 7)) == lost
    assert read("storm-never-arrives@*,only=other", GlobalPauseFrame(MAC, 7)) == Control(GLOBAL_PAUSE)
    with pytest.raises(FaultError, match="'802.3x' is no value for only: expected global, pfc or other"):
        parse_fault("storm-never-arrives@*,only=802.3x")


def test_control_uncounted():
    assert read("control-uncounted", GlobalPauseFrame(MAC, 7)) == Control(PFC), "of no priority"
    assert read("control-uncounted", pfc_frame(MAC, {3: 7})) == Control(PFC, ((3, 7),)), "PFC counts as ever"
    fields = {"SAI_PORT_STAT_PAUSE_RX_PKTS": "1", "SAI_PORT_STAT_IF_IN_OCTETS": "2",
              "SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS": "3"}
    shown = parse_fault("control-uncounted").published("Ethernet0", fields)
    assert shown == {"SAI_PORT_STAT_IF_IN_OCTETS": "2"}


def test_zero_source_ignored():
    frame = pfc_frame("00:00:00:00:00:00", {3: 7})
    assert read("zero-source-ignored", frame) == Control(DISCARD)
    assert read("zero-source-ignored@*,priority=4", frame) == Control(PFC, ((3, 7),))
    assert read("zero-source-ignored", pfc_frame(MAC, {3: 7})) == Control(PFC, ((3, 7),))
    assert read("zero-source-ignored", GlobalPauseFrame("00:00:00:00:00:00", 7)) == Control(GLOBAL_PAUSE)


def test_empty_vector_honoured():
    frame = PfcFrame(MAC, 0, (0, 0, 0, 9, 8, 0, 0, 0), STATION)
    assert understand(MacControlFrame(encode(frame)), STATION) == Control(PFC)
    assert read("empty-vector-honoured", frame) == Control(PFC, ((3, 9), (4, 8)))
    assert read("empty-vector-honoured@*,priority=4", frame) == Control(PFC, ((4, 8),))
    assert read("empty-vector-honoured", PfcFrame(MAC, 1 << 4, (1,) * 8)) == Control(PFC, ((4, 1),))
    assert read("empty-vector-honoured", GlobalPauseFrame(MAC, 7)) == Control(GLOBAL_PAUSE)
    bad = Control(ERROR)
    assert parse_fault("empty-vector-honoured").parse(encode(frame), bad) == bad


def test_global_pause_honoured():
    assert read("global-pause-honoured", GlobalPauseFrame(MAC, 7)) == Control(PFC, tuple((n, 7) for n in range(8)))
    assert read("global-pause-honoured@*,priority=2", GlobalPauseFrame(MAC, 7)) == Control(PFC, ((2, 7),))
    resumes = read("global-pause-honoured@*,only=resume,priority=2", GlobalPauseFrame(MAC, 0))
    assert resumes == Control(PFC, (), ((2, 0),))
    assert read("global-pause-honoured@*,only=resume", GlobalPauseFrame(MAC, 7)) == Control(GLOBAL_PAUSE)
    with pytest.raises(FaultError, match="'pause' is no value for only: expected resume or any"):
        parse_fault("global-pause-honoured@*,only=pause")
    assert read("global-pause-honoured", pfc_frame(MAC, {3: 7})) == Control(PFC, ((3, 7),))


def test_counting():
    assert parse_fault("pfc-not-counted").counted(3, of(3)) == of()
    assert parse_fault("pfc-miscounted").counted(3, of(3)) == of(4)
    assert parse_fault("pfc-miscounted").counted(7, of(7)) == of(0)
    assert parse_fault("pfc-counted-as-data").counts_as_data(False) is True
    assert parse_fault("pfc-forwarded").forwards_control(False) is True
    shown = {"SAI_PORT_STAT_PFC_3_RX_PKTS": "401", "SAI_PORT_STAT_PFC_4_RX_PKTS": "199",
             "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "1000"}
    assert [*parse_fault("counted-short").published("Ethernet0", shown).values()] == ["399", "199", "1000"]
    of_watchdog = parse_fault("counted-short@*,of=watchdog-drops,one_in=10")
    assert [*of_watchdog.published("Ethernet0:3", shown).values()] == ["401", "199", "900"]


@pytest.mark.parametrize("spec, shown", [
    ("bytes-miscounted", "50 100 100 100 100"), ("bytes-miscounted,percent=110", "110 100 100 100 100"),
    ("drop-bytes-miscounted", "100 0 100 100 100"), ("drop-bytes-miscounted,percent=20", "100 20 100 100 100"),
    ("queue-watermarks-miscounted", "100 100 0 100 100"),
    ("octets-miscounted", "100 100 100 50 50"), ("octets-miscounted,only=sent", "100 100 100 100 50"),
    ("octets-miscounted,only=received,percent=200", "100 100 100 200 100"),
])
def test_a_share_of_some_counters_is_shown(spec, shown):
    """All others are as they are."""
    names = ("SAI_QUEUE_STAT_BYTES", "SAI_QUEUE_STAT_DROPPED_BYTES", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
             "SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_OUT_OCTETS")
    name, _, options = spec.partition(",")
    found = parse_fault(f"{name}@*,{options}".rstrip(",")).published("Ethernet0", dict.fromkeys(names, "100"))
    assert list(found.values()) == shown.split(), found


# ---- buffers and back-pressure

def test_drops_and_headroom():
    assert parse_fault("lossless-dropped").drop_one_in(3, True, 0) == 100
    assert parse_fault("lossless-dropped@*,one_in=4").drop_one_in(0, False, 0) == 0
    assert parse_fault("lossy-dropped@*,one_in=4").drop_one_in(0, False, 0) == 4
    assert parse_fault("lossy-dropped").drop_one_in(3, True, 0) == 0
    assert parse_fault("headroom-missing").headroom_bytes(3, 165568) == 0
    assert parse_fault("headroom-short@*,bytes=208").headroom_bytes(3, 165568) == 165360
    assert parse_fault("headroom-short").headroom_bytes(3, 400) == 0
    assert parse_fault("xoff-early@*,bytes=208").reserved_bytes(3, True, 1248) == 1040
    assert parse_fault("xoff-early").reserved_bytes(0, False, 1248) == 1248


def test_scheduling():
    even, strict = parse_fault("weights-ignored"), parse_fault("weights-ignored@*,order=strict")
    assert even.scheduled(3, SchedulerConfig("DWRR", 15)) == SchedulerConfig("DWRR", 1)
    assert strict.scheduled(3, SchedulerConfig("DWRR", 15)).type == "STRICT"
    assert even.scheduled(7, SchedulerConfig("STRICT")) == SchedulerConfig("STRICT")


def test_unasked_pauses():
    ms = SECOND // 1000
    assert [parse_fault("pfc-unasked").unasked_period_ps(n, 0) for n in range(8)] == [0, 0, 0, ms, 0, 0, 0, 0]
    assert parse_fault("pfc-unasked@*,priority=0,period_ms=5").unasked_period_ps(0, 0) == 5 * ms


def test_back_pressure():
    assert parse_fault("xoff-not-sent").xoff_priorities(3, of(3)) == of()
    assert parse_fault("xoff-one-priority-only").xoff_priorities(3, of(4, 3)) == of(3)
    assert parse_fault("xoff-one-priority-only").xoff_priorities(3, of()) == of()
    assert parse_fault("xoff-wrong-priority").xoff_priorities(3, of(3)) == of(0, 3)
    assert parse_fault("xoff-wrong-priority").xoff_priorities(0, of()) == of()
    assert parse_fault("xoff-wrong-priority@*,also=4").xoff_priorities(3, of(3)) == of(3, 4)
    with pytest.raises(FaultError, match="'8' is no value for also: expected 0..7"):
        parse_fault("xoff-wrong-priority@*,also=8")
    assert parse_fault("xon-not-sent").sends_xon(3, True) is False
    assert parse_fault("refresh-missing").refreshes(3, 0, True) is False
    after_link_loss = parse_fault("refresh-missing@*,after_link_loss=yes")
    assert [after_link_loss.refreshes(3, link_losses, True) for link_losses in range(3)] == [True, False, False]


def test_frames_that_are_sent_wrong():
    frame = encode(pfc_frame(MAC, {3: 0xFFFF}))
    sent = parse_fault("zero-source-sent").emitted(frame)
    assert decode(sent) == pfc_frame("00:00:00:00:00:00", {3: 0xFFFF})
    sent = parse_fault("malformed-pfc-sent").emitted(frame)
    assert frame.startswith(sent) and len(sent) == 18 + 7 * 2
    assert understand(MacControlFrame(sent), STATION) == Control(ERROR)
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
    received = parse_fault("watchdog-leaks@*,only=received")
    assert received.watchdog_action(3, "drop") == "drop" and not received.watchdog_drops_received(3, True)


def test_watchdog_that_is_wrong():
    sample = Sample(5, pfc_rx=9, on2off=1, paused=False, packets=7, occupancy=0, paused_ps=4)
    assert parse_fault("watchdog-false-alarm").watchdog_sees(3, sample) == Sample(5, 16, 0, True, 0, 1, 5)
    assert parse_fault("watchdog-late").watchdog_detection_ms(3, 200) == 800
    assert parse_fault("watchdog-late@*,factor=3").watchdog_detection_ms(3, 200) == 600
    assert parse_fault("watchdog-never-restores").watchdog_restores(3, True) is False
    assert parse_fault("watchdog-wide").watchdog_queues(3, of(3)) == of(*range(8))
    assert parse_fault("watchdog-wide@*,also=5").watchdog_queues(3, of(3)) == of(3, 5)
    assert parse_fault("watchdog-hits-another@*,to=5").watchdog_queues(3, of(3)) == of(5)
    assert parse_fault("watchdog-any-pause").watchdog_sees(3, sample) == Sample(5, 9, 0, True, 0, 1, 9 * SECOND)
    late = Sample(9, pfc_rx=12, on2off=1, paused=True, packets=7, occupancy=0, paused_ps=8)
    for options, others, pfc_rx in (("", False, 9), ("", True, 9), ("@*,all=yes", False, 12), ("@*,all=yes", True, 9)):
        fault = parse_fault(f"watchdog-restores-in-storm{options}")
        assert fault.watchdog_sees_in_storm(3, sample, others, late).pfc_rx == pfc_rx
    one_in_ten = parse_fault("watchdog-restores-in-storm@*,one_in=10")
    for received, seen in (9, 9), (18, 9), (19, 19), (45, 39):
        assert one_in_ten.watchdog_sees_in_storm(3, sample, False, replace(late, pfc_rx=received)).pfc_rx == seen
    added = parse_fault("watchdog-calm-adds-up")
    assert added.watchdog_detects(3, 0, True) and added.watchdog_restoration_ms(3, 2000) == 2000
    for seconds, received, missing_ms in (0.1, 9, 1900), (0.2, 10, 1900), (0.4, 10, 1700), (0.5, 11, 1700):
        poll = replace(sample, pfc_rx=received, time_ps=sample.time_ps + round(seconds * SECOND))
        assert added.watchdog_sees_in_storm(3, sample, False, poll) is poll
        assert added.watchdog_restoration_ms(3, 2000) == missing_ms, seconds
    alone = parse_fault("watchdog-one-port-only")
    assert alone.watchdog_detects_beside(3, of(), True) and not alone.watchdog_detects_beside(3, of("Ethernet4"), True)


def test_counters_that_move_otherwise():
    port = {"SAI_PORT_STAT_IF_IN_DISCARDS": "3", "SAI_PORT_STAT_IF_OUT_DISCARDS": "4",
            "SAI_PORT_STAT_IF_IN_OCTETS": "5"}
    assert [*parse_fault("drops-counted-twice").published("Ethernet0", port).values()] == ["6", "8", "5"]
    left = {"SAI_PORT_STAT_IF_OUT_DISCARDS": "4", "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "9"}
    for options, drops in (("", "0"), ("@*,too=yes", "4")):
        shown = parse_fault(f"drops-counted-as-sent{options}").published("Ethernet0", left)
        assert [*shown.values()] == [drops, "13"]
    other = parse_fault("counters-of-another@*,of=Ethernet4,only=drops")
    shown = other.published_among("Ethernet0", port, {"Ethernet4": {"SAI_PORT_STAT_IF_IN_DISCARDS": "10"}})
    assert [*shown.values()] == ["13", "4", "5"]
    queue = {"PFC_WD_QUEUE_STATS_TX_PACKETS": "1", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "7",
             "PFC_WD_QUEUE_STATS_RX_PACKETS_LAST": "2", "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS_LAST": "8"}
    shown = parse_fault("watchdog-drops-counted-as-sent").published("Ethernet0:3", queue)
    assert [*shown.values()] == ["8", "0", "10", "0"]
    name = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"
    groups = {"Ethernet0:3": {name: "208"}, "Ethernet0:4": {name: "1040"}, "Ethernet40:3": {name: "4160"}}
    alike = parse_fault("headroom-watermark-of-port")
    assert alike.published_among("Ethernet0:3", {name: "208", "other": "1"}, groups) == {name: "1040", "other": "1"}
    assert alike.published_among("Ethernet0:3", {"other": "1"}, groups) == {"other": "1"}
    shared = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"
    both = parse_fault("shared-watermark-with-headroom")
    assert both.published("Ethernet0:3", {name: "208", shared: "1040"}) == {name: "208", shared: "1248"}
    assert both.published("Ethernet0:3", {"other": "1"}) == {"other": "1"}
    of_pauses = {"SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": "100", "SAI_PORT_STAT_PFC_3_ON2OFF_RX_PKTS": "1",
                 "SAI_PORT_STAT_PFC_3_RX_PKTS": "9"}
    for spec, values in ("", "50 1 9"), (",of=ends", "100 9 9"), (",priority=4", "100 1 9"):
        found = parse_fault(f"pause-time-miscounted@*{spec}").published("Ethernet0", of_pauses)
        assert [*found.values()] == values.split(), spec
    frozen = parse_fault("watermarks-frozen")
    fields = {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "5", "SAI_QUEUE_STAT_PACKETS": "6"}
    assert frozen.published("Ethernet0:3", fields) == fields, "what is there when the switch starts"
    assert frozen.published("Ethernet0:3", fields) == {"SAI_QUEUE_STAT_PACKETS": "6"}


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


def test_counters_late_shows_what_was_there_some_polls_before():
    """Polls of other fields of a port are others."""
    fault = parse_fault("counters-late@*,polls=2")
    shown = [fault.published("Ethernet0", {"a": str(number)}) for number in range(5)]
    assert shown == [{"a": "0"}, {"a": "0"}, {"a": "0"}, {"a": "1"}, {"a": "2"}]
    assert fault.published("Ethernet0", {"b": "7"}) == {"b": "7"}
    assert fault.published("Ethernet4", {"a": "7"}) == {"a": "7"}


def test_drops_uncounted():
    port = {"SAI_PORT_STAT_IF_IN_DISCARDS": "1", "SAI_PORT_STAT_IF_OUT_DISCARDS": "2",
            "SAI_PORT_STAT_PAUSE_RX_PKTS": "3"}
    queue = {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4", "SAI_QUEUE_STAT_DROPPED_BYTES": "5", "SAI_QUEUE_STAT_PACKETS": "6"}
    group = {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "7", "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS": "8"}
    fault = parse_fault("drops-uncounted")
    for key, fields, kept in (("Ethernet0", port, "SAI_PORT_STAT_PAUSE_RX_PKTS"),
                              ("Ethernet0:3", queue, "SAI_QUEUE_STAT_PACKETS"),
                              ("Ethernet0:3", group, "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS")):
        assert fault.published(key, fields) == fields, "what is there when the switch starts"
        assert fault.published(key, fields) == {kept: fields[kept]}
    of_three = parse_fault("drops-uncounted@*,priority=3,from=1s")
    assert of_three.published("Ethernet0", port) == port
    assert of_three.published("Ethernet0:3", queue) == {"SAI_QUEUE_STAT_PACKETS": "6"}


@pytest.mark.parametrize("options, seen", [
    ("", set()), (",only=storms", {"TX_DROPPED_PACKETS"}), (",only=frames", {"DEADLOCK_DETECTED"})])
def test_watchdog_uncounted(options, seen):
    fields = {"PFC_WD_STATUS": "stormed", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "1",
              "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "9"}
    fault = parse_fault(f"watchdog-uncounted@Ethernet0{options}")
    assert fault.published("Ethernet0:3", fields) == fields
    assert set(fault.published("Ethernet0:3", fields)) == {"PFC_WD_STATUS"} | {
        f"PFC_WD_QUEUE_STATS_{name}" for name in seen}


def test_watchdog_uncounted_of_received_frames():
    fields = {"PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS": "1", "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS_LAST": "1",
              "PFC_WD_QUEUE_STATS_RX_PACKETS": "2", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "3"}
    fault = parse_fault("watchdog-uncounted@Ethernet0,only=received")
    assert fault.published("Ethernet0:3", fields) == fields, "what is there when the switch starts"
    assert set(fault.published("Ethernet0:3", fields)) == {
        "PFC_WD_QUEUE_STATS_RX_PACKETS", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"}


def test_counters_negative():
    fields = {"SAI_PORT_STAT_PFC_3_RX_PKTS": "1", "SAI_PORT_STAT_PFC_4_RX_PKTS": "1001",
              "SAI_PORT_STAT_PFC_3_TX_PKTS": "5"}
    assert parse_fault("counters-negative").published("Ethernet0", fields) == {
        **fields, "SAI_PORT_STAT_PFC_3_RX_PKTS": "-999", "SAI_PORT_STAT_PFC_4_RX_PKTS": "1"}
    assert parse_fault("counters-negative@*,priority=4").published("Ethernet0", fields) == {
        **fields, "SAI_PORT_STAT_PFC_4_RX_PKTS": "1"}


# ---- the traffic generator

def test_finished_flows_stay_started():
    assert parse_fault("pause-ignored").starts_again(True) is True
    assert parse_fault("finished-flows-stay-started").starts_again(True) is False
