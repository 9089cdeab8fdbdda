"""The cases about received frames, frame sizes and counters, on switches that are broken in their way: one virtual
testbed for all."""
from collections.abc import Iterator

import pytest

from scripts.campaign.broken_testbed import SWITCH
from scripts.campaign.entries import ROOT
from scripts.tests.broken import (
    Bench, Case, broken_bench, case, compare, documented_checks, documented_faults, healthy,
    passed_as_documented,
)
from tests.common.pfc.cases import counting, every_size, frames
from tests.common.pfc.cases.counting import DATA, EMPTY_PAUSES, PAUSES
from tests.common.pfc.cases.every_size import EVERY_SIZE
from tests.common.pfc.cases.frames import (
    ALL_ENABLED, NEIGHBOUR, NONE_ENABLED_SEVERAL, NONE_ENABLED_SINGLE, OTHER_DESTINATION, OTHER_TYPE, RESERVED_ENABLED,
    UNKNOWN_OPERATION, ZERO_SOURCE_SEVERAL, ZERO_SOURCE_SINGLE,
)
from tests.common.pfc.record.case import PlanCase

SLOW = pytest.mark.slow("three families of the plan, each case on each switch that is broken in its way")

ONLY_ON_THE_FAKE_SWITCH = {"resumed-rate"}  # no hook slows a switch down after a storm: unit_test_cases.py shows it
PAGES = {
    "FRAME": ROOT / "docs/testplan/frame-received-pause-frames.md",
    "SIZE": ROOT / "docs/testplan/size-frame-sizes.md",
    "COUNT": ROOT / "docs/testplan/count-data-counters.md",
}
FILES = {  # ways of being broken that nobody reported; they show that a check can fail
    "taken.py": '''
from dataclasses import replace

from pfctest.frame import decode
from virtual_testbed.dataplane.model.control_frames import PFC, Control
from virtual_testbed.dataplane.model.hooks import Fault


class ReservedHonoured(Fault):
    """The upper byte of the class-enable vector enables classes too."""

    name = "reserved-honoured"

    def parse(self, frame, reading):
        if reading.kind != PFC:
            return reading
        read = decode(frame, any_destination=True)
        pauses = replace(read, class_enable=read.class_enable | read.class_enable >> 8).pauses
        return Control(PFC, tuple(sorted(pauses.items())))


class TypeHonoured(Fault):
    """A frame to the MAC control address is MAC control whatever its ether type."""

    name = "type-honoured"

    def parse(self, frame, reading):
        if frame[12:14] == bytes.fromhex("8808") or frame[14:16] != bytes.fromhex("0101"):
            return reading
        read = decode(frame[:12] + bytes.fromhex("8808") + frame[14:])
        return Control(PFC, tuple(sorted(read.pauses.items())))
''',
    "missing.py": '''
from virtual_testbed.dataplane.model.hooks import Fault


class Missing(Fault):
    """Counters of data miss one frame in a million."""

    name = "missing"
    meant = "SAI_QUEUE_STAT_PACKETS", "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "SAI_PORT_STAT_IF_OUT_UCAST_PKTS"

    def published(self, key, fields):
        return {name: str(int(value) - int(value) // 10**6) if name in self.meant else value
                for name, value in fields.items()}
''',
    "others.py": '''
from virtual_testbed.dataplane.model.hooks import Fault

TIMES = [f"SAI_PORT_STAT_PFC_{priority}_RX_PAUSE_DURATION_US" for priority in range(8)]


class OthersPaused(Fault):
    """The time of a priority is counted as that of the second one after it."""

    name = "others-paused"

    def published(self, key, fields):
        if not set(TIMES) <= set(fields):
            return fields
        return {**fields, **{TIMES[(priority + 2) % 8]: fields[TIMES[priority]] for priority in range(8)}}
''',
}

RESERVED, OTHER = "taken.py:ReservedHonoured@Ethernet8", "taken.py:TypeHonoured@Ethernet4"
HONOURED = ("test-unaffected throughput pause-not-counted no-back-pressure"
            " pause-not-forwarded clean-flow background-unaffected")


def honoured(fault: str, plan: PlanCase, seen: str) -> Case:
    """A frame that pauses nobody is obeyed and counted by a port that has further faults."""
    return case(f"{fault}@Ethernet4" if "@" not in fault else fault, "FAIL FAIL", HONOURED,
                f"Ethernet4 priority 3: expected {seen}", plan)


class BothBroken(Case):
    """Both ports of the pair are broken, so that one run shows more."""

    @property
    def pair(self) -> tuple[str, str]:
        """The pair that the fault's port is one of."""
        pairs = (("Ethernet12", "Ethernet76"), ("Ethernet20", "Ethernet80"), ("Ethernet36", "Ethernet100"))
        return next(pair for pair in pairs if self.fault.split("@")[1].split(",")[0] in pair)


def both(fault: str, checks: str, message: str, plan: PlanCase) -> Case:
    """A case of two broken ports, which fails both metrics."""
    return BothBroken(fault, "FAIL", "FAIL", frozenset(checks.split()), f"{SWITCH} {message}", plan)


NOT_HELD = "blocked-while-paused held-within-buffer back-pressure pause-counted every-pause-counted"
LOSES = ("pause-not-forwarded clean-flow held-frames-drained resumed background-unaffected"
         " no-other-back-pressure")
MISCOUNTED = "pause-counted every-pause-counted no-other-pause-counted"
# Ethernet4 takes each kind of frame for PFC that is none; it forwards them all, and loses lossy frames.
FRAME_CASES = [
    honoured("empty-vector-honoured", NONE_ENABLED_SINGLE,
             "all ... frames received in a storm of PFC frames with a time and no enable bit, got "),
    honoured("empty-vector-honoured", NONE_ENABLED_SEVERAL, "0 PFC frames in the receive counter, got "),
    honoured("empty-vector-honoured", RESERVED_ENABLED,
             "all ... frames received in a storm of PFC frames with reserved enable bits only, got "),
    honoured("unknown-opcode-honoured", UNKNOWN_OPERATION,
             "at least ... frames received in a storm of MAC control frames of operation code 0x0102, got "),
    honoured("any-destination-honoured", OTHER_DESTINATION, "0 PFC frames in the receive counter, got "),
    honoured("any-destination-honoured", NEIGHBOUR, "0 PFC frames in the receive counter, got "),
    honoured(OTHER, OTHER_TYPE, "0 PFC frames in the receive counter, got "),
    case("pfc-forwarded@Ethernet4", "FAIL FAIL", HONOURED,
         "Ethernet4: expected 0 pause frames forwarded to Ethernet64, got ", OTHER_DESTINATION),
    case("lossy-dropped@Ethernet4,one_in=4", "FAIL FAIL", HONOURED,
         "Ethernet4 priority 0: expected all ... frames received in a storm of PFC frames to another destination, got ",
         OTHER_DESTINATION),
    case(RESERVED, "FAIL FAIL", "test-unaffected throughput pause-not-counted no-back-pressure",
         "Ethernet8 priority 3: expected 0 PFC frames in the receive counter, got ", RESERVED_ENABLED),
    case("zero-source-ignored@Ethernet8", "FAIL PASS", NOT_HELD,
         "Ethernet8 priority 3: expected 0 frames received while paused, got ", ZERO_SOURCE_SINGLE),
    case("zero-source-ignored@Ethernet8", "FAIL PASS", NOT_HELD,
         "Ethernet8 priority 4: expected more than 0 PFC frames in the receive counter, got 0", ZERO_SOURCE_SEVERAL),
    both("lossy-queue-paused@Ethernet12,priority=3", f"{LOSES} {MISCOUNTED}",
         "Ethernet12 priority 1: expected all ... frames received while priority 3 was paused, got 0",
         ZERO_SOURCE_SINGLE),
    both("pfc-forwarded@Ethernet12", f"{LOSES} {MISCOUNTED}",
         "Ethernet12 priority 3: expected 0 pause frames forwarded to Ethernet76, got ", ZERO_SOURCE_SINGLE),
    both("pfc-miscounted@Ethernet12", f"{LOSES} {MISCOUNTED}",
         "Ethernet12 priority 4: expected 0 PFC frames in the receive counter, got ", ZERO_SOURCE_SINGLE),
    both("lossless-dropped@Ethernet12,one_in=4", f"{LOSES} {MISCOUNTED}",
         "Ethernet12 priority 4: expected all 1000 frames received without any storm, got 750", ZERO_SOURCE_SEVERAL),
    both("lossy-queue-paused@Ethernet12,priority=3", LOSES,
         "Ethernet12 priority 1: expected all ... frames received while priorities 3, 4 were paused, got 0",
         ALL_ENABLED),
    both("xoff-wrong-priority@Ethernet76", LOSES,
         "Ethernet76 priority 0: expected 0 PFC frames sent out of Ethernet76, got ", ALL_ENABLED),
    case("pause-ignored@Ethernet16", "FAIL FAIL", NOT_HELD,
         "Ethernet16 priorities 3, 4: expected fewer than the 15982720 bytes of egress_lossless_pool sent while paused",
         ALL_ENABLED),
    case("pfc-not-counted@Ethernet16", "FAIL FAIL", NOT_HELD,
         "Ethernet16 priority 7: expected more than 0 PFC frames in the receive counter, got 0",
         ALL_ENABLED),
]
UNPAUSED = f"blocked-while-paused held-within-buffer back-pressure {MISCOUNTED} {LOSES}"
# Ethernet20 ignores pauses of priority 3; those of 4 it obeys, and then Ethernet80 has no headroom for what comes in.
SIZE_CASES = [
    *(both("pause-ignored@Ethernet20,priority=3", UNPAUSED,
           "Ethernet20 priority 3: expected fewer than the 15982720 bytes of egress_lossless_pool sent while "
           "paused, got ", plan) for plan in frames.SIZES),
    *(both("headroom-missing@Ethernet80", UNPAUSED,
           "Ethernet80 priority 4: expected all ... frames received once the storm had stopped, got ", plan)
      for plan in frames.SIZES),
    both("pfc-miscounted@Ethernet20", UNPAUSED,
         "Ethernet20 priority 5: expected 0 PFC frames in the receive counter, got ", frames.SMALLEST),
    both("pfc-forwarded@Ethernet20", UNPAUSED,
         "Ethernet20 priorities 3, 4: expected 0 pause frames forwarded to Ethernet80, got ", frames.MEDIUM),
    both("lossy-dropped@Ethernet20,one_in=4", UNPAUSED,
         "Ethernet20 priority 0: expected all ... frames received in traffic without a storm, got ", frames.LARGEST),
    both("xoff-wrong-priority@Ethernet80", UNPAUSED,
         "Ethernet80 priority 0: expected 0 PFC frames sent out of Ethernet80, got ", frames.MIXED),
]
# No other case has frames of these sizes; Ethernet36 loses others of lossy priorities too, and Ethernet100 pauses one.
SOME_SIZES = "clean-flow nothing-lost no-back-pressure"
SIZE_CASES += [
    both("size-dropped@Ethernet36,min=1164,max=1295", SOME_SIZES,
         "Ethernet36 priority 3: expected all 36236 frames received of every size from 64 to 9122 bytes, got 35708",
         EVERY_SIZE),
    both("lossy-dropped@Ethernet36,one_in=4", SOME_SIZES,
         "Ethernet36 priority 0: expected all 1000 frames received without any storm, got 750", EVERY_SIZE),
    both("pfc-unasked@Ethernet100,priority=0,period_ms=1", SOME_SIZES,
         "Ethernet100 priority 0: expected 0 PFC frames sent out of Ethernet100, got ", EVERY_SIZE),
]
NO_DATA = "clean-flow pauses-are-no-data pauses-are-no-drops"
COUNT_CASES = [
    *(case("pfc-counted-as-data@Ethernet24", "FAIL FAIL", NO_DATA,
           "Ethernet24: expected 0 frames more in RX_OK, as only pauses come in there, got 29800", plan)
      for plan in (PAUSES, EMPTY_PAUSES)),
    *(case("pfc-counted-as-drop@Ethernet24", "FAIL FAIL", NO_DATA,
           "Ethernet24: expected 0 frames more in RX_DRP, as only pauses come in there, got 29800", plan)
      for plan in (PAUSES, EMPTY_PAUSES)),
    case("empty-vector-honoured@Ethernet4", "FAIL FAIL", "clean-flow no-other-pause-counted no-other-pause-history",
         "Ethernet4 priority 3: expected 0 PFC frames in the receive counter, as none enabled it, got ", EMPTY_PAUSES),
    case("pause-time-miscounted@Ethernet48", "FAIL PASS", "pause-time-counted",
         "Ethernet48 priority 3: expected from 4.999664 to 5.000336 s counted as paused, got 2.5", PAUSES),
    case("pause-time-miscounted@Ethernet52,of=ends", "FAIL PASS", "pause-ends-counted",
         "Ethernet52 priority 3: expected at most 1 ends of pauses counted in the storm, got ", PAUSES),
    case("others.py:OthersPaused@Ethernet56", "FAIL FAIL", "pause-time-counted no-other-pause-history",
         "Ethernet56 priority 5: expected 0 us counted as paused, as no frame enabled it, got 5", PAUSES),
    both("pfc-miscounted@Ethernet12", "clean-flow every-pause-counted no-other-pause-counted",
         "Ethernet12 priority 5: expected 0 PFC frames in the receive counter, as none enabled it, got 29800", PAUSES),
    case("lossy-dropped@Ethernet24,one_in=4", "FAIL FAIL", f"{NO_DATA} no-port-drops no-queue-drops",
         "Ethernet24 priority 0: expected 0 frames more in Drop/pkts of queue UC0, got ", DATA),
    case("pfc-not-counted@Ethernet28", "FAIL PASS", "every-pause-counted",
         "Ethernet28 priority 3: expected 29800 PFC frames in the receive counter once the storm had stopped, got 0",
         PAUSES),
    case("pause-leaks@Ethernet28", "FAIL FAIL", "held-queue-stands-still queue-agrees sent-agrees",
         "Ethernet28 priority 3: expected 0 frames more in Counter/pkts of queue UC3 while it was paused, got ", DATA),
    case("missing.py:Missing@Ethernet28", "FAIL FAIL", "held-queue-stands-still queue-agrees sent-agrees",
         "Ethernet28 priority 0: expected the ... frames that the generator received in the storm in Counter/pkts of "
         "queue UC0, got ", DATA),
    case("bytes-miscounted@Ethernet40", "FAIL FAIL", "bytes-agree",
         "Ethernet40 priority 0: expected from ... to ... bytes more in Counter/bytes of queue UC0, as ", DATA),
    case("counters-wrap@Ethernet48,only=queue-bytes", "FAIL FAIL", "bytes-agree",
         "Ethernet48 priority 0: expected from ... to ... bytes more in Counter/bytes of queue UC0, as ", DATA),
    case("octets-miscounted@Ethernet44,only=sent", "FAIL PASS", "octets-agree",
         "Ethernet44: expected from ... to ... bytes more in SAI_PORT_STAT_IF_OUT_OCTETS, as ", DATA),
    case("octets-miscounted@Ethernet104,only=received,percent=110", "FAIL PASS", "octets-agree",
         "Ethernet104: expected from ... to ... bytes more in SAI_PORT_STAT_IF_IN_OCTETS, as ", DATA),
    case("sent-counted-as-received@Ethernet32", "FAIL PASS", "pauses-are-no-data",
         "Ethernet32: expected 0 frames more in RX_OK, as only pauses come in there, got ", DATA),
    case("headroom-missing@Ethernet84", "FAIL PASS", "no-port-drops no-group-drops received-agrees",
         "Ethernet84 priority 3: expected 0 frames more dropped in PG3, got ", DATA),
    case("missing.py:Missing@Ethernet84", "FAIL PASS", "no-port-drops no-group-drops received-agrees",
         "Ethernet84: expected the ... frames that the generator sent in all in RX_OK, got ", DATA),
]
ALL: list[Case] = [*FRAME_CASES, *SIZE_CASES, *COUNT_CASES]
HEALTHY = (*frames.FRAMES, *frames.SIZES, *every_size.CASES, *counting.CASES)


def page(plan: PlanCase) -> set[str]:
    """The checks that are documented for a test case."""
    return documented_checks(PAGES[plan.family], plan.plan_id)


@pytest.mark.parametrize("family", PAGES)
def test_every_fault_that_the_documentation_calls_caught_is_here(family: str) -> None:
    here = {one.name for one in ALL if one.plan.family == family}
    assert {name for name in here if name not in FILES} == documented_faults(family)


@pytest.mark.parametrize("plan", HEALTHY, ids=lambda plan: plan.plan_id)
def test_every_check_of_every_test_case_is_failed_by_some_switch(plan: PlanCase) -> None:
    failed = {check for one in ALL if one.plan is plan for check in one.checks}
    assert failed == page(plan) - ONLY_ON_THE_FAKE_SWITCH


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults."""
    with broken_bench(tmp_path_factory.mktemp("broken"), [one.fault for one in ALL], FILES) as bench:
        yield bench


PAIRS = list(dict.fromkeys(one.pair for one in ALL))


@SLOW
@pytest.mark.parametrize("broken", sorted(ALL, key=lambda broken: PAIRS.index(broken.pair)),
                         ids=lambda broken: f"{broken.plan.plan_id}-{broken.name}")
def test_every_fault_is_caught_and_nothing_else(bench: Bench, broken: Case) -> None:
    compare(bench.judge(broken), broken)


@SLOW
@pytest.mark.parametrize("plan", HEALTHY, ids=lambda plan: plan.plan_id)
def test_a_healthy_port_passes_by_exactly_the_documented_checks(bench: Bench, plan: PlanCase) -> None:
    passed_as_documented(bench.judge(healthy(plan)), page(plan))
