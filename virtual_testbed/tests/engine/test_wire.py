"""`pfctest` against the switch model, over a real wire in a network namespace."""
from __future__ import annotations

import json
import time

import pytest

from pfctest.frame import PfcFrame, decode, encode, pfc_frame
from pfctest.tests.namespace import WHY_NOT, namespace, way
from virtual_testbed.tests.dataplane.testbeds import SWITCH_MAC

pytestmark = pytest.mark.skipif(way() is None, reason=WHY_NOT)
PATIENCE_S = 60
PROBE_S = 0.02
QUANTA, PAUSE_US = 13107, 671_078
"""A pause that can be waited for, on 10 Mb/s."""
OTHERS = ("1", "4")


class Plant:
    """The switch of `plant.py`, what is plugged into it, and frames that arrive there or leave there."""

    def __init__(self, place, process, arriving, leaving):
        self._place, self._process, self.arriving, self.leaving = place, process, arriving, leaving
        assert process.stdout.readline() == "ready\n", process.stderr.read()

    def read(self):
        """All counters now."""
        self._process.stdin.write("read\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def until(self, true):
        """The first reading for which that is true."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self.read()
            if true(found):
                return found
            time.sleep(PROBE_S)
        raise AssertionError(f"it never came true; now: {found}")

    def flows(self):
        """Wait until every priority is received again, with nothing paused and nothing waiting."""
        return self.until(lambda now: all(now["tx"][flow] - now["rx"][flow] <= 1 for flow in now["rx"]))

    def link(self, state):
        """Set the interface of the wire to Ethernet4 up or down."""
        self._place.run("ip", "link", "set", "dev", "sw1", state)

    def pfctest(self, *options):
        """Run pfctest on the wire to Ethernet0."""
        done = self._place.run(*self._place.python("pfctest", "-d", "host0", *options), check=False)
        assert done.returncode == 0, done.stderr
        return done

    def storm(self, *options):
        """A process of pfctest that sends on the wire to Ethernet0."""
        words = self._place.python("pfctest", "-d", "host0", "--speed=10M", "--duration=60", *options)
        return self._place.start(*words)


@pytest.fixture(scope="module")
def plant():
    """A switch with two wire ports, and receivers on the wires."""
    with namespace() as place:
        place.add_cable(("host0", "sw0"), ("host1", "sw1"))
        with (place.receiving("sw0") as arriving, place.receiving("host1") as leaving,
              place.start(*place.python("virtual_testbed.tests.engine.plant")) as process):
            try:
                yield Plant(place, process, arriving, leaving)
            finally:
                process.kill()


def moved(before, after):
    """Priorities whose frames were received in between."""
    return {flow for flow in after["rx"] if after["rx"][flow] > before["rx"][flow]}


def test_a_storm_on_one_priority_keeps_exactly_that_queue_shut_until_it_ends(plant):
    plant.flows()
    plant.arriving.frames()
    with plant.storm("--priority=3", "--rate=40") as process:
        plant.arriving.take(1)
        shut = plant.read()
        later = plant.until(lambda now: all(now["rx"][flow] > shut["rx"][flow] + 50 for flow in OTHERS))
        assert moved(shut, later) == set(OTHERS), "priority 3 is held, the others are not"
        assert later["Ethernet0"]["pfc_rx"][3] > shut["Ethernet0"]["pfc_rx"][3] > 0
        assert later["Ethernet0"]["pfc_on2off"][3] == shut["Ethernet0"]["pfc_on2off"][3], "it never opened"
        process.terminate()
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "ended with quanta-0 frames, by SIGTERM" in output, errors
    assert plant.flows()["Ethernet0"]["tx_drops"] == 0, "nothing was lost"


def test_release_opens_at_once(plant):
    plant.flows()
    plant.arriving.frames()
    before = plant.read()["Ethernet0"]
    plant.pfctest("--priority=3", "--speed=10M")
    plant.pfctest("--priority=3", "--release")
    found = plant.flows()["Ethernet0"]
    (begin_ns, storm), (end_ns, release) = plant.arriving.frames()
    assert (decode(storm).pauses, decode(release).pauses) == ({3: 0xFFFF}, {3: 0})
    paused_us = found["pause_duration_us"][3] - before["pause_duration_us"][3]
    assert abs(paused_us - (end_ns - begin_ns) / 1000) < 50, "from the one frame to the other, not the 3.4 s asked for"
    assert found["pfc_rx"][3] - before["pfc_rx"][3] == 2


def test_a_killed_sender_holds_the_queue_until_the_last_quanta_run_out(plant):
    plant.flows()
    plant.arriving.frames()
    before = plant.read()["Ethernet0"]
    with plant.storm("--priority=3,4", f"--quanta={QUANTA}", "--rate=20") as process:
        seen = plant.arriving.take(3)
        process.kill()
    found = plant.flows()["Ethernet0"]
    seen += plant.arriving.frames()
    assert all(decode(data).pauses == {3: QUANTA, 4: QUANTA} for _, data in seen), "no quanta-0 frame: it was killed"
    for priority in (3, 4):
        paused_us = found["pause_duration_us"][priority] - before["pause_duration_us"][priority]
        assert found["pfc_rx"][priority] - before["pfc_rx"][priority] == len(seen)
        assert found["pfc_on2off"][priority] - before["pfc_on2off"][priority] == 1
        assert abs(paused_us - (seen[-1][0] - seen[0][0]) / 1000 - PAUSE_US) < 50, "the last pause runs out"


@pytest.mark.parametrize("options, counter", [
    (["--global"], "pause_rx"), (["--priority=3", "--raw-length=40"], "rx_errors"),
    (["--priority=3", "--raw-opcode=0x1001"], "rx_drops"), (["--priority=3", "--vlan=7"], "rx_drops"),
    (["--priority=3", "--raw-destination=01:80:c2:00:00:02"], "rx_drops"),
    (["--p3", "--q3=65535", "--raw-vector=0"], None), (["--p3", "--q3=65535", "--raw-vector=0xff00"], None),
], ids=str)
def test_global_pause_and_malformed_frames_do_nothing(plant, options, counter):
    before = plant.flows()
    plant.pfctest("-i", "3", *options)
    after = plant.until(lambda now: counter is None or now["Ethernet0"][counter] == before["Ethernet0"][counter] + 3)
    later = plant.until(lambda now: all(now["rx"][flow] > after["rx"][flow] + 10 for flow in now["rx"]))
    for name in ("pfc_rx", "pfc_on2off", "pause_duration_us"):
        assert later["Ethernet0"][name] == before["Ethernet0"][name], name


def test_a_zero_source_and_a_lossy_priority_count_but_only_lossless_ones_are_paused(plant):
    before = plant.flows()
    plant.pfctest("--priority=1", "--raw-source=00:00:00:00:00:00", "-i", "4")
    after = plant.until(lambda now: now["Ethernet0"]["pfc_rx"][1] == before["Ethernet0"]["pfc_rx"][1] + 4)
    plant.until(lambda now: now["rx"]["1"] > after["rx"]["1"] + 10)


def test_the_switchs_xoff_and_xon_leave_as_real_frames(plant):
    plant.flows()
    before = plant.read()["Ethernet4"]
    plant.leaving.frames()
    plant.pfctest("--priority=3", "--speed=10M")
    plant.until(lambda now: now["Ethernet4"]["pfc_tx"][3] > before["pfc_tx"][3])
    plant.pfctest("--priority=3", "--release")
    plant.flows()
    left = plant.until(lambda now: now["Ethernet4"]["pfc_tx"][3] - before["pfc_tx"][3] >= 2)["Ethernet4"]["pfc_tx"][3]
    frames = plant.leaving.data()
    assert len(frames) == left - before["pfc_tx"][3]
    assert frames[0] == encode(pfc_frame(SWITCH_MAC, {3: 0xFFFF}))
    assert decode(frames[-1]) == PfcFrame(SWITCH_MAC, 8, (0,) * 8), "XON"


def test_an_interface_that_is_down_loses_frames_and_nothing_else(plant):
    for state in ("down", "up"):
        plant.flows()
        before = plant.read()["Ethernet4"]["pfc_tx"][3]
        plant.link(state)
        plant.leaving.frames()
        plant.pfctest("--priority=3", "--speed=10M")
        plant.until(lambda now: now["Ethernet4"]["pfc_tx"][3] > before)
        plant.pfctest("--priority=3", "--release")
        sent = plant.flows()["Ethernet4"]["pfc_tx"][3] - before
        assert sent >= 2 and len(plant.leaving.frames()) == (sent if state == "up" else 0)
