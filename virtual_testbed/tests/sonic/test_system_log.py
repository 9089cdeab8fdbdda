"""A switch's system log: its lines, what programs write into it, and what orchagent says about the watchdog."""
from __future__ import annotations

import datetime
import json
import logging
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from virtual_testbed.dataplane.model.counters import WatchdogState
from virtual_testbed.dataplane.network import Network, Overrun
from virtual_testbed.engine.simulation import Simulation
from virtual_testbed.sonic import databases, system_log
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.counters import ObjectIds
from virtual_testbed.sonic.factory import factory_config
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.ssh_auth import Account, Login
from virtual_testbed.sonic.system_log import SystemLog, line_of, read_datagram
from virtual_testbed.sonic.translate import translate
from virtual_testbed.sonic.watchdog_log import refusal
from virtual_testbed.tests.dataplane.testbeds import generator_ports, hosts, location, storm
from virtual_testbed.tests.sonic.conftest import CHECKOUT, HWSKU, MAC, NAME

ROW = {"action": "drop", "detection_time": "200", "restoration_time": "400"}
PFC_WD = "PFC_WD"
PS_PER_S = 10**12
LINE = re.compile(rf"\d{{4}} [A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d\.\d{{6}} {NAME} ([A-Z]+) (.*)")


def test_a_line_is_one_of_rsyslog():
    when = datetime.datetime(2026, 3, 4, 5, 6, 7, 89)
    assert line_of(when, "dut", "NOTICE", "tag: text\n") == "2026 Mar  4 05:06:07.000089 dut NOTICE tag: text"
    assert line_of(when, "dut", "ERR", "one\ntwo\x1b\n").endswith(" dut ERR one#012two#033"), "one line it stays"


@pytest.mark.parametrize("sent, severity, text", [
    (b"<13>Nov 30 21:12:03 me: hello", "NOTICE", "me: hello"),
    (b"<11>Nov  3 21:12:03 me[7]: hello", "ERR", "me[7]: hello"),
    (b"<15>start-LogAnalyzer-x.2026-11-30-21:12:04\0", "DEBUG", "start-LogAnalyzer-x.2026-11-30-21:12:04"),
    (b"<14>\n\0", "INFO", "\n"), (b"no priority", "NOTICE", "no priority"), (b"<190>\xff", "INFO", "\ufffd"),
])
def test_what_programs_send(sent, severity, text):
    assert read_datagram(sent) == (severity, text)


def test_a_log_that_is_large_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(system_log, "_MOST_BYTES", 80)
    log = SystemLog(tmp_path, NAME)
    for number in range(6):
        log.write("INFO", f"line {number}")
    found = {path.name: [line.split()[-1] for line in path.read_text().splitlines()]
             for path in (tmp_path / "var/log").iterdir()}
    assert found == {"syslog": ["4", "5"], "syslog.1": ["2", "3"]}


def test_a_line_that_cannot_be_written_ends_nothing(tmp_path, caplog):
    (tmp_path / "var").touch()
    SystemLog(tmp_path, NAME).write("ERR", "tag: text")
    assert "not in the system log" in caplog.text and "ERR tag: text" in caplog.text


@pytest.mark.parametrize("place", ["var/log/syslog", "var/log", "var"])
def test_no_link_is_followed(tmp_path, caplog, place):
    """A switch's commands may put one there; the engine may be root of the machine."""
    outside = tmp_path / "outside"
    (outside / "log").mkdir(parents=True)
    (outside / "syslog").write_text("theirs")
    root = tmp_path / "root"
    link = root / place
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "syslog" if place.endswith("syslog") else outside)
    SystemLog(root, NAME).write("ERR", "tag: text")
    assert (outside / "syslog").read_text() == "theirs" and not list((outside / "log").iterdir())
    assert "not in the system log" in caplog.text


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.link(path.parent / "other", path)])
def test_only_a_regular_file_of_one_name_is_written_into(tmp_path, caplog, make):
    """A FIFO that nobody reads would hold the writer for ever."""
    folder = tmp_path / "var/log"
    folder.mkdir(parents=True)
    (folder / "other").write_text("theirs")
    make(folder / "syslog")
    SystemLog(tmp_path, NAME).write("ERR", "tag: text")
    assert (folder / "other").read_text() == "theirs" and "not in the system log" in caplog.text


def test_bytes_that_are_no_utf_8_are_as_redis_has_them(tmp_path):
    SystemLog(tmp_path, NAME).write("ERR", "action " + b"\xff".decode(errors="surrogateescape"))
    assert (tmp_path / "var/log/syslog").read_bytes().endswith(b" ERR action \xff\n")


def test_a_flood_leaves_the_event_loop_its_turn(monkeypatch):
    """Whoever writes without an end is read in portions."""
    taken = []
    monkeypatch.setattr(system_log, "_AT_ONCE", 3)
    system_log._read(SimpleNamespace(recv=lambda size: b"<13>x"), SimpleNamespace(take=taken.append))
    assert len(taken) == 3, taken


@pytest.mark.parametrize("port, row, said", [
    ("Ethernet0", ROW, ""),
    ("Ethernet0", {"detection_time": "5000"}, ""),
    ("Ethernet0", {**ROW, "pfc_stat_history": "enable"}, ""),
    ("Ethernet0", {**ROW, "action": "invalid"}, "Invalid PFC Watchdog action invalid"),
    ("Ethernet0", {**ROW, "detection_time": "400a"}, "Failed to parse PFC Watchdog Ethernet0 attribute detection_time"
     " error: failed to convert 400a value to uint64_t type."),
    ("Ethernet0", {**ROW, "detection_time": "40"}, "Failed to parse PFC Watchdog Ethernet0 attribute detection_time"
     " error: failed to convert 40 value is not in range 100 - 5000."),
    ("Ethernet0", {**ROW, "restoration_time": "60001"}, "Failed to parse PFC Watchdog Ethernet0 attribute"
     " restoration_time error: failed to convert 60001 value is not in range 100 - 60000."),
    ("Ethernet0", {**ROW, "restoration_time": "0"}, "Failed to parse PFC Watchdog Ethernet0 attribute"
     " restoration_time error: failed to convert 0 value is not in range 100 - 60000."),
    ("Ethernet0", {**ROW, "restoration_time": "long"}, "Failed to parse PFC Watchdog Ethernet0 attribute"
     " restoration_time error: stoul."),
    ("Ethernet0", {**ROW, "detection_time": "9" * 5000}, "Failed to parse PFC Watchdog Ethernet0 attribute"
     f" detection_time error: failed to convert {'9' * 5000} value to uint64_t type."),
    ("Ethernet0", {**ROW, "x": "1"}, "Failed to parse PFC Watchdog Ethernet0 configuration. Unknown attribute x."),
    ("Ethernet0", {"action": "drop"}, "detection_time missing"),
    ("Ethernet0", {**ROW, "pfc_stat_history": "on"}, "on is invalid value for pfc_stat_history"),
    ("Ethernet1", ROW, "Invalid port interface Ethernet1"),
])
def test_orchagent_names_what_it_does_not_take(port, row, said):
    profile = load_profile(HWSKU)
    assert refusal(port, row, profile.ports) == said
    found = translate({PFC_WD: {port: row}}, profile, NAME, MAC)
    assert bool(found.problems) == bool(said), "the hardware gets what orchagent takes"


class Logged:
    """An agent with a system log; gives severity and text of what was written since the last time."""

    def __init__(self, redis, network, folder):
        self.file = folder / "var/log/syslog"
        self.agent = SonicAgent(NAME, redis.socket, HWSKU, network, [], system_log=SystemLog(folder, NAME))
        self._read = 0

    def __call__(self):
        self.agent.apply_configuration()
        self.agent.publish_states()
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        new, self._read = lines[self._read:], len(lines)
        return [LINE.fullmatch(line).groups() for line in new]


@pytest.fixture(name="logged")
def fixture_logged(redis, network, config_db, tmp_path):
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "3,4"})
    databases.change_row(config_db, "DEVICE_METADATA", "localhost", {"hostname": NAME})
    logged = Logged(redis, network, tmp_path)
    yield logged
    logged.agent.close()


STARTED = ("NOTICE", "swss#orchagent: :- createEntry: Started PFC Watchdog on port Ethernet0")
STOPPED = ("NOTICE", "swss#orchagent: :- deleteEntry: Stopped PFC Watchdog on port Ethernet0")
INVALID = ("ERR", "swss#orchagent: :- doTask: Failed to process PFC watchdog SET task, invalid entry")


def test_a_watchdog_starts_and_stops(logged, config_db):
    assert logged() == []
    databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
    assert logged() == [STARTED]
    databases.change_row(config_db, "PORT", "Ethernet0", {"mtu": "1500"})
    assert logged() == [], "it says nothing of other rows"
    databases.change_row(config_db, PFC_WD, "Ethernet0", {"detection_time": "300"})
    assert logged() == [STARTED], "as for each row that it takes"
    databases.change_row(config_db, PFC_WD, "Ethernet0", None)
    databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
    assert logged() == [STOPPED, STARTED], "`pfcwd start` removes the row first"
    databases.change_row(config_db, PFC_WD, "Ethernet0", None)
    assert logged() == [STOPPED]


def test_an_invalid_row_is_an_error_each_time_that_it_is_written(logged, config_db):
    bad = ("ERR", "swss#orchagent: :- createEntry: Invalid PFC Watchdog action invalid")
    for _ in range(2):
        databases.change_row(config_db, PFC_WD, "Ethernet0", {**ROW, "action": "invalid"})
        assert logged() == [bad, INVALID]
        assert logged() == []
        databases.change_row(config_db, PFC_WD, "Ethernet0", None)
        assert logged() == [STOPPED]
    databases.change_row(config_db, PFC_WD, "PortChannel1", ROW)
    assert logged()[0][1].endswith("createEntry: Invalid port interface PortChannel1")
    databases.change_row(config_db, PFC_WD, "GLOBAL", {"POLL_INTERVAL": "200", "BIG_RED_SWITCH": "disable"})
    assert [text for _, text in logged()] == ["swss#orchagent: :- createEntry: Receive brs mode set, disable"]
    databases.change_row(config_db, PFC_WD, "GLOBAL", None)
    assert logged() == []


def test_a_watchdog_that_has_nothing_to_watch_waits(logged, config_db):
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", None)
    databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
    assert [text.split(": ", 2)[2] for _, text in logged()] == [
        "No lossless TC found on port Ethernet0", "Failed to start PFC Watchdog on port Ethernet0"]
    databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "3"})
    assert logged() == [STARTED]


def test_a_switch_that_starts_takes_all_rows(redis, network, config_db, tmp_path):
    databases.write_config(config_db, {
        PFC_WD: {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": ROW, "Ethernet4": {**ROW, "action": "x"}},
        "PORT_QOS_MAP": {"Ethernet0": {"pfcwd_sw_enable": "3"}}})
    logged = Logged(redis, network, tmp_path)
    assert logged() == [STARTED, ("ERR", "swss#orchagent: :- createEntry: Invalid PFC Watchdog action x"), INVALID]
    logged.agent.close()


def test_storms_begin_and_end(logged, network, config_db):
    databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
    logged()
    ids = ObjectIds(load_profile(HWSKU))
    place = (f"on port Ethernet0, queue index 3, queue id {ids.queue('Ethernet0', 3)[4:]} and port id"
             f" {ids.port('Ethernet0')[4:]}")
    begins = ("NOTICE", f"swss#orchagent: :- report_pfc_storm: PFC Watchdog detected PFC storm {place}")
    ends = ("NOTICE", f"swss#orchagent: :- report_pfc_restored: PFC Watchdog storm restored {place}.")

    def seen(status, detected, restored):
        network.set_watchdog({("Ethernet0", 3): WatchdogState(status, detected, restored),
                              ("Ethernet0", 4): WatchdogState()})
        return logged()
    assert seen("operational", 0, 0) == []
    assert seen("stormed", 1, 0) == [begins]
    assert logged() == []
    assert seen("operational", 1, 1) == [ends]
    assert seen("stormed", 3, 2) == [begins, ends, begins], "several since the last look"
    assert seen("stormed", 4, 3) == [ends, begins]


def test_a_storm_whose_watchdog_is_stopped_is_not_reported_as_restored(logged, network, config_db):
    """It counts as restored, as in SONiC."""
    databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
    logged()
    network.set_watchdog({("Ethernet0", 3): WatchdogState("stormed", 1, 0)})
    configure = network.configure_switch

    def stops(config):
        configure(config)
        network.set_watchdog({("Ethernet0", 3): WatchdogState("operational", 1, 1)})
    network.configure_switch = stops
    databases.change_row(config_db, PFC_WD, "Ethernet0", None)
    assert [text.split(": ", 2)[2][:30] for _, text in logged()] == [
        "PFC Watchdog detected PFC stor", "Stopped PFC Watchdog on port E"], "the storm was there before"


SAY = """
import logging, logging.handlers, syslog
logger = logging.getLogger()
logger.addHandler(logging.handlers.SysLogHandler(address="/dev/log"))
logger.error("from python")
syslog.openlog("prog", syslog.LOG_PID)
syslog.syslog(syslog.LOG_INFO, "from the C library")
"""


def test_programs_of_a_switch_write_into_its_log(switch):
    switch.output("logger -t tag from a shell; sudo logger -p user.err -t tag of root")
    text = switch.output("cat /var/log/syslog")
    found = [LINE.fullmatch(line).groups() for line in text.splitlines() if " tag: " in line]
    assert found == [("NOTICE", "tag: from a shell"), ("ERR", "tag: of root")]
    if switch.ready["root_view"] == "namespace":
        assert switch.run("python3 -", stdin=SAY.encode()).returncode == 0
        found = [LINE.fullmatch(line).groups() for line in switch.output("tail -n 2 /var/log/syslog").splitlines()]
        assert found[0] == ("ERR", "from python") and found[1][0] == "INFO"
        assert re.fullmatch(r"prog\[\d+\]: from the C library", found[1][1])
    assert (switch.root / "var/log/syslog").read_text().startswith(text)
    assert switch.run("sudo systemctl reload rsyslog").returncode == 0


def test_the_log_of_a_switch_is_there_for_its_python(switch):
    switch.output("logger -t tag for python")
    said = "import os; print('syslog' in os.listdir('/var/log'), 'for python' in open('/var/log/syslog').read())"
    assert switch.run("python3 -", stdin=said.encode()).stdout == b"True True\n"


@pytest.fixture(name="plain_host", scope="module")
def fixture_plain_host(tmp_path_factory):
    """A host that is no switch, as sonic-mgmt's tests over SSH get one; runs a command there."""
    folder = tmp_path_factory.mktemp("host")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    settings = {"name": "ptf", "hostname": "ptf", "user": "admin", "password": "secret", "port": 0,
                "authorized_keys": str(folder / "key.pub"), "host_key": str(folder / "host_key"),
                "root": str(folder / "root"), "bin": str(folder / "bin"),
                "programs": str(CHECKOUT / "virtual_testbed/sonic_mgmt/ptf")}
    (folder / "host.json").write_text(json.dumps(settings))
    command = [sys.executable, "-P", "-m", "virtual_testbed.sonic.ssh", str(folder / "host.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                          env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}) as process:
        ready = process.stdout.readline()
        if not ready:
            pytest.skip(process.stderr.read())
        ssh = ["ssh", "-F", "none", "-i", str(folder / "key"), "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR",
               "-o", f"UserKnownHostsFile={folder}/known", "-o", "StrictHostKeyChecking=accept-new",
               "-p", str(json.loads(ready)["ssh_port"]), "admin@127.0.0.1"]
        yield lambda words: subprocess.run([*ssh, words], capture_output=True, text=True, timeout=60, check=False)
        process.terminate()


def test_a_plain_host_has_a_network_of_its_own(plain_host):
    """With interfaces that its commands may change; nothing of the machine's is in reach."""
    names = plain_host("ls /sys/class/net").stdout.split()
    assert names == ["eth0", "eth1"]
    shown = plain_host("ip -o link").stdout
    assert {line.split(": ")[1].partition("@")[0] for line in shown.splitlines()} == {"lo", "eth0", "eth1"}
    changed = plain_host("ip link set dev eth0 down && sudo ip link set dev eth0 address 02:00:00:00:00:09"
                         " && sudo ip addr flush dev eth0 && sudo sysctl -w net.ipv6.conf.eth0.accept_ra_defrtr=0"
                         " && ip -o link show eth0")
    assert changed.returncode == 0 and "02:00:00:00:00:09" in changed.stdout, changed
    assert plain_host("sysctl -w kernel.domainname=x").returncode != 0
    assert plain_host("echo 0 > /proc/sys/kernel/sysrq").returncode != 0


def test_a_plain_host_is_no_switch_and_supervisord_has_nothing(plain_host):
    assert plain_host("hostname; touch /root/x; echo $?").stdout == "ptf\n0\n"
    assert plain_host("show version").returncode == 127
    for words, status, said in (("status icmp_responder", 4, "icmp_responder: ERROR (no such process)\n"),
                                ("stop garp_service", 1, "garp_service: ERROR (no such process)\n"),
                                ("status", 0, ""), ("reread", 0, "No config updates to processes\n"),
                                ("frobnicate", 1, "*** Unknown syntax: frobnicate\n")):
        done = plain_host(f"supervisorctl {words}")
        assert (done.returncode, done.stdout) == (status, said), words
    plain_host("logger -t tag here")
    assert plain_host("cat /var/log/syslog").stdout.endswith(" ptf NOTICE tag: here\n")


def test_an_agent_without_a_log_says_nothing(agent, config_db, caplog):
    with caplog.at_level(logging.WARNING):
        databases.change_row(config_db, "PORT_QOS_MAP", "Ethernet0", {"pfcwd_sw_enable": "3"})
        databases.change_row(config_db, PFC_WD, "Ethernet0", ROW)
        agent.apply_configuration()
    assert not caplog.records


def test_the_engine_gives_an_agent_the_log_of_its_switch(monkeypatch):
    from virtual_testbed.engine import testbed
    made = []
    monkeypatch.setattr(testbed, "SonicAgent", lambda *arguments: made.append(arguments[-1]))
    arguments = SimpleNamespace(swss=None, faults=())
    testbed.sonic_agent(testbed.SwitchAddress(NAME, "/socket", HWSKU, "/files"), None, arguments)
    testbed.sonic_agent(testbed.SwitchAddress(NAME, "/socket", HWSKU), None, arguments)
    assert str(made[0]._root) == "/files" and made[1] is None


def watched_network(config_db):
    """A data plane of two ports, and a configuration that watches the first one."""
    net = Network()
    for number, port in enumerate(("Ethernet0", "Ethernet4")):
        net.add_link(location(number), NAME, port, 100_000, 5)
    databases.write_config(config_db, {
        **factory_config(load_profile(HWSKU), NAME),
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}},
        PFC_WD: {"GLOBAL": {"POLL_INTERVAL": "100"}, "Ethernet0": ROW}})
    return net


def test_a_storm_of_the_data_plane_is_in_the_log(redis, config_db, tmp_path):
    """Twice, the second one ended by `pfcwd stop`: it counts as restored, and is not reported."""
    net = watched_network(config_db)
    agent = SonicAgent(NAME, redis.socket, HWSKU, net, [], system_log=SystemLog(tmp_path, NAME))
    simulation = Simulation(net, {NAME: lambda: agent}, lambda: None)
    net.set_traffic(generator_ports(2), hosts(2), [storm("storm", 0, {3: 0xFFFF})])

    def step(until_s, on):
        (net.start_flows if on else net.stop_flows)(["storm"])
        simulation.advance_to(until_s * PS_PER_S)
        simulation.publish()
    step(2, True)
    step(4, False)
    step(6, True)
    databases.change_row(config_db, PFC_WD, "Ethernet0", None)
    step(8, True)
    said = [LINE.fullmatch(line)[2] for line in (tmp_path / "var/log/syslog").read_text().splitlines()]
    assert [text.split(": ", 2)[2].partition(",")[0] for text in said] == [
        "Started PFC Watchdog on port Ethernet0", "PFC Watchdog detected PFC storm on port Ethernet0",
        "PFC Watchdog storm restored on port Ethernet0", "PFC Watchdog detected PFC storm on port Ethernet0",
        "Stopped PFC Watchdog on port Ethernet0"]
    state = net.switch_states(NAME).watchdog["Ethernet0", 3]
    assert (state.detected, state.restored) == (2, 2)
    agent.close()


def test_storms_that_are_over_are_not_said_again_by_a_new_agent(redis, config_db, tmp_path):
    """The data plane goes on counting while the agent's Redis is away."""
    net = watched_network(config_db)

    agents = []

    def agent():
        agents.append(SonicAgent(NAME, redis.socket, HWSKU, net, [], system_log=SystemLog(tmp_path, NAME)))
        return agents[-1]
    simulation = Simulation(net, {NAME: agent}, lambda: None)
    net.set_traffic(generator_ports(2), hosts(2), [storm("storm", 0, {3: 0xFFFF})])
    net.start_flows(["storm"])
    simulation.advance_to(2 * PS_PER_S)
    net.stop_flows(["storm"])
    simulation.advance_to(4 * PS_PER_S)
    simulation.publish()
    agent().publish_states()
    for one in agents:
        one.close()
    said = (tmp_path / "var/log/syslog").read_text()
    assert said.count("detected PFC storm") == said.count("storm restored") == 1, said


def test_a_row_is_taken_once_more_where_the_data_plane_was_late(redis, config_db, tmp_path):
    """What storms there were is asked of it before a watchdog is stopped."""
    net = Network()
    net.add_link(location(0), NAME, "Ethernet0", 100_000, 5)
    databases.write_config(config_db, {
        **factory_config(load_profile(HWSKU), NAME),
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}},
        PFC_WD: {"GLOBAL": {"POLL_INTERVAL": "100"}, "Ethernet0": ROW}})
    agent = SonicAgent(NAME, redis.socket, HWSKU, net, [], system_log=SystemLog(tmp_path, NAME))
    databases.change_row(config_db, PFC_WD, "Ethernet0", None)
    with patch.object(net, "switch_states", side_effect=Overrun("late")), pytest.raises(Overrun):
        agent.apply_configuration()
    agent.apply_configuration()
    assert "Stopped PFC Watchdog on port Ethernet0" in (tmp_path / "var/log/syslog").read_text()
    agent.close()


def test_nobody_logs_in_without_a_password_where_there_is_none():
    login = Login(Account("admin", "", frozenset()), set())
    assert not login.password_auth_supported() and not login.validate_password("admin", "")
    assert Login(Account("admin", "secret", frozenset()), set()).validate_password("admin", "secret")
