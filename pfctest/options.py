"""The options of the command, and what they ask for."""
from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from pfctest import VERSION
from pfctest.frame import CLASSES, VLANS, is_group
from pfctest.frame_spec import LENGTHS, FrameSpec, RawFields
from pfctest.timing import MAX_QUANTA

EXIT_REFUSED = 2
DEFAULT_OVERSAMPLE = 2.0
DEFAULT_MAX_OPEN = 1.0
_SPEED = re.compile(r"(\d+)(?:\.(\d))?([GM]?)", re.IGNORECASE)
_T = TypeVar("_T")


class OptionError(Exception):
    """Options that ask for nothing that can be done; `str()` is one sentence."""


@dataclass(frozen=True)
class StormRequest:
    """What a command line asks for: which frames, where, how many and how fast.

    Attributes:
        devices: names of the interfaces. `speed_mbps` their speed where their drivers are not to be asked.
        frame_spec: what the frames say. `source` their source address where it is not the interface's own.
        count: frames on each interface; None: as long as `duration_s` lasts.
        rate_fps: frames a second on each interface; 0: as fast as it goes; None: `oversample` in each pause time.
        max_open: share of open time (0..1) that a timed storm may have.
        force: also an interface that is unfit (`interface.refuse_unfit`). `real_time`: may use real-time scheduling.
        workers: processes.
        dry_run, pcap, as_json: print and send nothing; write the frames to a file; print JSON.
    """

    devices: tuple[str, ...]
    frame_spec: FrameSpec
    count: int | None
    duration_s: float | None
    rate_fps: float | None
    oversample: float
    max_open: float
    speed_mbps: int | None
    source: str | None
    force: bool
    real_time: bool
    workers: int
    dry_run: bool
    pcap: Path | None
    as_json: bool

    @property
    def is_timed(self) -> bool:
        """Whether it is a storm of a fixed duration, whose share of open time is judged."""
        return self.duration_s is not None


EXAMPLES = """\
examples:
  pfctest -d eth0 --p3 --q3 65535                             one PFC frame: class 3, the longest pause
  pfctest -d eth0 --priority 3,4 --duration 10 --speed 100G   keep classes 3 and 4 shut for 10 seconds
  pfctest -d eth0,eth1 --global --rate 1000 -i 5000           802.3x pause frames from two interfaces
  pfctest -d eth0 --priority 3 --release                      let class 3 go on at once
  pfctest -d eth0 --priority 3 --dry-run --pcap pause.pcap    look at the frame, send nothing
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, without the usage."""
        self.exit(EXIT_REFUSED, f"error: {message}\n")


def read(arguments: Sequence[str] | None) -> StormRequest:
    """The request that command line arguments make; ends the process for --help, --version and wrong ones.

    Raises:
        OptionError: options that do not go together, or nothing to do.
        FrameError: a value does not fit its field.
    """
    return _request(_parser().parse_args(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="pfctest", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Send PFC (IEEE 802.1Qbb) or 802.3x pause frames: one, a number of them, or a storm that keeps a "
                    "queue shut.",
        epilog=EXAMPLES +
        "\nExit status: 0 done; 1 a storm left the queue open for longer than --max-open; 2 refused or failed.")
    parser.add_argument("-V", "--version", action="version", version=f"pfctest {VERSION}", help="print the version")
    parser.add_argument("-d", "--device", action="append", default=[], metavar="INTERFACE",
                        help="interface to send from; several separated by commas, or the option repeated")
    _add_frame(parser.add_argument_group("what the frames say"))
    _add_raw(parser.add_argument_group("frames that are wrong on purpose"))
    _add_pace(parser.add_argument_group("how many, and how fast"))
    return parser


def _add_frame(group: argparse._ArgumentGroup) -> None:
    for number in range(CLASSES):
        group.add_argument(f"--p{number}", action="store_true", help=f"enable class {number}")
    for number in range(CLASSES):
        group.add_argument(f"--q{number}", type=_within(0, MAX_QUANTA, "quanta"), metavar="QUANTA",
                           help=f"pause time of class {number}, 0 to 65535 quanta (--p{number} alone: 0, it resumes)")
    group.add_argument("--priority", type=_classes, default=(), metavar="N,N",
                       help="enable these classes, with --quanta")
    group.add_argument("--quanta", type=_within(0, MAX_QUANTA, "quanta"), metavar="QUANTA",
                       help="pause time of enabled classes that have none of their own (--priority, --global: 65535)")
    group.add_argument("--global", dest="global_pause", action="store_true", help="802.3x PAUSE instead of PFC")
    group.add_argument("--release", action="store_true", help="quanta 0: the queues open at once")
    group.add_argument("--source-mac", metavar="MAC", help="source address (the interface's own)")
    group.add_argument("--vlan", type=_vlan, metavar="ID[:PRIORITY]", help="add a VLAN tag")


def _add_raw(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--raw-vector", type=_within(0, 0xFFFF, "class-enable vector"), metavar="N",
                       help="class-enable vector, 16 bits with the reserved high byte")
    group.add_argument("--raw-opcode", type=_within(0, 0xFFFF, "opcode"), metavar="N", help="MAC control opcode")
    group.add_argument("--raw-destination", metavar="MAC", help="destination address")
    group.add_argument("--raw-source", metavar="MAC", help="source address, also a group address or all zero")
    group.add_argument("--raw-length", type=_within(LENGTHS[0], LENGTHS[-1], "length"), metavar="BYTES",
                       help="length before the FCS (60): shorter is a runt")


def _add_pace(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-i", "--iteration", type=_within(1, 10**12, "number of frames"), metavar="NUMBER",
                       help="frames to send on each interface (1), as fast as it goes unless --rate is given")
    group.add_argument("--duration", type=_positive, metavar="SECONDS",
                       help="a storm of that length; it ends with quanta 0")
    group.add_argument("--rate", type=_rate, metavar="FPS", help="frames a second on each interface, or max")
    group.add_argument("--oversample", type=_positive, metavar="N",
                       help="frames in each pause time, when --rate is not given (2)")
    group.add_argument("--speed", type=speed, metavar="SPEED", help="speed of the links, such as 100G (what they say)")
    group.add_argument("--max-open", type=_percent, default=DEFAULT_MAX_OPEN, metavar="PERCENT",
                       help="open time, as seen at the sender, above which a storm has failed (1)")
    group.add_argument("--force", action="store_true",
                       help="send also from an interface that is refused: of a default route, of a driver that drops "
                            "pause frames, or without a cable of its own")
    group.add_argument("--workers", type=_within(1, os.cpu_count() or 1, "number of workers"), default=1, metavar="N",
                       help="processes that share the interfaces, at most one for each CPU (1)")
    group.add_argument("--no-real-time", action="store_true",
                       help="leave the scheduling of this process, and the sleep of idle CPUs, as they are")
    group.add_argument("--dry-run", action="store_true", help="print what would be sent, and send nothing")
    group.add_argument("--pcap", type=Path, metavar="FILE", help="also write each kind of frame once to a capture file")
    group.add_argument("--json", action="store_true", help="print JSON")


def _request(given: argparse.Namespace) -> StormRequest:
    devices = tuple(name for names in given.device for name in names.split(",") if name)
    _refuse(not devices, "no interface is given: expected -d INTERFACE")
    twice = sorted({name for name in devices if devices.count(name) > 1})
    _refuse(bool(twice), f"interface {twice[0] if twice else ''} is given twice")
    frame_spec = _frame_spec(given)
    timed = given.duration is not None
    _refuse(given.rate is not None and given.oversample is not None,
            "--rate and --oversample exclude each other: each says how many frames to send")
    _refuse(given.rate is None and not timed and given.oversample is not None,
            "--oversample needs --duration: a number of frames is sent as fast as it goes")
    _refuse(timed and given.rate is None and not frame_spec.shortest_quanta,
            "a storm of frames that pause nothing keeps nothing shut: expected quanta for the classes (--q3=65535, "
            "--quanta 65535) in frames that receivers act on, or a --rate")
    if given.source_mac is not None and is_group(given.source_mac):
        raise OptionError(f"--source-mac {given.source_mac} is a group address, which no frame comes from: expected a "
                          "station's own, or --raw-source to send it all the same")
    return StormRequest(
        devices=devices, frame_spec=frame_spec, count=given.iteration or (None if timed else 1),
        duration_s=given.duration, rate_fps=given.rate, oversample=given.oversample or DEFAULT_OVERSAMPLE,
        max_open=given.max_open / 100, speed_mbps=given.speed, source=given.source_mac, force=given.force,
        real_time=not given.no_real_time, workers=given.workers, dry_run=given.dry_run, pcap=given.pcap,
        as_json=given.json)


def _frame_spec(given: argparse.Namespace) -> FrameSpec:
    raw = RawFields(given.raw_vector, given.raw_opcode, given.raw_destination, given.raw_source, given.raw_length)
    flags = [number for number in range(CLASSES) if getattr(given, f"p{number}")]
    own = [getattr(given, f"q{number}") for number in range(CLASSES)]
    if given.global_pause:
        _refuse(bool(flags or given.priority or any(quanta is not None for quanta in own)),
                "--global pauses the whole link: it takes --quanta, but no class")
        _refuse(raw.vector is not None, "--raw-vector belongs to PFC frames, and --global sends another kind")
        quanta = MAX_QUANTA if given.quanta is None else given.quanta
        return FrameSpec(None, (0 if given.release else quanta,), given.vlan, raw)
    classes = tuple(sorted({*flags, *given.priority}))
    _refuse(not classes and raw.vector is None, "no class is given: expected --p0 to --p7, --priority or --global")
    quanta = tuple(_quanta(number, own[number], given, classes) for number in range(CLASSES))
    return FrameSpec(classes, quanta, given.vlan, raw)


def _quanta(number: int, own: int | None, given: argparse.Namespace, classes: tuple[int, ...]) -> int:
    """Pause time of a class: its own, that of all, 0 for a flag alone (as the original), 65535 for --priority."""
    if given.release or (own is None and number not in classes):
        return 0
    if own is not None:
        return own
    if given.quanta is not None:
        return int(given.quanta)
    return MAX_QUANTA if number in given.priority else 0


def _refuse(wrong: bool, sentence: str) -> None:
    if wrong:
        raise OptionError(sentence)


def _number(text: str, read_as: Callable[[str], _T], what: str) -> _T:
    try:
        return read_as(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{what} '{text}' is not a number") from None


def _within(lowest: int, highest: int, what: str) -> Callable[[str], int]:
    """Reads an integer (decimal, or hexadecimal after 0x) of a range."""
    def take(text: str) -> int:
        number = _number(text, lambda digits: int(digits, 16 if digits.lower().startswith("0x") else 10), what)
        if not lowest <= number <= highest:
            raise argparse.ArgumentTypeError(f"{what} {text} is out of range: expected {lowest} to {highest}")
        return number
    return take


def _classes(text: str) -> tuple[int, ...]:
    return tuple(_within(0, CLASSES - 1, "priority")(number) for number in text.split(","))


def _vlan(text: str) -> tuple[int, int]:
    vlan, _, priority = text.partition(":")
    return _within(0, VLANS[-1], "VLAN")(vlan), _within(0, 7, "VLAN priority")(priority or "0")


def _positive(text: str) -> float:
    number = _number(text, float, "value")
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is out of range: expected more than 0")
    return number


def _percent(text: str) -> float:
    number = _number(text, float, "share")
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"share {text} is out of range: expected 0 to 100 percent")
    return number


def _rate(text: str) -> float:
    return 0.0 if text == "max" else _positive(text)


def speed(text: str) -> int:
    """A link speed in Mb/s, from text such as `100G`, `2.5G`, `100000M` or `100000`.

    Raises:
        argparse.ArgumentTypeError: it is no speed, or 0.
    """
    found = _SPEED.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"speed '{text}' is not understood: expected one such as 100G")
    tenths = int(found[1]) * 10 + int(found[2] or 0)
    unit = 1000 if found[3].upper() == "G" else 1
    mbps = tenths * unit // 10
    if not mbps:
        raise argparse.ArgumentTypeError(f"speed {text} is out of range: expected 1M or more")
    return mbps
