"""Correct switches that are, or show, something else than the virtual one usually does: their verdict is PASS, or they
are refused in one sentence."""
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.tests.small_lab import BIN, NAMES, describe
from scripts.tests.test_qualify import qualify_in

pytestmark = [
    pytest.mark.slow("whole testbeds"),
    pytest.mark.long("each condition has tests of its own"),
]


@pytest.fixture(name="state")
def a_testbed(tmp_path: Path) -> Iterator[Path]:
    """A small testbed that is up: the folder of its state."""
    lab = describe(tmp_path)
    state = tmp_path / "state"
    up = [str(BIN / "virtual-testbed"), "up", NAMES[0], "--testbed-file", str(lab), "--clock", "virtual", "--state"]
    down = [str(BIN / "virtual-testbed"), "down", NAMES[0], "--state"]
    try:
        subprocess.run([*up, str(state)], check=True, stdout=subprocess.DEVNULL)
        yield state
    finally:
        subprocess.run([*down, str(state)], check=True, stdout=subprocess.DEVNULL)


def on_switch(state: Path, command: str) -> str:
    """What a command prints that is run as root on the switch."""
    where = ["ssh", "-F", str(state / NAMES[0] / "ssh/config"), f"{NAMES[0]}-01", f"sudo {command}"]
    return subprocess.run(where, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.parametrize("condition", [
    pytest.param("sonic-db-cli COUNTERS_DB HSET COUNTERS_PORT_NAME_MAP Ethernet-BP256 oid:0x1000000000999",
                 id="a port without counters"),
    pytest.param("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' create_only_config_db_buffers true",
                 id="only configured groups and queues are counted"),
])
def test_a_correct_switch_passes(state: Path, tmp_path: Path, condition: str) -> None:
    """`show pfc counters` with rows of `N/A`, and tables of priority groups and queues with gaps."""
    on_switch(state, condition)
    told = ["--testbed-file", str(tmp_path / "testbed.yaml"), "--testbed", NAMES[0]]
    ended = qualify_in(tmp_path, *told, "--scenario", "PFC-1,COUNT-3,HEAD-1,HEAD-3,M2O-2")
    assert ended.returncode == 0, ended.stdout + ended.stderr


DYNAMIC = "sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic"


def test_a_switch_that_sizes_its_buffers_by_itself(state: Path, tmp_path: Path) -> None:
    """It is deployed with the templates of its buffer model, so CONFIG_DB has neither the size of the ingress pool nor
    a lossless profile. Cases of every family that looks at buffers, or changes them."""
    on_switch(state, DYNAMIC)
    told = ["--testbed-file", str(tmp_path / "testbed.yaml"), "--testbed", NAMES[0]]
    ended = qualify_in(tmp_path, *told, "--scenario", "PFC-1,PFC-2,HEAD-1,HEAD-3,LSET-1,LSET-5,WD-8,M2O-2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    pools = on_switch(state, "sonic-db-cli CONFIG_DB HGETALL 'BUFFER_POOL|ingress_lossless_pool'")
    assert "dynamic" in pools and "size" not in pools, pools


def test_a_switch_with_several_asics_is_refused(state: Path, tmp_path: Path) -> None:
    """As its platform says; no verdict, PASS or FAIL."""
    conf = "/usr/share/sonic/device/$(sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' platform)/asic.conf"
    on_switch(state, f"sh -c \"echo NUM_ASIC=3 > {conf}\"")
    told = ["--testbed-file", str(tmp_path / "testbed.yaml"), "--testbed", NAMES[0]]
    ended = qualify_in(tmp_path, *told, "--scenario", "PFC-1")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert f"{NAMES[0]}-01: it has 3 ASICs, each with databases of its own; expected one" in ended.stdout + ended.stderr
