"""More commands as programs: dumps, WRED, buffers, checkpoints, drops, and the watchdog below `config`."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.commands.ecnconfig import FIELDS, NOTE, wrong_with
from virtual_testbed.sonic.commands.templates import environment
from virtual_testbed.tests.sonic.test_commands import config, rows

PROFILE = "AZURE_LOSSLESS"


@pytest.fixture
def qos(run, config_db):
    """SONiC's QoS, and a neighbour at two ports."""
    for port in ("Ethernet0", "Ethernet4"):
        databases.change_row(config_db, "DEVICE_NEIGHBOR", port, {"name": "host"})
    run("config qos reload")
    return run


@pytest.fixture
def dynamic(run, agent):
    """A switch that sizes its buffers by itself."""
    run("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic")
    run("config qos reload")
    agent.apply_configuration()
    return run


@pytest.mark.parametrize("command", [
    "redis-dump -d 4 --pretty -k 'DEVICE_METADATA|localhost'",
    "sonic-db-dump -n CONFIG_DB -y -k 'DEVICE_METADATA|localhost'",
    "redis-dump -H 127.0.0.1 -p 6379 -d 4 -k 'DEVICE_METADATA|localhost'"])
def test_dumps(run, command):
    text = run(command)
    found = json.loads(text)["DEVICE_METADATA|localhost"]
    assert found["type"] == "hash" and found["value"]["default_pfcwd_status"] == "enable"
    assert set(found) == {"type", "value"} and not text.endswith("\n")
    assert ("\n  " in text) == ("-y" in command or "--pretty" in command)


def test_dumps_of_whole_databases_are_in_order(run, agent):
    agent.publish_counters()
    text = run("sonic-db-dump -n APPL_DB -y")
    found = json.loads(text)
    assert found["PORT_TABLE:Ethernet0"]["value"]["oper_status"] == "up" and list(found) == sorted(found)
    assert json.loads(run("redis-dump -y")) == found, "database 0 is APPL_DB"
    assert json.loads(run("sonic-db-dump -n CONFIG_DB"))["CONFIG_DB_INITIALIZED"] == {"type": "string", "value": "1"}
    assert run("redis-dump -d 4 -k nothing") == "{}"


def test_dumps_have_every_type_and_what_ends(run):
    for words in ("RPUSH l b a", "SADD s b a", "ZADD z 1.5 b", "SET t x EX 1000"):
        run(f"sonic-db-cli LOGLEVEL_DB {words}")
    try:
        found = json.loads(run("sonic-db-dump -n LOGLEVEL_DB -y"))
    finally:
        run("sonic-db-cli LOGLEVEL_DB FLUSHDB")
    assert found["l"] == {"type": "list", "value": ["b", "a"]} and found["z"]["value"] == [["b", 1.5]]
    assert found["s"] == {"type": "set", "value": ["a", "b"]}
    assert found["t"]["value"] == "x" and 900 < found["t"]["ttl"] <= 1000 and found["t"]["expireat"] > 1e9


def test_dumps_that_cannot_be_made_are_refused(run, tmp_path):
    assert "there is no database NO_DB" in run("sonic-db-dump -n NO_DB", status=1)
    assert "must be a number, found 'x'" in run("redis-dump -d x", status=1)
    run("redis-dump APPL_DB", status=4)
    run(f"redis-dump -d 4 -o {tmp_path}/dump.json")
    assert "PORT|Ethernet0" in json.loads((tmp_path / "dump.json").read_text())
    assert f"{tmp_path} cannot be written" in run(f"redis-dump -d 4 -o {tmp_path}", status=1)


def test_wred_profiles(qos):
    text = qos("ecnconfig -l", root=False)
    assert text.startswith(f"Profile: {PROFILE}\n---") and "green_max_threshold" in text
    assert qos("show ecn") == text and qos("ecnconfig -l -vv") == f"{text}Total profiles: 1\n"
    assert qos(f"ecnconfig -p {PROFILE} -gmin 1000 -gmax 2000 -gdrop 7 -vv") == (
        "Setting green_max_threshold value to 2000\nSetting green_min_threshold value to 1000\n"
        f"Setting green_drop_probability value to 7%\n{NOTE}\n"), "nobody may think that frames are marked"
    found = config(qos, "WRED_PROFILE")[PROFILE]
    assert [found[FIELDS[option]] for option in ("gmin", "gmax", "gdrop")] == ["1000", "2000", "7"]
    qos(f"config ecn -profile {PROFILE} -gmax 3000")
    assert config(qos, "WRED_PROFILE")[PROFILE][FIELDS["gmax"]] == "3000"


def test_wred_profiles_that_are_wrong(qos):
    before = config(qos, "WRED_PROFILE")
    for options, reason in ((f"-p {PROFILE} -gmin 3000000", "Invalid gmin (3000000) and gmax ("),
                            (f"-p {PROFILE} -gmin x", "Invalid gmin (x). gmin should be an non-negative integer."),
                            (f"-p {PROFILE} -rdrop 101", "rdrop should be an integer between 0 and 100."),
                            ("-p NONE -gmin 1", "Exception caught:  Input arguments error. Invalid WRED profile NONE"),
                            (f"-p {PROFILE}", "Specify at least one threshold parameter to set"),
                            (f"-l -p {PROFILE} -gmin 1", "No set options allowed")):
        assert reason in qos(f"ecnconfig {options}", status=1), options
    assert qos("ecnconfig", status=1) == ""
    assert qos(f"ecnconfig -p {PROFILE} -gmax 3000000", root=False, status=1).startswith("Root privileges required")
    assert config(qos, "WRED_PROFILE") == before
    assert wrong_with({FIELDS["ymin"]: "5", FIELDS["ymax"]: "5"}) == []


def test_which_queues_have_a_wred_profile(qos):
    assert qos("ecnconfig -q 3,5", root=False) == "ECN status:\nqueue 3: on\nqueue 5: off\n"
    before = config(qos, "QUEUE")
    assert qos("ecnconfig -q 3 off") == f"{NOTE}\n"
    found = config(qos, "QUEUE")
    assert "wred_profile" not in found["Ethernet0|3"] and found["Ethernet0|3"]["scheduler"]
    assert qos("ecnconfig -q 3 -vv") == "ECN status:\nEthernet0,Ethernet4 queue 3: off\n"
    qos("ecnconfig -q 3,9 on")
    assert config(qos, "QUEUE")["Ethernet4|9"] == {"wred_profile": PROFILE}
    qos("ecnconfig -q 9 off")
    assert config(qos, "QUEUE") == before, "a row without fields goes"
    qos("ecnconfig -q 3 on", root=False, status=1)


def test_queues_without_a_port_that_has_a_neighbour(run):
    assert run("ecnconfig -q 3", status=1) == (
        "Exception caught:  No active ports detected in table 'DEVICE_NEIGHBOR'\n")


def test_thresholds_of_profiles_go_to_the_hardware(qos, agent, network):
    text = qos("mmuconfig -l", root=False)
    assert text.startswith("Pool: egress_lossless_pool\n") and "Profile: ingress_lossy_profile\n" in text
    assert qos("show mmu") == qos("show buffer configuration") == text
    qos("mmuconfig -p egress_lossless_profile -s 1000000")
    qos("mmuconfig -p egress_lossy_profile -a 2")
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet0"].queues[0].dynamic_th == 2
    assert network.configs[-1].ports["Ethernet0"].queues[3].static_th == 1000000
    assert "not using static threshold" in qos("mmuconfig -p egress_lossy_profile -s 1", status=1)
    assert "is not in the range" in qos("mmuconfig -p egress_lossy_profile -a 9", status=2)
    assert "does not trim packets" in qos("config mmu -p egress_lossy_profile -t on", status=1)
    assert qos("mmuconfig -p egress_lossy_profile -a 1", root=False, status=1).startswith("Root privileges required")
    assert "Usage: mmuconfig" in qos("mmuconfig", status=1)


def test_a_derived_profile_can_have_another_threshold(qos, agent, network):
    """As with buffermgrd, which uses a profile of that name that is there."""
    agent.apply_configuration()
    name = qos("sonic-db-cli APPL_DB HGET BUFFER_PG_TABLE:Ethernet0:3-4 profile").strip()
    assert name.startswith("pg_lossless_") and name in config(qos, "BUFFER_PROFILE")
    before = network.configs[-1].ports["Ethernet0"].priority_groups[3]
    qos(f"mmuconfig -p {name} -a -4")
    agent.apply_configuration()
    after = network.configs[-1].ports["Ethernet0"].priority_groups[3]
    assert (after.dynamic_th, after.xoff, after.size) == (-4, before.xoff, before.size) and before.dynamic_th != -4
    assert qos(f"sonic-db-cli APPL_DB HGET BUFFER_PROFILE_TABLE:{name} dynamic_th") == "-4\n"


def test_checkpoints(qos, agent, network):
    agent.apply_configuration()  # what the switch derives is there
    assert qos("config list-checkpoints") == "[]\n"
    assert qos("config checkpoint test") == "Checkpoint created successfully.\n"
    before = qos("sonic-cfggen -d --print-data")
    qos("pfcwd start Ethernet0 200 -r 400")
    qos("config interface mtu Ethernet0 1500")
    qos("config interface pfc priority Ethernet4 3 off")
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet4"].pfc_priorities == {4}
    assert '"test"' in qos("config list-checkpoints")
    assert json.loads(qos("config list-checkpoints -t"))[0]["time"].endswith("+00:00")
    assert qos("config rollback -d test") == "** DRY RUN EXECUTION **\nConfig rolled back successfully.\n"
    assert qos("sonic-cfggen -d --print-data") != before
    assert qos("config rollback test") == "Config rolled back successfully.\n"
    assert qos("sonic-cfggen -d --print-data") == before
    agent.apply_configuration()
    port = network.configs[-1].ports["Ethernet0"]
    assert (port.watchdog, port.mtu) == (None, 9100) and network.configs[-1].ports["Ethernet4"].pfc_priorities == {3, 4}
    assert qos("config delete-checkpoint test") == "Checkpoint deleted successfully.\n"
    assert qos("config list-checkpoints") == "[]\n"


def test_checkpoints_that_are_not_there(run):
    for command, message in (("rollback", "Failed to rollback config"),
                             ("delete-checkpoint", "Failed to delete config checkpoint")):
        text = run(f"config {command} none", status=2)
        assert text.startswith(message) and "Error: Checkpoint 'none' does not exist\n" in text
    assert "cannot be the name of a file" in run("config checkpoint ../x", status=2)
    assert run("config checkpoint x", root=False, status=1).startswith("Root privileges")


def test_a_rollback_that_a_patch_may_not_make_is_refused(qos, config_db):
    qos("config checkpoint pools")
    try:
        config_db.call("HSET", "BUFFER_POOL|egress_lossy_pool", "size", "1000000")
        text = qos("config rollback pools", status=2)
        assert "Modification of BUFFER_POOL table is illegal" in text and "Traceback" not in text
        assert config(qos, "BUFFER_POOL")["egress_lossy_pool"]["size"] == "1000000"
        (qos.root / "etc/sonic/checkpoints/pools.cp.json").write_text("{")
        assert "pools.cp.json cannot be read" in qos("config rollback pools", status=2)
    finally:
        qos("config delete-checkpoint pools")


def test_the_watchdog_below_config(qos):
    text = qos("config pfcwd start --action drop all 400 --restoration-time 400")
    assert text.startswith("SKIPPED: PFC is not enabled on port: Ethernet8\n"), "it has no neighbour"
    assert config(qos, "PFC_WD")["Ethernet4"] == {
        "action": "drop", "detection_time": "400", "pfc_stat_history": "disable", "restoration_time": "400"}
    qos("config pfcwd stop")
    assert config(qos, "PFC_WD") == {}
    assert qos("config pfcwd start --verbose -a alert ports Ethernet0 detection-time 200").startswith(
        "Running command: pfcwd start --action alert Ethernet0 200\n"), "words of older images are left out"
    qos("config pfcwd interval 200")
    qos("config pfcwd counter_poll disable")
    qos("config pfcwd big_red_switch enable")
    qos("config pfcwd pfc_stat_history enable Ethernet0")
    found = config(qos, "PFC_WD")
    assert found["GLOBAL"] == {"POLL_INTERVAL": "200", "BIG_RED_SWITCH": "enable"}
    assert found["Ethernet0"]["pfc_stat_history"] == "enable" and "Ethernet4" not in found
    assert qos("config pfcwd interval 300", status=1).startswith("unable to use polling interval = 300ms")
    qos("config pfcwd stop")
    qos("config pfcwd start_default")
    assert sorted(config(qos, "PFC_WD")) == ["Ethernet0", "Ethernet4", "GLOBAL"]
    assert "Ethernet99" in qos("config pfcwd start Ethernet99 400", status=1)


def test_mtu_and_pfc_of_ports(qos, agent, network):
    qos("config interface mtu Ethernet0 1500")
    qos("config interface pfc priority Ethernet0 3 off")
    qos("config interface pfc asymmetric Ethernet0 on")
    agent.apply_configuration()
    port = network.configs[-1].ports["Ethernet0"]
    assert (port.mtu, port.pfc_priorities) == (1500, {4})
    assert config(qos, "PORT")["Ethernet0"]["pfc_asym"] == "on"
    assert "is not in the range 68<=x<=9216" in qos("config interface mtu Ethernet0 67", status=2)
    assert qos("config interface mtu Ethernet99 1500", status=1) == "Invalid port Ethernet99\n"
    assert "'8' is not one of" in qos("config interface pfc priority Ethernet0 8 on", status=2)
    assert "'interface_name' is in portchannel!" in qos(
        "config portchannel add PortChannel1; config portchannel member add PortChannel1 Ethernet8;"
        " config interface mtu Ethernet8 1500", status=2)


def test_the_speed_decides_about_the_headroom(qos, agent, network):
    agent.apply_configuration()
    before = network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff
    qos("config interface speed Ethernet0 50000")
    agent.apply_configuration()
    assert 0 < network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff < before
    assert "pg_lossless_50000_" in qos("sonic-db-cli APPL_DB HGET BUFFER_PG_TABLE:Ethernet0:3-4 profile")
    assert qos("sonic-db-cli STATE_DB HGET 'PORT_TABLE|Ethernet0' supported_speeds").startswith("100000,")


@pytest.mark.parametrize("command", [
    "config buffer profile add own --dynamic_th 1", "config interface cable-length Ethernet0 300m",
    "config interface buffer priority-group lossless add Ethernet0 6"])
def test_commands_of_dynamic_buffers_want_these(qos, command):
    before = qos("sonic-cfggen -d --print-data")
    assert "on a system with dynamic buffer enabled" in qos(command, status=2)
    assert qos("sonic-cfggen -d --print-data") == before


def test_cable_length(dynamic, agent, network):
    before = network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff
    dynamic("config interface cable-length Ethernet0 300m")
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff > before
    assert "This switch has no headroom for a cable of 7m at speed 100000 (it has for 5m, 40m, 300m)" in dynamic(
        "config interface cable-length Ethernet0 7m", status=2)
    assert "Should be in format <num>m" in dynamic("config interface cable-length Ethernet0 7", status=2)
    assert "Port Ethernet99 doesn't exist" in dynamic("config interface cable-length Ethernet99 5m", status=2)


def test_lossless_groups(dynamic, agent, network):
    group = "config interface buffer priority-group lossless"
    dynamic(f"{group} add Ethernet0 6")
    agent.apply_configuration()
    port = network.configs[-1].ports["Ethernet0"]
    assert port.pfc_priorities == {3, 4, 6} and port.priority_groups[6] == port.priority_groups[3]
    assert "overlaps with existing priority group 3-4" in dynamic(f"{group} add Ethernet0 4-5", status=2)
    for wrong in ("0", "8", "5-4", "x"):
        assert f"Buffer priority group {wrong} is not valid." in dynamic(f"{group} add Ethernet0 {wrong}", status=2)
    assert "Buffer priority group 5 doesn't exist" in dynamic(f"{group} set Ethernet0 5", status=2)
    assert "Lossy PG 0 can't be removed" in dynamic(f"{group} remove Ethernet0 0", status=2)
    dynamic(f"{group} remove Ethernet0")
    agent.apply_configuration()
    port = network.configs[-1].ports["Ethernet0"]
    assert port.pfc_priorities == frozenset() and set(port.priority_groups) == {0}
    assert "No lossless priority group found on port Ethernet0" in dynamic(f"{group} remove Ethernet0", status=2)


def test_buffers_of_queues(dynamic):
    queue = "config interface buffer queue"
    before = config(dynamic, "BUFFER_QUEUE")
    dynamic(f"{queue} remove Ethernet0 3-4")
    dynamic(f"{queue} add Ethernet0 3 egress_lossless_profile")
    assert config(dynamic, "BUFFER_QUEUE")["Ethernet0|3"] == {"profile": "egress_lossless_profile"}
    assert "Type of pool" in dynamic(f"{queue} set Ethernet0 3 ingress_lossy_profile", status=2)
    assert "Profile none doesn't exist" in dynamic(f"{queue} set Ethernet0 3 none", status=2)
    dynamic(f"{queue} remove Ethernet0 3")
    dynamic(f"{queue} add Ethernet0 3-4 egress_lossless_profile")
    assert config(dynamic, "BUFFER_QUEUE") == before


def test_profiles_with_a_headroom_of_their_own(dynamic, agent, network):
    dynamic("config buffer profile add own --xon 20000 --xoff 50000 --dynamic_th -2")
    assert config(dynamic, "BUFFER_PROFILE")["own"] == {
        "dynamic_th": "-2", "pool": "ingress_lossless_pool", "size": "70000", "xoff": "50000", "xon": "20000"}
    dynamic("config interface buffer priority-group lossless set Ethernet0 3-4 own")
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff == 50000
    assert "referenced by Ethernet0|3-4 and can't be removed" in dynamic("config buffer profile remove own", status=2)
    dynamic("config buffer profile set own --xoff 60000")
    agent.apply_configuration()
    assert network.configs[-1].ports["Ethernet0"].priority_groups[3].xoff == 60000
    dynamic("config interface buffer priority-group lossless set Ethernet0 3-4")
    dynamic("config buffer profile remove own")
    assert "own" not in config(dynamic, "BUFFER_PROFILE")


@pytest.mark.parametrize("options, reason", [
    ("", "Either size information (xon, xoff, size) or dynamic_th needs to be provided"),
    ("--xoff 5", "Xon is mandatory for non-dynamic profile"), ("--xon 5", "Neither xoff nor size is provided"),
    ("--xon 5 --size 4", "The xoff must be greater than 0 while we got -1"),
    ("--dynamic_th 1 --pool none", "Pool none doesn't exist")])
def test_profiles_that_say_too_little(dynamic, options, reason):
    assert reason in dynamic(f"config buffer profile add own {options}", status=2)
    assert "own" not in config(dynamic, "BUFFER_PROFILE")


def test_a_shared_headroom(dynamic, agent, network):
    pool = "config buffer shared-headroom-pool"
    dynamic(f"{pool} over-subscribe-ratio 2")
    agent.apply_configuration()
    shared = int(dynamic("sonic-db-cli APPL_DB HGET BUFFER_POOL_TABLE:ingress_lossless_pool xoff"))
    size = int(dynamic("sonic-db-cli APPL_DB HGET BUFFER_POOL_TABLE:ingress_lossless_pool size"))
    dynamic(f"{pool} size 1000000")
    agent.apply_configuration()
    assert dynamic("sonic-db-cli STATE_DB HGET 'BUFFER_POOL_TABLE|ingress_lossless_pool' xoff") == "1000000\n"
    assert network.configs[-1].pools["ingress_lossless_pool"].xoff == 1000000, "a size wins over the ratio"
    assert int(dynamic("sonic-db-cli APPL_DB HGET BUFFER_POOL_TABLE:ingress_lossless_pool size")) == (
        size + shared - 1000000)
    assert "xoff  1000000\n" in dynamic("buffershow -l")
    dynamic(f"{pool} size 0")
    dynamic(f"{pool} over-subscribe-ratio 0")
    agent.apply_configuration()
    assert dynamic("sonic-db-cli APPL_DB HGET BUFFER_POOL_TABLE:ingress_lossless_pool xoff") == "\n"
    assert "in range [0, 32]" in dynamic(f"{pool} over-subscribe-ratio 33", status=2)
    assert "less than mmu size" in dynamic(f"{pool} size 1000000000", status=2)


def test_buffers_in_effect_are_shown_with_dynamic_ones_only(qos):
    assert qos("show buffer information") == (
        "No buffer pool information available\nNo buffer profile information available\n")


def test_drops_of_ports(run, agent, network):
    network.set_port("Ethernet0", rx_drops=7, tx_drops=5, rx_errors=1)
    network.set_link("Ethernet4", False)
    agent.publish_counters()
    text = run("dropstat -c show")
    assert text.splitlines()[0].split() == ["IFACE", "STATE", "RX_ERR", "RX_DROPS", "TX_ERR", "TX_DROPS"]
    assert rows(text, "Ethernet0") == [["Ethernet0", "U", "1", "7", "0", "5"]] and text.endswith("\n\n")
    assert rows(text, "Ethernet4")[0][1] == "D" and run("show dropcounters counts") == text[:-1]
    assert run("show dropcounters counts -g group") == "\n"
    assert rows(run("dropstat -c show -t PORT_EGRESS_DROPS"), "Ethernet0") == [["Ethernet0", "U", "0", "5"]]
    assert run("dropstat -c show -g group") == "\n"
    assert run("sonic-clear dropcounters") == "Cleared drop counters\n"
    assert run("sonic-clear arp; sonic-clear ndp fc00::1") == 2 * "Nothing to flush.\n", "addresses do not age"
    network.set_port("Ethernet0", rx_drops=9)
    agent.publish_counters()
    assert rows(run("dropstat -c show"), "Ethernet0") == [["Ethernet0", "U", "0", "2", "0", "0"]]
    assert rows(run("dropstat -c show", root=False), "Ethernet0")[0][3] == "9", "each user's own"


def test_there_are_no_debug_counters(run, config_db):
    assert run("show dropcounters capabilities") == "Current device does not support drop counters\n"
    databases.change_row(config_db, "DEBUG_COUNTER", "COUNTER_0", {"type": "PORT_INGRESS_DROPS", "group": "g"})
    for reason in ("L2_ANY", "ACL_ANY"):
        databases.change_row(config_db, "DEBUG_COUNTER_DROP_REASON", f"COUNTER_0|{reason}", {})
    lines = run("show dropcounters configuration").splitlines()
    assert lines[2].split()[:5] == ["COUNTER_0", "COUNTER_0", "g", "PORT_INGRESS_DROPS", "ACL_ANY"]
    assert lines[3].split() == ["L2_ANY"]
    assert len(run("show dropcounters configuration -g other").splitlines()) == 2


def test_columns_of_queues_and_ports_that_count_nothing(run, agent, network):
    network.set_queue("Ethernet0", 3, packets=1234, bytes=5678)
    agent.publish_counters()
    text = run("show queue counters Ethernet0 --all -nz")
    assert text.splitlines()[1].split()[-3:] == ["Trim/pkts", "TrimSent/pkts", "TrimDrop/pkts"]
    assert rows(text, "Ethernet0")[3] == ["Ethernet0", "UC3", "1234", "5678", "0", "0", "N/A", "N/A", "N/A"]
    found = json.loads(run("show queue counters Ethernet0 --all -j"))["Ethernet0"]["UC3"]
    assert found["totalpacket"] == "1234" and found["trimdroppacket"] == "N/A"
    assert [row[1] for row in rows(run("queuestat -p Ethernet0 -nz"), "Ethernet0")] == ["UC3"]
    assert rows(run("queuestat -T -p Ethernet0"), "Ethernet0")[0][2:] == ["N/A"] * 3
    assert run("queuestat --voq") == "" and run("queuestat -V -j") == "{}\n"
    assert run("show queue counters Ethernet0 -V", status=1) == "Port doesn't exist! Ethernet0\n"
    for option, columns in (("-f", 9), ("-T", 3)):
        assert rows(run(f"portstat {option} -i Ethernet0"), "Ethernet0") == [["Ethernet0", "U", *["N/A"] * columns]]
    assert rows(run("portstat -fh -i Ethernet0"), "Ethernet0") == [["Ethernet0", *["N/A"] * 16]]
    assert rows(run("show interfaces counters fec-stats"), "Ethernet0")[0][2:] == ["N/A"] * 9
    assert rows(run("show interfaces counters trim Ethernet0"), "Ethernet0")[0][2:] == ["N/A"] * 3


@pytest.mark.parametrize("kind", ["watermark", "persistent-watermark"])
def test_pools_have_names_and_no_counters(qos, agent, kind):
    agent.apply_configuration()
    lines = qos(f"show buffer_pool {kind}").splitlines()
    assert lines[:2] == ["Shared pool maximum occupancy:", "                 Pool    Bytes"]
    assert [line.split() for line in lines[3:]] == [[name, "N/A"] for name in (
        "egress_lossless_pool", "egress_lossy_pool", "ingress_lossless_pool")]
    lines = qos(f"show headroom-pool {kind}").splitlines()
    assert lines[0] == "Headroom pool maximum occupancy:" and lines[3:] == ["ingress_lossless_pool      N/A"]


def test_templates_of_ones_own(qos, tmp_path):
    template = tmp_path / "own.j2"
    template.write_text(
        "{% for port in PORT.keys()|list|sort %}{% if loop.first %}{{ port }} {{ PORT[port]['speed'] }}{% endif %}"
        "{% endfor %}\n\n{% for name, prefix in VLAN_INTERFACE|pfx_filter %}\n"
        "{{ name }} {{ prefix|ip }} {{ prefix|network }} {{ prefix|prefixlen }} {{ prefix|netmask }} "
        "{{ prefix|broadcast }} {{ prefix|ipv4 }} {{ prefix|ipv6 }}\n{% endfor %}{{ build_version }}")
    qos("config vlan add 10; config interface ip add Vlan10 10.9.0.1/24")
    source = f"-d -y /etc/sonic/sonic_version.yml -t {template}"
    text = qos(f"sonic-cfggen {source}")
    assert text == ("Ethernet0 100000\nVlan10 10.9.0.1 10.9.0.0 24 255.255.255.0 10.9.0.255 True False\n"
                    "202505.virtual\n"), text
    assert qos(f"sonic-cfggen {source},{tmp_path}/made") == "" and (tmp_path / "made").read_text() == text
    template.write_text('{"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "{{ 100 * 2 }}"}}}')
    qos(f"sonic-cfggen -d -t {template},config-db -w")
    assert config(qos, "PFC_WD") == {"GLOBAL": {"POLL_INTERVAL": "200"}}
    assert qos("sonic-cfggen -d -v \"VLAN.keys() | join(' ')\"") == "Vlan10\n"
    assert qos("sonic-cfggen -d -v NOTHING") == "\n"
    assert qos("sonic-cfggen -y /etc/sonic/sonic_version.yml -v build_version") == "202505.virtual\n"


@pytest.mark.parametrize("content", ["{% for %}", "{{ 1 / 0 }}", "{{ PORT.x.y }}", "{% include 'none' %}"])
def test_templates_that_fail_are_named(run, tmp_path, content):
    template = tmp_path / "own.j2"
    template.write_text(content)
    text = run(f"sonic-cfggen -d -t {template}", status=1)
    assert text.startswith("error: ") and len(text.splitlines()) == 1 and "Traceback" not in text
    assert "is not JSON" not in text
    assert run("sonic-cfggen -m /nowhere --print-data", status=1) == (
        "error: /nowhere cannot be read: No such file or directory\n")


def test_a_template_of_no_configuration_does_not_go_into_config_db(run, tmp_path):
    (tmp_path / "own.j2").write_text("no JSON")
    assert run(f"sonic-cfggen -d -t {tmp_path}/own.j2,config-db -w", status=1).startswith("error: ")


@pytest.mark.parametrize(("name", "value", "expected"), [
    ("ip", "fc00::1/64", "fc00::1"), ("broadcast", "10.0.0.0/31", None), ("broadcast", "10.0.0.1/32", None),
    ("broadcast", "fc00::1/127", "fc00::1"), ("network", "x", None), ("prefixlen", "", None),
    ("netmask", "1.1.1.1/8", "255.0.0.0")])
def test_what_filters_say_of_addresses(name, value, expected):
    """As netaddr, which SONiC's have, says it."""
    assert environment_of().filters[name](value) == expected


def environment_of():
    return environment([], Path)


def test_filters_of_tables_and_names():
    filters = environment_of().filters
    table = {"Vlan1": {}, ("Vlan1", "10.0.0.1/24"): {}, ("Vlan1", "10.0.1.1/24"): {"secondary": "true"},
             ("Loopback0", "fc00::1"): {}}
    assert list(filters["pfx_filter"](table)) == [
        ("Vlan1", "10.0.0.1/24"), ("Vlan1", "10.0.1.1/24"), ("Loopback0", "fc00::1/128")]
    assert filters["get_primary_addr"](table) == {("Vlan1", "10.0.0.1"): {}} and filters["get_primary_addr"]({}) == ""
    with pytest.raises(ValueError, match="'x' is invalid ip address"):
        filters["pfx_filter"]({("Vlan1", "x"): {}})
    ports = ["Ethernet12", "Ethernet4", "Ethernet100"]
    filters["sort_by_port_index"](ports)
    assert ports == ["Ethernet4", "Ethernet12", "Ethernet100"]
    assert filters["unique_name"]([{"name": "a", "x": 1}, {"name": "a", "x": 2}]) == [{"name": "a", "x": 1}]
    assert filters["b64decode"](filters["b64encode"]("text")) == "text" and filters["b64decode"]("a") == "a"
    assert filters["ip_network"]("10.0.0.9/24") == "10.0.0.0" and filters["ip_network"]("x") == "Invalid ip address x"
    assert (filters["ipv4"]("1.2.3.4"), filters["ipv6"]("1.2.3.4"), filters["ipv6"]("::1")) == (True, False, True)
