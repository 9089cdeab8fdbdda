"""A port without an address gets one for as long as a run has the switch, where its configuration may be changed. The
scripts run in a real shell, against stand-ins for SONiC's commands."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.common.pfc.addresses.auditor import PortChannelAuditor
from tests.common.pfc.addresses.giving import StateWithAddresses, give
from tests.common.pfc.addresses.networks import free_addresses
from tests.common.pfc.addresses.port_channels import in_port_channels, lacking
from tests.common.pfc.lab.configuration import RowRestorer
from tests.common.pfc.lab.dut import Dut, SwitchState
from tests.common.pfc.lab.planning import plan_measured
from tests.common.pfc.lab.port_plan import PortRequest
from tests.common.pfc.lab.reservation import ReservationLost
from tests.common.pfc.lab.restore import SwitchRestorer, read_state
from tests.common.pfc.lease.lease import LEASE_FILE, Lease, LeaseOwner
from tests.common.pfc.lease.taking import LeaseTaker
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort, PortPair, PortState, hosts_behind
from tests.common.pfc.model.qos import SharedBuffer
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.record.verdict import LOSSLESS, Check, Status
from tests.common.unit_tests.pfc.fakes import PORTS, make_config_db
from tests.common.unit_tests.pfc.shell_switch import DB_CLI, FOUND, Clock, ShellHost

FOLLOWING = """\
import json, os, sys
if sys.argv[1] == "APPL_DB" and "INTF_TABLE" in sys.argv[3]:
    rows = json.load(open("config_db.json")).get("INTERFACE", {})
    taken = [] if os.path.exists("deaf") else rows
    print("\\n".join("INTF_TABLE:" + key.replace("|", ":", 1) for key in taken))
    sys.exit()
"""
RX, TX = "Ethernet0", "Ethernet64"
GIVEN = {
    4: {RX: {}, f"{RX}|198.18.0.0/31": {}, TX: {}, f"{TX}|198.18.0.4/31": {}},
    6: {RX: {}, f"{RX}|2001:2::1/126": {}, TX: {}, f"{TX}|2001:2::9/126": {}},
}


CHANNELS = {  # of one member each, but for the last
    "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet0": {}, "PortChannel2|Ethernet64": {}, "PortChannel3|Ethernet4": {},
                           "PortChannel3|Ethernet68": {}},
    "PORTCHANNEL_INTERFACE": {"PortChannel1": {}, "PortChannel1|10.0.0.0/31": {}, "PortChannel2": {},
                              "PortChannel2|10.0.0.2/31": {}},
}


def ports():
    """The ports of the small switch, on two traffic generators."""
    return [ConnectedPort(ShellHost.hostname, port, f"ixia-{place // 2}", f"10.0.0.{place // 2};1;{place}", 100_000)
            for place, port in enumerate(PORTS)]


def configuration(bare=(RX, TX), **tables):
    """CONFIG_DB of the small switch where these ports are in no VLAN."""
    found = make_config_db()
    members = {key: row for key, row in found["VLAN_MEMBER"].items() if key.split("|")[1] not in bare}
    return {**found, "VLAN_MEMBER": members, **tables}


def installed(home, **content):
    """A switch with this configuration."""
    switch = ShellHost.installed(home)
    switch.command("sonic-db-cli", FOLLOWING + DB_CLI)
    found = {**configuration(), **content}
    found.pop("PFC_WD")
    switch.configure(FOUND, **found)
    return switch


def state_of(config_db, down=()):
    """The switch as it is found; all its ports are up, and all PortChannels but for some."""
    channels = {key.split("|")[0] for key in config_db.get("PORTCHANNEL_MEMBER", {})}
    up = {port: PortState(port not in down, True, 100_000) for port in (*PORTS, *channels)}
    return SwitchState(ShellHost.hostname, config_db, up, "SONiC", "sku", "broadcom")


def plan(config_db, ip_version=4, change_config=True, rx=RX, tx=TX):
    """The plan of a pair."""
    return plan_measured(state_of(config_db), ports(), PortRequest(rx, tx, ip_version, change_config))


@pytest.fixture
def switch(tmp_path):
    return installed(tmp_path)


def stopped(switch, run_id="run-1"):
    """The switch is a run's."""
    return SwitchRestorer(switch, run_id, Clock()).watchdog_stopped()


def given_to(switch, lease, *plans):
    """The addresses of these plans are given."""
    give(plans or [plan(switch.config_db())], Dut(switch, reservation=lease), Clock())


@pytest.mark.parametrize("ip_version", [4, 6])
def test_a_port_without_an_address_is_planned_with_one_where_that_may_be(ip_version):
    """It is refused where not, and the sentence says what helps."""
    found = plan(configuration(), ip_version)
    own = {key: row for key, row in found.state.config_db["INTERFACE"].items() if "|" in key}
    assert own == {key: {} for key in GIVEN[ip_version] if "|" in key}, own
    with pytest.raises(QualificationError) as refused:
        plan(configuration(), ip_version, change_config=False)
    assert str(refused.value) == (
        f"vtb-t0-01 Ethernet0: CONFIG_DB gives Ethernet0 no IPv{ip_version} address (INTERFACE|Ethernet0|...) and has"
        " it in no VLAN, so no host can sit behind the port: give it one, or let the run do so and take it away again"
        " (`make qualify CHANGE_CONFIG=1`, --pfc-change-config)"
    ), refused.value


def test_it_is_the_tx_port_that_is_refused_where_that_one_has_none():
    with pytest.raises(QualificationError, match="vtb-t0-01 Ethernet64: CONFIG_DB gives Ethernet64 no IPv4 address"):
        plan(configuration(bare=(TX,)), change_config=False)


def test_a_switch_whose_ports_have_what_they_need_is_left_alone():
    """In a VLAN, or with addresses of their own; also where others have none and nothing may be changed."""
    own = {RX: {}, f"{RX}|10.0.0.0/31": {}, TX: {}, f"{TX}|10.0.0.2/31": {}}
    for config_db in (make_config_db(), configuration(INTERFACE=own)):
        assert type(plan(config_db).state) is SwitchState, config_db
    assert type(plan(configuration(bare=("Ethernet4",)), change_config=False).state) is SwitchState, "it has no need"


def test_a_routed_port_without_an_address_of_the_other_version_gets_that_beside_its_own():
    """Its row stays as it is: it may be in a VRF."""
    row = {"vrf_name": "VrfRed"}
    found = plan(configuration(INTERFACE={RX: row, f"{RX}|10.0.0.0/31": {}}), 6)
    assert found.state.given[RX] == {"INTERFACE": {f"{RX}|2001:2::1/126": {}}}, found.state.given
    assert found.state.config_db["INTERFACE"][RX] == row, found.state.config_db["INTERFACE"]


def test_a_vlan_without_an_address_is_nobody_s_to_change():
    config_db = make_config_db()
    del config_db["VLAN_INTERFACE"]["Vlan1000|192.168.0.1/21"]
    with pytest.raises(QualificationError, match="gives Vlan1000 no IPv4 address"):
        plan(config_db)


@pytest.mark.parametrize(("taken", "ip_version", "expected"), [
    ("198.18.0.2/30", 4, ["198.18.0.4/31", "198.18.0.6/31"]),
    ("198.18.0.3/32", 4, ["198.18.0.0/31", "198.18.0.4/31"]),
    ("2001:2::7/64", 6, ["2001:2:0:1::1/126", "2001:2:0:1::5/126"]),
    ("fc00::1/126", 4, ["198.18.0.0/31", "198.18.0.2/31"]),
    ("no address", 4, ["198.18.0.0/31", "198.18.0.2/31"]),
])
def test_a_network_that_the_switch_has_is_passed_over(taken, ip_version, expected):
    """Whatever interface it is on."""
    found = free_addresses({"MGMT_INTERFACE": {f"eth0|{taken}": {}}}, ip_version, 2)
    assert [str(one) for one in found] == expected, found


@pytest.mark.parametrize(("taken", "ip_version"), [("198.0.0.1/8", 4), ("2001:2::1/32", 6)])
def test_a_switch_that_has_all_of_the_range_leaves_nothing(taken, ip_version):
    with pytest.raises(QualificationError, match="the switch leaves 0"):
        free_addresses({"INTERFACE": {f"Ethernet8|{taken}": {}}}, ip_version, 1)


@pytest.mark.parametrize("ip_version", [4, 6])
def test_the_ports_have_them_in_the_run_and_not_after_it(switch, ip_version):
    """What was found is in the lease before they come."""
    before = switch.config_db()
    with stopped(switch) as lease:
        given_to(switch, lease, plan(before, ip_version))
        kept = json.loads((switch.home / LEASE_FILE).read_text())
        assert switch.config_db()["INTERFACE"] == GIVEN[ip_version], switch.config_db()["INTERFACE"]
        assert kept["schema"] == 2 and kept["tables"]["INTERFACE"] == dict.fromkeys(GIVEN[ip_version]), kept
    assert switch.config_db() == {**before, "INTERFACE": {}}, switch.config_db()
    assert not (switch.home / LEASE_FILE).exists(), "the lease is gone"


def test_the_port_s_own_address_stays(tmp_path):
    own = {RX: {"vrf_name": "VrfRed"}, f"{RX}|10.0.0.0/31": {}}
    switch = installed(tmp_path, INTERFACE=own)
    with stopped(switch) as lease:
        given_to(switch, lease, plan(switch.config_db(), 6))
        assert {**own, f"{RX}|2001:2::1/126": {}}.items() <= switch.config_db()["INTERFACE"].items(), "it has both"
    assert switch.config_db()["INTERFACE"] == own, switch.config_db()["INTERFACE"]


def test_several_ports_of_a_sweep_are_given_theirs_one_after_the_other(switch):
    """The second pair shares a port with the first; all is put back."""
    before = switch.config_db()
    with stopped(switch) as lease:
        given_to(switch, lease, plan(before))
        given_to(switch, lease, plan(before, rx=TX, tx=RX))
        assert switch.config_db()["INTERFACE"] == GIVEN[4], switch.config_db()["INTERFACE"]
    assert switch.config_db() == {**before, "INTERFACE": {}}, switch.config_db()


def test_rows_that_a_test_case_changes_and_puts_back_leave_the_addresses(switch):
    """As LSET does."""
    rows = {"PORT_QOS_MAP": {RX: {"pfc_enable": "2"}}}
    with stopped(switch) as lease:
        given_to(switch, lease)
        with RowRestorer(switch, lease).configured(switch.config_db(), rows, Clock()):
            assert switch.config_db()["PORT_QOS_MAP"][RX] == {"pfc_enable": "2"}, "the case's own rows are there"
        assert switch.config_db()["INTERFACE"] == GIVEN[4], "the ports have their addresses for the next case"
        assert switch.config_db()["PORT_QOS_MAP"][RX]["pfc_enable"] == "3,4", "the case's rows are back"
    assert switch.config_db()["INTERFACE"] == {}, switch.config_db()["INTERFACE"]


def test_a_switch_that_does_not_take_them_is_not_measured(switch):
    """CONFIG_DB has them, nobody hands them on."""
    (switch.home / "deaf").touch()
    with pytest.raises(QualificationError) as refused, stopped(switch) as lease:
        given_to(switch, lease)
    assert str(refused.value) == (
        "vtb-t0-01: expected INTF_TABLE:Ethernet0:198.18.0.0/31 in APPL_DB within 10 s of its row in CONFIG_DB, got"
        " none: intfmgrd has not taken the address that the port was given"
    ), refused.value
    assert switch.config_db()["INTERFACE"] == {}, "what it did not take is taken away"


def test_a_run_that_lost_its_lease_gives_nothing(switch):
    with pytest.raises(ReservationLost, match="run run-2"), stopped(switch) as lease:
        other = Lease(LeaseOwner("alice", "lab-2", 4711, "boot", 5), "run-2", watchdog=FOUND)
        (switch.home / LEASE_FILE).write_text(other.text())
        given_to(switch, lease)
    assert "INTERFACE" not in switch.config_db(), switch.config_db()


KILLED = """
import os, pathlib, signal, sys
from tests.common.unit_tests.pfc.shell_switch import ShellHost
from tests.common.unit_tests.pfc.unit_test_addresses import given_to, stopped
switch = ShellHost(pathlib.Path(sys.argv[1]))
with stopped(switch) as lease:
    given_to(switch, lease)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_run(switch):
    """A run of its own process that is killed while its ports have addresses."""
    root = Path(__file__).resolve().parents[4]
    ended = subprocess.run([sys.executable, "-c", KILLED, switch.home], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL, ended
    assert switch.config_db()["INTERFACE"] == GIVEN[4], "it was too early"


def test_the_next_run_finds_the_ports_as_they_were_before_the_one_that_was_killed(switch, monkeypatch):
    """It refuses what it must not change, has no address of the dead run, and leaves none."""
    before = switch.config_db()
    kill_a_run(switch)
    monkeypatch.setattr(Dut, "state", lambda dut: state_of(dut.host.config_db()))
    found = read_state(Dut(switch))
    assert found.config_db == {**before, "PFC_WD": found.config_db["PFC_WD"], "INTERFACE": {}}, found.config_db
    with pytest.raises(QualificationError, match="gives Ethernet0 no IPv4 address"):
        plan(found.config_db, change_config=False)
    with stopped(switch, "run-2") as lease:
        assert switch.config_db()["INTERFACE"] == {}, "the dead run's are gone before anything is measured"
        given_to(switch, lease, plan(found.config_db, 6))
        assert switch.config_db()["INTERFACE"] == GIVEN[6], switch.config_db()["INTERFACE"]
    assert switch.config_db() == {**before, "INTERFACE": {}}, switch.config_db()


def test_restoring_takes_them_away(switch):
    before = switch.config_db()
    kill_a_run(switch)
    with LeaseTaker(switch, "restore", Clock()).healed() as seen:
        assert seen.lease.run_id == "run-1", seen
    assert switch.config_db() == {**before, "INTERFACE": {}}, switch.config_db()


def test_what_else_is_known_of_the_switch_stays():
    """`given` is all that is added."""
    found = plan(configuration()).state
    assert isinstance(found, StateWithAddresses), found
    bare = state_of(configuration())
    kept = {one.name for one in dataclasses.fields(bare)} - {"config_db"}
    assert {name: getattr(found, name) for name in kept} == {name: getattr(bare, name) for name in kept}, found
    assert SharedBuffer("egress_lossless_pool", 12766208) == plan(configuration()).subject.buffer, "the plan is whole"


def test_the_only_member_of_a_port_channel_is_planned_with_its_addresses():
    """Nothing is changed for that."""
    state = state_of(configuration(bare=PORTS, **CHANNELS))
    found = plan_measured(state, ports(), PortRequest(RX, TX))
    hosts = hosts_behind((found.subject.pair.rx, found.subject.pair.tx), found.state.config_db)
    assert [host.address for host in hosts] == ["10.0.0.1", "10.0.0.3"], hosts
    assert [host.gateway for host in hosts] == ["10.0.0.0", "10.0.0.2"], hosts
    assert type(found.state) is SwitchState and found.subject.further == (), found.subject.further


def test_a_port_channel_in_a_vlan_is_planned_there():
    members = {"Vlan1000|PortChannel1": {"tagging_mode": "untagged"}, f"Vlan1000|{TX}": {"tagging_mode": "untagged"}}
    one = {"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet0": {}}}
    found = plan(configuration(**one, VLAN_MEMBER=members), change_config=False)
    assert hosts_behind((found.subject.pair.rx,), found.state.config_db)[0].segment == "Vlan1000", found.state.config_db


@pytest.mark.parametrize(("rx", "down", "said"), [
    ("Ethernet4", (), "Ethernet4: it is a member of PortChannel3, which has 2 members (Ethernet4, Ethernet68), and"),
    (RX, ("PortChannel1",), "Ethernet0: it is a member of PortChannel1, of which it is the only one (Ethernet0) and"
     " which is down (admin up, oper down); expected a PortChannel with one member that is up without LACP"),
    (RX, ("PortChannel2",), "Ethernet64: it is a member of PortChannel2, of which it is the only one (Ethernet64) and"),
])
def test_a_port_that_cannot_be_measured_in_its_port_channel_is_refused(rx, down, said):
    """Also where everything may be changed."""
    with pytest.raises(QualificationError) as refused:
        plan_measured(state_of(configuration(bare=PORTS, **CHANNELS), down), ports(), PortRequest(rx, TX, 4, True))
    assert said in str(refused.value), refused.value


def test_a_port_channel_without_an_address_is_given_one(tmp_path):
    """Of the other version, here; it is put back."""
    switch = installed(tmp_path, **CHANNELS)
    before = switch.config_db()
    with pytest.raises(QualificationError, match=r"gives PortChannel1 no IPv6 address \(PORTCHANNEL_INTERFACE\|"):
        plan(before, 6, change_config=False)
    found = plan(before, 6)
    assert found.state.given[RX] == {"PORTCHANNEL_INTERFACE": {"PortChannel1|2001:2::1/126": {}}}, found.state.given
    assert hosts_behind((found.subject.pair.rx,), found.state.config_db, 6)[0].address == "2001:2::2", "its host's"
    with stopped(switch) as lease, pytest.MonkeyPatch.context() as patched:
        patched.setattr("tests.common.pfc.addresses.giving._wait_for_interfaces", lambda *given: None)
        given_to(switch, lease, found)
        assert "PortChannel1|2001:2::1/126" in switch.config_db()["PORTCHANNEL_INTERFACE"], switch.config_db()
        assert "INTERFACE" not in switch.config_db(), "a member has no address of its own"
    assert switch.config_db() == before, switch.config_db()


def in_channels():
    """The subject of a pair in PortChannels."""
    return in_port_channels(plan(configuration(bare=PORTS, **CHANNELS)).subject, CHANNELS)


def test_a_link_that_flaps_is_none_of_a_port_channel_s_cases():
    subject = in_channels()
    assert lacking(PlanCase("flap", "FLAP-1"), subject) == (
        "ports in no PortChannel, which comes up later than its link (here PortChannel1, PortChannel2)"), subject
    assert not lacking(PlanCase("pause", "PFC-1"), subject), "all others are carried out"
    assert not lacking(PlanCase("flap", "FLAP-1"), in_port_channels(plan(make_config_db()).subject, {})), "in none"


STATUS_HEADER = """\
    Interface    Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin    Type    Asym PFC
-------------  -------  -------  -----  -----  -------  ------  ------  -------  ------  ----------
"""


def port_states(down):
    """`show interfaces status` of a switch some of whose PortChannels are down."""
    rows = [f"{name:>13}      N/A     100G   9100    N/A      N/A  routed  {'down' if name in down else 'up':>6}"
            "       up     N/A         N/A" for name in ("PortChannel1", "PortChannel2", "PortChannel3")]
    return STATUS_HEADER + "\n".join(rows) + "\n"


def lab_in_channels(shown):
    """What a pair in PortChannels is measured with; `shown`: which ones are down, reading by reading."""
    readings = iter(shown)
    dut = SimpleNamespace(ask=lambda commands: {"ports": port_states(next(readings))})
    return SimpleNamespace(subject=in_channels(), dut=dut, config_db=CHANNELS)


FAILED = Check("throughput", LOSSLESS, Status.FAIL, "all 9 frames received", "7", "vtb-t0-01 Ethernet0", 3)
HELD = dataclasses.replace(FAILED, status=Status.PASS)


@pytest.mark.parametrize(("down", "status"), [
    ((), Status.FAIL), (("PortChannel3",), Status.FAIL), (("PortChannel2",), Status.ERROR),
])
def test_what_failed_says_nothing_where_a_port_channel_went_down(down, status):
    """Of its pair; and no case begins while one is."""
    found = PortChannelAuditor().reconsidered(lab_in_channels([down]), PlanCase("pause", "PFC-1"), [FAILED, HELD])
    assert [check.status for check in found] == [status, Status.PASS], found
    if status is Status.FAIL:
        PortChannelAuditor().begin(lab_in_channels([down]))
        assert PortChannelAuditor().explain(lab_in_channels([down])) == "" and found == [FAILED, HELD], found
        return
    assert found[0].seen == "7, and PortChannel2 is down, or was", found
    said = PortChannelAuditor().explain(lab_in_channels([down]))
    assert said == "PortChannel2 is down", said
    with pytest.raises(QualificationError, match="vtb-t0-01 Ethernet0: expected PortChannel2 up, got down"):
        PortChannelAuditor().begin(lab_in_channels([down]))


@pytest.mark.parametrize(("first", "then", "status"), [
    (("PortChannel2",), (), Status.ERROR), ((), ("PortChannel2",), Status.ERROR), ((), (), Status.FAIL),
])
def test_of_ports_measured_at_once_each_is_looked_at(first, then, status):
    """The case begins once, with a port that is in none; its neighbour's is down then, or afterwards."""
    lab = lab_in_channels([first, then])
    subject = plan(make_config_db()).subject
    other = dataclasses.replace(subject, pair=PortPair(
        *(dataclasses.replace(port, port=f"Ethernet{number}")
          for port, number in ((subject.pair.rx, 8), (subject.pair.tx, 12)))))
    auditor = PortChannelAuditor()
    auditor.begin(SimpleNamespace(subject=other, dut=lab.dut, config_db=CHANNELS))
    found = auditor.reconsidered(lab, PlanCase("port-sweep", "SWEEP-1"), [FAILED])
    assert [check.status for check in found] == [status], found


def test_a_switch_without_them_is_not_asked():
    """Nor one where all have several members."""
    lab = SimpleNamespace(subject=in_channels(), dut=None, config_db={
        "PORTCHANNEL_MEMBER": {"PortChannel3|Ethernet4": {}, "PortChannel3|Ethernet68": {}}})
    auditor = PortChannelAuditor()
    auditor.begin(lab)
    assert auditor.reconsidered(lab, PlanCase("pause", "PFC-1"), [FAILED]) == [FAILED], "it stands"
