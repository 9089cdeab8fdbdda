"""Watermarks of all ports, the pool that they are of, and the storms of a sweep of watchdogs."""

from dataclasses import replace

import pytest
from tabulate import tabulate

from tests.common.pfc.cases.switch_counters import group_counts
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.planning import open_lab
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import read_port_qos
from tests.common.pfc.sweep import watchdog_all_ports
from tests.common.pfc.sweep.full_load import FullPart
from tests.common.pfc.sweep.watermarks import Watermarks, ingress_pool, together
from tests.common.unit_tests.pfc.fakes import (
    DEVICE, FakeApi, FakeClock, FakeHost, FakeWorld, make_config_db, plan_port,
)
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

POOL = {"ingress_lossless_pool": {"mode": "dynamic", "size": "10875072", "type": "ingress", "xoff": "4194112"}}


def test_watermarks_are_known_by_the_names_of_their_groups():
    """Where only configured groups are listed too."""
    text = tabulate([["Ethernet0", 5, "N/A", 7]], ["Port", "PG0", "PG1", "PG3"], tablefmt="simple")
    found = group_counts(text, "show priority-group watermark shared")
    assert found == {"Ethernet0": {0: 5, 3: 7}}, f"rows: {found}"
    marks = Watermarks(found, {"Ethernet0": {0: 2, 1: 1}}, {})
    assert marks.used("Ethernet0", 0) == 7 and marks.used("Ethernet0", 1) is None, "of two kinds one is not counted"
    assert marks.used("Ethernet4", 0) is None and marks.used("Ethernet0", 7) is None, "what was not printed"
    assert together(found, [("Ethernet0", 0), ("Ethernet0", 1), ("Ethernet4", 0)]) == 5, "what is counted"
    assert marks.counted("Ethernet0") == {
        "group_shared": {0: 5, 3: 7}, "group_headroom": {0: 2, 1: 1}, "queue": {}}, "0s"
    with pytest.raises(QualificationError, match="`show queue watermark unicast` printed no port: 'nothing'"):
        group_counts("nothing\n", "show queue watermark unicast")


def test_the_ingress_pool_is_the_largest_with_a_size():
    pools = {**POOL, "ingress_lossy_pool": {"size": "5", "type": "ingress"}, "odd": {"type": "ingress"}}
    found = ingress_pool({"BUFFER_POOL": pools}, "sw")
    assert (found.name, found.size_bytes, found.headroom_bytes) == ("ingress_lossless_pool", 10875072, 4194112), found
    with pytest.raises(QualificationError, match="sw: CONFIG_DB has no BUFFER_POOL of type ingress with a size"):
        ingress_pool({"BUFFER_POOL": {"odd": {"type": "ingress"}}}, "sw")


def test_storms_on_all_ports_are_on_what_each_watchdog_watches():
    """The other lossless priorities are background; a port where none is watched cannot be measured."""
    config_db = make_config_db()
    row = config_db["PORT_QOS_MAP"]["Ethernet0"]
    row["pfcwd_sw_enable"] = "4"
    plan = watchdog_all_ports.scenario(read_port_qos(config_db, DEVICE, "Ethernet0"))
    assert (plan.tested, plan.background) == ((4,), (0, 1, 2, 3, 5, 6)), plan
    row["pfcwd_sw_enable"] = ""
    with pytest.raises(QualificationError, match=f"{DEVICE} Ethernet0: SWEEP-3 needs a lossless priority that the"):
        watchdog_all_ports.scenario(read_port_qos(config_db, DEVICE, "Ethernet0"))


@pytest.mark.parametrize(("asic", "frames"), [("mellanox", 10), ("broadcom", 0)])
def test_storms_on_all_ports_begin_with_frames_where_no_empty_queue_is_stormed(asic, frames):
    """Otherwise they would be detected in the data, and a correct switch would hold its senders until then."""
    world = FakeWorld()
    dut = Dut(FakeHost(world))
    plan = plan_port(dut, TESTER_PORTS, "Ethernet0", None)
    lab = open_lab(replace(plan, subject=replace(plan.subject, asic=asic)), dut, FakeApi(world), FakeClock(world))
    flows = watchdog_all_ports._early(FullPart(lab, watchdog_all_ports.scenario(lab.subject.qos), 45))
    found = [(flow.priority, flow.frames, flow.enters, flow.leaves) for flow in flows]
    assert found == [(number, frames, "Ethernet64", "Ethernet0") for number in (3, 4) if frames], flows
