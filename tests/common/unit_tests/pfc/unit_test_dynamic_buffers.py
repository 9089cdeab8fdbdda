"""Sizes of pools that a switch works out by itself."""

import pytest

from tests.common.pfc.dynamic_buffers.pools import POOLS
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.option import Option
from tests.common.pfc.lab.planning import plan_measured
from tests.common.pfc.lab.port_plan import PortRequest
from tests.common.pfc.lab.restore import read_state
from tests.common.pfc.lease.option import LeaseOption
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld
from tests.common.unit_tests.pfc.unit_test_planning import PORTS

BARE = {"type": "ingress", "mode": "dynamic"}


def asked(field, pool="ingress_lossless_pool"):
    """The command that asks for a pool's size in effect."""
    return f"sonic-db-cli APPL_DB HGET 'BUFFER_POOL_TABLE:{pool}' {field}"


@pytest.fixture(name="host")
def fixture_host(monkeypatch):
    """A switch with one pool whose size is its own affair, and no lease."""
    monkeypatch.setattr(LeaseOption, "state", Option.state)
    world = FakeWorld()
    world.config_db[POOLS]["ingress_lossless_pool"] = BARE
    return FakeHost(world)


@pytest.mark.parametrize(("xoff", "row"), [
    ("", {**BARE, "size": "5302272"}), ("4194112", {**BARE, "size": "5302272", "xoff": "4194112"}),
])
def test_a_pool_without_a_size_has_the_one_in_effect(host, xoff, row):
    """With a shared headroom, where there is one; other pools as they are configured."""
    host.answers |= {asked("size"): ("5302272\n", 0), asked("xoff"): (f"{xoff}\n", 0)}
    pools = read_state(Dut(host)).config_db["BUFFER_POOL"]
    assert pools["ingress_lossless_pool"] == row, pools
    assert pools["egress_lossless_pool"] == FakeWorld().config_db["BUFFER_POOL"]["egress_lossless_pool"], pools


def test_a_port_is_planned_with_the_size_in_effect(host):
    """CONFIG_DB alone does not let it be measured."""
    host._world.config_db["BUFFER_POOL"]["egress_lossless_pool"] = {"type": "egress", "mode": "static"}
    for pool in ("egress_lossless_pool", "ingress_lossless_pool"):
        host.answers |= {asked("size", pool): ("15982720", 0), asked("xoff", pool): ("", 0)}
    dut = Dut(host)
    with pytest.raises(QualificationError, match=r"CONFIG_DB has no size in BUFFER_POOL\|egress_lossless_pool"):
        plan_measured(dut.state(), PORTS, PortRequest())
    plan = plan_measured(read_state(dut), PORTS, PortRequest())
    assert plan.subject.buffer.size_bytes == 15982720, plan.subject.buffer


def test_a_pool_that_has_none_is_refused_by_name(host):
    """Never measured with a size that nobody knows."""
    host.answers |= {asked("size"): ("\n", 0), asked("xoff"): ("\n", 0)}
    with pytest.raises(QualificationError) as error:
        read_state(Dut(host))
    sentence = (
        "vtb-t0-01: CONFIG_DB leaves the size of BUFFER_POOL|ingress_lossless_pool to the switch (buffer_model"
        " dynamic), and APPL_DB has none in BUFFER_POOL_TABLE:ingress_lossless_pool: buffermgrd has not come to"
        " one, look at its log"
    )
    assert str(error.value) == sentence, error.value


@pytest.mark.parametrize(("size", "is_asked"), [("4580864", False), (None, True)])
def test_where_all_have_one_nothing_is_asked(host, size, is_asked):
    """No further command on other switches."""
    if size is not None:
        host._world.config_db["BUFFER_POOL"]["ingress_lossless_pool"] = {**BARE, "size": size}
    host.answers |= {asked("size"): ("5302272", 0), asked("xoff"): ("", 0)}
    read_state(Dut(host))
    assert ("APPL_DB" in "".join(host.calls)) is is_asked, host.calls
