"""One qualification, end to end: bring the testbed up, deploy it, test it, print the verdicts, leave nothing running.

`make qualify` calls this. A virtual testbed (`virtual: true` in its testbed entry) is brought up and taken down here;
hardware is used as it stands and deployed only with `--deploy`.
Exit status: 0 for PASS, 1 for FAIL or ERROR, 2 for a refusal.
"""
from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

import yaml

from virtual_testbed.faults import absolute

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
ANSIBLE = ROOT / "ansible"
PASS, NOT_PASS, REFUSED = 0, 1, 2
ANSIBLE_REASON = re.compile(r"^\[ERROR\]: (?:Task failed: )?(?:(?:Module|Action) failed: )?(.+)$", re.MULTILINE)
CLEAN_UP_SECONDS = 120
ORPHANS_SECONDS = 2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


class Refusal(Exception):
    """The qualification cannot start; the text is one sentence for the user."""


@dataclass(frozen=True)
class Testbed:
    """What the later steps need to know of a testbed: its name and the files that describe it with real endpoints."""

    name: str
    testbed_file: Path
    inventory: Path


def run(command: Sequence[str], cwd: Path, out: IO[str] | None = None) -> int:
    """Run a child to its end and return its exit status.

    The child has a session of its own, so that Ctrl-C reaches it once, through here: it is then given time to put back
    what it changed on a switch. It is interrupted in the same way when this process is killed.
    """
    with subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT if out else None,
                          start_new_session=True, preexec_fn=interrupt_with_parent) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=CLEAN_UP_SECONDS)
            child.kill()
            raise


def interrupt_with_parent() -> None:
    """Ask the kernel to interrupt this (child) process when its parent dies (`prctl(2)`)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def adopt_orphans() -> None:
    """Daemons that the steps start become children of this process, so that none outlives it unseen (`prctl(2)`)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_orphans() -> None:
    """Wait for a short while until all that the steps started has ended, then end what has not."""
    for signum in (0, signal.SIGTERM, signal.SIGKILL):
        for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split():
            os.kill(int(pid), signum)
        deadline = time.monotonic() + ORPHANS_SECONDS
        while time.monotonic() < deadline:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    time.sleep(0.02)
            except ChildProcessError:
                return


def read_entry(name: str, testbed_file: Path) -> Mapping[str, Any]:
    """Return the entry of `name` in a testbed file.

    Raises:
        Refusal: the file cannot be read, or has no such entry; the sentence lists the names that it has.
    """
    try:
        entries = yaml.safe_load(testbed_file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise Refusal(f"testbed file {testbed_file} cannot be read: {error}") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refusal(f"testbed file {testbed_file} must hold a list of testbed entries")
    by_name: dict[str, Mapping[str, Any]]
    by_name = {str(entry.get("conf-name") or entry.get("name")): entry for entry in entries}
    if name not in by_name:
        raise Refusal(f"testbed '{name}' is not in {testbed_file}; it has {', '.join(sorted(by_name))}")
    return by_name[name]


def hardware_testbed(name: str, entry: Mapping[str, Any], testbed_file: Path) -> Testbed:
    """The testbed of real switches: its inventory is the file `inv_name` beside the testbed file."""
    inventory = testbed_file.parent / str(entry.get("inv_name", ""))
    if not inventory.is_file():
        raise Refusal(f"testbed '{name}': inv_name names the inventory {inventory}, which is not a file")
    return Testbed(name, testbed_file, inventory)


@contextlib.contextmanager
def virtual_testbed(name: str, testbed_file: Path, faults: Sequence[str]) -> Iterator[Testbed]:
    """Bring a virtual testbed up on the virtual clock, and take it down again whatever happens.

    The supervisor watches this process and takes the testbed down by itself when it is killed.
    """
    command = [str(BIN / "virtual-testbed"), "up", name, "--clock", "virtual", "--json",
               "--testbed-file", str(testbed_file), "--owner-pid", str(os.getpid())]
    for fault in faults:
        command += ["--fault", fault]
    up = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if up.returncode:
        raise Refusal(f"the virtual testbed '{name}' did not come up")
    try:
        runtime = json.loads(up.stdout)
        yield Testbed(name, Path(runtime["testbed_file"]), Path(runtime["inventory"]))
    finally:
        subprocess.run([str(BIN / "virtual-testbed"), "down", name], stdout=subprocess.DEVNULL, cwd=ROOT, check=False)


def deploy(testbed: Testbed, log: Path) -> None:
    """Run the deploy playbook; its output goes to `log`.

    Raises:
        Refusal: it failed; the sentence has Ansible's reason.
    """
    command = [str(BIN / "ansible-playbook"), "-i", str(testbed.inventory), str(ANSIBLE / "deploy_testbed.yml"),
               "-e", f"testbed_name={testbed.name}", "-e", f"testbed_file={testbed.testbed_file}"]
    with log.open("w", encoding="utf-8") as out:
        code = run(command, ANSIBLE, out)
    if code:
        text = log.read_text(encoding="utf-8")
        reasons = list(dict.fromkeys(ANSIBLE_REASON.findall(text))) or text.strip().splitlines()[-1:]
        raise Refusal(f"testbed '{testbed.name}' could not be deployed: {'; '.join(reasons)} "
                      f"(Ansible's whole output: {log.relative_to(ROOT)})")


def check_selection(scenarios: Sequence[str], sets: Sequence[str]) -> None:
    """Refuse test cases that are not in the plan, and sets of priorities that are none, before anything is started."""
    sys.path.insert(0, str(ROOT))
    from tests.common.pfc.cases import parse_set, select
    from tests.common.pfc.errors import QualificationError
    try:
        select(",".join(scenarios).replace(" ", "").split(","))
        for one in sets:
            parse_set(one)
    except QualificationError as error:
        raise Refusal(str(error)) from error


def run_tests(testbed: Testbed, options: argparse.Namespace, results: Path, run_id: str) -> int:
    """Run the qualification suite as sonic-mgmt does, from `tests/`; returns pytest's exit status."""
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "snappi_tests/pfc/qualification",
               "--testbed", testbed.name, "--testbed_file", str(testbed.testbed_file),
               "--inventory", str(testbed.inventory), "--host-pattern", "all",
               "--pfc-ip-version", options.ip_version, "--pfc-results", str(results), "--pfc-run-id", run_id,
               f"--junit-xml={results / 'junit.xml'}"]
    if options.port:
        command += ["--pfc-port", options.port]
    command += [f"--pfc-scenario={names}" for names in options.scenario]
    command += [f"--pfc-set={priorities}" for priorities in options.set]
    if options.change_config:
        command.append("--pfc-change-config")
    if options.same_generator:
        command.append("--pfc-same-generator")
    return run(command, ROOT / "tests")


def environment(results_root: Path) -> None:
    """What every step inherits: Ansible's configuration, and the reporting database unless the user named one."""
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ["ANSIBLE_CONFIG"] = str(ANSIBLE / "ansible.cfg")
    os.environ.setdefault("ANSIBLE_HOME", str(ROOT / ".ansible"))
    os.environ.setdefault("PFC_REPORT_DB", f"sqlite:///{results_root / 'pfc.db'}")


def step(text: str) -> None:
    """Announce a step."""
    print(f"== {text}", flush=True)


def qualify(options: argparse.Namespace) -> int:
    """Run all steps; returns the exit status."""
    began = time.monotonic()
    testbed_file = Path(options.testbed_file).resolve()
    entry = read_entry(options.testbed, testbed_file)
    is_virtual = bool(entry.get("virtual"))
    if options.fault and not is_virtual:
        raise Refusal(f"testbed '{options.testbed}' is hardware: FAULT= is for virtual testbeds only")
    check_selection(options.scenario, options.set)
    environment(ROOT / "results")
    run_id = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ") + f"-{os.getpid()}"
    results = ROOT / "results" / run_id
    with contextlib.ExitStack() as stack:
        if is_virtual:
            step(f"virtual testbed {options.testbed} up" + "".join(f", fault {fault}" for fault in options.fault))
            testbed = stack.enter_context(virtual_testbed(options.testbed, testbed_file, options.fault))
        else:
            testbed = hardware_testbed(options.testbed, entry, testbed_file)
        results.mkdir(parents=True)
        if is_virtual or options.deploy:
            step("Ansible deploys the testbed")
            deploy(testbed, results / "deploy.log")
        step("qualification")
        status = run_tests(testbed, options, results, run_id)
    print(f"== {'PASS' if status == 0 else 'not PASS'} after {time.monotonic() - began:.0f} s\n"
          f"   verdicts, evidence and logs: {results.relative_to(ROOT)}\n"
          f"   reporting database: {os.environ['PFC_REPORT_DB']}", flush=True)
    return PASS if status == 0 else NOT_PASS


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="qualify", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--testbed", default="vtb-t0", metavar="NAME", help="testbed to qualify (default: %(default)s)")
    parser.add_argument("--testbed-file", default=str(ANSIBLE / "testbed.yaml"), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--port", metavar="PORT", help="port under test (default: Ethernet0)")
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", type=absolute,
                        help="break the virtual switch, for instance pause-ignored@Ethernet0; may be repeated")
    parser.add_argument("--scenario", action="append", default=[], metavar="CASE",
                        help="test case of the plan, by id or name, for instance PFC-1,global-pause; may be repeated "
                             "(default: the whole plan)")
    parser.add_argument("--set", action="append", default=[], metavar="PRIORITIES",
                        help="priorities to pause together, for instance 3,4; may be repeated (default: all lossless "
                             "ones, all lossy ones)")
    parser.add_argument("--ip-version", choices=["4", "6"], default="4", help="of the data (default: %(default)s)")
    parser.add_argument("--change-config", action="store_true",
                        help="also the test cases that change a hardware switch's configuration and put it back (a "
                             "virtual one's always run)")
    parser.add_argument("--same-generator", action="store_true",
                        help="data may also enter by a port on the port under test's own traffic generator")
    parser.add_argument("--deploy", action="store_true", help="deploy a hardware testbed too (a virtual one always is)")
    return parser.parse_args(arguments)


def end_by_exception(signum: int, frame: object) -> None:
    """Every signal that ends a run ends it like Ctrl-C, so that everything is taken down."""
    raise KeyboardInterrupt


def main() -> int:
    """Entry point: one sentence and status 2 for a refusal, no traceback."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup means it
            signal.signal(signum, end_by_exception)
    adopt_orphans()
    try:
        return qualify(parse())
    except Refusal as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return REFUSED
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("error: interrupted; the testbed was taken down", file=sys.stderr)
        return NOT_PASS
    finally:
        end_orphans()


if __name__ == "__main__":
    sys.exit(main())
