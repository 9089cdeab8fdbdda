"""Switches that drop what is held, as healthy ones of three vendors do: PASS where the vendor's command lets frames
wait, ERROR where it fails, FAIL where frames are dropped although it worked; and afterwards they drop it again."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.campaign.broken_testbed import SWITCH, OpenSsh, Testbed, broken_testbed
from scripts.campaign.entries import ROOT
from scripts.tests.broken import Case, case, compare, watchdog_stopped
from tests.common.pfc.aging.auditor import AgingAuditor
from tests.common.pfc.aging.vendors import KIND, aging_of

HELD = "held-within-buffer held-frames-drained"
AGED = "held-frames-aged@Ethernet4"
AGED_ALWAYS = "held-frames-aged@Ethernet8,always=yes"
pytestmark = [
    pytest.mark.slow("storms of a switch that ages, once for each vendor: half a minute each"),
    pytest.mark.long("the vendors' commands have unit tests"),
]
PLATFORM_ASICS = {"mellanox": "mellanox", "broadcom": "broadcom-dnx", "cisco-8000": "cisco-8000"}
BECOME = """
sed -i "s/^asic_type:.*/asic_type: '{vendor}'/" /etc/sonic/sonic_version.yml
platform=$(sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' platform)
echo {chip} > /usr/share/sonic/device/$platform/platform_asic
sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' switch_type {switch_type}
"""
REASONS = {
    "mellanox": "the aging of packets of NVIDIA Spectrum could not be switched off ({switch}: `aging-off` ended with "
                "status 1: sx_api_port_sll_set of NVIDIA's SDK ended with 1); that needs ",
    "broadcom": "the credit watchdog of Broadcom DNX could not be switched off ({switch}: `aging-off` ended with "
                "status 1: SAI_SWITCH_ATTR_CREDIT_WD in ASIC_DB is not false); that needs an image whose orchagent ",
    "cisco-8000": "the VOQ watchdog of Cisco 8000 is unknown ({switch}: `aging` printed 'debug shell server for asic 0 "
                  "is not running'); that needs the debug shell running",
}
KILLED = """
import json, os, signal, sys
from types import SimpleNamespace
from scripts.campaign.broken_testbed import OpenSsh, reserved_switch
from tests.common.pfc.aging.auditor import AgingAuditor
with reserved_switch(json.loads(sys.argv[1])) as dut:
    AgingAuditor().begin(SimpleNamespace(dut=dut, others={}))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed whose switch ages on two ports, on one of them whatever it is told."""
    with broken_testbed(tmp_path_factory.mktemp("broken"), [AGED, AGED_ALWAYS]) as testbed:
        yield testbed


@pytest.fixture(name="stubborn", scope="module")
def fixture_stubborn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed whose switch ages and cannot be told not to."""
    with broken_testbed(tmp_path_factory.mktemp("stubborn"), [AGED, "aging-stays-on"]) as testbed:
        yield testbed


def become(testbed: Testbed, vendor: str) -> None:
    """The switch has the tools of this vendor's image."""
    switch_type = "voq" if vendor == "broadcom" else "npu"
    script = BECOME.format(vendor=vendor, chip=PLATFORM_ASICS[vendor], switch_type=switch_type)
    assert shell(testbed, script) is not None


def shell(testbed: Testbed, script: str) -> str:
    """What a script prints on the switch."""
    host = OpenSsh(testbed["switches"][SWITCH])
    try:
        answer = host.shell(script)
    finally:
        host.close()
    assert answer["rc"] == 0, answer
    return str(answer["stdout"])


def is_on(testbed: Testbed) -> bool:
    """Whether the switch drops what is held, by its vendor's own words."""
    aging = aging_of(shell(testbed, KIND))
    assert aging is not None
    return aging.lasts(shell(testbed, aging.read))


def judge(testbed: Testbed, expected: Case) -> None:
    """PFC-1 on the fault's port."""
    with watchdog_stopped(testbed, [AgingAuditor()]) as bench:
        compare(bench.judge(expected), expected)


@pytest.mark.parametrize("vendor", PLATFORM_ASICS)
def test_a_healthy_switch_that_ages_passes(testbed: Testbed, vendor: str) -> None:
    become(testbed, vendor)
    assert is_on(testbed)
    with watchdog_stopped(testbed, [AgingAuditor()]) as bench:
        expected = case(AGED, "PASS PASS", "", "")
        outcome = bench.judge(expected)
        assert [message for verdict in outcome.verdicts for message in verdict.messages] == []
        assert not is_on(testbed)
    assert is_on(testbed)


def test_a_switch_that_ages_although_it_was_told_not_to_fails(testbed: Testbed) -> None:
    become(testbed, "mellanox")
    judge(testbed, case(AGED_ALWAYS, "FAIL PASS", HELD, "Ethernet64 priority 3: expected all ... frames received once "
                        "the storm had stopped, got 0"))
    assert is_on(testbed)


@pytest.mark.parametrize("vendor", PLATFORM_ASICS)
def test_a_switch_that_cannot_be_told_is_not_judged_by_what_it_held(stubborn: Testbed, vendor: str) -> None:
    become(stubborn, vendor)
    reason = f"where held frames may be dropped: {SWITCH}: {REASONS[vendor].format(switch=SWITCH)}"
    judge(stubborn, case(AGED, "ERROR PASS", HELD, f"Ethernet64 priority 3: expected all ... {reason}"))


def test_a_killed_run_is_restored(testbed: Testbed) -> None:
    """By `make restore`, whatever vendor's the switch is."""
    become(testbed, "mellanox")
    known = {key: testbed[key] for key in ("switches",)}
    ended = subprocess.run([sys.executable, "-c", KILLED, json.dumps(known)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL and not is_on(testbed)
    folder: Path = testbed["folder"]
    environment = {**os.environ, "VIRTUAL_TESTBED_STATE": str(folder), "ANSIBLE_HOME": str(folder / "ansible")}
    done = subprocess.run([sys.executable, ROOT / "scripts/restore.py", "vtb-t0"], cwd=ROOT, env=environment,
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0 and "is put back" in done.stdout, done.stdout + done.stderr
    assert is_on(testbed)
