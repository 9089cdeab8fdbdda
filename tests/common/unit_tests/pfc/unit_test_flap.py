"""A link that flaps: what has to have been sent before and after it, unless the switch held it."""

from dataclasses import replace

import pytest

from tests.common.pfc.cases.flap import AFTER, BEFORE, FlapRun, flap_validity
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

LINE_FPS = 100e9 / 8 / 1044
DUE = round(LINE_FPS / 4)


def unmet(early, late, pushed_early=0, pushed_late=0):
    """The messages of `load-applied` where so much of priority 3 was sent before and after the flap, while the switch
    sent so many PFC frames to its sender."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, before = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()
    sent = before.pfc_tx["Ethernet64"]

    def reading(frames):
        """Counters with so many more."""
        more = tuple(count + (frames if priority == 3 else 0) for priority, count in enumerate(sent))
        return replace(before, pfc_tx={**before.pfc_tx, "Ethernet64": more})

    flows = (FlowPlan("over", Role.CLEAN, 3, 1024, 25.0), FlowPlan("later", Role.TEST, 3, 1024, 25.0, seconds=1))
    over, later = ({plan.name: FlowStats(plan, False, frames, frames)}
                   for plan, frames in zip(flows, (early, late), strict=True))
    down, after = reading(pushed_early), reading(pushed_early + pushed_late)
    run = FlapRun(subject, before, down, after, (3,), {BEFORE: over, AFTER: later}, down, None)
    return [check.message for check in flap_validity(run)
            if check.name == "load-applied" and check.status is Status.ERROR]


@pytest.mark.parametrize(("run", "said"), [
    ({"early": 1, "late": DUE}, ""),
    ({"early": 0, "late": DUE}, "at least 1 frames sent before the flap, got 0"),
    ({"early": 0, "late": DUE, "pushed_early": 5}, ""),
    ({"early": 1, "late": DUE // 2}, "frames sent after the flap, got "),
    ({"early": 1, "late": 1, "pushed_late": 5}, ""),
    ({"early": 1, "late": 0, "pushed_late": 5}, "at least 1 frames sent after the flap, got 0"),
    ({"early": 1, "late": DUE // 2, "pushed_early": 5}, "frames sent after the flap, got "),
])
def test_data_has_to_be_there_unless_the_switch_holds_it(run, said):
    found = unmet(**run)
    assert len(found) == bool(said) and all(said in message for message in found), found
