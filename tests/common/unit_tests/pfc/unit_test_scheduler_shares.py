"""How a congested line is divided, by a switch's tables."""

from fractions import Fraction

import pytest

from tests.common.pfc.cases.scheduler_shares import Scheduler, divide, divide_beside, read_schedulers
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import PortQos

QOS = PortQos("sw", "Ethernet0", (3, 4), {0: (8,), 3: (3,), 4: (4,)}, "AZURE")
TABLES = {
    "QUEUE": {"Ethernet0,Ethernet4|0-2": {"scheduler": "[SCHEDULER|lossy]"}, "Ethernet0|3": {"scheduler": "lossless"},
              "Ethernet0|4": {"scheduler": "first"}, "Ethernet4|3": {"scheduler": "nothing"}},
    "SCHEDULER": {"lossy": {"type": "DWRR", "weight": "14"}, "lossless": {"type": "DWRR", "weight": "15"},
                  "first": {"type": "STRICT"}},
    "PORT_QOS_MAP": {"Ethernet0": {"tc_to_pg_map": "AZURE"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3", "4": "4"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
}


def percent(parts):
    return {queue: Fraction(part, 100) for queue, part in parts.items()}


def test_a_line_with_room_for_all_is_not_divided():
    assert divide(percent({0: 60, 3: 40}), {}) == percent({0: 60, 3: 40}), "no scheduler is needed for 100 %"


@pytest.mark.parametrize(("wanted", "weights", "got"), [
    ({3: 80, 4: 80, 0: 80}, {3: 15, 4: 15, 0: 10}, {3: Fraction(3, 8), 4: Fraction(3, 8), 0: Fraction(1, 4)}),
    ({3: 88, 4: 88, 0: 24}, {3: 15, 4: 15, 0: 14}, {3: Fraction(38, 100), 4: Fraction(38, 100), 0: Fraction(24, 100)}),
    ({1: 10, 2: 40, 3: 90}, {1: 1, 2: 1, 3: 1}, {1: Fraction(1, 10), 2: Fraction(4, 10), 3: Fraction(5, 10)}),
    ({1: 70, 2: 70}, {1: 1, 2: 9}, {1: Fraction(3, 10), 2: Fraction(7, 10)}),
])
def test_what_one_queue_does_not_want_the_others_share_by_weight(wanted, weights, got):
    schedulers = {queue: Scheduler(False, weight) for queue, weight in weights.items()}
    assert divide(percent(wanted), schedulers) == got, "wanted, weights"


def test_strict_queues_come_first_the_highest_number_before_others():
    schedulers = {0: Scheduler(False, 5), 5: Scheduler(True), 6: Scheduler(True)}
    assert divide(percent({0: 50, 5: 60, 6: 70}), schedulers) == percent({0: 0, 5: 30, 6: 70}), "6 before 5 before 0"


def test_schedulers_are_those_of_the_port_s_queues():
    found = read_schedulers(TABLES, QOS)
    assert found == {0: Scheduler(False, 14), 3: Scheduler(False, 15), 4: Scheduler(True)}, "ranges, lists"


def test_schedulers_of_virtual_output_queues_are_those_of_the_switch_s_own_ports():
    """Other hosts of a chassis have ports of the same names."""
    own = {"first|Asic0|Ethernet0|0-3": {"scheduler": "lossy"}, "first|Asic0|Ethernet0|4": {"scheduler": "lossless"}}
    others = {"second|Asic0|Ethernet0|0-4": {"scheduler": "first"}}
    named = {"DEVICE_METADATA": {"localhost": {"hostname": "first"}}}
    found = read_schedulers({**TABLES, **named, "QUEUE": {**others, **own}}, QOS)
    assert found == {0: Scheduler(False, 14), 3: Scheduler(False, 14), 4: Scheduler(False, 15)}, found


@pytest.mark.parametrize(("change", "said"), [
    ({"QUEUE": {}}, "Ethernet0 priority 0: QUEUE|Ethernet0|0 has scheduler 'none'"),
    ({"SCHEDULER": {}}, "QUEUE|Ethernet0|0 has scheduler 'lossy', from which its share"),
    ({"SCHEDULER": {"lossy": {"type": "WRR", "weight": "14"}}}, "SCHEDULER|lossy with type 'WRR', weight '14'"),
    ({"SCHEDULER": {"lossy": {"type": "DWRR", "weight": "0"}}}, "SCHEDULER|lossy with type 'DWRR', weight '0'"),
])
def test_a_queue_whose_share_does_not_follow_is_refused(change, said):
    with pytest.raises(QualificationError) as raised:
        read_schedulers({**TABLES, **change}, QOS)
    assert said in str(raised.value), "the sentence names the table's row and what it has"


@pytest.mark.parametrize(("weights", "parts"), [
    ({3: 15, 4: 60, 0: 14}, {3: Fraction(1, 10), 4: Fraction(2, 5), 0: Fraction(1, 2)}),
    ({3: 15, 4: 15, 0: 14}, {3: Fraction(1, 4), 4: Fraction(1, 4), 0: Fraction(1, 2)}),
    ({3: 15, 4: 60}, {3: Fraction(1, 10), 4: Fraction(2, 5), 0: Fraction(1, 2)}),
    ({3: 15, 0: 14}, {}),
])
def test_a_queue_beside_that_says_nothing_is_taken_to_get_all_that_it_sends(weights, parts):
    """Half of the line for queue 0, by a weight that gives it more than that (where it has one) or by none."""
    tables = {"QUEUE": {f"Ethernet0|{queue}": {"scheduler": f"s{queue}"} for queue in weights},
              "SCHEDULER": {f"s{queue}": {"type": "DWRR", "weight": str(weight if queue else 100)}
                            for queue, weight in weights.items()}}
    assert divide_beside(tables, QOS, (3, 4), 50) == parts, f"weights {weights}"
