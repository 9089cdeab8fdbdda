"""`portstat -p`: what ports count in a period of the switch's own time, whoever lets it pass, and in which steps."""
from __future__ import annotations

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from virtual_testbed.engine.clock import VirtualClock
from virtual_testbed.engine.simulation import Simulation
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent import SonicAgent
from virtual_testbed.sonic.commands import period
from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.periods import PREFIX
from virtual_testbed.tests.sonic.conftest import HWSKU, MAC, NAME, beside
from virtual_testbed.tests.sonic.test_polling import CountingNetwork

KEY = f"{PREFIX}x"


@pytest.fixture
def lab(redis):
    """A simulation of one switch whose counters are milliseconds."""
    network = CountingNetwork()
    agent = SonicAgent(NAME, redis.socket, HWSKU, network, [])
    simulation = Simulation(network, {NAME: lambda: agent}, lambda: None)
    simulation.publish()
    with databases.connect(redis.socket, "STATE_DB") as state:
        yield SimpleNamespace(simulation=simulation, network=network, agent=agent, state=state, redis=redis,
                              clock=VirtualClock(simulation))
    agent.close()


def advance(lab, seconds):
    lab.clock.advance({"nanoseconds": round(seconds * 10**9)})


def row(lab):
    return databases.read_hash(lab.state, KEY)


def seen(lab, field):
    """The millisecond of the poll that a look shows."""
    oid = lab.agent._ids.port("Ethernet0")
    return int(json.loads(row(lab)[field])["COUNTERS"][oid]["SAI_PORT_STAT_IF_IN_UCAST_PKTS"])


@pytest.mark.parametrize("steps", [[3600], [5], [2.5, 2.5], [0.1] * 49 + [0.2], [4.9, 700]])
def test_it_is_looked_at_its_beginning_and_its_end_however_time_is_advanced(lab, steps):
    advance(lab, 1.7)
    lab.state.call("HSET", KEY, "seconds", 5)
    lab.simulation.refresh()
    assert seen(lab, "first") == 1000 and "second" not in row(lab)
    assert lab.clock.read()["awaited_ns"] == 6_700_000_000
    for step in steps:
        assert "second" not in row(lab)
        advance(lab, step)
    assert seen(lab, "second") == 6000
    assert "awaited_ns" not in lab.clock.read() and lab.agent.next_stage_ps() is None


def test_the_rates_are_those_of_the_end(lab):
    advance(lab, 1)
    lab.state.call("HSET", KEY, "seconds", 2)
    advance(lab, 60)
    oid = lab.agent._ids.port("Ethernet0")
    assert json.loads(row(lab)["second"])["RATES"][oid]["TX_BPS"] == "1000.000000"
    assert json.loads(row(lab)["second"])["PORT_TABLE"]["Ethernet0"]["oper_status"] == "up"


def test_a_command_that_has_gone_is_waited_for_no_longer(lab):
    lab.state.call("HSET", KEY, "seconds", 5)
    advance(lab, 1)
    lab.simulation.refresh()
    assert row(lab)["now_ns"] == "1000000000"
    lab.state.call("DEL", KEY)
    lab.simulation.refresh()
    assert lab.agent.awaited_ps() is None, "also while time stands still"
    advance(lab, 10)
    assert row(lab) == {}


def test_a_row_that_goes_while_it_is_looked_at_does_not_come_again(lab, monkeypatch):
    look = lab.agent._look

    def look_later():
        found = look()
        lab.state.call("DEL", KEY)
        return found

    monkeypatch.setattr(lab.agent, "_look", look_later)
    lab.state.call("HSET", KEY, "seconds", 5)
    lab.simulation.refresh()
    assert row(lab) == {} and lab.agent.awaited_ps() is None
    monkeypatch.setattr(lab.agent, "_look", look)
    lab.state.call("HSET", KEY, "seconds", 5)
    lab.simulation.refresh()
    monkeypatch.setattr(lab.agent, "_look", look_later)
    advance(lab, 5)
    assert row(lab) == {} and lab.agent.awaited_ps() is None


@pytest.mark.parametrize("seconds", ["0", "000", "1000001", "9" * 5000, "-1", "+5", "1.5", " 5", "5\n", "\u0665", ""])
def test_what_no_command_asks_for_is_ignored(lab, seconds):
    lab.state.call("HSET", KEY, "seconds", seconds)
    lab.simulation.refresh()
    assert lab.agent.awaited_ps() is None and row(lab) == {"seconds": seconds}
    advance(lab, 2)
    assert lab.network.now_ps == 2 * 10**12 and not lab.agent._lost


@pytest.mark.parametrize("seconds", [1, 10**6])
def test_the_shortest_and_the_longest_period(lab, seconds):
    lab.state.call("HSET", KEY, "seconds", seconds)
    lab.simulation.refresh()
    assert lab.agent.awaited_ps() == seconds * 10**12


@pytest.mark.parametrize("begun", [False, True])
def test_a_row_of_another_kind_is_ignored(lab, begun):
    lab.state.call("HSET", KEY, "seconds", 5)
    if begun:
        lab.simulation.refresh()
    lab.state.call("SET", KEY, "5")
    lab.state.call("RPUSH", f"{PREFIX}y", "5")
    advance(lab, 10)
    assert not lab.agent._lost and lab.agent.awaited_ps() is None and lab.state.call("GET", KEY) == "5"


def test_asking_for_it_does_not_read_the_configuration_anew(lab, monkeypatch):
    lab.simulation.refresh()
    monkeypatch.setattr(lab.agent, "_apply", lambda config: pytest.fail("nothing has changed"))
    lab.state.call("HSET", KEY, "seconds", 5)
    advance(lab, 10)
    assert seen(lab, "second") == 5000


def as_is_waited(network, agent):
    """Somebody who advances the clock to where a command waits for, while 500 frames come in."""
    def act():
        agent.apply_configuration()
        if (awaited_ps := agent.awaited_ps()) is not None:
            network.set_port("Ethernet0", rx_packets=1500)
            network.now_ps = awaited_ps
            agent.poll(["PORT"])
    return act


@pytest.mark.parametrize("command, seconds", [
    ("portstat -p 1", 1), ("portstat --period 30", 30), ("show interfaces counters -p 30", 30)])
def test_what_is_printed(run, network, agent, command, seconds):
    network.set_port("Ethernet0", rx_packets=1000)
    agent.publish_counters()
    run("portstat -c")
    with beside(as_is_waited(network, agent)):
        lines = run(command).splitlines()
    assert lines[0] == f"The rates are calculated within {seconds} seconds period"
    assert lines[1].split()[:4] == ["IFACE", "STATE", "RX_OK", "RX_BPS"]
    assert lines[3].split()[:5] == ["Ethernet0", "U", "500", "0.00", "B/s"]
    assert network.now_ps == seconds * 10**12


def test_details_of_a_period(run, network, agent):
    network.set_port("Ethernet0", rx_packets=1000)
    agent.publish_counters()
    with beside(as_is_waited(network, agent)):
        lines = run("portstat -p 1 -l -i Ethernet0").splitlines()
    assert lines[0].startswith("The rates are") and "Unicast Packets Received....................... 500" in lines


def test_raw_counters_are_shown_at_once(run, agent):
    assert run("portstat -p 5 -r").splitlines()[0].split()[0] == "IFACE"


def test_a_period_without_time_is_refused(run, agent):
    assert run("portstat -p -1", status=1) == "error: portstat -p: the period must be 1..1000000 seconds, found -1\n"


def test_where_time_stands_still_it_is_refused(redis, agent, monkeypatch):
    monkeypatch.setattr(period, "_LONGEST_S", 0.3)
    switch = SwitchContext(NAME, HWSKU, redis.socket, "", MAC)
    with beside(agent.apply_configuration), pytest.raises(SystemExit, match="the switch's time has stood still"):
        period.looks(switch, 5, "portstat -p")
    with databases.connect(redis.socket, "STATE_DB") as state:
        assert state.call("KEYS", f"{PREFIX}*") == []


def test_it_waits_while_time_passes_however_slowly(redis, agent, network, monkeypatch):
    monkeypatch.setattr(period, "_LONGEST_S", 0.5)

    def pass_slowly():
        network.now_ps += 10**10
        agent.apply_configuration()

    with beside(pass_slowly):
        first, second = period.looks(SwitchContext(NAME, HWSKU, redis.socket, "", MAC), 1, "portstat -p")
    assert first.keys() == second.keys() == {"COUNTERS", "RATES", "PORT_TABLE"}


def test_computing_a_step_for_long_is_no_standing_still(redis, agent, network, monkeypatch):
    """The agent looks before and after it; the first two looks show time stand still."""
    monkeypatch.setattr(period, "_LONGEST_S", 0.3)
    rounds = []

    def compute():
        agent.apply_configuration()
        if agent.awaited_ps() is not None:
            rounds.append(time.monotonic())
            time.sleep(0.1 if len(rounds) < 3 else 0.8)
            if len(rounds) >= 3:
                network.now_ps += 6 * 10**11

    with beside(compute):
        period.looks(SwitchContext(NAME, HWSKU, redis.socket, "", MAC), 1, "portstat -p")
    assert network.now_ps == 12 * 10**11


def test_where_nobody_looks_it_is_not_waited_for_ever(redis, agent, monkeypatch):
    monkeypatch.setattr(period, "_LONGEST_SILENCE_S", 0.3)
    with pytest.raises(SystemExit, match="the switch's testbed has computed, or done nothing, for 0 s"):
        period.looks(SwitchContext(NAME, HWSKU, redis.socket, "", MAC), 5, "portstat -p")


def test_a_command_that_is_killed_is_soon_waited_for_no_longer(redis, agent):
    """As long as it lives, however, its row does."""
    script = ("import sys; from virtual_testbed.sonic.commands import period; "
              "from virtual_testbed.sonic.commands.context import SwitchContext; period.ALIVE_MS = 500; "
              "period.looks(SwitchContext(*sys.argv[1:4], '', sys.argv[4]), 1000, 'portstat -p')")
    with subprocess.Popen([sys.executable, "-c", script, NAME, HWSKU, redis.socket, MAC]) as command:
        until(agent, lambda: agent.awaited_ps() is not None)
        began_s = time.monotonic()
        while time.monotonic() - began_s < 1.5:
            agent.apply_configuration()
            assert agent.awaited_ps() == 1000 * 10**12
            time.sleep(0.05)
        command.kill()
    until(agent, lambda: agent.awaited_ps() is None)
    with databases.connect(redis.socket, "STATE_DB") as state:
        assert state.call("KEYS", f"{PREFIX}*") == []


def until(agent, is_so):
    """Lets the agent look until something is so."""
    deadline_s = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline_s
        agent.apply_configuration()
        time.sleep(0.02)


def test_a_switch_that_starts_anew_ends_it(redis, agent):
    def lose():
        agent.apply_configuration()
        if agent.awaited_ps() is not None:
            with databases.connect(redis.socket, "STATE_DB") as state:
                state.call("FLUSHDB")

    with beside(lose), pytest.raises(SystemExit, match="the switch has started anew meanwhile"):
        period.looks(SwitchContext(NAME, HWSKU, redis.socket, "", MAC), 5, "portstat -p")
