"""A testbed with a wire port: what `show pfc counters` says of real frames."""
from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from pfctest.tests.namespace import WHY_NOT, namespace, way
from virtual_testbed.engine.testbed import Arguments, Engine, EngineError, sonic_agent
from virtual_testbed.lab_files.cables import GeneratorLink, WireLink

COMMAND = Path(sys.executable).with_name("virtual-testbed")
PATIENCE_S = 60
PROBE_S = 0.3


def counted(place, state, direction):
    """The row of Ethernet0 in `show pfc counters`, as numbers by priority."""
    words = ("ssh", "-F", state / "vtb-t0/ssh/config", "vtb-t0-01", "show pfc counters")
    table = place.run(*words).stdout.split(f"Port {direction}")[1]
    row = next(line for line in table.splitlines() if line.split()[:1] == ["Ethernet0"])
    return [int(number.replace(",", "")) for number in row.split()[1:]]


@pytest.mark.parametrize("clock, sentence", [
    ("virtual", "wire ports need a clock that follows the wall clock: bring the testbed up with --clock realtime"),
    ("realtime", "wire port: interface not-there does not exist: this machine has "),
])
def test_a_wire_port_that_cannot_be_is_one_sentence(clock, sentence):
    link = WireLink("127.1.0.1;1;1", 100_000, "not-there")
    arguments = Arguments("vtb-x", clock, 0, 0, (), (GeneratorLink(link.location, "dut", "Ethernet0", 100_000, 5),), (),
                          (), wires=(link,))
    with pytest.raises(EngineError, match=sentence):
        Engine(arguments, sonic_agent, time.monotonic_ns)


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_real_pause_frames_count_in_show_pfc_counters(tmp_path):
    with namespace() as place:
        place.add_cable(("host0", "sw0"))
        try:
            place.run(COMMAND, "up", "vtb-t0", "--state", tmp_path, "--root-view=environment", "--wire=Ethernet0=sw0")
            place.run(*place.python("pfctest", "-d", "host0", "--priority=3", "-i", "1234", "--rate=20000"))
            place.run(*place.python("pfctest", "-d", "host0", "--global", "-i", "50"))
            deadline = time.monotonic() + PATIENCE_S
            while counted(place, tmp_path, "Rx")[3] != 1234 and time.monotonic() < deadline:
                time.sleep(PROBE_S)  # COUNTERS_DB is written once a second
            assert counted(place, tmp_path, "Rx") == [0, 0, 0, 1234, 0, 0, 0, 0]
            assert counted(place, tmp_path, "Tx") == [0] * 8
        finally:
            place.run(COMMAND, "down", "vtb-t0", "--purge", "--state", tmp_path)
