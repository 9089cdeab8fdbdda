"""The qualification command refuses what cannot work with one sentence, and ends what it started."""
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.pfc.cases.plan import plan_ids

SCRIPT = Path(__file__).resolve().parent.parent / "qualify.py"

HARDWARE = """
- conf-name: lab-1
  inv_name: lab
  dut: [switch-a]
- conf-name: virtual-1
  virtual: true
  inv_name: vtb
"""


def qualify(tmp_path: Path, *arguments: str, testbeds: str | None = HARDWARE) -> subprocess.CompletedProcess[str]:
    testbed_file = tmp_path / "testbed.yaml"
    if testbeds is not None:
        testbed_file.write_text(testbeds)
    command = [sys.executable, str(SCRIPT), "--testbed-file", str(testbed_file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("arguments", "testbeds", "sentence"), [
    (["--testbed", "vtb-t9"], HARDWARE, "testbed 'vtb-t9' is not in {file}; it has lab-1, virtual-1"),
    (["--testbed", "lab-1"], HARDWARE,
     "testbed 'lab-1': inv_name names the inventory {folder}/lab, which is not a file"),
    (["--testbed", "lab-1", "--fault", "pause-ignored"], HARDWARE,
     "testbed 'lab-1' is hardware: FAULT= is for virtual testbeds only"),
    (["--testbed", "virtual-1", "--scenario", "PFC-2,PFC-77"], HARDWARE,
     f"scenario 'PFC-77' is not in the plan; it has {plan_ids()}"),
    (["--testbed", "virtual-1", "--set", "3;4"], HARDWARE,
     "'3;4' is no set of priorities: expected numbers from 0 to 7, as in 3,4"),
    (["--testbed", "lab-1"], "lab-1: {}\n", "testbed file {file} must hold a list of testbed entries"),
    (["--testbed", "lab-1"], None, "testbed file {file} cannot be read: [Errno 2] No such file or directory: '{file}'"),
])
def test_refusals(tmp_path: Path, arguments: list[str], testbeds: str | None, sentence: str) -> None:
    ended = qualify(tmp_path, *arguments, testbeds=testbeds)
    assert ended.returncode == 2
    expected = sentence.format(file=tmp_path / "testbed.yaml", folder=tmp_path)
    assert ended.stderr == f"error: {expected}\n"


def test_what_outlives_its_step_is_ended() -> None:
    body = ("import subprocess\n"
            "from scripts.testbeds import adopt_orphans, end_orphans\n"
            "adopt_orphans()\n"
            "subprocess.run(['sh', '-c', 'sleep 600 & echo $!'], check=True)\n"
            "end_orphans()\n")
    ended = subprocess.run([sys.executable, "-c", body], cwd=SCRIPT.parent.parent, stdout=subprocess.PIPE, text=True,
                           check=True, timeout=60)
    assert not Path("/proc", ended.stdout.strip()).exists()
