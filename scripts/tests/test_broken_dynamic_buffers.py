"""A switch that works out by itself what its buffers are: CONFIG_DB has no size of any pool. A healthy port passes, one
that ignores pauses fails, and the switch is configured afterwards as it was."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.campaign.broken_testbed import Testbed
from scripts.tests.broken import HEALTHY_RX
from scripts.tests.test_broken_addresses import BROKEN_RX, changed_testbed, configuration, measure, shell

pytestmark = [
    pytest.mark.slow("a testbed for them, and the whole way of a port: two minutes"),
    pytest.mark.long("what derives the sizes has unit tests"),
]
SIZED_BY_THE_SWITCH = """
set -e
sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic
config qos reload
sonic-db-cli CONFIG_DB HDEL 'BUFFER_POOL|egress_lossless_pool' size
"""


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed with such a switch."""
    with changed_testbed(tmp_path_factory.mktemp("dynamic"), SIZED_BY_THE_SWITCH) as testbed:
        yield testbed


def test_what_the_switch_shows(testbed: Testbed) -> None:
    """Neither sizes nor lossless profiles are configured; APPL_DB has them."""
    config = configuration(testbed)
    assert not any("size" in row for row in config["BUFFER_POOL"].values())
    assert config["BUFFER_PG"][f"{HEALTHY_RX}|3-4"] == {"profile": "NULL"}
    assert int(shell(testbed, "sonic-db-cli APPL_DB HGET BUFFER_POOL_TABLE:egress_lossless_pool size")) > 0


def test_a_healthy_port_passes(testbed: Testbed, tmp_path: Path) -> None:
    """In cases that compare with a pool, fill a group's headroom, and change profiles and groups."""
    before = configuration(testbed)
    cases = "PFC-1,PFC-2,HEAD-1,HEAD-3,HEAD-4,LSET-1,WD-8,WD-11,M2O-2"
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-change-config", f"--pfc-scenario={cases}")
    assert ended.status == 0 and {record["plan_id"] for record in ended.records} == set(cases.split(",")), ended.printed
    assert {record["status"] for record in ended.records} == {"PASS"}, ended.printed
    assert configuration(testbed) == before


def test_one_that_ignores_pauses_fails(testbed: Testbed, tmp_path: Path) -> None:
    ended = measure(testbed, tmp_path, BROKEN_RX, "--pfc-scenario=PFC-1")
    failed = {check["name"] for record in ended.records for check in record["checks"] if check["status"] == "FAIL"}
    assert ended.status == 1 and "blocked-while-paused" in failed, (failed, ended.printed)


def test_every_port_at_once(testbed: Testbed, tmp_path: Path) -> None:
    """SWEEP-2 compares watermarks with the ingress pool."""
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-scenario=SWEEP-2")
    checks = [check for record in ended.records for check in record["checks"]]
    within = {check["where"]: check["status"] for check in checks if check["name"] == "watermark-within-pool"}
    assert len(within) > 32 and set(within.values()) == {"PASS"}, (within, ended.printed)
