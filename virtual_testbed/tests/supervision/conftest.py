"""A small lab and children that obey the child protocol but do nothing."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from virtual_testbed.lab_files.description import load_testbed
from virtual_testbed.process import processes_of_run
from virtual_testbed.sonic.profile import FOLDER
from virtual_testbed.supervision.lifecycle import bring_up, take_down
from virtual_testbed.supervision.plan import Commands, Options, Policy
from virtual_testbed.supervision.state import TestbedFolder, read_json

TESTBED = """---
- conf-name: lab-t0
  topo: lab-4
  ptf_image_name: docker-ptf-snappi
  ptf_ip: 127.0.0.1/8
  dut: [lab-t0-01]
  inv_name: lab
  comment: four ports
  virtual: true

- name: lab-new
  duts: [lab-t0-01, lab-t0-02]
  tgs: [snappi-lab-1]
  tg_api_server: 10.0.0.1:443
  inv_name: lab
  virtual: true

- conf-name: lab-hw
  dut: [lab-t0-01]
  inv_name: lab
"""

DEVICES = """Hostname,ManagementIp,HwSku,Type
lab-t0-01,127.0.0.1/8,Tiny-4x100G,DevSonic
lab-t0-02,127.0.0.1/8,Tiny-4x100G,DevSonic
snappi-lab-1,127.1.0.1/8,SNAPPI-tester,DevSnappiChassis
snappi-lab-2,127.1.0.2/8,SNAPPI-tester,DevSnappiChassis
snappi-lab-api,127.0.0.1/8,SNAPPI-tester,DevSnappiApiServ
lab-pdu,10.0.0.9/24,Apc,Pdu
"""

LINKS = """StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode
lab-t0-01,Ethernet0,snappi-lab-1,Card1/Port1,100000,2,Access
lab-t0-01,Ethernet4,snappi-lab-1,Card1/Port2,100000,3,Access
lab-t0-01,Ethernet8,snappi-lab-2,Port3,40000,4,Access
snappi-lab-1,Card2/Port1,lab-t0-02,Ethernet0,100000,5,Access
lab-t0-01,Ethernet12,lab-t0-02,Ethernet12,100000,6,Access
"""

ENGINE = """
import http.server, json, os, sys
from virtual_testbed.process import die_with_parent
die_with_parent()
mode, arguments = sys.argv[1], json.load(open(sys.argv[2]))
if mode == "broken":
    print("the engine has no oil", file=sys.stderr)
    sys.exit(3)
if mode == "silent":
    import signal
    signal.pause()

class Clock(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"mode": arguments["clock"], "now_ns": 0, "lag_ns": 0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.HTTPServer(("127.0.0.1", arguments["otg_port"]), Clock)
url = f"http://127.0.0.1:{server.server_port}"
if mode == "mumbling":
    print("good morning")
print(json.dumps({"ready": True, "otg_url": url, "otg_grpc": "127.0.0.1:50051", "clock_url": url + "/clock"}),
      flush=True)
print("x" * 200_000, flush=True)  # more than a pipe holds
server.serve_forever()
"""

SSH = """
import json, os, signal, socket, subprocess, sys
from virtual_testbed.process import die_with_parent
die_with_parent()
mode, arguments = sys.argv[1], json.load(open(sys.argv[2]))
if mode == "once" and arguments["port"]:
    print("the key does not fit", file=sys.stderr)
    sys.exit(7)
server = socket.create_server(("127.0.0.1", arguments["port"]))
subprocess.Popen(["sleep", "600"])  # a command that someone runs on the switch
print("logged in", file=sys.stderr)
print(json.dumps({"ready": True, "ssh_port": server.getsockname()[1], "root_view": "environment",
                  "root_view_reason": "a test"}), flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def lab(tmp_path):
    """A folder with testbed.yaml, files/, vars/ and profiles/."""
    for name in ("files", "vars", "profiles"):
        (tmp_path / "ansible" / name).mkdir(parents=True)
    path = tmp_path / "ansible"
    (path / "testbed.yaml").write_text(TESTBED)
    (path / "files" / "graph_groups.yml").write_text("---\n- lab\n")
    (path / "files" / "sonic_lab_devices.csv").write_text(DEVICES)
    (path / "files" / "sonic_lab_links.csv").write_text(LINKS)
    (path / "vars" / "topo_lab-4.yml").write_text("---\n")
    whole = json.loads((FOLDER / "Arista-7060CX-32S-C32.json").read_text())
    (path / "profiles" / "Tiny-4x100G.json").write_text(json.dumps({**whole, "ports": whole["ports"][:4]}))
    return path


@pytest.fixture
def load(lab):
    """Read a testbed of the lab."""
    return lambda name="lab-t0": load_testbed(name, lab / "testbed.yaml", lab / "profiles")


@pytest.fixture
def folder(tmp_path):
    """Where lab-t0 keeps its files; what still runs at the end of the test is ended."""
    folder = TestbedFolder(tmp_path / "state" / "lab-t0")
    yield folder
    take_down(folder)


@pytest.fixture
def up(load, folder, tmp_path):
    """Bring lab-t0 up with fake children; modes choose how they behave."""
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "ssh.py").write_text(SSH)

    def run(engine="good", ssh="good", testbed=None, where=folder, policy=Policy(), **options):
        commands = Commands(engine=(sys.executable, "-P", str(tmp_path / "engine.py"), engine),
                            ssh=(sys.executable, "-P", str(tmp_path / "ssh.py"), ssh))
        return bring_up(testbed or load(), where, Options(commands=commands, policy=policy, **options))
    return run


@pytest.fixture
def remains(folder):
    """What a run leaves: call it before the end for the run's folder, then read the list of what is there."""
    def of(run_folder):
        left = [f"process {one.pid}" for one in processes_of_run(run_folder)]
        left += [str(path) for path in (Path(run_folder), folder.runtime, folder.run) if path.exists()]
        return left
    return of


@pytest.fixture
def run_folder(folder):
    """The temporary folder of the run that is on now."""
    return lambda: read_json(folder.run)["run_folder"]


@pytest.fixture
def command():
    """Run the command line in this process."""
    from virtual_testbed.supervision.cli import main
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])
