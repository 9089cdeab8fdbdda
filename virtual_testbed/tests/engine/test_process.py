"""The engine as a process: its argument file, its ready line, its end."""
from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import pytest
import requests
import snappi

ARGUMENTS = {
    "testbed": "vtb", "clock": "virtual", "otg_port": 0, "clock_port": 0, "switches": [], "switch_links": [],
    "generator_ports": [{"location": "127.1.0.1;1;1", "chassis": "c", "port": "Card1/Port1", "speed_mbps": 100000,
                         "switch": "sw", "switch_port": "Ethernet0", "cable_m": 5}],
    "faults": []}


def start(tmp_path, **changes):
    path = tmp_path / "engine.json"
    path.write_text(json.dumps({**ARGUMENTS, **changes}))
    return subprocess.Popen([sys.executable, "-m", "virtual_testbed.engine.testbed", str(path)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def refused(tmp_path, **changes):
    with start(tmp_path, **changes) as process:
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in stderr
    return stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_ends_when_told(tmp_path, number):
    with start(tmp_path) as process:
        ready = json.loads(process.stdout.readline())
        assert ready["ready"] is True
        assert ready["clock_url"] == ready["otg_url"] + "/clock"
        assert requests.get(ready["clock_url"], timeout=60).json()["now_ns"] == 0
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr


def test_a_realtime_testbed_ends_too(tmp_path):
    with start(tmp_path, clock="realtime") as process:
        ready = json.loads(process.stdout.readline())
        assert requests.get(ready["clock_url"], timeout=60).json()["mode"] == "realtime"
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_it_takes_the_ports_it_is_given_again(tmp_path):
    """Also after it was killed while clients were connected."""
    with start(tmp_path) as process:
        ready = json.loads(process.stdout.readline())
        api = snappi.api(location=ready["otg_grpc"], transport="grpc")
        assert api.get_version().app_version
        process.kill()
        process.communicate(timeout=60)
    port, grpc_port = (int(ready[name].rpartition(":")[2]) for name in ("otg_url", "otg_grpc"))
    with start(tmp_path, otg_port=port, clock_port=port, otg_grpc_port=grpc_port) as process:
        assert json.loads(process.stdout.readline()) == ready
        assert api.get_version().app_version
        process.terminate()
        process.communicate(timeout=60)
    api.close()


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for kind in ("otg_port", "otg_grpc_port"):
            assert refused(tmp_path, **{kind: port}).startswith(f"error: 127.0.0.1:{port} cannot be used: ")


@pytest.mark.parametrize(("changes", "expected"), [
    ({"clock": "lunar"}, "clock is 'lunar', virtual or realtime expected"),
    ({"faults": ["gremlins"]}, "fault 'gremlins' is unknown"),
    ({"generator_ports": [{"location": "x"}]}, "the field 'switch' is missing"),
    ({"generator_ports": ARGUMENTS["generator_ports"] * 2}, "has a cable already"),
    ({"generator_ports": [{**ARGUMENTS["generator_ports"][0], "speed_mbps": 3}]}, "3 Mb/s is not an Ethernet speed"),
    ({"switches": [{"name": "sw", "redis_socket": "/nowhere/redis.sock", "hwsku": "Arista-7060CX-32S-C32"}]},
     "switch sw: its agent failed"),
])
def test_what_is_no_testbed_is_refused_in_one_sentence(tmp_path, changes, expected):
    line = refused(tmp_path, **changes)
    assert line.startswith("error: ")
    assert expected in line


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "engine.json").write_text("{")
    done = subprocess.run([sys.executable, "-m", "virtual_testbed.engine.testbed", str(tmp_path / "engine.json")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path}/engine.json: cannot be read: ")
    assert subprocess.run([sys.executable, "-m", "virtual_testbed.engine.testbed"], capture_output=True,
                          timeout=60).returncode == 2
