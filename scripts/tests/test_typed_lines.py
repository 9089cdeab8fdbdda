"""Every line of README.md, CONTRIBUTING.md and docs/ that can be typed is tried, as by somebody who has just cloned the
project: in a copy of it, on virtual testbeds.

`TRIED` and `SNIPPETS` say how. A line that is in neither fails here, and so does an entry whose line is gone.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from scripts.tests.typed_lines import OTHERS, PAGES, PYTHON, ROOT, SHELL, SQL, SYNOPSIS, Typed, all_blocks, all_typed

BIN = Path(sys.executable).parent
NOT_COPIED = (".git", ".venv", ".virtual_testbed", ".ansible", ".hypothesis", ".*_cache", "results", "build",
              "*.egg-info")
MARKERS = (".installed", ".test-installed", ".bench-installed", ".docs-installed")
OF_THE_CALLER = ("ANSIBLE_", "MAKE", "MFLAGS", "PFC_", "PYTEST_", "VIRTUAL_TESTBED_")
LONGEST_S = 600
MAKE = re.compile(r"(?:^|(?<=; do ))make [a-z][^;]*")
LONG = pytest.mark.long("another line shows the same command")
EXTRA_VARIABLE = re.compile(r"-e '?(\w+)=|\"(\w+)\":")


@dataclass(frozen=True)
class Way:
    """How a line is tried.

    Attributes:
        left_out: why it is not typed here; empty: it is.
        passes: whether its exit status is 0.
        says: what it prints among other things.
        also: what is added to it, so that it does what the page is about and no more.
        instead: parts of it with what takes their place: names of files that are elsewhere, options that start nothing.
        lab: the testbed that is up and deployed when it is typed; empty: none is up.
        results: whether there are results, of which the latest are those of a qualification that passed.
        is_long: whether continuous integration does without: other lines show the same command.
    """

    left_out: str = ""
    passes: bool = True
    says: tuple[str, ...] = ()
    also: str = ""
    instead: tuple[tuple[str, str], ...] = ()
    lab: str = ""
    results: bool = False
    is_long: bool = False


def qualifies(also: str = "", *says: str, passes: bool = True, is_long: bool = False) -> Way:
    """A qualification; `also` names the cases that are enough for what the page shows by this line. (`make qualify`
    with all of them is the other half of continuous integration, `.ci/run`.)"""
    return Way(passes=passes, says=says, also=also, is_long=is_long)


def refused(*says: str, also: str = "", instead: tuple[tuple[str, str], ...] = ()) -> Way:
    """A line for a lab that is not here: it is understood, and refused before anything is started."""
    return Way(passes=False, says=says, also=also, instead=instead)


def understood(*instead: tuple[str, str], also: str = "") -> Way:
    """A line for other machines: what takes it understands it, and nothing is started."""
    return Way(also=also, instead=instead)


PFC = "SCENARIO=PFC"
ONE_CASE = "SCENARIO=PFC-1"
PORT_TABLE = ("pfc.lossless", "pfc.lossy", "PASS")
NO_SUCH = "is not in"
SYNTAX = "--syntax-check"
NETWORK = "needs the package index: 290 MB"
UPSTREAM = "needs a checkout of sonic-mgmt; scripts/tests/test_overlay.py runs pytest in a stand-in for one"
PART_OF_IT = "this test is a part of it"
UP_WITH = ("testbed vtb-t0 is up",)
EXAMPLE_RUNS = ("20261122T030936Z-21290", "20261122T030907Z-19702")
TRIED: dict[str, Way] = {
    # README.md: the commands
    "make qualify": qualifies(ONE_CASE, *PORT_TABLE),
    "make test": Way(left_out=PART_OF_IT),
    "make test-ci": Way(left_out=PART_OF_IT),
    "make test-long": Way(left_out=PART_OF_IT),
    "make test-all": Way(left_out=PART_OF_IT),
    "make lint": Way(left_out="`make test` begins with it"),
    "sqlite3 results/pfc.db 'select device_id, port_id, metric_name, value, status from metrics'": Way(results=True),
    "make qualify QUICK=1": Way(left_out="test_qualify.py has --quick, on a broken switch; .ci/run the whole plan"),
    "make qualify PORT=Ethernet8": qualifies(ONE_CASE, "Ethernet8"),
    "make qualify SCENARIO=PFC-2,global-pause,WD": qualifies("SCENARIO=PFC-2,global-pause,WD-1", *PORT_TABLE),
    "make qualify SCENARIO=PFC-3 SET=0,1": qualifies("", *PORT_TABLE),
    "make qualify IP=6": qualifies(ONE_CASE, *PORT_TABLE),
    "make qualify TESTBED=vtb-t1": qualifies(ONE_CASE, "vtb-t1-rep-01", *PORT_TABLE, is_long=True),
    "make qualify TESTBED=vtb-mixed PORT=Ethernet32": qualifies(
        PFC, "vtb-mixed-01", "Ethernet32", *PORT_TABLE, is_long=True),
    "make qualify TESTBED=vtb-t0-64x400g": qualifies(ONE_CASE, "vtb-t0-64x400g-01", *PORT_TABLE, is_long=True),
    "make qualify TESTBED=vtb-chain SCENARIO=HOP": qualifies("", "vtb-chain-01", *PORT_TABLE),
    "make qualify FAULT=pause-ignored@Ethernet0": qualifies(ONE_CASE, "FAIL", passes=False),
    "make qualify FAULT=lossy-queue-paused@Ethernet0": qualifies(ONE_CASE, "FAIL", passes=False, is_long=True),
    "make qualify FAULT=watchdog-stop-ignored": qualifies(ONE_CASE, "ERROR", passes=False),
    "make qualify FAULT=my_fault.py:MyFault@Ethernet0": qualifies(ONE_CASE, "FAIL", passes=False, is_long=True),
    "make sweep TESTBED=vtb-t0": Way(also="PORTS=Ethernet0,Ethernet4", says=("of 2 ports", "PASS")),
    "make sweep TESTBED=lab-1,lab-2 CONCURRENCY=max": refused("'lab-1'", NO_SUCH),
    "make sweep RESUME=JOB": refused("results/JOB/job.json is not there"),
    ".venv/bin/virtual-testbed up vtb-t0": Way(says=UP_WITH),
    "ssh -F .virtual_testbed/vtb-t0/ssh/config vtb-t0-01": Way(lab="vtb-t0"),
    "make qualify TESTBED=lab-t0-1": refused("'lab-t0-1'", NO_SUCH),
    "make qualify TESTBED=lab-t0-1 DEPLOY=1": refused("'lab-t0-1'", NO_SUCH),
    "make qualify TESTBED=lab-t0-1 CHANGE_CONFIG=1": refused("'lab-t0-1'", NO_SUCH),
    # docs/faults.md
    "make qualify FAULT=pause-ignored@Ethernet0,priority=3": qualifies(ONE_CASE, "FAIL", passes=False, is_long=True),
    "virtual-testbed up vtb-t0 --fault lossy-dropped@vtb-t0-01:Ethernet8,one_in=1000"
    " --fault 'xoff-not-sent@*,speed=100G,from=2.5s,until=4s'": Way(says=UP_WITH),
    "make qualify FAULT=shifted.py:Shifted@Ethernet0,priority=3": qualifies(ONE_CASE, passes=False),
    "virtual-testbed up vtb-t0 --fault shifted.py:Shifted@vtb-t0-01:Ethernet0,by=2": Way(says=UP_WITH),
    # docs/hardware.md
    "make pfctest": Way(says=("build/pfctest.pyz",)),
    "ansible-playbook -i /srv/acme-lab/acme ansible/pfc_generator.yml -e pfc_generator_hosts=acme-fanout-01"
    " -e pfc_generator_state=copied": understood(also=SYNTAX),
    ".venv/bin/pip install -c constraints.txt 'snappi_ixnetwork>=1.61.3'": Way(left_out=NETWORK),
    "ssh -i ~/.ssh/acme_lab admin@10.20.0.11 show version": understood(("ssh ", "ssh -G ")),
    "ANSIBLE_CONFIG=ansible/ansible.cfg .venv/bin/ansible-playbook -i /srv/acme-lab/acme ansible/deploy_testbed.yml"
    " -e testbed_name=acme-t0-1 -e testbed_file=/srv/acme-lab/testbed.yaml --check --diff": understood(also=SYNTAX),
    "make qualify $LAB DEPLOY=1 PORT=Ethernet0 SCENARIO=PFC-1": refused("/srv/acme-lab/testbed.yaml"),
    "make .venv/.installed": Way(left_out="`make test` has done it"),
    "make generator-check $LAB": refused("/srv/acme-lab/testbed.yaml"),
    "make qualify $LAB PORT=Ethernet0": refused("/srv/acme-lab/testbed.yaml"),
    "make qualify $LAB PORT=Ethernet0 IP=6": refused("/srv/acme-lab/testbed.yaml"),
    "for port in Ethernet0 Ethernet4 Ethernet8 Ethernet12; do make qualify $LAB PORT=$port; done":
        refused("/srv/acme-lab/testbed.yaml"),
    "make restore $LAB": refused("/srv/acme-lab/testbed.yaml"),
    "make generator-check TESTBED=vtb-t0": Way(lab="vtb-t0", says=("How late is it?", "answers: ")),
    "make ixnetwork-check": Way(
        left_out="820 MB from the package index, and most of an hour; test_ixnetwork_check.py runs a sample"),
    # docs/other-suites.md
    "pytest -o addopts= --virtual-testbed=vtb-t0 --virtual-testbed-file=$PROJECT/ansible/testbed.yaml"
    " --virtual-testbed-deploy=$PROJECT/ansible/deploy_testbed.yml --virtual-testbed-env='OTG_HOST={otg_url}'"
    ' -k "tcp or udp or vxlan or ip_neighbors" feature':
        Way(left_out="needs a checkout of OTG's conformance tests; virtual_testbed/tests/plugin tries each option"),
    "make upstream SONIC_MGMT=CHECKOUT": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT TESTS=test_global_pause,pfcwd_basic FAULT=pause-ignored":
        refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT TESTS=qualification/test_"
    " OPTIONS='--pfc-same-generator snappi_tests/pfc/qualification'": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT TESTS=pause_multi_lossless_prio_reboot": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT TESTBED=vms-snappi-sonic-multidut": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT TESTBED=vms-snappi-sonic-multidut-400g TESTS=pfcwd_actions":
        refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT OVER_SSH=1": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT IXNETWORK=1": refused("CHECKOUT is not a folder"),
    "make upstream SONIC_MGMT=CHECKOUT IXNETWORK=1 HABITS=sends-what-was-held TESTS=test_multidut_pfcwd_all_to_all":
        refused("CHECKOUT is not a folder"),
    "make upstream-score SONIC_MGMT=CHECKOUT": refused("CHECKOUT is not a folder"),
    "make upstream-score SONIC_MGMT=CHECKOUT FAULTS=pause-ignored,lossy-dropped TESTS=test_tx_drop_counter":
        refused("CHECKOUT is not a folder"),
    "make upstream-score RESUME=NAME": refused("results/NAME has no plan.json"),
    "make upstream-score JOIN='docs/upstream-score.csv results/NAME' INTO=docs/upstream-score":
        refused("results/NAME has no plan.json"),
    # docs/pfctest.md
    **{f"pfctest -d {line}": Way(passes=False, says=("eth1",), also=" --dry-run") for line in (
        "eth1 --priority 3 --duration 10 --speed 100G", "eth1,eth2 --priority 3,4 --duration 10",
        "eth1 --priority 3 --release", "eth1 --p3 --q3=65535 -i 100", "eth1 --p3 --q3=65535",
        "eth1 --global --duration 5", "eth1 --priority 3 --duration 10 --dry-run")},
    "ansible-playbook -i INVENTORY ansible/pfc_generator.yml -e pfc_generator_hosts=fanout"
    " -e pfc_generator_state=started"
    " -e '{\"pfc_generator_interfaces\": [\"Ethernet0\", \"Ethernet4\"], \"pfc_generator_priorities\": [3]}'"
    " -e pfc_generator_speed=100G": understood(also=SYNTAX),
    "ansible-playbook -i INVENTORY ansible/pfc_generator.yml -e pfc_generator_hosts=fanout"
    " -e pfc_generator_state=checked":
        understood(also=SYNTAX),
    "ansible-playbook -i INVENTORY ansible/pfc_generator.yml -e pfc_generator_hosts=fanout"
    " -e pfc_generator_state=absent":
        understood(also=SYNTAX),
    "ip link add name host0 type veth peer name sw0 && ip link set host0 up && ip link set sw0 up": Way(
        left_out="needs root, or a network namespace; virtual_testbed/tests/engine makes one"),
    "virtual-testbed up vtb-t0 --wire Ethernet0=sw0": refused("sw0"),
    "pfctest -d host0 --priority 3 --duration 10 --speed 100G": refused("host0", also=" --dry-run"),
    # docs/campaign.md
    "make campaign": Way(left_out="takes hours; scripts/tests/test_campaign_sample.py carries 10 entries out"),
    "make campaign SOURCES=generated COUNT=1000 SLICE=60m": Way(
        passes=False, says=("1000 entries in ", "generated, judged: 0 of 1000"),
        instead=(("SLICE=60m", "SLICE=1s SEED=typed"),)),
    "make campaign RESUME=campaign-20261124T220000Z-4711": refused("there is no campaign in "),
    "pfc-campaign --sources catalogue --mutant no-accounting": Way(left_out="takes half an hour"),
    # docs/museum.md
    "make campaign SOURCES=museum": Way(left_out="takes half an hour"),
    # docs/qualification.md
    ".venv/bin/virtual-testbed up vtb-t0 --clock virtual": Way(says=UP_WITH),
    ".venv/bin/ansible-playbook -i .virtual_testbed/vtb-t0/vtb ansible/deploy_testbed.yml -e testbed_name=vtb-t0"
    " -e testbed_file=.virtual_testbed/vtb-t0/testbed.yaml": Way(lab="vtb-t0", says=("failed=0",)),
    "../.venv/bin/python -m pytest snappi_tests/pfc/qualification --testbed vtb-t0 --testbed_file"
    " ../.virtual_testbed/vtb-t0/testbed.yaml --inventory ../.virtual_testbed/vtb-t0/vtb --host-pattern all":
        Way(lab="vtb-t0", also="--pfc-scenario=PFC", says=PORT_TABLE),
    "make restore TESTBED=lab-1": refused("'lab-1'", NO_SUCH),
    # docs/reporting.md
    "pfc-report show": Way(results=True, says=("pfc.lossless", "pfc.lossy")),
    "pfc-report sync": Way(results=True),
    "pfc-report defect add 'pauses of priority 4 leak' --owner 'ada@example.org' --check blocked-while-paused --link"
    " https://example.org/issues/17": Way(results=True, says=("added",)),
    "pfc-report defect list": Way(results=True, says=("title",)),
    'sqlite3 results/pfc.db "select r.port_id, r.priority, c.name, c.expected, c.seen, c.message, r.evidence'
    " from checks c join records r using (run_id, record_id) where c.run_id = '...' and c.status <> 'PASS';\"":
        Way(results=True),
    f"pfc-report html {EXAMPLE_RUNS[0]} --baseline {EXAMPLE_RUNS[1]}": Way(
        results=True, says=("report.html: ", " bytes"), instead=(
            (EXAMPLE_RUNS[0], "$(ls results | grep ^2 | tail -n 1)"),
            (EXAMPLE_RUNS[1], "$(ls results | grep ^2 | head -n 1)"))),
    # docs/real-sonic.md
    "make real-sonic SWSS=~/sonic-swss UTILITIES=~/sonic-utilities BUILDIMAGE=~/sonic-buildimage"
    " SONIC_MGMT=~/sonic-mgmt":
        refused("sonic-swss has no orchagent: expected a checkout of sonic-swss"),
    # docs/sweep.md
    "make sweep TESTBED=vtb-t0,vtb-mixed CONCURRENCY=max": Way(
        is_long=True, passes=False, says=(
            "32 of 32 ports, 32 PASS", "ERROR vtb-mixed-01 Ethernet128: ", "17 of 17 ports, 16 PASS")),
    ".venv/bin/pfc-sweep --testbed lab-1,lab-2,lab-3 --concurrency max --job friday > friday.log 2>&1 &":
        refused("'lab-1'", NO_SUCH, instead=((" > friday.log 2>&1 &", ""),)),
    ".venv/bin/dask scheduler --host lab-server": understood(("lab-server", "lab-server --help")),
    ".venv/bin/pfc-worker tcp://lab-server:8786 --testbed lab-1,lab-2":
        understood(("lab-1,lab-2", "lab-1,lab-2 --help")),
    ".venv/bin/pfc-sweep --testbed lab-1,lab-2,vtb-t0 --results /lab/results --scheduler tcp://lab-server:8786":
        refused("'lab-1'", NO_SUCH),
    # docs/upstream.md
    "make overlay SONIC_MGMT=CHECKOUT": refused("CHECKOUT"),
    "make overlay SONIC_MGMT=CHECKOUT SERIES=core-1": refused("CHECKOUT"),
    "make overlay SONIC_MGMT=CHECKOUT SERIES=core": refused("CHECKOUT"),
    "make series-check SONIC_MGMT=CHECKOUT": refused("CHECKOUT"),
    "make reports-wheel": Way(says=("sonic_mgmt_pfc_reports-", "-py3-none-any.whl")),
    "python3 -m pytest -c pytest.ini --inventory ../ansible/<inventory> --host-pattern all --testbed <name>"
    " --testbed_file ../ansible/testbed.yaml --topology tgen --assert plain snappi_tests/pfc/qualification"
    " --pfc-port Ethernet8":
        Way(left_out=UPSTREAM),
    "python3 -m pytest --noconftest tests/common/unit_tests/pfc tests/snappi_tests/unit_tests/qualification":
        Way(left_out=UPSTREAM),
    # docs/virtual-testbed.md
    "virtual-testbed up vtb-t0": Way(),
    "virtual-testbed up vtb-chain --clock virtual": Way(says=("testbed vtb-chain is up",)),
    "ANSIBLE_CONFIG=ansible/ansible.cfg ansible-playbook -i .virtual_testbed/vtb-chain/vtb ansible/deploy_testbed.yml"
    " -e testbed_name=vtb-chain -e testbed_file=.virtual_testbed/vtb-chain/testbed.yaml":
        Way(lab="vtb-chain", says=("failed=0",)),
    "ansible -i .virtual_testbed/vtb-t0/vtb vtb-t0-01 -b -m command -a 'pfcwd show config'":
        Way(lab="vtb-t0", says=("CHANGED", "Ethernet0")),
}


@dataclass(frozen=True)
class Snippet:
    """How a block of Python is tried.

    Attributes:
        left_out: why it is not run here; empty: it is.
        lab, results: as of a `Way`.
        before, after: code around it.
        instead: parts of it with what takes their place.
        says: what is printed among other things.
        command: what runs the file with the code.
    """

    left_out: str = ""
    lab: str = ""
    results: bool = False
    before: str = ""
    after: str = ""
    instead: tuple[tuple[str, str], ...] = ()
    says: tuple[str, ...] = ()
    command: str = ".venv/bin/python"


EXCERPT = "an excerpt of a module, to read"
OTG_URL = '__import__("json").load(open(".virtual_testbed/vtb-t0/runtime.json"))["otg"]["url"]'
TWO_SECONDS_LATER = """
import json, subprocess, urllib.request
clock = json.load(open(".virtual_testbed/vtb-t0/runtime.json"))["clock"]["url"]
urllib.request.urlopen(clock + "/advance", b'{"nanoseconds": 2000000000}').close()
command = ["ssh", "-F", ".virtual_testbed/vtb-t0/ssh/config", "vtb-t0-01", "pfcwd show stats"]
print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
"""
A_DOCUMENT = """
document = {"schema": 2, "run_id": "20260131T130000Z-1", "timestamp": "2026-01-31T13:00:00.000000Z",
            "testbed": "vtb-t0", "device_id": "vtb-t0-01", "port_id": "Ethernet0", "metric_name": "pfc.lossless",
            "status": "ERROR", "cause": "an example", "checks": []}
"""
A_REPORTER = """
from test_reporting.telemetry.reporter_factory import TelemetryReporterFactory
reporter = TelemetryReporterFactory.create_final_metrics_reporter({})
"""
SNIPPETS: dict[str, Snippet] = {
    "import json, snappi": Snippet(lab="vtb-t0", after=TWO_SECONDS_LATER, says=("stormed",)),
    'ONE_LOSSLESS = PlanCase("load-one-lossless", "LOAD-3")': Snippet(EXCERPT),
    "def least_load(subject: PortUnderTest, plan: FlowPlan) -> int:": Snippet(EXCERPT),
    "import json": Snippet(lab="vtb-chain", says=(
        "sent 16840, received 1093", "sent 16841, received 1093", "sent 16841, received 16841")),
    '"""A switch whose table from PFC priority to queue is off by some entries."""': Snippet(
        "the lines with FAULT=shifted.py:Shifted run it"),
    "import snappi": Snippet(lab="vtb-t0", instead=(('"http://127.0.0.1:8080"', OTG_URL),), after=TWO_SECONDS_LATER,
                             says=("stormed",)),
    "def test_it(virtual_testbed):": Snippet(
        before="import snappi", command=".venv/bin/python -m pytest -c /dev/null --virtual-testbed=vtb-t0",
        says=("1 passed",)),
    "from pathlib import Path": Snippet(before=A_DOCUMENT, after="print(end.stored)", says=("True",)),
    "from test_reporting.telemetry.metric_definitions import *": Snippet(),
    "from test_reporting.pfc.telemetry_sink import store_reporter": Snippet(before=A_REPORTER),
    "from test_reporting.pfc import history, queries": Snippet(results=True, after="print(run['status'], len(cells))"),
}


class Clone:
    """A copy of the project, as somebody has it who has just cloned and installed it.

    Attributes:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        """Makes the copy; it has this project's virtual environment under its own name."""
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
        (folder / ".venv").mkdir()
        for path in Path(sys.prefix).iterdir():
            if path.name not in MARKERS:
                (folder / ".venv" / path.name).symlink_to(path)
        for marker in MARKERS:
            (folder / ".venv" / marker).touch()
        example, = (one.text for one in all_typed() if one.language == PYTHON and "class Shifted(Fault)" in one.text)
        (folder / "shifted.py").write_text(example, encoding="utf-8")
        (folder / "my_fault.py").write_text(example.replace("Shifted", "MyFault"), encoding="utf-8")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(OF_THE_CALLER)}
        self._environment = kept | {"PYTHONPATH": str(folder), "PATH": f"{BIN}{os.pathsep}{kept.get('PATH', '')}"}
        self._deployed = set[str]()
        self._has_results = False

    def type(self, line: str, scene: tuple[str, ...] = (), inside: tuple[str, ...] = ()) -> tuple[int, str]:
        """Types a line into a shell; returns its exit status and what was printed."""
        self._has_results = self._has_results and "qualify" not in line and "sweep" not in line
        script = "\n".join([*scene, line])
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self._environment, text=True, check=False,
                              input="\n".join([*inside, ""]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LONGEST_S)
        return done.returncode, done.stdout.replace(str(BIN), ".venv/bin")  # where a clone's own would be

    def get_ready(self, way: Way | Snippet) -> None:
        """Has what is there when something is tried in this way."""
        if way.results and not self._has_results:
            self.have("")
            self._must("make qualify SCENARIO=PFC-4")
            self._has_results = True
        self.have(way.lab)

    def have(self, name: str) -> None:
        """Has a testbed up, deployed, on the virtual clock, and no other; an empty name: none."""
        running = {path.parent.name for path in self.folder.glob(".virtual_testbed/*/runtime.json")}
        if running - {name}:
            self._must("virtual-testbed down")
        if name and name not in running:
            self._must(f"virtual-testbed up {name} --clock virtual")
            self._deployed.discard(name)
        if name and name not in self._deployed:
            files = f".virtual_testbed/{name}"
            self._must(f"ansible-playbook -i {files}/vtb ansible/deploy_testbed.yml -e testbed_name={name}"
                       f" -e testbed_file={files}/testbed.yaml", ("export ANSIBLE_CONFIG=ansible/ansible.cfg",))
            self._deployed.add(name)

    def _must(self, line: str, scene: tuple[str, ...] = ()) -> None:
        status, printed = self.type(line, scene)
        assert status == 0, f"{line}: exit status {status}\n{printed}"

    def processes(self) -> list[str]:
        """The processes that have to do with the copy, by their command lines."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
                folder = os.readlink(process / "cwd")
            except OSError:
                continue  # it has ended, or is somebody else's
            if str(self.folder) in command or Path(folder).is_relative_to(self.folder):
                found.append(command)
        return found


@pytest.fixture(name="clone", scope="module")
def fixture_clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A copy of the project; nothing runs in it afterwards."""
    clone = Clone(tmp_path_factory.mktemp("typed") / "sonic-mgmt-pfc")
    yield clone
    clone.have("")
    assert clone.processes() == []
    shutil.rmtree(clone.folder)


def as_pattern(shown: str) -> re.Pattern[str]:
    """What a printed line of a page looks like: numbers and the width of columns may be others."""
    words = (re.sub(r"\d+", r"\\d+", re.escape(word)) for word in shown.split())
    return re.compile(r"\s+".join(words))


def assert_printed(printed: str, said: tuple[str, ...], shown: tuple[str, ...] = ()) -> None:
    """What was printed has these texts, and lines like those that a page shows."""
    missing = [text for text in said if text not in printed]
    missing += [line for line in shown if not as_pattern(line).search(printed)]
    assert not missing, f"expected to be printed: {missing}, got:\n{printed}"


def replaced(text: str, parts: tuple[tuple[str, str], ...]) -> str:
    """The text with other parts in the place of some that it must have."""
    for part, other in parts:
        assert part in text, f"{part!r} is to be replaced, and is not in {text!r}"
        text = text.replace(part, other)
    return text


def tried(language: str) -> list[object]:
    """Parameters for what is typed in a language."""
    table: dict[str, Way] | dict[str, Snippet] = SNIPPETS if language == PYTHON else TRIED
    parameters = []
    for one in all_typed():
        way = table.get(one.first.strip())
        if one.language != language or way is None or way.left_out:
            continue
        marks = [LONG] if isinstance(way, Way) and way.is_long else []
        parameters.append(pytest.param(one, way, marks=marks, id=f"{one.where} {one.first.strip()[:50]}"))
    return parameters


def test_the_pages_are_read() -> None:
    assert len(PAGES) > 30 and len(all_typed()) > 90


def test_every_block_of_code_says_what_it_is() -> None:
    unknown = [f"{block.page}:{block.number} ({block.language})" for block in all_blocks()
               if block.language not in (SHELL, PYTHON, SQL, SYNOPSIS, *OTHERS)]
    assert not unknown, f"expected a fence without a language (lines to type), or {PYTHON}, {SQL}, {SYNOPSIS}, {OTHERS}"


def test_every_line_is_tried() -> None:
    tables = {SHELL: TRIED.keys(), PYTHON: SNIPPETS.keys()}
    untried = [f"{one.where}: {one.first}" for one in all_typed()
               if one.language in tables and one.first.strip() not in tables[one.language]]
    assert not untried, "nothing says how these are tried: TRIED and SNIPPETS of this module do"


def test_nothing_is_tried_that_is_on_no_page() -> None:
    there = {one.first.strip() for one in all_typed()}
    assert not [text for text in (*TRIED, *SNIPPETS) if text not in there]


@pytest.mark.slow("brings virtual testbeds up, and measures on them")
@pytest.mark.parametrize(("one", "way"), tried(SHELL))
def test_a_line_does_what_its_page_says(clone: Clone, one: Typed, way: Way) -> None:
    clone.get_ready(way)
    status, printed = clone.type(f"{replaced(one.text, way.instead)} {way.also}", one.scene, one.inside)
    assert "unrecognized arguments" not in printed and "no such option" not in printed.lower(), printed
    assert (status == 0) is way.passes, f"{one.where}: exit status {status}\n{printed}"
    assert_printed(printed, way.says, one.shown)


@pytest.mark.slow("brings virtual testbeds up, and measures on them")
@pytest.mark.parametrize(("one", "way"), tried(PYTHON))
def test_a_snippet_does_what_its_page_says(clone: Clone, one: Typed, way: Snippet) -> None:
    clone.get_ready(way)
    file = clone.folder / "test_snippet.py"
    code = "\n".join([way.before, replaced(one.text, way.instead), way.after])
    file.write_text(code, encoding="utf-8")
    status, printed = clone.type(f"{way.command} {file.name}")
    assert status == 0, f"{one.where}: exit status {status}\n{printed}"
    assert_printed(printed, way.says)


@cache
def help_of(command: str) -> str:
    """What a command says of its options."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    return subprocess.run([*command.split(), "--help"], cwd=ROOT / "docs", env=environment, check=True,
                          capture_output=True, text=True).stdout


@pytest.mark.slow("starts each command")
@pytest.mark.parametrize("one", [pytest.param(one, id=f"{one.where} {one.first[:40]}") for one in all_typed()
                                 if one.language == SYNOPSIS])
def test_a_synopsis_has_options_that_there_are(one: Typed) -> None:
    words = re.sub(r"\[[^\]]*\](\.\.\.)?", " ", one.text).split()
    has_subcommands = words[0] in ("pfc-report", "virtual-testbed")
    known = help_of(" ".join(words[:2]) if has_subcommands else words[0])
    known += help_of(words[0])
    options = re.findall(r"(?<![\w-])--?[a-z][\w-]*", one.text)
    assert options or has_subcommands
    missing = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", known)]
    assert not missing, f"{one.where}: no such options of {words[0]}: {missing}"
    assert not unknown_variables(one.text)


def unknown_variables(line: str) -> list[str]:
    """The variables that a line gives a playbook (`-e NAME=`) and that nothing in `ansible/` reads."""
    playbook = re.search(r"ansible/(\w+\.yml)", line)
    if playbook is None:
        return []
    files = [ROOT / "ansible" / playbook[1], *(ROOT / "ansible/roles").rglob("*.yml")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    names = [first or second for first, second in EXTRA_VARIABLE.findall(line)]
    assert names, f"{line}: no variable was found to be looked up"
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


def test_playbooks_get_variables_that_they_read() -> None:
    unknown = {one.where: unknown_variables(one.text) for one in all_typed() if "ansible-playbook" in one.text}
    assert len(unknown) > 5 and not any(unknown.values()), unknown


def calls_of_make() -> Iterator[tuple[str, str]]:
    """Yields each call of make on the pages, in prose too, with its place."""
    for one in all_typed():
        yield from ((one.where, call[0]) for call in MAKE.finditer(one.text) if one.language == SHELL)
    for path in PAGES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield from ((f"{path.name}:{number}", call) for call in re.findall(r"`(make [a-z][^`]*)`", line))


def test_make_is_given_targets_and_variables_that_it_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    taken = {target: names.split() for target, names in re.findall(r"^TAKES_([\w-]+) := (.+)$", makefile, re.MULTILINE)}
    calls = list(calls_of_make())
    unknown = list[str]()
    for where, call in calls:
        target = call.split()[1]
        names = set(re.findall(r" ([A-Z_]+)=", call)) - {*taken.get(target, ()), "PYTHON"}
        unknown += [f"{where}: {name}" for name in names | ({target} - targets)]
    assert len(calls) > 60 and not unknown, unknown
