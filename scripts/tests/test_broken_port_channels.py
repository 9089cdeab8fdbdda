"""Ports that are members of PortChannels: the only member of one that is up is measured by its addresses, PASS or FAIL;
one of several members, or of a PortChannel that waits for LACP, is refused by name."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.campaign.broken_testbed import SWITCH, Testbed
from scripts.tests.broken import HEALTHY_RX
from scripts.tests.test_broken_addresses import (
    BROKEN_RX, addresses, changed_testbed, configuration, kill_a_run, measure, restore, shell)

pytestmark = pytest.mark.slow("a testbed for them, and the whole way of a port for each: two minutes")

IN_PORT_CHANNELS = """
set -e
join() {
    config vlan member del 1000 $2
    config portchannel member add $1 $2
}
for number in 101 102 105; do config portchannel add PortChannel$number --fallback true; done
for number in 103 104; do config portchannel add PortChannel$number; done
join PortChannel101 Ethernet0
join PortChannel102 Ethernet64
join PortChannel103 Ethernet16
join PortChannel103 Ethernet20
join PortChannel104 Ethernet24
join PortChannel105 Ethernet8
config interface ip add PortChannel101 10.0.0.56/31
config interface ip add PortChannel101 fc00::71/126
config interface ip add PortChannel102 10.0.0.58/31
config interface ip add PortChannel102 fc00::75/126
"""
EXPECTED = (
    "; expected a PortChannel with one member that is up without LACP from the traffic generator (`fallback`), or a"
    " port in none (`config portchannel member del {channel} {port}`)"
)
SHOWN = [
    ("LAG_TABLE:PortChannel101", "{'admin_status': 'up', 'mtu': '9100', 'oper_status': 'up'}"),
    ("LAG_TABLE:PortChannel103", "{'admin_status': 'up', 'mtu': '9100', 'oper_status': 'down'}"),
    ("LAG_TABLE:PortChannel104", "{'admin_status': 'up', 'mtu': '9100', 'oper_status': 'down'}"),
    ("LAG_MEMBER_TABLE:PortChannel101:Ethernet0", "{'status': 'enabled'}"),
    ("LAG_MEMBER_TABLE:PortChannel103:Ethernet20", "{'status': 'disabled'}"),
    ("INTF_TABLE:PortChannel101:10.0.0.56/31", "{'scope': 'global', 'family': 'IPv4'}"),
]


@pytest.fixture(name="testbed", scope="module")
def fixture_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A testbed whose switch has some ports in PortChannels."""
    with changed_testbed(tmp_path_factory.mktemp("channels"), IN_PORT_CHANNELS) as testbed:
        yield testbed


def test_what_the_switch_shows_of_them(testbed: Testbed) -> None:
    for key, expected in SHOWN:
        assert shell(testbed, f"sonic-db-cli APPL_DB HGETALL '{key}'").strip() == expected, key
    ports = [line.split() for line in shell(testbed, "show interfaces status").splitlines()]
    assert ["PortChannel101", "N/A", "100G", "9100", "N/A", "N/A", "routed", "up", "up", "N/A", "N/A"] in ports
    assert [row[6] for row in ports if row and row[0] == "Ethernet0"] == ["PortChannel101"]
    shown = [line.split() for line in shell(testbed, "show interfaces portchannel").splitlines()]
    assert ["103", "PortChannel103", "LACP(A)(Dw)", "Ethernet16(D)", "Ethernet20(D)"] in shown


@pytest.mark.parametrize(("command", "said"), [
    ("config portchannel add Lag1", "Lag1 is invalid!, name should have prefix 'PortChannel' and suffix '<0-9999>'"),
    ("config portchannel add PortChannel101", "PortChannel101 already exists!"),
    ("config portchannel del PortChannel101", "contains members. Remove members before deleting Portchannel!"),
    ("config portchannel member add PortChannel101 Ethernet16", "is already member of PortChannel103"),
    ("config portchannel member add PortChannel101 Ethernet32", "configured as VLAN_MEMBER under vlan : Vlan1000"),
    ("config portchannel member del PortChannel101 Ethernet32", "Ethernet32 is not a member of portchannel"),
    ("config interface ip add Ethernet0 10.1.1.1/31", "Ethernet0 is configured as a member of portchannel."),
    ("config vlan member add -u 1000 Ethernet0", "Ethernet0 is part of portchannel!"),
])
def test_what_cannot_be_configured_is_refused(testbed: Testbed, command: str, said: str) -> None:
    before = configuration(testbed)
    assert said in shell(testbed, f"{command} 2>&1 || true")
    assert configuration(testbed) == before


@pytest.mark.parametrize(("port", "channel", "found"), [
    ("Ethernet16", "PortChannel103",
     "which has 2 members (Ethernet16, Ethernet20), and data for it may leave by any of them"),
    ("Ethernet24", "PortChannel104",
     "of which it is the only one (Ethernet24) and which is down (admin up, oper down)"),
])
def test_a_port_that_cannot_be_measured_in_its_port_channel_is_refused(
    testbed: Testbed, tmp_path: Path, port: str, channel: str, found: str
) -> None:
    ended = measure(testbed, tmp_path, port, "--pfc-change-config", "--pfc-scenario=PFC-1")
    errors = [line for line in ended.printed.splitlines() if line.startswith("ERROR")]
    sentence = f"{SWITCH} {port}: it is a member of {channel}, {found}"
    assert ended.status == 4 and errors == [
        f"ERROR: {sentence}{EXPECTED.format(channel=channel, port=port)}"], ended.printed


def test_a_healthy_port_passes_with_the_address_of_its_port_channel(testbed: Testbed, tmp_path: Path) -> None:
    """Nothing is changed for that; FLAP is not carried out."""
    before = configuration(testbed)
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-scenario=PFC-1,PFC-4,FLAP-1")
    assert ended.status == 0, ended.printed
    assert {record["plan_id"] for record in ended.records} == {"PFC-1", "PFC-4"}
    assert {record["status"] for record in ended.records} == {"PASS"}, ended.printed
    assert "not carried out, for lack of ports in no PortChannel" in ended.printed
    assert configuration(testbed) == before


def test_a_switch_that_ignores_pauses_fails_there(testbed: Testbed, tmp_path: Path) -> None:
    """Its PortChannel has no address: it is given one, which it has no more afterwards."""
    before = configuration(testbed)
    refused = measure(testbed, tmp_path / "refused", BROKEN_RX, "--pfc-scenario=PFC-1")
    sentence = "CONFIG_DB gives PortChannel105 no IPv4 address (PORTCHANNEL_INTERFACE|PortChannel105|...)"
    assert refused.status == 4 and sentence in refused.printed, refused.printed
    ended = measure(testbed, tmp_path, BROKEN_RX, "--pfc-change-config", "--pfc-scenario=PFC-1")
    failed = {check["name"] for record in ended.records for check in record["checks"] if check["status"] == "FAIL"}
    assert ended.status == 1 and "blocked-while-paused" in failed, (failed, ended.printed)
    assert configuration(testbed) == before and addresses(testbed) == []


def test_what_a_killed_run_gave_a_port_channel_is_taken_away(testbed: Testbed) -> None:
    before = configuration(testbed)
    kill_a_run(testbed, BROKEN_RX)
    assert configuration(testbed)["PORTCHANNEL_INTERFACE"] != before["PORTCHANNEL_INTERFACE"]
    restore(testbed)
    assert configuration(testbed) == before


def test_a_sweep_measures_ports_in_port_channels(testbed: Testbed, tmp_path: Path) -> None:
    """Two at once, the one that ignores pauses with an address that it is given; those that cannot be measured so are
    ERROR, each with its sentence."""
    before = configuration(testbed)
    ended = measure(testbed, tmp_path, HEALTHY_RX, "--pfc-change-config", "--pfc-scenario=SWEEP-1",
                    f"--pfc-ports={HEALTHY_RX},{BROKEN_RX},Ethernet16,Ethernet24", "--pfc-concurrency=max")
    found = {(record["port_id"], record["status"]) for record in ended.records}
    assert {(HEALTHY_RX, "PASS"), (BROKEN_RX, "FAIL"), ("Ethernet16", "ERROR"), ("Ethernet24", "ERROR")} <= found, found
    assert not {(HEALTHY_RX, "FAIL"), (HEALTHY_RX, "ERROR")} & found, ended.printed
    causes = {record["port_id"]: record["cause"] for record in ended.records if record.get("cause")}
    assert "which has 2 members (Ethernet16, Ethernet20)" in causes["Ethernet16"], causes
    assert "is the only one (Ethernet24) and which is down" in causes["Ethernet24"], causes
    assert configuration(testbed) == before and addresses(testbed) == []
