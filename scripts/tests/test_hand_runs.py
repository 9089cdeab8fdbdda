"""pytest started by hand in tests/, as sonic-mgmt starts it: whatever files and options stand on the command line, its
refusals are the suite's own, and every test case has an item or a note that says why it has none."""
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.common.pfc.cases.plan import port_cases

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
SUITE = "snappi_tests/pfc/qualification"
RUN_TESTS_SH = ["--dpu-pattern", "None", "--log-cli-level", "warning", "--log-file-level", "debug", "--kube_master",
                "unset", "--showlocals", "--assert", "plain", "--show-capture", "no", "-rav", "--allow_recover"]
"""What sonic-mgmt's `run_tests.sh` gives every run beside the testbed."""
BY_HAND = ["--topology", "tgen", "--skip_sanity", "--disable_loganalyzer", "--disable_sai_validation",
           "--disable_memory_utilization", "--ignore-conditional-mark", "--enable-snappi-dynamic-ports", "--skip-yang",
           "--skip_yang", "--neighbor_type", "eos", "--completeness_level", "basic", "--collect_techsupport", "False"]


def run_pytest(*arguments: str, timeout_s: int = 60) -> subprocess.CompletedProcess[str]:
    """Starts pytest in tests/."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    environment = kept | {"ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"), "ANSIBLE_HOME": str(ROOT / ".ansible"),
                          "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", SUITE, "--host-pattern", "all", *arguments]
    return subprocess.run(command, cwd=ROOT / "tests", env=environment, capture_output=True, text=True, check=False,
                          timeout=timeout_s)


@pytest.fixture(name="files", params=["in the clone", "elsewhere", "from here"])
def fixture_files(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """A testbed file and an inventory. pytest looks for its configuration above all paths on a command line."""
    if request.param == "from here":
        return ["--testbed_file=../ansible/testbed.yaml", "--inventory=../ansible/vtb"]
    folder = ROOT / "ansible"
    if request.param == "elsewhere":
        for name in ("testbed.yaml", "vtb"):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
        folder = tmp_path
    return ["--testbed_file", str(folder / "testbed.yaml"), "--inventory", str(folder / "vtb")]


def test_any_file_and_the_usual_options_may_stand_on_the_command_line(files: list[str]) -> None:
    done = run_pytest("--testbed", "vtb-none", *files, *RUN_TESTS_SH, *BY_HAND)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "testbed 'vtb-none' is not in" in done.stderr and "unrecognized" not in done.stderr, done.stderr


def test_help_says_which_options_have_no_meaning() -> None:
    done = run_pytest("--help")
    assert done.returncode == 0, done.stderr
    said = done.stdout.partition("that have no meaning here")[2].partition("\n\n")[0]
    assert "--skip_sanity" in said and "--topology" not in said


@pytest.fixture(name="realtime")
def fixture_realtime(tmp_path: Path) -> Iterator[list[str]]:
    """The options for a deployed testbed that follows the wall clock."""
    command = [str(BIN / "virtual-testbed"), "up", "vtb-t0", "--clock", "realtime", "--state", str(tmp_path), "--json",
               "--testbed-file", str(ROOT / "ansible/testbed.yaml"), "--owner-pid", str(os.getpid())]
    up = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    try:
        environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible/ansible.cfg"),
                                    "ANSIBLE_HOME": str(ROOT / ".ansible")}
        subprocess.run([str(BIN / "ansible-playbook"), "-i", up["inventory"], "deploy_testbed.yml", "-e",
                        "testbed_name=vtb-t0", "-e", f"testbed_file={up['testbed_file']}"], cwd=ROOT / "ansible",
                       env=environment, check=True, capture_output=True)
        yield ["--testbed", "vtb-t0", "--testbed_file", up["testbed_file"], "--inventory", up["inventory"]]
    finally:
        subprocess.run([str(BIN / "virtual-testbed"), "down", "vtb-t0", "--state", str(tmp_path)], check=True,
                       capture_output=True)


@pytest.mark.slow("brings a testbed up and deploys it")
def test_each_case_has_an_item_or_a_note_on_a_testbed_in_realtime(realtime: list[str]) -> None:
    """Those that change the switch's configuration too: it is a virtual one."""
    printed = run_pytest("--collect-only", "-q", *realtime).stdout
    items = set(re.findall(r"\[([A-Z0-9]+-\d+)-vtb-t0-01\|", printed))
    assert {"LSET-1", "LSET-5", "TAG-1", "WD-8"} <= items, printed
    notes = "".join(line for line in printed.splitlines() if line.startswith("note: "))
    silent = [case.plan_id for case in port_cases() if case.family != "PFC" and case.plan_id not in items
              and case.plan_id not in notes and f"{case.family} (all " not in notes]
    assert not silent, printed
    assert "HOP-1" in notes and "SPEED (all 4)" in notes
