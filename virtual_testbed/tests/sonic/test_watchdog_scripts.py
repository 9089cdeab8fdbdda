"""The watchdog's scripts: what a checkout has runs in Redis at each poll, and what it publishes is done.

The scripts here are our own, and simpler than SONiC's; with those `make real-sonic` runs.
"""
from __future__ import annotations

import logging

import pytest

from virtual_testbed.dataplane.network import Network
from virtual_testbed.faults import parse_fault
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.resp import Connection
from virtual_testbed.sonic.watchdog_scripts import CHANNEL, ScriptError, read_scripts
from virtual_testbed.tests.dataplane.testbeds import MS, generator_ports, hosts, location, storm
from virtual_testbed.tests.sonic.conftest import HWSKU, NAME

DETECT = """
redis.call('SELECT', ARGV[1])
local time = redis.call('TIME')
redis.call('RPUSH', 'SEEN', ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. #KEYS)
redis.call('RPUSH', 'TIMES', time[1] .. '.' .. time[2])
for _, key in ipairs(KEYS) do
  local queue = ARGV[2] .. ':' .. key
  local port = ARGV[2] .. ':' .. redis.call('HGET', 'COUNTERS_QUEUE_PORT_MAP', key)
  local field = 'SAI_PORT_STAT_PFC_' .. redis.call('HGET', 'COUNTERS_QUEUE_INDEX_MAP', key) .. '_RX_PKTS'
  local now, last = redis.call('HGET', port, field), redis.call('HGET', queue, 'own_last')
  redis.call('HSET', queue, 'own_last', now)
  local grew = last and tonumber(now) > tonumber(last)
  local paused = redis.call('HGET', queue, 'SAI_QUEUE_ATTR_PAUSE_STATUS') == 'true'
  local debug = redis.call('HGET', queue, 'DEBUG_STORM') == 'enabled'
  if redis.call('HGET', queue, 'PFC_WD_STATUS') == 'operational' and ((grew and paused) or debug) then
    redis.call('PUBLISH', 'PFC_WD_ACTION', '["' .. key .. '","storm","why","' .. now .. '"]')
  elseif redis.call('HGET', queue, 'PFC_WD_STATUS') == 'stormed' and not grew and not debug then
    redis.call('PUBLISH', 'PFC_WD_ACTION', '["' .. key .. '","restore"]')
  end
end
"""
NOTHING = "return {}"


@pytest.fixture
def checkout(tmp_path):
    """What a checkout of sonic-swss has for this switch."""
    (tmp_path / "orchagent").mkdir()
    (tmp_path / "orchagent/pfc_detect_broadcom.lua").write_text(DETECT)
    (tmp_path / "orchagent/pfc_restore.lua").write_text(NOTHING)
    return tmp_path


class Lab:
    """A switch with its data plane; a generator sends pauses of class 3 to Ethernet0, 300 ms long from 1 s on."""

    def __init__(self, redis, checkout, *faults):
        faults = [parse_fault(spec) for spec in faults]
        self.network = Network(faults)
        for number, port in enumerate(("Ethernet0", "Ethernet4")):
            self.network.add_link(location(number), NAME, port, 100_000, 5)
        self.socket = redis.socket
        self.agent = SonicAgent(NAME, redis.socket, HWSKU, self.network, faults, checkout)
        self.config = databases.connect(redis.socket, "CONFIG_DB")
        databases.change_row(self.config, "PORT_QOS_MAP", "Ethernet0", {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"})
        databases.change_row(self.config, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": "100"})
        self.watch("drop")
        self.network.set_traffic(generator_ports(2), hosts(2), [storm("storm", 0, {3: 0xFFFF})])
        self.agent.apply_configuration()

    def watch(self, action):
        databases.change_row(self.config, "PFC_WD", "Ethernet0", {
            "action": action, "detection_time": "5000", "restoration_time": "5000"})

    def advance(self, until_ms):
        self.agent.apply_configuration()
        self.network.advance_to(until_ms * MS)
        self.agent.publish_states()

    def state(self, queue=3):
        return self.network.switch_states(NAME).watchdog["Ethernet0", queue]

    def counters(self, *command):
        with databases.connect(self.socket, "COUNTERS_DB") as connection:
            return connection.call(*command)

    def queue(self, field, queue=3):
        oid = self.counters("HGET", "COUNTERS_QUEUE_NAME_MAP", f"Ethernet0:{queue}")
        return self.counters("HGET", f"COUNTERS:{oid}", field)

    def storms(self, on):
        if on:
            self.network.start_flows(["storm"])
        else:
            self.network.stop_flows(["storm"])


@pytest.fixture
def lab(redis, checkout):
    made = []

    def make(*faults):
        made.append(Lab(redis, checkout, *faults))
        return made[-1]
    yield make
    for one in made:
        one.config.close()
        one.agent.close()


def test_scripts_decide_at_each_poll(lab):
    lab = lab()
    lab.advance(250)
    assert lab.state().status == "operational"
    lab.storms(True)
    lab.advance(299)
    assert lab.state().detected == 0, "no poll yet"
    lab.advance(300)
    assert (lab.state().status, lab.state().detected) == ("stormed", 1), "at the first poll, not after 5 s"
    assert lab.state(4).detected == 0, "the other queue"
    lab.advance(3000)
    assert (lab.state().detected, lab.state().restored) == (1, 0), "it goes on"
    lab.storms(False)
    lab.advance(3200)
    assert (lab.state().status, lab.state().restored) == ("operational", 1), "at the first poll without pauses"
    assert lab.queue("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED") == "1"


def test_scripts_get_what_syncd_gives_them(lab):
    lab = lab()
    lab.advance(1000)
    assert lab.counters("LRANGE", "SEEN", "0", "-1") == ["2 COUNTERS 100 2"] * 10
    times = [float(text) for text in lab.counters("LRANGE", "TIMES", "0", "-1")]
    assert [round((time - times[0]) * 1000) for time in times] == list(range(0, 1000, 100)), "TIME is the testbed's"
    assert {lab.queue(field) for field in ("PFC_WD_DETECTION_TIME", "PFC_WD_RESTORATION_TIME")} == {"5000000"}
    assert [lab.queue(field) for field in ("PFC_WD_ACTION", "PFC_STAT_HISTORY", "SAI_QUEUE_ATTR_PAUSE_STATUS")] == [
        "drop", "disable", "false"]
    assert lab.counters("HGET", "COUNTERS:TIME_STAMP", "PFC_WD_Port_Counter_time_stamp") == str(10**9)


def test_a_storm_for_debugging(lab):
    lab = lab()
    lab.advance(100)
    oid = lab.counters("HGET", "COUNTERS_QUEUE_NAME_MAP", "Ethernet0:4")
    lab.counters("HSET", f"COUNTERS:{oid}", "DEBUG_STORM", "enabled")
    lab.advance(200)
    assert (lab.state(4).status, lab.state(3).status) == ("stormed", "operational")
    lab.counters("HDEL", f"COUNTERS:{oid}", "DEBUG_STORM")
    lab.advance(300)
    assert lab.state(4).status == "operational"


def test_the_big_red_switch_is_in_the_database_and_nobody_is_listened_to(lab):
    lab = lab()
    lab.advance(100)
    databases.change_row(lab.config, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "enable"})
    lab.advance(400)
    assert lab.state().status == "stormed", "a notification of its end was heeded"
    assert lab.queue("BIG_RED_SWITCH_MODE") == "enable"
    databases.change_row(lab.config, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": "disable"})
    lab.advance(500)
    assert (lab.state().status, lab.queue("BIG_RED_SWITCH_MODE")) == ("operational", None)


def test_notifications_that_are_none(lab, caplog):
    lab = lab()
    with Connection(lab.socket) as connection, caplog.at_level(logging.WARNING):
        for text in ("no JSON", '["oid:0x0","storm"]', "[]", '{"a": 1}'):
            connection.call("PUBLISH", CHANNEL, text)
        lab.advance(200)
    assert lab.state().detected == 0
    assert [record.message.count("notification of no queue") for record in caplog.records] == [1] * 4, caplog.text


def test_a_script_that_fails_decides_nothing_and_says_so_once(lab, checkout, caplog):
    (checkout / "orchagent/pfc_restore.lua").write_text("return redis.call('HGET', 'COUNTERS_DB')")
    lab = lab()
    with caplog.at_level(logging.WARNING):
        lab.storms(True)
        lab.advance(500)
    assert lab.state().status == "stormed", "the other script was not run"
    assert caplog.text.count("pfc_restore.lua failed") == 1, caplog.text


def test_counters_that_a_fault_freezes_blind_the_scripts(lab):
    lab = lab("counters-frozen@Ethernet0")
    lab.storms(True)
    lab.advance(3000)
    assert lab.state().detected == 0, "the scripts read COUNTERS_DB, not the hardware"


def test_a_redis_that_starts_again(lab, redis):
    lab = lab()
    lab.advance(300)
    redis.restart()
    lab.storms(True)
    lab.network.advance_to(600 * MS)
    assert lab.state().detected == 0, "nobody decides"
    lab.config.close()
    lab.config = databases.connect(redis.socket, "CONFIG_DB")
    for until_ms in (700, 900):
        lab.advance(until_ms)
    assert lab.state().status == "stormed", "the agent has loaded the scripts anew"


@pytest.mark.parametrize(("asic_type", "names"), [
    ("broadcom", {"pfc_detect_broadcom.lua", "pfc_restore.lua"}),
    ("cisco-8000", {"pfc_detect_cisco-8000.lua", "pfc_restore_cisco-8000.lua"})])
def test_scripts_of_a_platform(tmp_path, asic_type, names):
    (tmp_path / "orchagent").mkdir()
    for number, name in enumerate(sorted(names)):
        (tmp_path / "orchagent" / name).write_text(f"return {{{number}}}")
    scripts = read_scripts(tmp_path, asic_type)
    assert {script.name for script in scripts} == names
    assert [script.digest for script in scripts] == sorted(script.digest for script in scripts), "syncd's order"


def test_a_folder_without_scripts(tmp_path):
    with pytest.raises(ScriptError, match=r"pfc_detect_vs\.lua: No such file .*: expected a checkout of sonic-swss"):
        read_scripts(tmp_path, "vs")
