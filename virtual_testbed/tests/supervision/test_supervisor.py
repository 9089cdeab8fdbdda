"""The supervisor with children that do nothing: ready, restarted, failed, killed, taken down. Redis is the real one."""
from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import redis

from virtual_testbed.process import identify, processes_of_run
from virtual_testbed.supervision.child import tail
from virtual_testbed.supervision.lifecycle import LifecycleError, inspect, take_down
from virtual_testbed.supervision.plan import Policy
from virtual_testbed.supervision.state import TestbedFolder, read_json

PATIENCE_S = 60


def until(condition):
    """Wait for something that the supervisor does by itself."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def child(folder, name):
    return folder.read_runtime()["children"][name]


def back(folder, name, restarts=1):
    """True when a child is up after so many restarts."""
    row = child(folder, name)
    return row["status"] == "up" and row["restarts"] >= restarts


def events(folder):
    return " / ".join(row["event"] for row in folder.read_runtime()["events"])


def test_up_and_down(up, folder, remains, run_folder):
    runtime = up(clock="virtual", faults=("pause-ignored@Ethernet0",))
    assert runtime == folder.read_runtime()
    assert runtime["status"] == "up"
    assert runtime["clock"]["mode"] == "virtual" and runtime["clock"]["url"].endswith("/clock")
    assert runtime["root_view"] == "environment" and runtime["faults"] == ["pause-ignored@Ethernet0"]
    switch = runtime["switches"]["lab-t0-01"]
    socket.create_connection((switch["ssh_host"], switch["ssh_port"])).close()
    with redis.Redis(unix_socket_path=switch["redis_socket"]) as client:
        assert client.config_get("databases") == {"databases": "16"}
        assert set("KA") <= set(client.config_get("notify-keyspace-events")["notify-keyspace-events"] + "A")
    status = inspect(folder)
    assert (status.state, status.reason) == ("up", "")
    assert [one.name for one in status.children] == ["lab-t0-01.redis", "engine", "lab-t0-01.ssh"]
    old = run_folder()
    pids = [row["pid"] for row in runtime["children"].values()]
    assert take_down(folder) is True
    assert remains(old) == []
    assert [pid for pid in pids if identify(pid)] == []
    assert not folder.testbed_file.exists() and not (folder.path / "lab").exists()
    assert take_down(folder) is False  # once more changes nothing
    assert inspect(folder).state == "down"


def test_argument_files(up, folder):
    runtime = up(clock="virtual", faults=("pause-ignored@Ethernet0",))
    engine, switch = read_json(folder.path / "engine.json"), read_json(folder.path / "lab-t0-01.json")
    assert engine["clock"] == "virtual" and engine["faults"] == ["pause-ignored@Ethernet0"]
    assert engine["switches"] == [{"name": "lab-t0-01", "hwsku": "Tiny-4x100G",
                                   "redis_socket": runtime["switches"]["lab-t0-01"]["redis_socket"],
                                   "root": switch["root"]}]
    assert engine["generator_ports"][2] == {
        "location": "127.1.0.2/3", "switch": "lab-t0-01", "switch_port": "Ethernet8", "speed_mbps": 40000,
        "cable_m": 5}
    assert runtime["otg"]["url"].endswith(f":{engine['otg_port']}")
    assert switch["port"] == runtime["switches"]["lab-t0-01"]["ssh_port"]
    assert switch["hwsku"] == "Tiny-4x100G"


def test_secrets_are_for_the_owner_only(up, folder):
    up()
    for path in (folder.ssh / "id_ed25519", folder.ssh / "password", folder.switch("lab-t0-01") / "host_key",
                 folder.path / "lab-t0-01.json"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert folder.ssh.stat().st_mode & 0o077 == 0
    assert Path(read_json(folder.run)["run_folder"]).stat().st_mode & 0o077 == 0


def test_keys_password_and_configuration_outlive_a_run_until_purged(up, folder):
    first = up()
    kept = [folder.ssh / "id_ed25519", folder.ssh / "password", folder.switch("lab-t0-01") / "host_key"]
    before = [path.read_bytes() for path in kept]
    with redis.Redis(unix_socket_path=first["switches"]["lab-t0-01"]["redis_socket"], db=4) as client:
        client.hset("PFC_WD|Ethernet0", "action", "drop")
    take_down(folder)
    second = up()
    assert [path.read_bytes() for path in kept] == before
    with redis.Redis(unix_socket_path=second["switches"]["lab-t0-01"]["redis_socket"], db=4) as client:
        assert client.hgetall("PFC_WD|Ethernet0") == {b"action": b"drop"}
    take_down(folder, purge=True)
    assert not folder.path.exists()


def test_second_up_is_refused(up, folder):
    runtime = up()
    with pytest.raises(LifecycleError, match=r"lab-t0 is up already \(supervisor \d+\): stop it with "
                                             "`.*virtual-testbed down lab-t0 --state .*/state`"):
        up()
    assert folder.read_runtime() == runtime


def test_two_testbeds_side_by_side(up, folder, load):
    first, other = up(), TestbedFolder(folder.path.parent / "lab-new")
    try:
        second = up(testbed=load("lab-new"), where=other)
        assert first["otg"] != second["otg"]
        assert set(second["switches"]) == {"lab-t0-01", "lab-t0-02"}  # a name may be in both
        assert first["switches"]["lab-t0-01"]["ssh_port"] != second["switches"]["lab-t0-01"]["ssh_port"]
        assert [inspect(one).state for one in (folder, other)] == ["up", "up"]
        take_down(folder)
        assert [inspect(one).state for one in (folder, other)] == ["down", "up"]
    finally:
        take_down(other)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_child_that_dies_is_started_again_on_its_port_and_reported(up, folder, number):
    before = up()
    os.kill(child(folder, "lab-t0-01.ssh")["pid"], number)
    until(lambda: back(folder, "lab-t0-01.ssh"))
    after = folder.read_runtime()
    assert after["switches"] == before["switches"]
    assert child(folder, "lab-t0-01.ssh")["last_death"] == \
        f"signal {signal.Signals(number).name}, last line of its log: logged in"
    assert "lab-t0-01.ssh died: signal" in events(folder) and "is up again (start 2)" in events(folder)
    assert any("lab-t0-01.ssh died: signal" in line for line in tail(folder.log("supervisor"), 10))
    socket.create_connection(("127.0.0.1", after["switches"]["lab-t0-01"]["ssh_port"])).close()
    assert inspect(folder).state == "up"
    assert child(folder, "engine")["restarts"] == 0


def test_the_engine_comes_back_on_its_ports(up, folder):
    before = up()
    os.kill(child(folder, "engine")["pid"], signal.SIGKILL)
    until(lambda: back(folder, "engine"))
    after = folder.read_runtime()
    assert (after["otg"], after["clock"]) == (before["otg"], before["clock"])
    assert inspect(folder).state == "up"


def test_redis_comes_back_with_its_content_and_its_clients_stay(up, folder):
    runtime = up()
    path = runtime["switches"]["lab-t0-01"]["redis_socket"]
    with redis.Redis(unix_socket_path=path, db=4) as client:
        client.hset("PORT|Ethernet0", "mtu", "9100")
    os.kill(child(folder, "lab-t0-01.redis")["pid"], signal.SIGKILL)
    until(lambda: back(folder, "lab-t0-01.redis"))
    assert "lab-t0-01.redis died: signal SIGKILL" in events(folder)
    with redis.Redis(unix_socket_path=path, db=4) as client:
        assert client.hgetall("PORT|Ethernet0") == {b"mtu": b"9100"}
    assert [child(folder, name)["restarts"] for name in ("engine", "lab-t0-01.ssh")] == [0, 0]


def test_an_engine_that_dies_with_redis_waits_for_it(up, folder):
    up()
    for name in ("lab-t0-01.redis", "engine"):
        os.kill(child(folder, name)["pid"], signal.SIGKILL)
    until(lambda: back(folder, "engine"))
    told = [row["event"] for row in folder.read_runtime()["events"] if "is up again" in row["event"]]
    assert told == ["lab-t0-01.redis is up again (start 2)", "engine is up again (start 2)"]


def test_a_child_that_keeps_dying_fails_the_testbed(up, folder, remains, run_folder):
    up(ssh="once", policy=Policy(quick_deaths=2, first_backoff_s=0.01))
    old = run_folder()
    os.kill(child(folder, "lab-t0-01.ssh")["pid"], signal.SIGKILL)
    until(lambda: folder.supervisor() is None)
    status = inspect(folder)
    assert status.state == "failed"
    assert status.reason == ("lab-t0-01.ssh died 3 times in a row, each within 10 s of its start; the last time: "
                             "exit status 7, last line of its log: the key does not fit")
    until(lambda: processes_of_run(old) == [])
    assert not Path(old).exists()
    up()  # a failed testbed does not stop the next
    assert inspect(folder).state == "up"


def test_a_slow_death_does_not_count_as_quick(up, folder):
    up(policy=Policy(quick_s=0.0, quick_deaths=0))
    for restarts in (1, 2):
        os.kill(child(folder, "lab-t0-01.ssh")["pid"], signal.SIGKILL)
        until(lambda: back(folder, "lab-t0-01.ssh", restarts))
    assert inspect(folder).state == "up"


START_ERRORS = {
    "broken": r"engine ended with exit status 3 before it was ready; \S+engine.log ends: the engine has no oil",
    "silent": r"engine was not ready after 1 s(, and \d+ s without a CPU)?; \S+engine.log is empty",
    "mumbling": r"engine printed 'good morning' instead of its ready line",
}


@pytest.mark.parametrize("mode", START_ERRORS)
def test_a_child_that_does_not_start_leaves_nothing(up, folder, mode):
    with pytest.raises(LifecycleError, match="testbed lab-t0 did not come up: " + START_ERRORS[mode]) as raised:
        up(engine=mode, policy=Policy(ready_s=1.0 if mode == "silent" else 60.0))
    assert "\n" not in str(raised.value)
    assert not folder.runtime.exists() and not folder.run.exists()
    run = read_json(folder.plan)["run_folder"]
    until(lambda: processes_of_run(run) == [])
    assert not Path(run).exists()
    up()


def test_a_program_that_is_missing(load, folder):
    from virtual_testbed.supervision.lifecycle import bring_up
    from virtual_testbed.supervision.plan import Commands, Options
    with pytest.raises(LifecycleError, match="engine cannot be started: /nowhere/engine: No such file or directory"):
        bring_up(load(), folder, Options(commands=Commands(engine=("/nowhere/engine",))))


def test_killed_supervisor_takes_its_children_along_and_the_next_up_works(up, folder, run_folder):
    up()
    old, pids = run_folder(), [row["pid"] for row in folder.read_runtime()["children"].values()]
    folder.supervisor().send(signal.SIGKILL)
    until(lambda: not any(identify(pid) for pid in pids))
    status = inspect(folder)
    assert status.state == "down" and "its supervisor was killed" in status.reason
    assert Path(old).exists()  # nobody was there to remove it
    runtime = up()
    assert runtime["status"] == "up" and run_folder() != old
    assert not Path(old).exists() and processes_of_run(old) == []


def test_down_takes_away_what_a_killed_run_left(up, folder, remains, run_folder):
    up()
    old = run_folder()
    folder.supervisor().send(signal.SIGKILL)
    until(lambda: folder.supervisor() is None)
    assert take_down(folder) is False
    assert remains(old) == []


def test_a_state_folder_that_someone_removed(up, folder, run_folder):
    up()
    old, supervisor = run_folder(), folder.supervisor()
    shutil.rmtree(folder.path)
    supervisor.send(signal.SIGTERM)
    until(lambda: not processes_of_run(old))
    assert not Path(old).exists()


def test_down_ends_a_testbed_that_is_being_started(up, folder):
    errors = []

    def start():
        try:
            up(engine="silent")
        except LifecycleError as error:
            errors.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    until(lambda: folder.supervisor() is not None)
    take_down(folder)
    thread.join(PATIENCE_S)
    assert errors and "lab-t0" in errors[0]
    assert inspect(folder).state == "down"


def test_a_testbed_ends_with_the_process_it_was_brought_up_for(up, folder, remains, run_folder):
    owner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    up(owner_pid=owner.pid)
    old = run_folder()
    owner.kill()
    owner.wait()
    until(lambda: not remains(old))


def test_a_pid_that_is_someone_elses_is_not_touched(up, folder):
    up()
    run = read_json(folder.run)
    take_down(folder)
    # a stale run.json whose pid has been given to this very process since
    folder.run.write_text(str({**run, "supervisor": {"pid": os.getpid(), "start_time": 1}}).replace("'", '"'))
    assert folder.supervisor() is None
    take_down(folder)
    up()


def test_status_sees_a_clock_that_does_not_answer(up, folder):
    up()
    pid = child(folder, "engine")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        from virtual_testbed.supervision import lifecycle
        lifecycle._CLOCK_TIMEOUT_S, kept = 0.2, lifecycle._CLOCK_TIMEOUT_S
        status = inspect(folder)
    finally:
        lifecycle._CLOCK_TIMEOUT_S = kept
        os.kill(pid, signal.SIGCONT)
    assert status.state == "degraded" and "the clock does not answer at http://127.0.0.1:" in status.reason
