"""M2O-7: which row of QUEUE gets which scheduler."""

from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.reweighted import heavier
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import PortQos

QOS = PortQos("vtb-t0-01", "Ethernet0", (3, 4), {0: (8,), 1: (1,), 2: (2,), 3: (3,), 4: (4,)}, "AZURE")
WEIGHTS = {"low": "14", "high": "15", "one": "1", "most": "90"}


def rows_for(**schedulers):
    """What M2O-7 writes where rows `Ethernet0|QUEUES` of QUEUE name these schedulers (`_` for `-` in QUEUES)."""
    queues = {
        f"Ethernet0|{queues.removeprefix('q').replace('_', '-')}": {"scheduler": name, "wred_profile": "AZURE_LOSSLESS"}
        for queues, name in schedulers.items()
    }
    profiles = {name: {"type": "DWRR", "weight": weight} for name, weight in WEIGHTS.items()}
    config_db = {"QUEUE": queues, "SCHEDULER": {**profiles, "strict": {"type": "STRICT"}}}
    lab = SimpleNamespace(subject=SimpleNamespace(qos=QOS), dut=SimpleNamespace(name="vtb-t0-01"))
    return heavier(lab, config_db)


@pytest.mark.parametrize("schedulers, key, weight", [
    ({"q0": "low", "q1": "low", "q2": "low", "q3_4": "high"}, "Ethernet0|0", "18"),
    ({"q0": "high", "q1": "low", "q2": "most", "q3_4": "one"}, "Ethernet0|1", "18"),
    ({"q0_2": "high", "q3_4": "low"}, "Ethernet0|0-2", "20"),
    ({"q0": "strict", "q1": "low", "q2": "strict", "q3_4": "high"}, "Ethernet0|1", "18"),
    ({"q0_2": "one", "q3_4": "one"}, "Ethernet0|0-2", "1"),
    ({"q0_2": "most", "q3_4": "one"}, "Ethernet0|0-2", "100"),
    ({"q0_2": "strict", "q3_4": "high"}, "Ethernet0|0-2", "1"),
])
def test_the_least_weight_of_a_lossy_queue_grows_by_a_third(schedulers, key, weight):
    """It is never more than SONiC takes, and the row keeps what else it has."""
    rows = rows_for(**schedulers)
    assert rows["SCHEDULER"] == {"PFC_QUALIFICATION": {"type": "DWRR", "weight": weight}}, rows
    assert rows["QUEUE"] == {key: {"scheduler": "PFC_QUALIFICATION", "wred_profile": "AZURE_LOSSLESS"}}, rows


def test_older_images_name_a_scheduler_with_its_table():
    """`[SCHEDULER|low]`."""
    rows = rows_for(q0_2="[SCHEDULER|low]", q3_4="[SCHEDULER|high]")
    assert rows["QUEUE"]["Ethernet0|0-2"]["scheduler"] == "[SCHEDULER|PFC_QUALIFICATION]", rows


def test_a_queue_without_a_scheduler_is_refused():
    """Nothing would follow of its share."""
    with pytest.raises(QualificationError, match="expected a scheduler of type STRICT, or DWRR with a weight"):
        rows_for(q0_2="low", q3_4="none")
