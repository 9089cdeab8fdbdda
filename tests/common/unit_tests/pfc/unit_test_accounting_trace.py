"""Which frames a port's queue counters show, by numbers of frames of which each flow has another."""
from collections.abc import Mapping

import pytest

from tests.common.pfc.accounting.auditor import BookAuditor
from tests.common.pfc.accounting.books import SENT, TX_OK, Books, Counter
from tests.common.pfc.accounting.trace import Trace, numbers
from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.cases.qualifier import Qualifier
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_accounting import RX, SUBJECT, TX
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

NEXT = "Ethernet4"
FRAMES = [(port, priority) for port in (RX, NEXT) for priority in range(7)]
SENT_FRAMES = dict(zip(FRAMES, numbers(7, 7), strict=True))
PLANS = [
    FlowPlan(f"{port}:{priority}", Role.CLEAN, priority, 64, frames=frames, leaves=port)
    for (port, priority), frames in SENT_FRAMES.items()
]
FLOWS = [FlowStats(plan, False, plan.frames or 0, plan.frames or 0) for plan in PLANS]
HEALTHY = {(port, queue): SENT_FRAMES.get((port, queue), 0) for port in (RX, NEXT, "Ethernet8") for queue in range(8)}


def said(changes: Mapping[tuple[str, int], int], stands: Mapping[str, int] | None = None) -> str:
    """What is said where queues gain that instead of what leaves by them. `stands`: what ports have counted before."""
    began = stands or {}
    gains = {**HEALTHY, **changes}
    counters = [Counter(port, SENT, queue) for port, queue in gains]
    before = {one: began.get(one.port, 0) for one in counters}
    after = {one: before[one] + gains[(one.port, one.number or 0)] for one in counters}
    return Trace(SUBJECT, Books(before, 0.0), Books(after, 9.0), FLOWS).sentence


def test_counters_that_show_what_left_say_nothing() -> None:
    """The hosts' own frames are let pass."""
    assert said({}) == "", "every queue counts what leaves by it"
    assert said({(RX, 0): SENT_FRAMES[RX, 0] + 3}) == "", "three frames are the hosts' own"


@pytest.mark.parametrize(("changes", "words"), [
    ({(RX, queue): HEALTHY[RX, (queue - 1) % 8] for queue in range(8)},
     f"each queue of {RX} shows the counters of the queue before it"),
    ({(RX, queue): HEALTHY[NEXT, queue] for queue in range(8)}, f"the counters of {RX} are those of {NEXT}"),
    ({(RX, 3): 0, (RX, 0): HEALTHY[RX, 0] + HEALTHY[RX, 3]},
     f"frames of priority 3 that come in on {TX} leave {RX} by queue UC0"),
    ({(RX, queue): 0 if queue else sum(HEALTHY[RX, other] for other in range(8)) + 9 for queue in range(8)},
     f"frames of priorities 1, 2, 3, 4, 5, 6 that come in on {TX} leave {RX} by queue UC0"),
    ({(RX, 2): 0, (RX, 3): 0, (RX, 5): 4, (RX, 4): HEALTHY[RX, 4] + HEALTHY[RX, 2],
      (RX, 1): HEALTHY[RX, 1] + HEALTHY[RX, 3] + HEALTHY[RX, 5] - 37},
     f"frames of priorities 3, 5 that come in on {TX} leave {RX} by queue UC1, of priority 2 that come in on {TX} leave"
     f" {RX} by queue UC4"),
    ({(RX, 1): HEALTHY[RX, 1] - 132, (RX, 3): HEALTHY[RX, 3] + 70, (RX, 5): HEALTHY[RX, 5] + 62},
     f"some frames of priority 1 that come in on {TX} leave {RX} by queue UC3, UC5"),
    ({(RX, 1): HEALTHY[RX, 1] - 5, (RX, 2): HEALTHY[RX, 2] + 5, (RX, 0): HEALTHY[RX, 0] + 3},
     f"some frames of priority 1 that come in on {TX} leave {RX} by queue UC2"),
    ({(RX, 1): HEALTHY[RX, 1] - 5, (RX, 2): HEALTHY[RX, 2] + 5, (RX, 0): HEALTHY[RX, 0] + 6},
     f"queues UC1 of {RX} count other frames than those that leave by them"),
    ({(RX, 1): HEALTHY[RX, 3], (RX, 3): HEALTHY[RX, 1]},
     f"queues UC1, UC3 of {RX} count other frames than those that leave by them"),
    ({(RX, 3): 17}, f"queues UC3 of {RX} count other frames than those that leave by them"),
])
def test_what_counters_show_instead_is_named(changes: Mapping[tuple[str, int], int], words: str) -> None:
    """By the numbers alone."""
    assert said(changes).endswith(f"show that {words}"), said(changes)


def test_a_port_whose_counters_do_not_move() -> None:
    """They stand still; unless another port stands where it does, which is then the one they may be of."""
    still = {(RX, queue): 0 for queue in range(8)}
    for stands, words in (
        ({RX: 7}, f"the counters of {RX} stand still"),
        ({RX: 7, "Ethernet8": 7}, f"the counters of {RX} are those of Ethernet8"),
        ({}, f"the counters of {RX} stand still, or are those of another port, which is idle"),
    ):
        assert said(still, stands).endswith(words), said(still, stands)


def test_a_port_that_nothing_left_by_says_nothing() -> None:
    """Nothing arrived: that is another error."""
    still = Books({Counter(RX, TX_OK): 0}, 0.0)
    assert Trace(SUBJECT, still, still, []).sentence == "", "no frame was sent"


@pytest.mark.parametrize(("broken", "words"), [
    ({"queue_of": {3: 1}}, "leave Ethernet0 by queue UC1"),
    ({"idle": (3,)}, "127.1.0.2;1;1, got 0"),
])
def test_the_preflight_s_error_ends_with_it(broken: dict[str, object], words: str) -> None:
    """One that has another cause is left as it is."""
    world = FakeWorld(**broken)  # type: ignore[arg-type]
    host = FakeHost(world)
    ports = "IFACE      STATE    RX_OK\n---------  -------  -------\nEthernet0        U        0\n"
    host.answers = {"show interfaces counters": (ports, 0), "show priority-group drop counters": ("", 0)}
    plan = plan_port(Dut(host), TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(plan, Dut(host), FakeApi(world), FakeClock(world))
    outcome = Qualifier(lab, [BookAuditor()]).qualify(SINGLE_LOSSLESS, (3,))
    assert (outcome.verdicts[0].error or "").endswith(words), outcome.verdicts[0].error
