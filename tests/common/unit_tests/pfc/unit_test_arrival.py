"""Which counters show that pauses arrived, and when none does."""
from dataclasses import replace

import pytest

from tests.common.pfc.accounting.arrival import (
    ERRORS, FRAMES, PAUSES, Arrival, pauses_somebody, received,
)
from tests.common.pfc.accounting.books import PFC_RX, PFC_TX, Books, Counter
from tests.common.pfc.cases.frames import (
    OTHER_ETHER_TYPE, RESERVED_BITS, UNKNOWN_OPERATION_CODE,
)
from tests.common.pfc.cases.switch_counters import IN_OCTETS, port_hash_command
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, PauseFrame, Role, global_pause_frame, pfc_frame
from tests.common.pfc.record.verdict import LOSSLESS, Status
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

SUBJECT = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
RX = SUBJECT.pair.rx.port
TX = SUBJECT.pair.tx.port
SMALLEST, UNICAST = FRAMES[:2]
PFC = pfc_frame((3,), 65535)
SENT = 36_000


def storm(frame: PauseFrame, frames: int = SENT) -> FlowStats:
    """A pause flow that the generator has sent, it says."""
    return FlowStats(FlowPlan("storm", Role.STORM, None, 64, pause=frame), False, frames, 0)


def status_of(
    frame: PauseFrame, counted: dict[str, int], gains: dict[Counter, int] | None = None, own: int = 0, **changes: object
) -> Status | None:
    """What the check of a case with such a storm comes to."""
    subject = replace(SUBJECT, **changes)  # type: ignore[arg-type]
    check = Arrival(subject, [storm(frame)], counted, gains or {}, own).check(LOSSLESS)
    return None if check is None else check.status


@pytest.mark.parametrize("counted", [
    {PAUSES: SENT}, {SMALLEST: SENT}, {UNICAST: SENT}, {IN_OCTETS: 64 * SENT}, {PAUSES: 0, SMALLEST: SENT + 5},
])
def test_any_counter_that_moved_so_far_shows_them(counted: dict[str, int]) -> None:
    """Switches differ in where they count a frame that they do nothing about."""
    assert status_of(global_pause_frame(65535), counted) is Status.PASS, counted


@pytest.mark.parametrize("counted", [
    {}, {PAUSES: 0, SMALLEST: 0, IN_OCTETS: 0}, {PAUSES: SENT - 1}, {SMALLEST: 20}, {IN_OCTETS: 64 * SENT - 1},
    {SMALLEST: SENT, ERRORS: SENT}, {IN_OCTETS: 64 * SENT, ERRORS: SENT}, {SMALLEST: -1},
])
def test_without_one_it_is_no_measurement(counted: dict[str, int]) -> None:
    """Also where frames came that were bad ones."""
    assert status_of(global_pause_frame(65535), counted) is Status.ERROR, counted


def test_the_sentence_names_port_found_and_right() -> None:
    """It is all that the user has."""
    check = Arrival(SUBJECT, [storm(global_pause_frame(65535))], {SMALLEST: 20}, {}, 0).check(LOSSLESS)
    assert check is not None, check
    assert check.message == (
        f"vtb-t0-01 {RX}: expected at least {SENT} of {SENT} frames that pause nobody sent to the port"
        " in one of its receive counters (COUNTERS_DB), which shows that they arrived, or trust_generator in"
        f" pfc_conditions, where that was seen otherwise, got at most 20, in {SMALLEST}"
    ), check.message


def test_pfc_is_shown_by_its_own_counters() -> None:
    """Half of the frames hold a pause; what the counts are worth the case judges."""
    nothing = {SMALLEST: 0}
    for gains, status in (
        ({Counter(RX, PFC_RX, 3): SENT // 2}, Status.PASS),
        ({Counter(RX, PFC_RX, 4): SENT}, Status.PASS),  # under the wrong priority: for the case to judge
        ({Counter(TX, PFC_TX, 3): 1}, Status.PASS),  # a sender was held
        ({Counter(TX, PFC_TX, 4): 1, Counter(RX, PFC_RX, 3): SENT // 2 - 1}, Status.ERROR),
        ({Counter(TX, PFC_RX, 3): SENT}, Status.ERROR),
    ):
        assert status_of(PFC, nothing, gains) is status, gains


def test_frames_that_pause_somebody_wrongly_have_arrived() -> None:
    """The switch held a sender: the case's own FAIL must not be lost."""
    nothing = {SMALLEST: 0}
    assert status_of(global_pause_frame(9), nothing, {Counter(TX, PFC_TX, 3): 1}) is Status.PASS, "held"


def test_frames_that_pause_nobody_are_not_shown_by_other_frames_of_the_case() -> None:
    """PFC for a priority counts there as it should; a pause under any other is one of them, wrongly."""
    flows = [storm(PFC), storm(replace(PFC, enabled=()))]
    for gains, status in (
        ({Counter(RX, PFC_RX, 3): 2 * SENT, Counter(TX, PFC_TX, 3): 9}, Status.ERROR),
        ({Counter(RX, PFC_RX, 4): 2 * SENT}, Status.PASS),
    ):
        check = Arrival(SUBJECT, flows, {SMALLEST: SENT}, gains, 0).check(LOSSLESS)
        assert check is not None and check.status is status, gains


def test_global_pauses_and_pfc_are_shown_by_a_counter_each() -> None:
    """Of few frames, which counters of any frames cannot tell from those of protocols."""
    flows = [storm(global_pause_frame(9)), storm(PFC)]
    for global_pauses, pfc, status in (
        (SENT, SENT, Status.PASS), (2 * SENT, SENT, Status.PASS), (SENT - 1, SENT, Status.ERROR),
        (0, SENT, Status.ERROR), (SENT, SENT - 1, Status.ERROR), (SENT, 0, Status.ERROR),
        (SENT + 1, SENT, Status.ERROR),
    ):
        gains = {Counter(RX, PFC_RX, 3): pfc}
        check = Arrival(SUBJECT, flows, {PAUSES: global_pauses}, gains, 9 * SENT).check(LOSSLESS)
        assert check is not None and check.status is status, (global_pauses, pfc)


def test_data_that_came_in_too_shows_nothing() -> None:
    """It is in the counters of frames of any kind; in those of pauses it is not."""
    data = FlowStats(FlowPlan("data", Role.TEST, 1, 1024, enters=RX, leaves=TX), False, SENT, SENT)
    for counted, status in ({UNICAST: SENT}, Status.ERROR), ({IN_OCTETS: 1024 * SENT}, Status.ERROR), (
            {UNICAST: 2 * SENT}, Status.PASS), ({PAUSES: SENT}, Status.PASS):
        check = Arrival(SUBJECT, [storm(global_pause_frame(9)), data], counted, {}, 0).check(LOSSLESS)
        assert check is not None and check.status is status, counted


def test_few_frames_are_not_told_from_those_of_protocols() -> None:
    """Hardware: switch and hosts send some by themselves, of up to 1518 bytes."""
    frame = global_pause_frame(65535)
    assert status_of(frame, {SMALLEST: SENT}, own=SENT) is Status.ERROR, "all may be theirs"
    assert status_of(frame, {PAUSES: SENT}, own=SENT) is Status.PASS, "none of these is a pause"
    assert status_of(frame, {IN_OCTETS: 64 * SENT}, own=SENT // 20) is Status.ERROR, "long ones"
    assert status_of(frame, {PAUSES: SENT * 99 // 100}, tolerances=HARDWARE) is Status.PASS, "99 %"


def test_a_testbed_may_vouch_for_them() -> None:
    """The check informs then."""
    vouched = replace(SUBJECT, tolerances=replace(HARDWARE, trust_generator=True, reason="seen at the cable"))
    check = Arrival(vouched, [storm(global_pause_frame(9))], {}, {}, 0).check(LOSSLESS)
    assert check is not None and (check.status, check.required) == (Status.ERROR, False), check


def test_where_there_is_nothing_to_show() -> None:
    """No pauses, those of a host, and PFC of which no counter of COUNTERS_DB was read."""
    assert Arrival(SUBJECT, [], {}, {}, 0).check(LOSSLESS) is None, "no pauses"
    assert status_of(global_pause_frame(9), {}, pauses_from="fanout-01 Ethernet48") is None, "a host's"
    assert status_of(PFC, {}) is None, "PFC's own counters are the case's"


@pytest.mark.parametrize("frame, expected", [
    (PFC, True), (replace(PFC, source="00:00:00:00:00:00"), True), (global_pause_frame(9), False),
    (replace(PFC, enabled=()), False), (replace(PFC, enabled=RESERVED_BITS), False),
    (replace(PFC, operation_code=UNKNOWN_OPERATION_CODE), False), (replace(PFC, ether_type=OTHER_ETHER_TYPE), False),
    (replace(PFC, destination="02:00:00:00:00:09"), False),
])
def test_which_frames_pause_somebody(frame: PauseFrame, expected: bool) -> None:
    """The others a switch owes no effect."""
    assert pauses_somebody(frame) is expected, pauses_somebody(frame)


def test_what_the_switch_prints_is_read() -> None:
    """As `sonic-db-cli` prints a hash; what is not counted is absent."""
    text = "{'SAI_PORT_STAT_IF_IN_OCTETS': '640', 'SAI_PORT_STAT_PAUSE_RX_PKTS': '10', 'SAI_PORT_STAT_IF_IN_UCAST_PKTS'"
    text += ": 'N/A', 'SAI_PORT_STAT_PFC_3_RX_PKTS': '9'}"
    assert received(text) == {IN_OCTETS: 640, PAUSES: 10} and received("") == {}, received(text)
    command = port_hash_command("Ethernet0")
    assert command == (
        'sonic-db-cli COUNTERS_DB HGETALL "COUNTERS:$(sonic-db-cli COUNTERS_DB HGET COUNTERS_PORT_NAME_MAP Ethernet0)"'
    ), command


def test_readings_of_two_ports_are_not_compared() -> None:
    """In a sweep the reading before may be of another port."""
    before = Books({}, 0.0, {"Ethernet0": {IN_OCTETS: 5}})
    after = Books({}, 1.0, {"Ethernet0": {IN_OCTETS: 9, PAUSES: 1}, "Ethernet4": {IN_OCTETS: 9}})
    assert after.received_since(before, "Ethernet0") == {IN_OCTETS: 4}, "the same port"
    assert after.received_since(before, "Ethernet4") == {}, "another port"
