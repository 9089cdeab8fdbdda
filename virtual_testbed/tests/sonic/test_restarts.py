"""A switch that restarts, as its databases, its commands and its SSH port show it. Time is FakeNetwork's."""
from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import time
from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.counters import (
    PgCounters, QueueCounters, SwitchCounters, SwitchStates, WatchdogState)
from virtual_testbed.dataplane.network import Network, Overrun
from virtual_testbed.engine.simulation import Simulation
from virtual_testbed.faults import parse_fault
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.agent_keys import BOOT_KEY, RESTART_KEY, SERVICES_KEY
from virtual_testbed.sonic.commands.uptime import plain, pretty
from virtual_testbed.sonic.counters_since import since, states_since
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.resp import DatabaseError
from virtual_testbed.sonic.restarts import (
    CONTAINERS, PORTS, PS_PER_S, RESTARTS, SSH, Recovery, RestartRequest, unpowered)
from virtual_testbed.tests.dataplane.testbeds import data, generator_ports, hosts, location
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME, following, port_counters


def ask(redis, kind, **values):
    with databases.connect(redis.socket, "STATE_DB") as connection:
        fields = RestartRequest(kind, **values).fields()
        connection.call("HSET", RESTART_KEY, *[text for pair in fields.items() for text in pair])


def read(redis, key, database="STATE_DB"):
    with databases.connect(redis.socket, database) as connection:
        return databases.read_hash(connection, key)


def watch(config_db):
    """Let the watchdog watch queue 3 of Ethernet0."""
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3", "pfcwd_sw_enable": "3"})
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {
        "action": "drop", "detection_time": "200", "restoration_time": "400"})


def keys(redis, database="STATE_DB"):
    with databases.connect(redis.socket, database) as connection:
        return connection.call("KEYS", "*")


def fail_once(monkeypatch, network, error, call):
    """Make a call while the data plane takes no configuration."""
    with monkeypatch.context() as broken, contextlib.suppress(Overrun):
        def configure_switch(config):
            raise error

        broken.setattr(network, "configure_switch", configure_switch)
        call()


def pass_time(agent, network, seconds):
    """As the engine does it: with a stop at each stage."""
    end_ps = network.now_ps + seconds * PS_PER_S
    while (stage_ps := agent.next_stage_ps()) is not None and stage_ps <= end_ps:
        network.now_ps = stage_ps
        agent.apply_configuration()
    network.now_ps = end_ps
    agent.apply_configuration()
    agent.publish_counters()


@pytest.mark.parametrize("kind", RESTARTS)
def test_each_restart_is_over_within_two_minutes_and_ports_come_after_their_chip(kind):
    comes_up = RESTARTS[kind].comes_up
    assert max(comes_up.values()) <= 120, f"{kind} lasts too long"
    assert set(comes_up) <= {SSH, PORTS, *CONTAINERS}, f"{kind} restarts something that does not exist"
    assert comes_up["swss"] < comes_up["syncd"], f"{kind}: syncd waits for swss"
    assert comes_up.get(PORTS, 999) > comes_up["syncd"], f"{kind}: ports wait for syncd"


def test_a_recovery_takes_what_is_due_once_and_says_when_it_goes_on():
    recovery = Recovery()
    assert recovery.next_ps() is None, "nothing is down at first"
    recovery.begin(RESTARTS["swss"], 7 * PS_PER_S)
    assert recovery.next_ps() == 12 * PS_PER_S and recovery.is_down("swss"), "swss is down for 5 s"
    assert recovery.take_due(15 * PS_PER_S) == {"swss", "syncd"}, "what is due by then"
    assert recovery.take_due(15 * PS_PER_S) == frozenset() and not recovery.is_down("syncd"), "once only"
    recovery.begin(RESTARTS["config reload"], 16 * PS_PER_S)
    assert recovery.is_down("swss") and recovery.next_ps() == 21 * PS_PER_S, "a second one begins anew"


def test_a_request_is_read_with_the_fields_that_are_known():
    found = RestartRequest.read({"kind": "reboot", "user": "admin", "delay": "5"})
    assert found == RestartRequest("reboot", "admin"), "a field that nobody knows is left out"
    assert RestartRequest.read({"kind": "explode"}) is None and RestartRequest.read({}) is None, "nothing to do"


def test_a_config_reload_takes_links_down_for_a_while_and_counts_from_zero(agent, network, redis, config_db):
    network.set_port("Ethernet0", rx_packets=100)
    agent.publish_counters()
    oid = read(redis, "COUNTERS_PORT_NAME_MAP", "COUNTERS_DB")["Ethernet0"]
    boot = read(redis, BOOT_KEY)["id"]
    ask(redis, "config reload")
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "3"})
    databases.change_row(config_db, "PFC_WD", "Ethernet0", {
        "action": "drop", "detection_time": "200", "restoration_time": "400"})
    assert agent.apply_configuration() is False, "the switch is not configured while it is down"
    down = network.configs[-1]
    assert not any(port.admin_up for port in down.ports.values()), "no port has a link"
    assert read(redis, f"COUNTERS:{oid}", "COUNTERS_DB") == {}, "there are no counters"
    services = read(redis, SERVICES_KEY)
    assert services["swss"] == "down" and services["database"] == "up", services
    network.set_port("Ethernet0", rx_packets=107)
    pass_time(agent, network, 19)
    assert read(redis, SERVICES_KEY)["swss"] == "up", "swss comes up before the ports"
    assert len(network.configs) == 2, "ports are still down"
    pass_time(agent, network, 1)
    up = network.configs[-1]
    assert up.ports["Ethernet0"].admin_up and up.ports["Ethernet0"].watchdog is not None, "configured anew"
    assert agent.next_stage_ps() is None, "everything is up"
    assert read(redis, f"COUNTERS:{oid}", "COUNTERS_DB")["SAI_PORT_STAT_IF_IN_UCAST_PKTS"] == "7", "counted since"
    again = read(redis, BOOT_KEY)
    assert again["id"] != boot and again["ssh"] == "up", again


def test_a_warm_reboot_keeps_links_counters_and_configuration(agent, network, redis, config_db):
    before = databases.read_config(config_db)
    boot = read(redis, BOOT_KEY)["id"]
    ask(redis, "warm-reboot", user="admin", time="now", name="2026_11_26_16_00_00")
    agent.apply_configuration()
    found = read(redis, BOOT_KEY)
    assert (found["id"], found["ssh"]) == (boot, "down") and len(network.configs) == 1, "the chip goes on"
    pass_time(agent, network, 60)
    assert read(redis, BOOT_KEY)["ssh"] == "up" and databases.read_config(config_db) == before
    assert read(redis, "REBOOT_CAUSE|2026_11_26_16_00_00")["cause"] == "warm-reboot"


def test_a_reboot_comes_up_with_what_was_saved(agent, network, redis, run):
    run("config interface shutdown Ethernet4")
    run("config save -y")
    run("config interface shutdown Ethernet0; config interface startup Ethernet4")
    agent.apply_configuration()
    with following(agent):
        run("reboot")
        assert "inactive" in run("systemctl is-active swss", status=3)
        assert run("docker ps --format '{{.Names}}'") == ""
        assert "is not running" in run("docker exec swss supervisorctl status", status=1)
    assert read(redis, BOOT_KEY)["ssh"] == "down", "nobody can log in"
    pass_time(agent, network, 90)
    ports = network.configs[-1].ports
    assert ports["Ethernet0"].admin_up and not ports["Ethernet4"].admin_up, "what was saved, not what was set"
    assert set(run("docker ps --format '{{.Names}}'").split()) == set(CONTAINERS)
    assert run("docker inspect -f '{{.State.Running}}' swss") == "true\n"
    assert "RUNNING" in run("docker exec database supervisorctl status redis")
    assert run("systemctl is-system-running") == "running\n"
    assert "Active: active (running)" in run("systemctl status docker")
    said = run("show reboot-cause")
    assert said.startswith("User issued 'reboot' command [User: admin, Time: "), said
    rows = run("show reboot-cause history").splitlines()
    assert rows[0].split() == ["Name", "Cause", "Time", "User", "Comment"] and "reboot" in rows[2], rows
    run("fast-reboot --soon", status=1)


@pytest.mark.parametrize("options", (
    "--filter=name=sw --format='{{.Names}}={{.Status}}'", "--filter name=sw --format '{{.Names}}={{.Status}}'"))
def test_options_of_docker_take_their_value_after_a_sign_too(run, options):
    assert run(f"docker ps {options}") == "swss=Up\n", options


def test_docker_inspect_takes_its_template_after_a_sign_too(run):
    assert run("docker inspect --format='{{.State.Running}}' swss") == "true\n", "it runs"


def test_a_switch_that_never_rebooted_knows_no_cause(run):
    assert run("show reboot-cause") == "Unknown\n"
    assert "not yet available" in run("show reboot-cause history")
    assert run("systemctl is-active warmboot-finalizer.service", status=3) == "inactive\n"
    assert "could not be found" in run("systemctl status nothing", status=4)
    assert "expected swss" in run("systemctl restart bgp", status=1)
    assert run("systemctl list-units --state=failed") == "0 loaded units listed.\n", "nothing has failed"
    assert "expected --state=failed" in run("systemctl list-units", status=1), "some are loaded"
    assert run("reboot", root=False, status=1) == "This command must be run as root\n"


@pytest.mark.parametrize("command", [
    "reboot", *(pytest.param(command, marks=pytest.mark.slow("ten seconds for each way to restart"))
                for command in ("config reload -y", "systemctl restart swss"))])
def test_a_restart_that_nobody_carries_out_says_so_and_is_taken_back(agent, run, command):
    said = run(command, status=1)
    assert f"error: {command.removesuffix(' -y')} has not begun within 10 s" in said, said
    agent.apply_configuration()
    assert agent.next_stage_ps() is None, "it is not carried out later"


def test_a_request_is_gone_only_when_services_are_down(agent, network, redis, monkeypatch):
    """Whoever waits for the agent to begin finds services down."""
    found = []
    read_counters = network.switch_counters

    def counters_in_the_dark(switch, parts):
        found.append(read(redis, RESTART_KEY))
        return read_counters(switch, parts)

    monkeypatch.setattr(network, "switch_counters", counters_in_the_dark)
    ask(redis, "swss")
    agent.apply_configuration()
    assert found and found[0]["kind"] == "swss", f"still asked for while the switch goes down: {found}"
    assert read(redis, RESTART_KEY) == {} and read(redis, SERVICES_KEY)["swss"] == "down", "and gone then"


@pytest.mark.parametrize("error", (Overrun("that takes too long"), DatabaseError("Redis is away")))
def test_a_reboot_by_itself_in_which_something_fails_is_done_at_the_next_call(redis, network, monkeypatch, error):
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault("switch-reboots@*,from=1s")])
    network.now_ps = PS_PER_S
    fail_once(monkeypatch, network, error, agent.apply_configuration)
    assert agent.next_stage_ps() in (None, PS_PER_S), "it is still due"
    agent.apply_configuration()
    assert read(redis, BOOT_KEY)["ssh"] == "down", "it reboots"
    assert not any(port.admin_up for port in network.configs[-1].ports.values()), "no port has a link"
    pass_time(agent, network, 90)
    assert len([key for key in keys(redis) if key.startswith("REBOOT_CAUSE|")]) == 1, "once"
    agent.close()


def test_an_agent_that_is_made_anew_reboots_no_second_time(redis, network):
    faults = [parse_fault("switch-reboots@*,from=1s")]
    SonicAgent(NAME, redis.socket, HWSKU, network, faults).close()
    network.now_ps = 100 * PS_PER_S
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, faults)
    assert agent.next_stage_ps() is None, "the reboot has been"
    agent.apply_configuration()
    assert read(redis, BOOT_KEY)["ssh"] == "up", "and is not done again"
    agent.close()


def test_a_fault_that_begins_with_the_testbed_reboots_its_switch(redis, network):
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [parse_fault("switch-reboots@*")])
    agent.apply_configuration()
    assert read(redis, BOOT_KEY)["ssh"] == "down", "at its first instant"
    agent.close()


def test_a_restart_in_which_the_data_plane_takes_too_long_is_done_at_the_next_call(agent, network, redis, monkeypatch):
    ask(redis, "swss")
    fail_once(monkeypatch, network, Overrun("that takes too long"), agent.apply_configuration)
    assert agent.next_stage_ps() is None and read(redis, RESTART_KEY), "it has not begun"
    agent.apply_configuration()
    assert read(redis, SERVICES_KEY)["swss"] == "down" and not read(redis, RESTART_KEY), "it has"
    assert not any(port.admin_up for port in network.configs[-1].ports.values()), "no port has a link"


def test_a_broken_saved_configuration_reboots_nothing(agent, run):
    (run.root / "etc/sonic/config_db.json").write_text("{")
    assert "is not JSON" in run("reboot", status=1)
    assert agent.apply_configuration() is False and agent.next_stage_ps() is None


def test_counters_since_a_restart_leave_levels_as_they_are():
    then = SwitchCounters({"a": port_counters(rx_packets=5, pfc_rx=(1,) * 8)},
                          {("a", 3): QueueCounters(packets=5, watermark_bytes=7)},
                          {("a", 3): PgCounters(packets=2)}, {("a", "full"): 1})
    now = SwitchCounters({"a": port_counters(rx_packets=9, pfc_rx=(3,) * 8)},
                         {("a", 3): QueueCounters(packets=6, watermark_bytes=4, occupancy_bytes=3)}, {},
                         {("a", "full"): 1})
    found = since(now, then)
    assert found.ports["a"] == port_counters(rx_packets=4, pfc_rx=(2,) * 8)
    assert found.queues[("a", 3)] == QueueCounters(packets=1, watermark_bytes=4, occupancy_bytes=3)
    assert found.priority_groups == {} and found.drops == {}


def test_storms_before_a_restart_are_forgotten():
    old = WatchdogState("operational", detected=2, restored=2, tx_dropped=9, tx_dropped_last=4)
    then = SwitchStates({"a": True}, {("a", 3): old})
    assert states_since(then, then, ()).watchdog == {}, "not watched since"
    assert states_since(then, then, {("a", 3)}).watchdog == {("a", 3): WatchdogState()}, "watched, no storm since"
    watched = SwitchStates({"a": True}, {("a", 3): replace(old, status="stormed", detected=3, tx_dropped_last=5)})
    assert states_since(watched, then, ()).watchdog[("a", 3)] == WatchdogState("stormed", 1, tx_dropped_last=5)


def test_a_queue_that_had_a_storm_before_a_restart_is_shown_as_watched_after_it(
        agent, network, redis, config_db, run):
    watch(config_db)
    agent.apply_configuration()
    network.set_watchdog({("Ethernet0", 3): WatchdogState("operational", detected=1, restored=1)})
    agent.publish_counters()
    ask(redis, "swss")
    agent.apply_configuration()
    pass_time(agent, network, 20)
    rows = [line.split() for line in run("pfcwd show stats --empty").splitlines() if "Ethernet0:3" in line]
    assert rows and rows[0][1:3] == ["operational", "0/0"], f"watched, and nothing counted yet: {rows}"


def test_the_big_red_switch_acts_again_after_a_restart(agent, network, config_db):
    watch(config_db)
    databases.change_row(config_db, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "enable"})
    agent.apply_configuration()
    config = network.configs[-1]
    net = Network()
    net.add_link(location(0), NAME, "Ethernet0", 100_000, 5)
    net.configure_switch(config)
    assert net.switch_states(NAME).watchdog[("Ethernet0", 3)].status == "stormed", "it acts on each watched queue"
    net.configure_switch(unpowered(config))
    assert net.switch_states(NAME).watchdog[("Ethernet0", 3)].status == "operational", "nothing acts in the dark"
    net.configure_switch(config)
    assert net.switch_states(NAME).watchdog[("Ethernet0", 3)].status == "stormed", "it acts on each again"


def test_uptime_is_said_as_procps_does():
    assert pretty(30) == "up 0 minutes" and pretty(7500) == "up 2 hours, 5 minutes"
    assert " up 1 day, 2:05,  0 users" in plain(86400 + 7500) and " up 3 min," in plain(200)


def is_open(switch):
    try:
        with socket.create_connection(("127.0.0.1", switch.settings["port"]), 1) as connection:
            return connection.recv(100).startswith(b"SSH-2.0-OpenSSH_9.2p1 Debian")
    except OSError:
        return False


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"{condition} did not become true"
        time.sleep(0.05)


def test_a_reboot_cuts_sessions_refuses_others_and_begins_uptime(switch):
    assert is_open(switch), "the banner is that of an image"
    switch.output("touch /dev/shm/there ~/kept; sudo config save -y")
    began = switch.output("uptime -s")
    session = subprocess.Popen(switch.ssh("sleep 100"), stderr=subprocess.DEVNULL)
    time.sleep(1.1)
    with following(switch.agent):
        done = switch.run("sudo reboot")
        assert done.returncode in (0, 255), done
        until(lambda: not is_open(switch))
        assert session.wait(10) == 255, "the session was cut"
        switch.network.now_ps += 60 * PS_PER_S
        until(lambda: is_open(switch))
        switch.network.now_ps += 30 * PS_PER_S
    switch.agent.apply_configuration()
    assert switch.run("ls /dev/shm/there").returncode != 0, "what lived in memory is gone"
    switch.output("ls ~/kept")
    assert switch.output("uptime -s") > began, "uptime begins anew"
    assert "User issued 'reboot' command" in switch.output("show reboot-cause")
    assert json.loads(switch.output("sonic-cfggen -d --print-data"))["PORT"], "it is configured"
    assert switch.process.poll() is None, "the server itself goes on"


def test_a_reboot_that_simulated_time_passes_at_once_cuts_sessions_and_begins_uptime(switch):
    """The SSH server, which stands still meanwhile, sees the switch up, before and after."""
    began = switch.output("touch /dev/shm/there; uptime -s")
    session = subprocess.Popen(switch.ssh("sleep 100"), stderr=subprocess.DEVNULL)
    time.sleep(1.1)
    switch.process.send_signal(signal.SIGSTOP)
    try:
        ask(switch.redis, "warm-reboot", name="2026_11_26_16_00_00")
        switch.agent.apply_configuration()
        pass_time(switch.agent, switch.network, 60)
    finally:
        switch.process.send_signal(signal.SIGCONT)
    assert read(switch.redis, BOOT_KEY)["ssh"] == "up", "it is over at once"
    assert session.wait(30) == 255, "the session was cut"
    until(lambda: is_open(switch))
    assert switch.run("ls /dev/shm/there").returncode != 0, "what lived in memory is gone"
    assert switch.output("uptime -s") > began, "uptime begins anew"
    second = subprocess.Popen(switch.ssh("sleep 1"), stderr=subprocess.DEVNULL)
    assert second.wait(30) == 0, "it has rebooted once"


def test_ports_have_no_carrier_while_the_services_restart(switch):
    command = "cat /sys/class/net/Ethernet4/operstate /sys/class/net/Ethernet4/carrier /sys/class/net/Ethernet4/speed"
    switch.agent.publish_counters()
    assert switch.output(command).split() == ["up", "1", "100000"], "before"
    ask(switch.redis, "swss")
    switch.agent.apply_configuration()
    assert switch.output(command).split() == ["down", "0", "100000"], "in the dark; its speed is what it was"
    pass_time(switch.agent, switch.network, 20)
    assert switch.output(command).split() == ["up", "1", "100000"], "afterwards"


def test_frames_are_lost_and_links_are_down_while_a_switch_restarts(redis, config_db):
    """On the data plane, in the engine's own steps: ten seconds, a reload of twenty, ten seconds."""
    net = Network()
    for number, port in enumerate(("Ethernet0", "Ethernet4")):
        net.add_link(location(number), NAME, port, 100_000, 5)
    databases.write_config(config_db, {**factory_config(load_profile(HWSKU), NAME), "VLAN": {"Vlan1000": {
        "vlanid": "1000"}}, "VLAN_MEMBER": {f"Vlan1000|{port}": {"tagging_mode": "untagged"} for port in (
            "Ethernet0", "Ethernet4")}})
    agent = SonicAgent(NAME, redis.socket, HWSKU, net, [])
    simulation = Simulation(net, {NAME: lambda: agent}, lambda: None)
    flow = data("flow", 0, 1, [3], 3)
    net.set_traffic(generator_ports(2), hosts(2), [flow])
    simulation.refresh()
    net.start_flows(["flow"])
    simulation.advance_to(10 * PS_PER_S)
    lost = net.flow_counters("flow").frames_tx - net.flow_counters("flow").frames_rx
    assert lost <= 1 and net.generator_counters("p1").link_up, "a good switch loses nothing"
    ask(redis, "config reload")
    simulation.advance_to(29 * PS_PER_S)
    assert not net.generator_counters("p1").link_up, "the tester sees the link go down"
    received = net.flow_counters("flow").frames_rx
    simulation.advance_to(40 * PS_PER_S)
    assert net.generator_counters("p1").link_up, "up again, in the middle of the step"
    agent.publish_counters()
    oid = read(redis, "COUNTERS_PORT_NAME_MAP", "COUNTERS_DB")["Ethernet4"]
    counted = read(redis, f"COUNTERS:{oid}", "COUNTERS_DB")
    since_then = net.flow_counters("flow").frames_rx - received
    assert since_then > 0 and int(counted["SAI_PORT_STAT_IF_OUT_UCAST_PKTS"]) == since_then, "from 0, and right"
    agent.close()
