"""What options ask for, and what is refused."""
from __future__ import annotations

import pytest

from pfctest import cli, interface, options, storm
from pfctest.frame import PfcFrame, decode, problems
from pfctest.frame_spec import FrameSpec, RawFields
from pfctest.interface import Interface, InterfaceError, default_route_by

OWN = Interface("eth7", 7, "02:00:00:00:00:07", None)


def asked(*words):
    """The request."""
    return options.read(["-d", "eth7", *words])


def test_classes_and_times():
    assert asked("--p3", "--q3=5").frame_spec == FrameSpec((3,), (0, 0, 0, 5, 0, 0, 0, 0))
    assert asked("--priority=4,3").frame_spec == FrameSpec((3, 4), (0, 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0))
    assert asked("--p1", "--priority=4", "--quanta=6").frame_spec.quanta == (0, 6, 0, 0, 6, 0, 0, 0)
    assert asked("--global", "--quanta=6").frame_spec == FrameSpec(None, (6,))
    assert asked("--raw-vector=0x100").frame_spec == FrameSpec((), (0,) * 8, raw=RawFields(vector=0x100))
    assert asked("--p3", "--q3=5", "--release").frame_spec.quanta == (0,) * 8


@pytest.mark.parametrize("words, quanta", [
    ([], 0xFFFF), (["--q3=7", "--p4", "--q4=5", "--p5"], 5), (["--release"], 0), (["--q5=9"], 0xFFFF),
    (["--raw-vector=0"], 0), (["--raw-vector=0x10"], 0), (["--raw-vector=0xff08"], 0xFFFF),
    (["--raw-opcode=0x0102"], 0), (["--raw-opcode=1", "--raw-vector=9"], 9),
    (["--raw-destination=02:00:00:00:00:01"], 0),
    (["--raw-length=59"], 0), (["--raw-length=61"], 0xFFFF), (["--vlan=5"], 0),
    (["--raw-source=00:00:00:00:00:00"], 0xFFFF),
], ids=str)
def test_a_frame_pauses_what_a_receiver_reads_in_it(words, quanta):
    assert asked("--priority=3", *words).frame_spec.shortest_quanta == quanta


def test_the_examples_of_the_help_are_taken():
    typed = [line.strip().split("   ")[0].split()[1:] for line in options.EXAMPLES.splitlines() if "pfctest" in line]
    assert len(typed) == 5 and all(options.read(words).devices for words in typed)


def test_a_vector_alone_enables_classes():
    request = asked("--raw-vector=0x08", "--q3=65535", "--duration=1")
    assert request.frame_spec.shortest_quanta == 0xFFFF
    assert request.frame_spec.title == "PFC of class-enable vector 0x0008, 0 / 0 / 0 / 65535 / 0 / 0 / 0 / 0 quanta"


def test_a_storm_needs_two_frames_in_each_pause_time():
    planned = storm.plan(asked("--priority=3", "--duration=1", "--dry-run", "--source-mac=02:00:00:00:00:01",
                               "--speed=100G"))
    assert (planned.pause_ns, planned.period_ns) == (335_539, 167_769)


def test_the_fastest_interface_sets_the_pace(monkeypatch):
    speeds = {"a": 10_000, "b": 400_000, "c": 100_000}
    monkeypatch.setattr(storm, "find", lambda name, needs_link: Interface(name, 1, OWN.mac, speeds[name]))
    monkeypatch.setattr(storm, "refuse_unfit", lambda found: None)
    planned = storm.plan(options.read(["-d", "a,b", "-d", "c", "--priority=3", "--duration=1", "--oversample=4"]))
    assert (planned.pause_ns, planned.period_ns) == (83_884, 20_971)


@pytest.mark.parametrize("gigabits, pause_ns", [(56, 599_177), (75, 447_385), (300, 111_846), (400, 83_884)])
def test_a_pause_is_reckoned_at_any_speed(gigabits, pause_ns):
    """Of several lines together, and of NICs whose speed no standard has."""
    planned = storm.plan(asked("--priority=3", "--dry-run", f"--source-mac={OWN.mac}", f"--speed={gigabits}G"))
    assert planned.pause_ns == pause_ns == 65535 * 512 // gigabits


@pytest.mark.parametrize("words, needs_link, judged", [([], True, ["eth7"]), (["--dry-run"], False, []),
                                                       (["--force"], True, [])])
def test_what_an_interface_has_to_be(monkeypatch, words, needs_link, judged):
    """No link where nothing is sent; fit, unless it is forced."""
    asked_for, seen = [], []
    monkeypatch.setattr(storm, "find", lambda name, needs_link: asked_for.append(needs_link) or OWN)
    monkeypatch.setattr(storm, "refuse_unfit", lambda found: seen.append(found.name))
    storm.plan(asked("--priority=3", *words))
    assert (asked_for, seen) == ([needs_link], judged)


def test_tags():
    data = asked("--priority=3", "--vlan=100:5").frame_spec.build("02:00:00:00:00:01")
    assert data[12:18].hex() == "8100a0648808" and len(data) == 64
    assert problems(data) == [
        "the frame has a tag of VLAN 100: expected ethertype 0x8808, MAC control frames are never tagged"]


def test_a_frame_that_is_wrong_in_every_way_is_described_in_every_way():
    data = asked("--priority=3", "--raw-vector=0x8008", "--raw-source=01:02:03:04:05:06",
                 "--raw-destination=01:80:c2:00:00:02").frame_spec.build(OWN.mac)[:-1] + b"x"
    assert [sentence.split(":")[0][:12] for sentence in problems(data)] == [
        "destination ", "source 01", "class-enable", "padding of 2"]
    assert decode(data, any_destination=True) == PfcFrame(
        "01:02:03:04:05:06", 0x8008, (0, 0, 0, 0xFFFF, 0, 0, 0, 0), "01:80:c2:00:00:02")


@pytest.mark.parametrize("words, sentence", [
    (["--p3", "--q3=65536"], "argument --q3: quanta 65536 is out of range: expected 0 to 65535"),
    (["--p3", "--q3=x"], "argument --q3: quanta 'x' is not a number"),
    (["--q3=9"], "no class is given: expected --p0 to --p7, --priority or --global"),
    (["--priority=8"], "argument --priority: priority 8 is out of range: expected 0 to 7"),
    (["--priority=3,"], "argument --priority: priority '' is not a number"),
    (["--global", "--p3"], "--global pauses the whole link: it takes --quanta, but no class"),
    (["--global", "--raw-vector=1"], "--raw-vector belongs to PFC frames, and --global sends another kind"),
    (["--p3", "-i", "0"], "argument -i/--iteration: number of frames 0 is out of range: expected 1 to 1000000000000"),
    (["--p3", "--duration=1"], "a storm of frames that pause nothing keeps nothing shut"),
    (["--priority=3", "--release", "--duration=1"], "a storm of frames that pause nothing keeps nothing shut"),
    (["--priority=3", "--raw-vector=0", "--duration=1"], "a storm of frames that pause nothing keeps nothing shut"),
    (["--priority=3", "--vlan=5", "--duration=1"], "a storm of frames that pause nothing keeps nothing shut"),
    (["--priority=3", "--duration=0"], "argument --duration: 0 is out of range: expected more than 0"),
    (["--priority=3", "--duration=nan"], "argument --duration: nan is out of range: expected more than 0"),
    (["--priority=3", "--duration=1", "--rate=9", "--oversample=2"], "--rate and --oversample exclude each other"),
    (["--priority=3", "-i", "9", "--oversample=2"], "--oversample needs --duration"),
    (["--priority=3", "--speed=fast"], "argument --speed: speed 'fast' is not understood: expected one such as 100G"),
    (["--priority=3", "--speed=0G"], "argument --speed: speed 0G is out of range: expected 1M or more"),
    (["--priority=3", "--max-open=200"], "argument --max-open: share 200 is out of range: expected 0 to 100 percent"),
    (["--priority=3", "--source-mac=01:00:00:00:00:00"], "--source-mac 01:00:00:00:00:00 is a group address"),
    (["--priority=3", "--source-mac=nonsense"], "'nonsense' is not a MAC address"),
    (["--priority=3", "--vlan=4096"], "argument --vlan: VLAN 4096 is out of range: expected 0 to 4095"),
    (["--priority=3", "--raw-length=13"], "argument --raw-length: length 13 is out of range: expected 14 to 1514"),
    (["--priority=3", "-d", "eth7"], "interface eth7 is given twice"),
    (["--priority=3", "extra"], "unrecognized arguments: extra"),
])
def test_bad_options_are_one_sentence(words, sentence, capsys):
    try:
        status = cli.main(["-d", "eth7", *words])
    except SystemExit as ended:
        status = ended.code
    errors = capsys.readouterr().err
    assert status == 2 and errors.startswith(f"error: {sentence}") and errors.count("\n") == 1, errors


@pytest.mark.parametrize("words, refused", [(["--duration=1"], True), (["--duration=1", "--speed=25G"], False),
                                            (["--duration=1", "--rate=9"], True), (["-i", "9"], False),
                                            (["--duration=1", "--rate=9", "--raw-vector=0"], False)])
def test_a_timed_storm_needs_the_speed(monkeypatch, words, refused):
    monkeypatch.setattr(storm, "find", lambda name, needs_link: OWN)
    monkeypatch.setattr(storm, "refuse_unfit", lambda found: None)
    request = asked("--priority=3", *words)
    if refused:
        with pytest.raises(InterfaceError, match="the speed of interface eth7 is not known, so neither is how long a "
                                                 "pause lasts: give it with --speed, for example --speed 100G"):
            storm.plan(request)
    else:
        storm.plan(request)


@pytest.mark.parametrize("text, mbps", [("100G", 100_000), ("2.5g", 2_500), ("400000", 400_000), ("10000M", 10_000),
                                        ("56G", 56_000)])
def test_speeds(text, mbps):
    assert options.speed(text) == mbps


def test_default_routes_of_both_kinds(monkeypatch, tmp_path):
    old, new = tmp_path / "route", tmp_path / "ipv6_route"
    old.write_text("Iface Destination Gateway Flags RefCnt Use Metric Mask\nup4 00000000 010200C0 0003 0 0 0 00000000\n"
                   "near 000200C0 00000000 0001 0 0 0 00FFFFFF\n")
    zeros = "0" * 32
    new.write_text(f"{zeros} 00 {zeros} 00 {'1' * 32} 00000400 00000001 00000000 00000003     up6\n"
                   f"{zeros} 00 {zeros} 00 {zeros} ffffffff 00000001 00000000 00200200       lo\n")
    monkeypatch.setattr(interface, "ROUTES", old)
    monkeypatch.setattr(interface, "ROUTES_6", new)
    assert [name for name in ("up4", "near", "up6", "lo") if default_route_by(name)] == ["up4", "up6"]
    monkeypatch.setattr(interface, "ROUTES_6", tmp_path / "none")
    assert not default_route_by("up6")
