"""The commands as programs: SONiC's syntax, output and exit status."""
from __future__ import annotations

import json
import re

import pytest

from virtual_testbed.dataplane.model.counters import WatchdogState
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.command_wrappers import write_image_files
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.tests.sonic.conftest import HWSKU, MAC, NAME, following


@pytest.fixture
def qos(run):
    run("config qos reload")
    return run


def config(run, table):
    return json.loads(run("sonic-cfggen -d --print-data")).get(table, {})


def rows(text, port):
    """Words of the lines that begin with a port."""
    return [line.split() for line in text.splitlines() if line.split()[:1] == [port]]


def test_pfc_counters_as_sonic_prints_them(run, agent, network):
    network.set_port("Ethernet0", pfc_rx=(1200, 201, 0, 1234567, 0, 0, 0, 7))
    network.set_port("Ethernet4", pfc_tx=(0, 0, 0, 0, 5, 0, 0, 0))
    agent.publish_counters()
    text = run("show pfc counters", root=False)
    lines = text.splitlines()
    assert lines[0].split() == ["Port", "Rx", *(f"PFC{number}" for number in range(8))]
    assert re.fullmatch(r"-+(  -+){8}", lines[1])
    assert lines[2].split() == ["Ethernet0", "1,200", "201", "0", "1,234,567", "0", "0", "0", "7"]
    assert [line.split()[0] for line in lines[2:5]] == ["Ethernet0", "Ethernet4", "Ethernet8"]
    assert lines[34] == "" and lines[35].split()[:2] == ["Port", "Tx"]
    assert lines[38].split() == ["Ethernet4", "0", "0", "0", "0", "5", "0", "0", "0"]
    assert run("pfcstat", root=False) == text


def test_clears_are_each_users_own_and_end_with_the_switch(run, agent, network, redis):
    network.set_port("Ethernet0", pfc_rx=(0, 0, 0, 10, 0, 0, 0, 0), rx_packets=100)
    agent.publish_counters()
    assert run("pfcstat -c") == "Clear saved PFC counters and history\n"
    network.set_port("Ethernet0", pfc_rx=(0, 0, 0, 15, 0, 0, 0, 0), rx_packets=130)
    agent.publish_counters()
    text = run("show pfc counters")
    assert text.startswith("Last cached time was ") and rows(text, "Ethernet0")[0][4] == "5"
    assert rows(run("show pfc counters", root=False), "Ethernet0")[0][4] == "15"
    assert run("sonic-clear counters") == "Cleared counters\n"
    assert rows(run("portstat"), "Ethernet0")[0][2] == "0"
    assert rows(run("portstat", root=False), "Ethernet0")[0][2] == "130"
    SonicAgent(NAME, redis.socket, HWSKU, network, []).close()  # the switch starts again: its counters begin at 0
    assert rows(run("show pfc counters"), "Ethernet0")[0][4] == "15"


def test_what_another_command_keeps_there_is_no_snapshot(run, agent):
    """sonic-utilities' own `pfcstat -c` keeps its counters in the same file."""
    run("pfcstat -c")
    for text in ('{"Ethernet0": {"pfc0": "1"}, "time": "2026-11-22T16:30:51"}', "[]", "no JSON"):
        (run.root / "tmp/cache/pfcstat/0/pfcstatrx").write_text(text)
        assert not run("pfcstat").startswith("Last cached"), text


def test_queue_counters(run, agent, network):
    network.set_queue("Ethernet0", 3, packets=1234, bytes=5678, dropped_packets=3, dropped_bytes=300)
    agent.publish_counters()
    text = run("show queue counters Ethernet0")
    header = "     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes"
    assert text.startswith(f"For namespace :\n{header}\n")
    found = rows(text, "Ethernet0")
    assert found[3] == ["Ethernet0", "UC3", "1234", "5678", "3", "300"]
    assert [row[1] for row in found] == [f"UC{n}" for n in range(10)] + [f"MC{n}" for n in range(10, 20)]
    assert run("sonic-clear queuecounters").startswith("Clear and update saved counters for Ethernet0\n")
    text = run("queuestat -p Ethernet0")
    assert "Ethernet0 Last cached time was" in text and rows(text, "Ethernet0")[-1] != found[3]
    assert [row[2:] for row in rows(text, "Ethernet0") if row[1] == "UC3"] == [["0", "0", "0", "0"]]
    found = json.loads(run("queuestat -j -p Ethernet0", root=False))["Ethernet0"]
    assert found["UC3"]["totalpacket"] == "1234" and "T" in found["time"], found
    assert run("queuestat -p Ethernet4 -nz").startswith("Last cached time was 20"), "also without a row"
    assert run("show queue counters Ethernet99", status=1) == "Port doesn't exist! Ethernet99\n"


def test_watermarks(run, agent, network):
    network.set_queue("Ethernet0", 3, watermark_bytes=416)
    agent.publish_counters()
    text = run("show queue watermark unicast")
    assert text.splitlines()[0] == "Egress shared pool occupancy per unicast queue:"
    assert rows(text, "Ethernet0")[0][1:] == ["0", "0", "0", "416", "0", "0", "0", "0", "0", "0"]
    assert run("sonic-clear queue watermark unicast", root=False, status=1).startswith("Root privileges are required")
    run("sonic-clear queue watermark all; sonic-clear queue watermark multicast")
    assert rows(run("show queue watermark unicast"), "Ethernet0")[0][4] == "416"
    run("sonic-clear queue watermark unicast")
    assert rows(run("show queue watermark unicast"), "Ethernet0")[0][4] == "0"
    for most, shown in ((200, "200"), (416, "416"), (7, "416")):  # each since the poll before
        network.set_queue("Ethernet0", 3, watermark_bytes=most)
        agent.poll(["QUEUE_WATERMARK"])
        assert rows(run("show queue watermark unicast"), "Ethernet0")[0][4] == shown
        assert network.cleared[-1] == {"queues"}
    assert rows(run("show priority-group drop counters"), "Ethernet0")[0] == ["Ethernet0", *["0"] * 8]
    assert "Ingress headroom per PG:" in run("show priority-group watermark headroom")


def test_persistent_watermarks_are_cleared_by_themselves(run, agent, network):
    network.set_queue("Ethernet0", 3, watermark_bytes=416)
    agent.publish_counters()
    run("sonic-clear queue watermark unicast")

    def shown(command):
        return rows(run(command), "Ethernet0")[0][4]

    assert shown("show queue watermark unicast") == "0"
    assert shown("show queue persistent-watermark unicast") == shown("watermarkstat -p -t q_shared_uni") == "416"
    network.set_queue("Ethernet0", 3, watermark_bytes=7)
    agent.poll(["QUEUE_WATERMARK"])
    run("sonic-clear queue persistent-watermark unicast")
    assert shown("show queue persistent-watermark unicast") == "0"
    assert shown("show queue watermark unicast") == "7"
    for kind in ("headroom", "shared"):
        run(f"sonic-clear priority-group persistent-watermark {kind}")
        found = json.loads(run(f"show priority-group persistent-watermark {kind} -j"))
        assert found[0] == {"Port": "Ethernet0", **{f"PG{number}": "0" for number in range(8)}}


def test_watermarks_of_other_queues(run, agent):
    text = run("show queue watermark multicast")
    assert text.startswith("Egress shared pool occupancy per multicast queue:\n")
    assert text.splitlines()[1].split() == ["Port", *(f"MC{number}" for number in range(10, 20))]
    assert run("show queue watermark all", status=1) == "Object map is empty!\n", "this switch has no such queues"


def test_the_interval_of_periodic_watermarks(run, config_db):
    assert run("show watermark telemetry interval") == "\nTelemetry interval 120 second(s)\n\n"
    run("config watermark telemetry interval 30")
    assert databases.read_config(config_db, "WATERMARK_TABLE") == {
        "WATERMARK_TABLE": {"TELEMETRY_INTERVAL": {"interval": "30"}}}
    assert run("watermarkcfg -s") == "\nTelemetry interval: 30 second(s)\n\n"
    run("config watermark telemetry interval 0")
    assert "interval: 30 " in run("show watermark telemetry interval"), "0 changes nothing, as in SONiC"
    assert "invalid int value: 'soon'" in run("config watermark telemetry interval soon", status=2)
    assert run("config watermark telemetry interval 30", root=False, status=1).startswith("Root privileges")


def test_only_buffers_that_are_configured_are_counted(qos, agent, config_db):
    """With `create_only_config_db_buffers`; a port without a group that another one has shows `N/A`."""
    config_db.call("HSET", "DEVICE_METADATA|localhost", "create_only_config_db_buffers", "true")
    for key in databases.read_config(config_db)["BUFFER_PG"]:
        if key != "Ethernet0|0":
            config_db.call("DEL", f"BUFFER_PG|{key}")
    agent.apply_configuration()
    agent.publish_counters()
    text = qos("show priority-group drop counters")
    assert text.splitlines()[1].split() == ["Port", "PG0", "PG3", "PG4"], text
    found = rows(text, "Ethernet0") + rows(text, "Ethernet4")
    assert found == [["Ethernet0", "0", "0", "0"], ["Ethernet4", "N/A", "0", "0"]], "lossless ones are derived"
    listed = [row[1] for row in rows(qos("show queue counters Ethernet0"), "Ethernet0")]
    assert listed == [f"UC{key}" for key in range(7)], "what BUFFER_QUEUE has"
    config_db.call("HSET", "DEVICE_METADATA|localhost", "create_only_config_db_buffers", "false")
    agent.apply_configuration()
    assert "PG7" in qos("show priority-group drop counters"), "all of them again"


@pytest.mark.parametrize("command", [
    "sonic-clear macsec", "sonic-clear dropcounters", "sonic-clear pfccounters \n", "sonic-clear counters \n",
    "sonic-clear priority-group drop counters", "sonic-clear queuecounters \n", "sudo sonic-clear pfccounters \n"])
def test_clears_that_suites_do(run, command):
    run(command)


def test_portstat(run, agent, network):
    network.set_port("Ethernet0", tx_packets=1234, tx_drops=5, rx_bytes=10)
    network.set_link("Ethernet4", False)
    network.now_ps = 10 ** 12
    agent.publish_counters()
    found = json.loads(run("portstat -ji Ethernet0"))["Ethernet0"]
    assert found["TX_OK"] == "1,234" and found["TX_DRP"] == "5" and found["STATE"] == "U"
    text = run("show interfaces counters")
    assert text.split()[:14] == ["IFACE", "STATE", "RX_OK", "RX_BPS", "RX_UTIL", "RX_ERR", "RX_DRP", "RX_OVR",
                                 "TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR", "TX_DRP", "TX_OVR"]
    assert rows(text, "Ethernet0")[0][2:6] == ["0", "10.00", "B/s", "0.00%"] and rows(text, "Ethernet4")[0][1] == "D"
    assert len(rows(run("portstat -i Ethernet0,Ethernet8"), "Ethernet4")) == 0
    details = run("show interface counters detailed Ethernet0")
    assert "\n\nTotal Packets Transmitted Successfully......... 1,234\n" in details, details
    assert details.startswith("Packets Received 64 Octets..................... 0\n"), details
    assert "Jabbers Received............................... N/A\n" in details, details


def test_interface_status_as_sonic_mgmt_reads_it(run):
    pattern = r"(\S+)\s+[\d,N\/A]+\s+(\w+)\s+(\d+)\s+(rs|fc|N\/A|none)\s+([\w\/]+)\s+(\w+)\s+(\w+)\s+(\w+)"
    for command in ("show interface status", "show interfaces status", "show int stat"):
        lines = run(command, root=False).splitlines()
        assert lines[0].split() == ["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin",
                                    "Type", "Asym", "PFC"]
        assert all(re.search(pattern, line) for line in lines[2:]) and len(lines) == 34
    assert "100G" in run("show interfaces status Ethernet4")
    assert len(run("show interfaces status Ethernet5").splitlines()) == 2, "of an unknown port no row, as in SONiC"


def test_what_ports_negotiate(run):
    header, _, row = run("show interfaces autoneg status Ethernet4").splitlines()
    assert "Auto-Neg Mode" in header
    assert row.split() == ["Ethernet4", "N/A", "100G", "N/A", "N/A", "N/A", "N/A", "up", "up"]
    assert len(run("show int autoneg status").splitlines()) == 2 + 32
    run("sonic-db-cli CONFIG_DB hset 'PORT|Ethernet4' autoneg off adv_speeds 40000,100000")
    row = run("show interfaces autoneg status Ethernet4").splitlines()[2]
    assert row.split()[1:5] == ["disabled", "100G", "40000,100000", "N/A"]
    run("sonic-db-cli CONFIG_DB hset 'PORT|Ethernet4' autoneg on")
    assert "enabled" in run("show interfaces autoneg status Ethernet4")


def test_watchdog_is_started_shown_and_stopped(qos):
    assert qos("pfcwd start Ethernet0 Ethernet8 200") == (
        "restoration time not defined; default to 2 times detection time: 400 ms\n")
    qos("pfcwd start --action forward -r 600 Ethernet4 300")
    qos("pfcwd interval 200")
    assert qos("pfcwd show config") == (
        "Changed polling interval to 200ms\n"
        "     PORT    ACTION    DETECTION TIME    RESTORATION TIME    HISTORY\n"
        "---------  --------  ----------------  ------------------  ---------\n"
        "Ethernet0      drop               200                 400    disable\n"
        "Ethernet4   forward               300                 600    disable\n"
        "Ethernet8      drop               200                 400    disable\n")
    assert qos("show pfcwd config") == qos("pfcwd show config")
    qos("pfcwd stop Ethernet0")
    assert sorted(config(qos, "PFC_WD")) == ["Ethernet4", "Ethernet8", "GLOBAL"]
    qos("pfcwd stop")
    assert config(qos, "PFC_WD") == {"GLOBAL": {"POLL_INTERVAL": "200"}}


def test_watchdog_refusals_in_sonics_words(run):
    assert run("pfcwd start Ethernet0 200", status=0).endswith("SKIPPED: PFC is not enabled on port: Ethernet0\n")
    assert run("pfcwd start Ethernet99 200", status=1) == "Failed to run command, invalid options:\nEthernet99\n"
    assert "99 is not in the range 100<=x<=5000" in run("pfcwd start Ethernet0 99", status=2)
    assert "is not in the range 100<=x<=60000" in run("pfcwd start -r 5 Ethernet0 200", status=2)
    assert "'explode' is not one of 'drop', 'forward', 'alert'" in run("pfcwd start -a explode Ethernet0 200", status=2)
    assert "is not in the range 100<=x<=1000" in run("pfcwd interval 2000", status=2)


def test_poll_interval_above_a_configured_time_is_refused(qos):
    qos("pfcwd start -r 300 Ethernet0 200")
    assert qos("pfcwd interval 250", status=1) == (
        "unable to use polling interval = 250ms, value is bigger than one of the configured detection time values, "
        "please choose a smaller polling_interval\n")


def test_default_watchdog_is_for_ports_with_a_neighbour(qos, config_db):
    for port in ("Ethernet0", "Ethernet4"):
        databases.change_row(config_db, "DEVICE_NEIGHBOR", port, {"name": "host"})
    qos("pfcwd start_default")
    found = config(qos, "PFC_WD")
    assert found["GLOBAL"] == {"POLL_INTERVAL": "200"} and sorted(found) == ["Ethernet0", "Ethernet4", "GLOBAL"]
    assert found["Ethernet4"] == {"action": "drop", "detection_time": "200", "pfc_stat_history": "disable",
                                  "restoration_time": "200"}
    qos("pfcwd stop")
    databases.change_row(config_db, "DEVICE_METADATA", "localhost", {"default_pfcwd_status": "disable"})
    qos("pfcwd start_default")
    assert sorted(config(qos, "PFC_WD")) == ["GLOBAL"]


def test_watchdog_switches(qos):
    qos("pfcwd start -r 200 Ethernet0 200")
    qos("pfcwd big_red_switch enable")
    qos("pfcwd counter_poll disable")
    qos("pfcwd pfc_stat_history enable Ethernet0")
    assert "BIG_RED_SWITCH status is enable" in qos("pfcwd show config")
    assert config(qos, "PFC_WD")["Ethernet0"]["pfc_stat_history"] == "enable"
    assert config(qos, "FLEX_COUNTER_TABLE")["PFCWD"] == {"FLEX_COUNTER_STATUS": "disable"}
    qos("pfcwd start -r 300 Ethernet0 300")
    assert config(qos, "PFC_WD")["Ethernet0"] == {"detection_time": "300", "pfc_stat_history": "enable",
                                                  "restoration_time": "300"}


def test_watchdog_statistics(qos, agent, network):
    assert qos("show pfcwd stats").splitlines()[0].split()[:4] == ["QUEUE", "STATUS", "STORM", "DETECTED/RESTORED"]
    qos("pfcwd start -r 200 Ethernet0 200")
    agent.apply_configuration()
    network.set_watchdog({
        ("Ethernet0", 3): WatchdogState("stormed", 1, 0, 100, 300, 100, 300, 0, 200, 0, 200),
        ("Ethernet0", 4): WatchdogState()})
    agent.publish_counters()
    assert qos("show pfcwd stats") == (
        "      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP"
        "    TX LAST OK/DROP    RX LAST OK/DROP\n"
        "-----------  --------  -------------------------  ------------  ------------"
        "  -----------------  -----------------\n"
        "Ethernet0:3   stormed                        1/0       100/300       100/300"
        "              0/200              0/200\n")
    assert "Ethernet0:4  operational" in qos("pfcwd show stats -e Ethernet0:4")
    qos("pfcwd show stats --check-storm", status=1)
    qos("pfcwd stop Ethernet0")
    agent.apply_configuration()
    agent.publish_counters()
    assert rows(qos("pfcwd show stats"), "Ethernet0:3")[0][1:4] == ["N/A", "1/0", "100/300"], "the statistics stay"


def test_pfc_priorities(qos):
    assert rows(qos("pfc show priority Ethernet0"), "Ethernet0") == [["Ethernet0", "3,4"]]
    assert qos("pfc config priority on Ethernet0 3") == "Priority 3 has already been enabled on Ethernet0\n"
    qos("pfc config priority off Ethernet0 3")
    qos("pfc config priority on Ethernet0 5")
    assert rows(qos("show pfc priority Ethernet0"), "Ethernet0") == [["Ethernet0", "4,5"]]
    assert qos("pfc show priority Ethernet99") == "Cannot find interface Ethernet99\n"
    qos("pfc config asymmetric on Ethernet0")
    assert rows(qos("pfc show asymmetric"), "Ethernet0") == [["Ethernet0", "on"]]
    assert "'8' is not one of" in qos("pfc config priority on Ethernet0 8", status=2)


def test_qos_reload_is_the_default_and_repeatable(run, agent, network):
    run("config qos reload")
    before = run("sonic-cfggen -d --print-data")
    run("config qos reload")
    assert run("sonic-cfggen -d --print-data") == before
    assert config(run, "PORT_QOS_MAP")["Ethernet0"]["pfc_enable"] == "3,4"
    assert config(run, "BUFFER_POOL")["egress_lossless_pool"]["size"] == "15982720"
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet0"].pfc_priorities == frozenset({3, 4})
    run("config qos clear")
    assert config(run, "PORT_QOS_MAP") == {}


def test_qos_reload_with_dynamic_buffers_leaves_sizes_to_the_switch(run, agent, network):
    """Until the model is changed back, as `--no-dynamic-buffer` does."""
    run("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic")
    run("config qos reload")
    assert config(run, "BUFFER_POOL")["ingress_lossless_pool"] == {"mode": "dynamic", "type": "ingress"}
    assert config(run, "BUFFER_PG")["Ethernet0|3-4"] == {"profile": "NULL"}
    assert config(run, "DEFAULT_LOSSLESS_BUFFER_PARAMETER") == {"AZURE": {"default_dynamic_th": "0"}}
    agent.apply_configuration()
    assert run("sonic-db-cli APPL_DB HGET BUFFER_PG_TABLE:Ethernet0:3-4 profile").startswith("pg_lossless_100000_")
    assert network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff > 0
    folder = "/usr/share/sonic/device/x86_64-arista_7060_cx32s/Arista-7060CX-32S-C32"
    made = json.loads(run(f"sonic-cfggen -d -t {folder}/buffers_dynamic.json.j2,config-db --print-data"))
    assert made["BUFFER_PG"] == config(run, "BUFFER_PG"), "the template by itself makes the same"
    run("config qos reload --no-dynamic-buffer")
    assert config(run, "DEVICE_METADATA")["localhost"]["buffer_model"] == "traditional"
    assert "size" in config(run, "BUFFER_POOL")["ingress_lossless_pool"] and "Ethernet0|3-4" not in config(
        run, "BUFFER_PG")


def test_cfggen_reads_the_switchs_own_files(run):
    run("config save -y")
    hwsku = "DEVICE_METADATA.localhost.hwsku"
    assert run(f"sonic-cfggen -j /etc/sonic/config_db.json -v {hwsku}") == "Arista-7060CX-32S-C32\n"
    assert run(f"sonic-cfggen -y /etc/sonic/config_db.json -v {hwsku}") == "Arista-7060CX-32S-C32\n"


@pytest.mark.parametrize("command, status", [
    ("config load -y", 1), ("config reload -y", 1), ("config apply-patch", 2), ("config replace", 2),
    ("sonic-cfggen --print-data -j", 1), ("sonic-cfggen --print-data -y", 1)])
@pytest.mark.parametrize("content", [b"\xff\xfe", b"{bad", b"- [", None])
def test_files_that_cannot_be_used_are_named(run, tmp_path, command, status, content):
    path = tmp_path / "file"
    path.mkdir() if content is None else path.write_bytes(content)
    text = run(f"{command} {path}", status=status)
    assert "Traceback" not in text and str(path) in text.splitlines()[-1]


def test_qos_reload_into_a_file(run, tmp_path):
    assert run(f"config qos reload --dry_run {tmp_path}/qos.json") == ""
    assert "BUFFER_POOL" in json.loads((tmp_path / "qos.json").read_text())
    assert run(f"config qos reload --dry_run {tmp_path}/none/qos.json", status=1) == (
        f"error: {tmp_path}/none/qos.json cannot be written: No such file or directory\n")
    assert run(f"config qos reload --dry_run {tmp_path}/qos.json --json-data bad", status=1).startswith(
        "error: --json-data is not JSON: ")


def test_output_that_nobody_reads(run):
    assert run("show pfc counters | true; portstat | true") == ""


def test_cfggen(run):
    everything = json.loads(run("sonic-cfggen -d --print-data"))
    assert list(everything) == sorted(everything)
    assert list(everything["PORT"])[:3] == ["Ethernet0", "Ethernet4", "Ethernet8"]
    assert run("sonic-cfggen -d -v DEVICE_METADATA.localhost.hwsku") == "Arista-7060CX-32S-C32\n"
    assert run("sonic-cfggen -d -v \"DEVICE_METADATA['localhost']['type']\"") == "not-provisioned\n"
    assert json.loads(run("sonic-cfggen -d --var-json PORT"))["Ethernet0"]["lanes"] == "33,34,35,36"
    assert json.loads(run("sonic-cfggen -j - --print-data", stdin='{"A": {"b": {"c": 1}}}')) == {"A": {"b": {"c": "1"}}}
    assert run("sonic-cfggen -d --var-json PFC_WD") == ""
    assert json.loads(run("show runningconfiguration all")) == everything


def test_db_cli(run):
    oid = run("sonic-db-cli COUNTERS_DB HGET COUNTERS_QUEUE_NAME_MAP Ethernet0:3")
    assert re.fullmatch(r"oid:0x[0-9a-f]+\n", oid)
    assert run(f"sonic-db-cli COUNTERS_DB HGET COUNTERS:{oid.strip()} SAI_QUEUE_STAT_DROPPED_PACKETS") == "0\n"
    assert run("sonic-db-cli CONFIG_DB HGETALL 'VERSIONS|DATABASE'") == "{'VERSION': 'version_202505_01'}\n"
    assert run("sonic-db-cli CONFIG_DB HGET nothing x") == "\n"
    assert run("sonic-db-cli APPL_DB EXISTS PORT_TABLE:Ethernet0") == "1\n"
    assert run("sonic-db-cli NO_DB KEYS '*'", status=1) == "Invalid database name input : 'NO_DB'\n"
    assert "ERR" in run("sonic-db-cli CONFIG_DB NONSENSE", status=1)
    assert run("sonic-db-cli PING") == "PONG\n"


def test_save_load_reload(agent, run):
    factory = json.loads(run("sonic-cfggen -d --print-data"))
    run("config interface shutdown Ethernet0")
    assert run("config save -y") == (
        "Running command: /usr/local/bin/sonic-cfggen -d --print-data > /etc/sonic/config_db.json\n")
    saved = json.loads((run.root / "etc/sonic/config_db.json").read_text())
    assert saved["PORT"]["Ethernet0"]["admin_status"] == "down"
    run("cat > more.json", stdin='{"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": 300}}}')
    run("config load more.json -y")
    assert config(run, "PFC_WD")["GLOBAL"] == {"POLL_INTERVAL": "300"}
    with following(agent):
        run("config reload -y -f")
    assert json.loads(run("sonic-cfggen -d --print-data")) == saved
    (run.root / "etc/sonic/config_db.json").unlink()
    with following(agent):
        run("config reload -y")
    assert json.loads(run("sonic-cfggen -d --print-data")) == factory


def test_files_that_cannot_be_loaded_change_nothing(run):
    before = run("sonic-cfggen -d --print-data")
    assert "doesn't exist" in run("config load nothing.json -y")
    run("echo '{' > broken.json")
    assert "broken.json is not JSON" in run("config load broken.json -y", status=1)
    run("echo '[1]' > list.json")
    assert "expected an object of tables, found list" in run("config reload list.json -y", status=1)
    run("config reload nothing.json -y", status=1)
    run("config load broken.json", stdin="n\n", status=1)
    assert run("sonic-cfggen -d --print-data") == before


def patch(run, operations, status=0):
    return run("config apply-patch /dev/stdin", stdin=json.dumps(operations), status=status)


def test_apply_patch(run):
    assert patch(run, []) == "Patch applied successfully.\n"
    patch(run, [
        {"op": "add", "path": "/VLAN", "value": {"Vlan10": {"vlanid": "10"}}},
        {"op": "add", "path": "/VLAN_INTERFACE", "value": {"Vlan10": {}, "Vlan10|10.0.0.1/24": {}}},
        {"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "1500"}])
    assert config(run, "VLAN_INTERFACE") == {"Vlan10": {}, "Vlan10|10.0.0.1/24": {}}
    patch(run, [{"op": "remove", "path": "/VLAN_INTERFACE/Vlan10|10.0.0.1~124"}])
    assert config(run, "VLAN_INTERFACE") == {"Vlan10": {}} and config(run, "PORT")["Ethernet0"]["mtu"] == "1500"


def test_a_patch_leaves_the_watchdog_no_time_shorter_than_its_polls(run):
    run("sonic-db-cli CONFIG_DB hset 'PFC_WD|Ethernet0' action drop detection_time 400 restoration_time 400")
    run("sonic-db-cli CONFIG_DB hset 'PFC_WD|GLOBAL' POLL_INTERVAL 400")
    path = "/PFC_WD/GLOBAL/POLL_INTERVAL"
    said = patch(run, [{"op": "add", "path": path, "value": "410"}], status=2)
    assert "detection_time must be greater than or equal to POLL_INTERVAL" in said
    patch(run, [{"op": "add", "path": path, "value": "390"}])
    assert config(run, "PFC_WD")["GLOBAL"] == {"POLL_INTERVAL": "390"}


@pytest.mark.parametrize("operations, reason", [
    ([{"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "1500"},
      {"op": "remove", "path": "/NOTHING"}], "remove"),
    ([{"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "1500"},
      {"op": "test", "path": "/PORT/Ethernet0/mtu", "value": "9"}], ""),
    ({"op": "add"}, "a patch is a list of operations, found dict"),
    ([{"op": "explode", "path": "/PORT"}], ""),
    ([{"op": "add", "path": "/PORT/Ethernet0/mtu", "value": {"a": 1}}], "field mtu must be text"),
    ([{"op": "add", "path": "/PORT_QOS_MAP", "value": {"Ethernet0": {"pfc_enable": "9"}}}],
     "priorities must be numbers 0..7"),
    ([{"op": "add", "path": "/BUFFER_POOL", "value": {"egress_lossy_pool": {"type": "egress"}}}],
     "Modification of BUFFER_POOL table is illegal- validating function"),
    ([{"op": "add", "path": "/PORT/Ethernet5", "value": {"admin_status": "up"}}], "this switch has no port Ethernet5"),
])
def test_a_refused_patch_changes_nothing(run, operations, reason):
    before = run("sonic-cfggen -d --print-data")
    text = patch(run, operations, status=2)
    assert text.startswith("Failed to apply patch due to: ") and reason in text and "Traceback" not in text
    assert run("sonic-cfggen -d --print-data") == before


def test_interfaces_and_vlans(run):
    run("config interface shutdown Ethernet0,Ethernet4")
    run("config interface startup Ethernet4")
    ports = config(run, "PORT")
    assert (ports["Ethernet0"]["admin_status"], ports["Ethernet4"]["admin_status"]) == ("down", "up")
    run("config interface ip add Ethernet0 20.1.1.0/31")
    assert config(run, "INTERFACE") == {"Ethernet0": {}, "Ethernet0|20.1.1.0/31": {}}
    run("config interface ip remove Ethernet0 20.1.1.0/31")
    assert config(run, "INTERFACE") == {}
    run("config vlan add 100")
    run("config vlan member add -u 100 Ethernet8")
    run("config interface ip add Vlan100 10.9.0.1/24")
    assert config(run, "VLAN_MEMBER") == {"Vlan100|Ethernet8": {"tagging_mode": "untagged"}}
    assert re.search(r"\| +100 +\| 10.9.0.1/24 +\| Ethernet8 +\| untagged", run("show vlan brief"))
    assert "a member of vlan" in run("config interface ip add Ethernet8 1.1.1.1/31", status=2)
    assert "Interface name is invalid" in run("config interface startup Ethernet99", status=2)
    assert "IP address is not valid" in run("config interface ip add Ethernet0 1.1.1.300/31", status=2)
    assert "First remove" in run("config vlan del 100", status=2)
    assert "Vlan100 already exists" in run("config vlan add 100", status=2)
    assert "Invalid VLAN ID 5000 (2-4094)" in run("config vlan add 5000", status=2)


def test_services_and_whether_they_are_enabled(run):
    lines = run("show feature status").splitlines()
    assert lines[0].split() == ["Feature", "State", "AutoRestart"], "no column that no service has a value for"
    assert [line.split() for line in lines[2:4]] == [
        ["bgp", "enabled", "enabled"], ["database", "always_enabled", "always_enabled"]]
    assert run("show feature status swss").splitlines()[2].split() == ["swss", "enabled", "enabled"]
    assert run("show feature status none", status=1) == "Can not find feature none\n"


def test_speeds_are_those_of_the_port(run):
    run("config interface speed Ethernet0 50000")
    assert config(run, "PORT")["Ethernet0"]["speed"] == "50000"
    text = run("config interface speed Ethernet0 7", status=1)
    assert re.fullmatch("Invalid speed specified: 7\nValid speeds:[0-9,]*50000[0-9,]*\n", text)
    assert run("config interface speed Ethernet99 50000", status=1) == "Invalid port Ethernet99\n"
    run("config interface speed Ethernet0 100000")


def test_templates_make_what_qos_reload_makes(run):
    folder = "/usr/share/sonic/device/x86_64-arista_7060_cx32s/Arista-7060CX-32S-C32"
    names = ("buffers.json.j2", "qos.json.j2")
    run("config qos clear")
    templates = " ".join(f"-t {folder}/{name},config-db" for name in names)
    printed = json.loads(run(f"sonic-cfggen -d {templates} -y /etc/sonic/sonic_version.yml --print-data"))
    assert printed["build_version"] == "202505.virtual", "variables of templates are printed too"
    made = {table: rows for table, rows in printed.items() if isinstance(rows, dict)}
    assert "PORT_QOS_MAP" not in json.loads(run("sonic-cfggen -d --print-data"))
    run("config qos reload")
    assert json.loads(run("sonic-cfggen -d --print-data")) == made and made["BUFFER_POOL"] and made["PORT_QOS_MAP"]
    tables = json.loads(run(f"sonic-cfggen -d -t {folder}/qos.json.j2"))
    assert tables["PORT_QOS_MAP"] == made["PORT_QOS_MAP"] and "BUFFER_POOL" not in tables
    for wrong in (f"{folder}/ipinip.json.j2", "qos.json.j2"):
        assert run(f"sonic-cfggen -d -t {wrong},config-db", status=1) == f"error: there is no template {wrong}\n"


def test_version(run):
    text = run("show version")
    assert "SONiC Software Version: SONiC.202505.virtual" in text and "HwSKU: Arista-7060CX-32S-C32" in text
    assert "Platform: x86_64-arista_7060_cx32s" in text and "ASIC: broadcom" in text
    try:
        write_image_files(run.root, load_profile(HWSKU), MAC, "202411.virtual")
        assert "SONiC Software Version: SONiC.202411.virtual\n" in run("show version")
    finally:
        write_image_files(run.root, load_profile(HWSKU), MAC)


def test_what_does_not_exist_is_refused(run):
    assert "No such command" in run("show nothing", status=2)
    assert "Too many matches" in run("show p", status=2)
    assert "not found" in run("no-such-program", status=127)
    assert "usage: docker exec" in run("docker inspect", status=1)


def test_a_redis_that_is_away_is_one_sentence(programs_folder, redis_server):
    redis_server.process.kill()
    redis_server.process.wait()
    try:
        text = programs_folder("show pfc counters", status=1)
    finally:
        redis_server._start()
    assert text == f"error: no Redis answers at {redis_server.socket}: Connection refused\n"
