"""Light traffic between ports that a case does not need: which ports, beside what."""
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.common.pfc.accounting.bystanders import PAIRS_OF_ALL_PRIORITIES, bystander_flows, flows_beside
from tests.common.pfc.model.traffic import FlowPlan, PauseFrame, Role, pfc_frame
from tests.common.unit_tests.pfc.unit_test_accounting import SUBJECT

PORTS = [replace(SUBJECT.pair.rx, port=f"E{number}") for number in range(12)]
WIDE = replace(SUBJECT, bystanders=tuple(PORTS))
DATA = FlowPlan("data", Role.TEST, 3, 1024)
STORM = FlowPlan("storm", Role.STORM, None, 64, pause=pfc_frame((3,), 65535))


def pairs_of(flows: Sequence[FlowPlan]) -> set[frozenset[str]]:
    """The pairs of ports that send each other something."""
    return {frozenset((flow.enters, flow.leaves)) for flow in flows}


def test_all_pairs_send_lossless_data_beside_a_storm_and_some_send_everything() -> None:
    """The nearest one always; the same ones whenever a case is run again."""
    nearest = frozenset(("E0", "E1"))
    seen = set()
    for number in range(30):
        flows = [replace(DATA, name=f"data {number}"), STORM]
        beside = flows_beside(WIDE, flows)
        whole = pairs_of([flow for flow in beside if flow.priority not in WIDE.qos.lossless])
        assert len(whole) == PAIRS_OF_ALL_PRIORITIES and nearest in whole, beside
        assert beside == flows_beside(WIDE, flows), "it follows from the flows alone"
        lossless = [flow for flow in beside if flow.priority in WIDE.qos.lossless]
        assert pairs_of(lossless) == pairs_of(bystander_flows(WIDE)), "a pause may act at any port"
        assert len(lossless) == len(PORTS) * len(WIDE.qos.lossless), "each priority, both ways"
        seen |= whole
    assert seen == pairs_of(bystander_flows(WIDE)), "every pair has its turn"


@pytest.mark.parametrize("flows", [
    [DATA],
    [replace(DATA, frame_bytes=512), STORM],
    [DATA, replace(DATA, name="others", frame_bytes=64), STORM],
    [replace(DATA, mix=((64, 1), (1518, 1))), STORM],
])
def test_nothing_is_sent_beside_flows_that_it_does_not_suit(flows: list[FlowPlan]) -> None:
    """No storm, or frames of other sizes."""
    assert flows_beside(WIDE, flows) == [], flows_beside(WIDE, flows)


def test_ports_that_a_case_needs_are_left_to_it() -> None:
    """So is the other port of their pair."""
    own = [DATA, STORM, *(replace(DATA, name=f"from {port}", enters=port) for port in ("E0", "E5", "E6"))]
    used = {frozenset(pair) for pair in (("E0", "E1"), ("E4", "E5"), ("E6", "E7"))}
    beside = pairs_of(flows_beside(WIDE, own))
    assert beside == pairs_of(bystander_flows(WIDE)) - used, beside


@pytest.mark.parametrize("pause", [
    pfc_frame((0, 1), 65535),
    *(replace(pfc_frame((3,), 65535), **fields) for fields in (
        {"operation_code": 0x0102}, {"destination": "01:80:C2:00:00:0F"}, {"ether_type": 0x88B5})),
])
def test_all_pairs_send_beside_pauses_that_must_hold_nothing(pause: PauseFrame) -> None:
    """Few cases have such a storm."""
    beside = flows_beside(WIDE, [DATA, replace(STORM, pause=pause)])
    assert len(beside) == len(bystander_flows(WIDE)), "every pair, every priority"


def test_a_port_without_bystanders_has_none_beside() -> None:
    """On a switch with two ports."""
    assert flows_beside(replace(WIDE, bystanders=()), [DATA, STORM]) == [], "there are none"
