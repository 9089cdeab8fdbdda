"""What can be drawn of each built-in fault: its options and their values, the priorities and moments that it may be
limited to, and what must be said of it then. One table; docs/faults.md says what each option means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from scripts.campaign import catalogue
from scripts.campaign.entries import ALL, BOTH, FREE, HELD, Declaration
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status

Options = Mapping[str, str]
Declare = Callable[[Options, Declaration], Declaration]
TRAFFIC_CLASSES = {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
"""DSCP -> traffic class of the virtual testbeds' map, as SONiC's own; all others go to 1."""
SEVERAL = (*map(str, sorted(HELD | FREE)),)
LOSSLESS_ONLY = (*map(str, sorted(HELD)),)
LOSSY_ONLY = (*map(str, sorted(FREE)),)


@dataclass(frozen=True)
class Knob:
    """An option of a fault, and what may be drawn for it.

    Attributes:
        name: of the option.
        words: values to choose from.
        low, high: of a whole number, drawn so that each order of magnitude is as likely; without `words`.
        plain: the value that is known to be seen; an escape is shrunk towards it.
    """

    name: str
    words: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    plain: str = ""

    def draw(self, random: Random) -> str:
        """A value."""
        if self.words:
            return random.choice(self.words)
        drawn = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        return str(min(self.high, max(self.low, round(drawn))))


def number(name: str, low: int, high: int, plain: int) -> Knob:
    """An option that is a whole number."""
    return Knob(name, (), low, high, str(plain))


def word(name: str, *words: str) -> Knob:
    """An option that is one of these; the first one is the plain one."""
    return Knob(name, words, plain=words[0])


AGED_MS = 5
"""Where frames are dropped sooner than their group has sent XOFF (1.3 ms at 100 Gb/s) their sender is never held, and
every frame of the line is dropped one by one, which takes the virtual testbed too long to compute."""
LATE_NS = 1200
EARLY_BYTES = 3 * 208
SHORT_BYTES = 2 * 208
ROUNDED_BITS = 8
MOST_SHARED = 5
EACH_SIZE = 4
"""The smallest that the suite says it sees (docs/testplan/README.md, "How small a defect each limit sees"): a pause
1.0 us later than allowed; XOFF three cells early, of one priority of several; headroom two cells short; a pause of 1.3
us beside a long one that is none, where with 9 bits it is 0.65 us shorter, and with 10 bits 0.3 us; headroom of five
groups that seven share, each of which is filled to 85 %; one in four frames of a size that SIZE-6 alone sends."""


@dataclass(frozen=True)
class FaultKind:
    """A fault that can be drawn.

    Attributes:
        name: of the fault.
        forms: sets of options, one of which is drawn.
        priorities: those that it may be limited to.
        is_any_time: whether it shows in so many test cases that it may begin at any moment of a run's first minutes.
        declare: what must be said of it with these options, made of what the catalogue declares.
        at: the role of the port that is broken; empty: the one that the catalogue has.
    """

    name: str
    forms: tuple[tuple[Knob, ...], ...] = ((),)
    priorities: tuple[str, ...] = ()
    is_any_time: bool = False
    declare: Declare = lambda options, declared: declared
    at: str = ""

    @property
    def role(self) -> str:
        """The role of the port that is broken."""
        if self.at:
            return self.at
        specification = next(one for one in catalogue.FAULTS if one.name == self.name).faults[0]
        return specification.split("@{")[1].split("}")[0]

    def declaration(self, options: Options) -> Declaration:
        """What must be said of it."""
        known = next(one for one in catalogue.FAULTS if one.name == self.name).declared
        assert known is not None, f"{self.name} is broken"
        return self.declare(options, known)


def metrics_of(priorities: frozenset[int]) -> tuple[str, ...]:
    """The metrics that priorities count for."""
    held = (LOSSLESS,) if priorities & HELD else ()
    return (*held, LOSSY) if priorities - HELD else held


def _limited(options: Options, declared: Declaration) -> Declaration:
    """To the priority that the fault is limited to."""
    if "priority" not in options:
        return declared
    only = frozenset({int(options["priority"])})
    return replace(declared, priorities=only, metrics=metrics_of(only))


def _of_every(options: Options, declared: Declaration) -> Declaration:
    """Of every priority, unless the fault is limited to one."""
    return _limited(options, replace(declared, priorities=ALL, metrics=BOTH))


def _once_lossless(options: Options, declared: Declaration) -> Declaration:
    """Of a priority that is lossy, unless a test case makes it lossless."""
    return replace(declared, priorities=frozenset({int(options["priority"])}), metrics=(LOSSLESS,))


def _of_option(name: str, default: int) -> Declare:
    """Of the priority that an option names."""
    def declare(options: Options, declared: Declaration) -> Declaration:
        only = frozenset({int(options.get(name, default))})
        return replace(declared, priorities=only, metrics=metrics_of(only))
    return declare


def _saying(says: str, verdicts: tuple[Status, ...] = (Status.FAIL,), of: Declare = _limited) -> Declare:
    """In other words than the catalogue's, of the priorities that `of` says."""
    return lambda options, declared: replace(of(options, declared), says=says, verdicts=verdicts)


def _unbound(options: Options, declared: Declaration) -> Declaration:
    """Only frames that leave by the port take another queue where it has no map to queues: those that come back."""
    if options.get("map") != "queue":
        return declared
    return replace(declared, at="tx", verdicts=(Status.FAIL,), says="leave by other queues than their own")


def _forgotten(options: Options, declared: Declaration) -> Declaration:
    """Of tags all classes have another queue then, but class 0."""
    if options.get("map") != "tag":
        return declared
    return replace(declared, priorities=ALL, metrics=BOTH, says="leave by other queues than their own where the switch")


def _reclaimed(options: Options, declared: Declaration) -> Declaration:
    """A little at a time is as if headroom had been too small from the beginning."""
    if "bytes" not in options:
        return _limited(options, declared)
    return _saying("headroom is too small|frames that come in after|at another fill than")(options, declared)


def _undone(options: Options, declared: Declaration) -> Declaration:
    if options.get("only") != "sending":
        return _saying(f"{declared.says}|goes on acting on .* after a storm in which the port was shut down")(
            options, declared)
    return replace(_limited(options, declared), says="no pause is sent for .* any more once the watchdog has restored")


def _copied(options: Options, declared: Declaration) -> Declaration:
    if "on" not in options:
        return _limited(options, declared)
    return replace(_limited(options, declared), at="beside", says="frames leave by {beside} that are not for it")


def _forwarded(options: Options, declared: Declaration) -> Declaration:
    if "to" not in options:
        return declared
    return replace(declared, at="beside", says="frames leave by {beside} that are not for it")


def _misclassified(options: Options, declared: Declaration) -> Declaration:
    if "ip" in options:
        return replace(declared, priorities=ALL, metrics=BOTH, verdicts=(Status.FAIL, Status.ERROR),
                       says="have one thing in common, and no others: .*IP v6|leave {rx} by queue|"
                            "leave by other queues than their own")
    own = frozenset({TRAFFIC_CLASSES.get(int(options["dscp"]), 1)})
    return replace(declared, priorities=own, metrics=BOTH, says=f"leave {{rx}} by queue UC{options['to']}")


def _another_class(options: Options) -> bool:
    """Whether frames take another class than their own."""
    return "dscp" not in options or TRAFFIC_CLASSES.get(int(options["dscp"]), 1) != int(options["to"])


def _global_resume(options: Options, declared: Declaration) -> Declaration:
    """It ends pauses, of the classes that PFC is enabled for."""
    return replace(declared, priorities=HELD, metrics=(LOSSLESS,), says="an 802.3x pause frame ends the pauses of")


def _wide(options: Options, declared: Declaration) -> Declaration:
    if "also" not in options:
        return declared
    return _of_option("also", 0)(options, declared)


def _malformed(options: Options, declared: Declaration) -> Declaration:
    """By stages nobody captures what is sent, where PFC-1 to PFC-4 are not all PASS: that pauses are sent which hold
    nobody is what can be said then."""
    held = replace(declared, priorities=HELD, may_be_port=True,
                   says=f"{declared.says}|pauses are sent for .*, but its sender sends more than the buffer takes")
    return _limited(options, held)


def _drops_of_another(options: Options, declared: Declaration) -> Declaration:
    return replace(declared, at="beside", says="drops of another port are counted at {beside}",
                   verdicts=(Status.FAIL,))


ELSEWHERE = (word("on", "{beside}"),)
ONLY_ELSEWHERE = (word("on", "{beside}"), word("only", "yes"))
ONE_IN = number("one_in", 2, 20_000, 4)
OF_ANOTHER_SET = (word("priority", *LOSSY_ONLY),)

KINDS: tuple[FaultKind, ...] = (
    FaultKind("pause-ignored", priorities=LOSSLESS_ONLY, is_any_time=True, declare=_limited),
    FaultKind("lossy-queue-paused", priorities=LOSSLESS_ONLY, is_any_time=True),
    FaultKind("pause-leaks", ((number("period_ms", 1, 5000, 1000),),), LOSSLESS_ONLY, True, _limited),
    FaultKind("held-frames-aged", ((number("ms", AGED_MS, 1000, 100),),
                                   (number("ms", AGED_MS, 1000, 100), word("always", "yes"))),
              LOSSLESS_ONLY, True, _limited),
    FaultKind("slow-response", ((number("factor", 2, 32, 4),),)),
    FaultKind("pause-late", ((number("ns", LATE_NS, 50_000, 1200),),)),
    FaultKind("pause-short", ((number("percent", 5, 98, 50),), (number("permille", 900, 995, 950),),
                              (number("quanta", 100, 5000, 2000),)), LOSSLESS_ONLY, False, _limited),
    FaultKind("pause-long", ((number("percent", 102, 400, 150),),), LOSSLESS_ONLY, False, _limited),
    FaultKind("times-swapped"),
    FaultKind("times-rounded", ((number("bits", 2, ROUNDED_BITS, 8),),)),
    FaultKind("zero-quanta-ignored", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("zero-source-ignored", priorities=LOSSLESS_ONLY),  # a frame is discarded with all that it pauses
    FaultKind("empty-vector-honoured", priorities=SEVERAL, declare=_limited),
    FaultKind("global-pause-honoured", priorities=SEVERAL, declare=_limited),
    FaultKind("global-pause-honoured", ((word("only", "resume"),),), (), False, _global_resume),
    FaultKind("unknown-opcode-honoured", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("any-destination-honoured", ((), (word("only", "reserved"),)), LOSSLESS_ONLY, False, _limited),
    FaultKind("pfc-not-counted", priorities=SEVERAL, is_any_time=True, declare=_limited),
    FaultKind("pfc-miscounted", priorities=SEVERAL, declare=lambda options, declared: declared),
    FaultKind("pfc-counted-as-data", is_any_time=True),
    FaultKind("pfc-counted-as-drop", is_any_time=True),
    FaultKind("pfc-forwarded", ((), (word("to", "{beside}"),)), declare=_forwarded),
    FaultKind("lossless-dropped", ((ONE_IN,),), LOSSLESS_ONLY, True, _limited),
    FaultKind("lossy-dropped", ((ONE_IN,),), LOSSY_ONLY, True, _limited),
    FaultKind("size-dropped",
              ((number("min", 64, 9000, 64), number("max", 200, 9216, 200), number("one_in", 1, EACH_SIZE, 1)),),
              declare=_saying("frames of .* are lost|frames of the sizes of|no frames arrive|none arrive|there is room",
                              (Status.FAIL, Status.ERROR))),
    FaultKind("frames-copied", ((number("one_in", 2, 20_000, 5000),),
                                (number("one_in", 2, 20_000, 5000), word("on", "{beside}"))), (), False, _copied),
    FaultKind("weights-ignored", ((word("order", "even", "strict"),),),
              declare=lambda options, declared: replace(declared, metrics=BOTH)),
    FaultKind("weights-forgotten"),
    FaultKind("pfc-lost-with-watchdog", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("weights-reset"),
    FaultKind("weights-kept"),
    FaultKind("headroom-reclaimed", ((), (number("bytes", SHORT_BYTES, 50_000, 416),)), LOSSLESS_ONLY, False,
              _reclaimed),
    FaultKind("headroom-divided", ((number("groups", 1, MOST_SHARED, 2),),), declare=_saying(
        "headroom is too small|frames that come in after")),
    FaultKind("headroom-missing", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("headroom-short", ((number("bytes", SHORT_BYTES, 50_000, 416),),), LOSSLESS_ONLY, False, _limited),
    FaultKind("xoff-early", ((number("bytes", EARLY_BYTES, 4000, 832),),), LOSSLESS_ONLY, False, _limited),
    FaultKind("misclassified", ((word("dscp", *map(str, range(64))), word("to", *SEVERAL)),
                                (word("ip", "6", "4"), word("to", *SEVERAL))), (), False, _misclassified),
    FaultKind("xoff-not-sent", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("xoff-wrong-priority", ((), (word("also", *LOSSY_ONLY),)), LOSSLESS_ONLY, False, _of_option("also", 0)),
    FaultKind("xoff-elsewhere", (ELSEWHERE, ONLY_ELSEWHERE), LOSSLESS_ONLY, False, _saying(
        "pauses of .* that hold .* are sent out of {beside}|no pause is sent for .*, and its sender is not held")),
    FaultKind("xoff-from-lossy", ((word("pauses", *SEVERAL),),), (), False, _of_option("pauses", 0)),
    FaultKind("xon-late", ((), (word("once_changed", "yes"),)), LOSSLESS_ONLY, False, _limited),
    FaultKind("xon-early", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("xon-not-sent", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("refresh-missing", ((), (word("after_link_loss", "yes"),)), LOSSLESS_ONLY, False, _saying(
        "the pause sent for .* is not repeated in time|do not hold its sender any more once the port was shut down")),
    FaultKind("pfc-unasked", ((number("period_ms", 1, 5000, 700),),), SEVERAL, False, _of_option("priority", 3)),
    FaultKind("zero-source-sent", priorities=LOSSLESS_ONLY),
    FaultKind("malformed-pfc-sent", priorities=LOSSLESS_ONLY, declare=_malformed),
    FaultKind("watchdog-blind", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-false-alarm", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-polls-add-up", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-late", ((number("factor", 2, 20, 4),),), LOSSLESS_ONLY, False,
              _saying("detects storms on .* later|does not detect the pause storm")),
    FaultKind("watchdog-leaks", ((), (word("only", "received"),)), LOSSLESS_ONLY, False, _limited),
    FaultKind("watchdog-wide", ((), (word("also", *SEVERAL[1:]),)), (), False, _wide),
    FaultKind("watchdog-never-restores", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-restores-late", ((number("factor", 2, 20, 4),),), LOSSLESS_ONLY, False,
              _saying("restores .* later|does not restore")),
    FaultKind("watchdog-undo-missing", ((), (word("only", "dropping", "pfc", "sending", "received"),)), LOSSLESS_ONLY,
              False, _undone),
    FaultKind("watchdog-second-storm-missed", ((number("after", 1, 15, 1),),), LOSSLESS_ONLY, False, _limited),
    FaultKind("watchdog-action-missing", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-uncounted", ((), (word("only", "storms", "frames", "last", "received"),)), LOSSLESS_ONLY, False,
              _limited),
    FaultKind("watchdog-stop-ignored"),
    FaultKind("pfc-removal-ignored"),
    FaultKind("counters-frozen", is_any_time=True, declare=lambda options, declared: replace(
        declared, verdicts=(Status.FAIL, Status.ERROR) if "from" in options else (Status.ERROR,))),
    FaultKind("counters-late", ((number("polls", 1, 5, 1),),), is_any_time=True, declare=_saying(
        "the counters of {rx} are late|pauses of .* are counted, but late|stand still", (Status.FAIL, Status.ERROR))),
    FaultKind("drops-uncounted", priorities=LOSSY_ONLY, declare=lambda options, declared: replace(
        declared, priorities=_limited(options, declared).priorities)),
    FaultKind("counters-negative", priorities=SEVERAL, declare=_saying(  # PFC-3 alone pauses lossy ones by stages
        "counter of .* lacks .* only, as if it began below 0|is not the number of pauses sent", of=_of_every)),
    FaultKind("drops-counted-as-sent", ((), (word("too", "yes"),))),
    FaultKind("sent-counted-as-received", is_any_time=True),
    FaultKind("counters-of-another", ((word("of", "{beside}"),),)),
    FaultKind("counters-of-another", ((word("of", "{rx}"), word("only", "drops")),),  # a bystander drops nothing itself
              declare=_drops_of_another, at="beside"),
    FaultKind("queue-miscounted"),
    FaultKind("bytes-miscounted", ((number("percent", 1, 98, 50),), (number("percent", 105, 400, 200),)), SEVERAL,
              declare=_limited),
    FaultKind("octets-miscounted", (
        (number("percent", 1, 98, 50),), (number("percent", 105, 400, 200),),
        (number("percent", 1, 98, 50), word("only", "sent")))),
    FaultKind("drop-bytes-miscounted", ((number("percent", 1, 98, 50),), (number("percent", 105, 400, 200),), ()),
              LOSSY_ONLY, declare=_limited),
    FaultKind("pause-time-miscounted", ((), (number("percent", 1, 90, 50),), (number("percent", 110, 400, 200),),
                                        (word("of", "ends"),)), LOSSLESS_ONLY, declare=_limited),
    FaultKind("queue-watermarks-miscounted", ((), (number("percent", 1, 10, 1),)), LOSSLESS_ONLY, declare=_limited),
    FaultKind("headroom-watermark-of-port"),
    FaultKind("shared-watermark-with-headroom", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("counters-wrap", ((word("bits", "32", "31", "40", "48"), number("before", 1, 5000, 1000)),),
              declare=_saying("begin anew when they have reached what .* bits can count", (Status.ERROR,))),
    FaultKind("counters-wrap", ((word("only", "queue-bytes"), number("before", 1, 5000, 1000)),), (), False,
              lambda _, declared: replace(declared, priorities=ALL, metrics=BOTH, verdicts=(Status.FAIL,),
                                          says="the bytes of .* are not counted as many as its frames have")),
    FaultKind("counted-short", ((number("one_in", 2, 2000, 200),),), SEVERAL, False, _of_every),
    FaultKind("counted-short", ((word("of", "watchdog-drops"), number("one_in", 2, 2000, 200)),), (), False,
              _saying("the watchdog acts, but does not count it")),
    FaultKind("resume-all", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("resume-lowest"),
    FaultKind("pause-replaces", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("refresh-ignored", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("shorter-ignored", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("one-time-for-all", ((), (word("which", "longest", "first"),))),
    FaultKind("pause-acts-elsewhere", (ELSEWHERE, ONLY_ELSEWHERE), LOSSLESS_ONLY, False, _saying(
        "arrives at {rx} also (holds|stops) .* at {beside}|pauses of .* stop nothing")),
    FaultKind("pfc-counted-elsewhere", (ELSEWHERE, ONLY_ELSEWHERE), LOSSLESS_ONLY, False, _saying(
        "pauses that arrive there are counted at {beside}", of=_of_every)),
    FaultKind("pause-ignored-after-link-up", ((number("ms", 10, 3000, 1000),),), LOSSLESS_ONLY, False, _limited),
    FaultKind("pause-outlives-flap", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("maps-unbound", ((word("map", "dscp", "queue", "all"),),), declare=_unbound),
    FaultKind("map-entry-wrong", ((word("priority", *reversed(LOSSLESS_ONLY)), word("to", "0"), word("map", "group")),),
              declare=_saying("no pause is sent for .*, and its sender is not held")),
    FaultKind("maps-kept"),
    FaultKind("lossless-groups-missing", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("buffer-change-lost", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("egress-limited", ((number("bytes", 2080, 6_000_000, 20_800),),), LOSSLESS_ONLY, False, _saying(
        "frames of .* are dropped where they leave|held for long are dropped|no pause is sent for")),
    FaultKind("watchdog-action-kept"),
    FaultKind("watchdog-any-pause", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-restores-in-storm", ((), (word("all", "yes"),), (number("one_in", 60, 400, 100),))),
    FaultKind("watchdog-calm-adds-up", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-hits-another", ((word("priority", "3"), word("to", "4", "0", "1", "2", "5", "6")),), (), False,
              _of_option("to", 4)),
    FaultKind("watchdog-one-port-only", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("watchdog-drops-counted-as-sent", priorities=LOSSLESS_ONLY, declare=_limited),
    FaultKind("drops-counted-twice", declare=lambda options, declared: replace(  # in FRAME of lossless priorities
        declared, priorities=ALL, metrics=BOTH, says="frames that are dropped are counted more than once")),
    FaultKind("watermarks-frozen"),
    *(FaultKind(name, (OF_ANOTHER_SET,), (), False, _once_lossless) for name in (
        "pause-ignored", "pause-short", "xoff-not-sent", "xon-not-sent", "refresh-missing",
        "headroom-missing")),
    FaultKind("maps-forgotten", ((), (word("map", "tag"),)), (), False, _forgotten),
    FaultKind("storm-never-arrives", ((), (word("only", "global", "pfc", "other"),))),
    FaultKind("control-uncounted"),
)
NOT_DRAWN = {
    "xoff-one-priority-only": "it does nothing where each lossless priority has a group of its own",
    "aging-stays-on": "it does nothing by itself",
    "switch-reboots": "it is one of the whole switch, and a moment at which nothing is measured shows nothing",
    "watchdog-set-kept": "every SONiC does so: what the watchdog watches is settled when it is started",
    "finished-flows-stay-started": "no switch is at fault, and nothing of the suite's own meets it",
    "chatter": "it is healthy",
}
"""Faults that do nothing by construction, or are none -> why."""


def does_something(kind: FaultKind, options: Options) -> bool:
    """Whether a fault with these options changes anything: an empty range of sizes, or a class that is the frames' own,
    does not."""
    if kind.name == "size-dropped":
        return int(options["min"]) <= int(options["max"])
    return kind.name != "misclassified" or _another_class(options)
