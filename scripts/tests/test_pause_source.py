"""Pauses from a host instead of the traffic generator: real frames of pfctest arrive at a virtual switch over a veth,
and the suite judges by what the switch and the traffic show."""

import json
import re
import sys

import pytest
import yaml

from pfctest.tests.namespace import WHY_NOT, namespace, way
from scripts.build_pfctest import build
from scripts.tests.pause_lab import BIN, HOST, INTERFACES, NAME, ROOT, SWITCH, environment, pause_lab
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.host_pauses.entry import HostPort
from tests.common.pfc.host_pauses.source import HostSource
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.model.errors import QualificationError

pytestmark = [pytest.mark.skipif(way() is None, reason=WHY_NOT),
              pytest.mark.slow("real frames, in real time")]
HANG_S = 300


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The testbed, for all tests of this module."""
    with pause_lab(tmp_path_factory.mktemp("paused")) as found:
        yield found


@pytest.fixture(scope="module")
def found(lab):
    """What came of each run."""
    done = lab.place.run(sys.executable, "-m", "scripts.tests.paused_by_host", lab.folder / "runtime.json",
                         lab.generator, check=False, patience_s=HANG_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def judged(found, name):
    """What came of a run; skipped where this machine was too busy to send a storm without a gap."""
    if found[name]["gaps"]:
        pytest.skip(f"this machine is too busy to keep a queue shut: {found[name]['invalid'][0]}")
    return found[name]


def test_a_healthy_switch_passes(found):
    run = judged(found, "PFC-1")
    assert run["invalid"] == [] and run["bad"] == {}, run
    assert run["checks"], "nothing was judged"
    assert "pause-not-forwarded" not in run["checks"], "nobody looked"


def test_a_switch_that_ignores_pauses_and_one_that_pauses_a_lossy_queue_fail(found):
    run = judged(found, "PFC-2 on a broken port")
    assert run["invalid"] == [], run
    assert {"3 blocked-while-paused", "3 back-pressure", "1 background-unaffected"} <= set(run["bad"]), run
    assert run["bad"]["3 blocked-while-paused"].startswith(f"{SWITCH} Ethernet4 priority 3: expected 0 frames received")


def test_a_cable_to_another_port_is_no_measurement(found):
    run = found["PFC-1 by another port's cable"]
    assert run["invalid"] == [
        f"{SWITCH} Ethernet0: expected PFC frames from {HOST} {INTERFACES['Ethernet4']} in its receive counters, got"
        " them in those of Ethernet4: check the cable, and pfc_pause_source"], run


def suite(lab, testbed_file, *options):
    """Runs the suite inside the namespace, as a user does."""
    inventories = ",".join(map(str, lab.inventories))
    database = f"PFC_REPORT_DB=sqlite:///{lab.folder / 'pfc.db'}"
    return lab.place.run(
        *environment(lab), database, "sh", "-c", 'cd "$0" && exec "$@"', ROOT / "tests", sys.executable,
        "-m", "pytest", "-c", "pytest.ini", "-p", "no:cacheprovider", "snappi_tests/pfc/qualification",
        "--testbed", NAME, "--testbed_file", testbed_file, "--inventory", inventories, "--host-pattern", "all",
        "--pfc-results", lab.folder / "results", *options, check=False, patience_s=HANG_S)


def test_the_suite_takes_pauses_from_the_host(lab):
    done = suite(lab, lab.testbed_file, "--pfc-scenario=PFC-3,PFC-4,FRAME-9,TIME")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Ethernet0 +pfc\.lossy +PASS", done.stdout), done.stdout
    where = f"{SWITCH} Ethernet0: not carried out, for lack of"
    come = f"(here pauses come from {HOST} host0)"
    assert f"{where} a sender of other frames than MAC control {come}: FRAME-9 (other-ether-type)" in done.stdout
    of_time = sum(case.family == "TIME" for case in port_cases())
    unseen = "neither the switch nor the traffic shows whether these arrived"
    assert f"{where} a sender that counts its pause frames: {unseen} {come}: PFC-4 (global-pause)" in done.stdout
    assert f"{where} a sender of pauses at exact times {come}: TIME (all {of_time})" in done.stdout
    record = json.loads((lab.folder / "results/records.jsonl").read_text(encoding="utf-8").splitlines()[0])
    storm = record["evidence"]["flows"]["drained"][f"Pause Storm {SWITCH} Ethernet0"]
    assert storm["source"] == f"{HOST} host0" and storm["not_judged"]["released"] is True, storm


def test_a_host_that_is_not_in_the_inventory_is_refused_in_one_sentence(lab, tmp_path):
    entry = yaml.safe_load(lab.testbed_file.read_text(encoding="utf-8"))[0]
    entry["pfc_pause_source"]["host"] = "linux-02"
    (tmp_path / "testbed.yaml").write_text(yaml.safe_dump([entry]), encoding="utf-8")
    done = suite(lab, tmp_path / "testbed.yaml", "--pfc-scenario=PFC-3")
    assert done.returncode == 4, done.stdout + done.stderr
    assert re.search(r"ERROR: inventory .* has no host linux-02", done.stderr), done.stderr


def test_the_testbed_says_which_ports_have_wires(lab):
    status = lab.place.run(BIN / "virtual-testbed", "status", "--state", lab.folder / "state").stdout
    assert f"wires: {SWITCH}:Ethernet0=sw0, {SWITCH}:Ethernet4=sw4" in status, status


class Inside:
    """A host, commands on which are run in a namespace."""

    hostname = "linux-01"

    def __init__(self, place):
        """`place`: the namespace."""
        self._place = place

    def shell(self, command, **options):
        """Runs a script."""
        done = self._place.run("sh", "-c", command, check=False)
        return {"stdout": done.stdout, "stderr": done.stderr, "rc": done.returncode}


def test_an_interface_of_any_default_route_is_refused(tmp_path):
    """The second next hop's, and another table's; by pfctest that is on the host."""
    build(tmp_path / "pfctest.pyz")
    with namespace() as place:
        place.add_cable(*((name, f"{name}-far") for name in ("first", "second", "vrf", "near")))
        for line in ("addr add 10.9.0.1/24 dev first", "addr add 10.7.0.1/24 dev second",
                     "route add default nexthop via 10.9.0.2 dev first nexthop via 10.7.0.2 dev second",
                     "route add default dev vrf table 1001"):
            place.run("ip", *line.split())
        host = Inside(place)
        for name in ("first", "second", "vrf"):
            with pytest.raises(QualificationError, match=f"linux-01: interface {name} has a default route, and"):
                HostSource(host, HostPort("linux-01", name, sys.executable, str(tmp_path)), 100_000,
                           WallClock()).check()
        HostSource(host, HostPort("linux-01", "near", sys.executable, str(tmp_path)), 100_000, WallClock()).check()
