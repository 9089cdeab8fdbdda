"""What commands that measure a testbed share: which testbed is meant, a virtual one up and down, Ansible's deployment,
child processes that are ended cleanly."""
from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import yaml

from scripts.output import put
from tests.common.clone import ROOT, keep_in_clone
from tests.common.pfc.lab.signals import put_off
from virtual_testbed.process import command_tied_to, identify

BIN = Path(sys.executable).parent
ANSIBLE = ROOT / "ansible"
TESTBED_FILE = ANSIBLE / "testbed.yaml"
ANSIBLE_REASON = re.compile(r"^\[ERROR\]: (?:Task failed: )?(?:(?:Module|Action) failed: )?(.+)$", re.MULTILINE)
CLEAN_UP_SECONDS = 120
INTERRUPTS = 2
"""The first may meet a traffic generator that does not answer: its stop is waited for until the second."""
ORPHANS_SECONDS = 2
MEANWHILE_SECONDS = 0.2
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


class Refusal(Exception):
    """The command cannot start; the text is one sentence for the user."""


class Failure(Refusal):
    """What was asked for can be done, but a step of it failed; the text is one sentence for the user."""


class CommandParser(argparse.ArgumentParser):
    """A command line; what it does not understand is refused like anything else."""

    def error(self, message: str) -> NoReturn:
        """Refuses it."""
        raise Refusal(message)


def note_command(program: str, arguments: Sequence[str] | None) -> None:
    """Tells the suite by which command it is started, for the page of the run.

    Args:
        program: its name.
        arguments: None: the process's own.
    """
    os.environ["PFC_COMMAND"] = shlex.join([program, *(sys.argv[1:] if arguments is None else arguments)])


@dataclass(frozen=True)
class TestbedFiles:
    """The files that describe a testbed with the endpoints that it has now; its name."""

    name: str
    testbed_file: Path
    inventory: Path


def run(command: Sequence[str], cwd: Path, out: IO[str] | None = None,
        meanwhile: Callable[[], None] | None = None) -> int:
    """Run a child to its end and return its exit status.

    The child has a session of its own, so that Ctrl-C reaches it through here: it is then given time to put back what
    it changed on a switch, and what ends this process meanwhile only does so afterwards. It is interrupted in the same
    way when this process is killed.

    Args:
        command: its program and arguments.
        cwd: the folder it runs in.
        out: takes what it prints; None: it is printed.
        meanwhile: is called now and then while it runs, and once more when it has ended.
    """
    tied = command_tied_to(os.getpid(), signal.SIGINT, command)
    with subprocess.Popen(tied, cwd=cwd, stdout=out, stderr=subprocess.STDOUT if out else None,
                          start_new_session=True, close_fds=False) as child:  # it inherits the lock of `parts.hold`
        try:
            return _waited(child, meanwhile) if meanwhile else child.wait()
        except KeyboardInterrupt:
            with put_off():
                _interrupt(child)
            raise


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    """Ends a child. One that waits for something before it puts anything back is interrupted twice; it puts off by
    itself what comes while it does."""
    for _ in range(INTERRUPTS):
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=CLEAN_UP_SECONDS)
            return
    child.kill()


def _waited(child: subprocess.Popen[bytes], meanwhile: Callable[[], None]) -> int:
    """The exit status of a child."""
    while True:
        try:
            return child.wait(MEANWHILE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            meanwhile()


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


def read_entries(testbed_file: Path) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a testbed file by their names.

    Raises:
        Refusal: the file cannot be read, or is none.
    """
    try:
        entries = yaml.safe_load(testbed_file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"testbed file {testbed_file} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise Refusal(f"testbed file {testbed_file} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise Refusal(f"testbed file {testbed_file} is not YAML: {_yaml_reason(error)}") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refusal(f"testbed file {testbed_file} must hold a list of testbed entries")
    return {str(entry.get("conf-name") or entry.get("name")): entry for entry in entries}


def _yaml_reason(error: Exception) -> str:
    """`mapping values are not allowed here, line 3`."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and error.problem_mark:
        return f"{error.problem}, line {error.problem_mark.line + 1}"
    return " ".join(str(error).split())


def read_entry(name: str, testbed_file: Path) -> Mapping[str, Any]:
    """Return the entry of `name` in a testbed file.

    Raises:
        Refusal: the file cannot be read, or has no such entry; the sentence lists the names that it has.
    """
    by_name = read_entries(testbed_file)
    if name not in by_name:
        raise Refusal(f"testbed '{name}' is not in {testbed_file}; it has {', '.join(sorted(by_name))}")
    return by_name[name]


def hardware_testbed(name: str, entry: Mapping[str, Any], testbed_file: Path) -> TestbedFiles:
    """The testbed of real switches: its inventory is the file `inv_name` beside the testbed file."""
    inventory = testbed_file.parent / str(entry.get("inv_name", ""))
    if not inventory.is_file():
        raise Refusal(f"testbed '{name}': inv_name names the inventory {inventory}, which is not a file")
    return TestbedFiles(name, testbed_file, inventory)


def running_testbed(name: str) -> Mapping[str, Any] | None:
    """What a virtual testbed that is up says of itself (its `runtime.json`); None: it is not up."""
    asked = subprocess.run([str(BIN / "virtual-testbed"), "status", name, "--json"], capture_output=True, text=True,
                           cwd=ROOT, check=False)
    status = json.loads(asked.stdout)[0] if asked.stdout.strip() else {}
    return status.get("runtime") if status.get("state") == "up" else None


def files_of(name: str, runtime: Mapping[str, Any]) -> TestbedFiles:
    """The files of a virtual testbed that is up."""
    return TestbedFiles(name, Path(runtime["testbed_file"]), Path(runtime["inventory"]))


@contextlib.contextmanager
def virtual_testbed(name: str, testbed_file: Path, faults: Sequence[str],
                    habits: Sequence[str] | None = None) -> Iterator[TestbedFiles]:
    """Bring a virtual testbed up on the virtual clock, and take it down again whatever happens.

    The supervisor watches this process and takes the testbed down by itself when it is killed. A testbed that is up
    already is used as it is, and stays up.

    Args:
        name: of the testbed.
        testbed_file: where it is described.
        faults: what its switches do wrong.
        habits: of the chassis behind IxNetwork's API; None: the traffic generator is spoken to in OTG.

    Raises:
        Refusal: it is up already, for another process, with other faults than these, or without these habits.
        Failure: it did not come up.
    """
    runtime = running_testbed(name)
    if runtime is not None and runtime["owner_pid"] is not None and identify(runtime["owner_pid"]) is None:
        _down(name)  # its supervisor is about to: who brought it up was killed
        runtime = running_testbed(name)
    if runtime is not None:
        if runtime["owner_pid"] is not None:
            raise Refusal(f"virtual testbed '{name}' is up for process {runtime['owner_pid']}, which takes it down when"
                          " it has done: wait for its end")
        has = runtime["faults"]
        down = shlex.join([str(BIN / "virtual-testbed"), "down", name])
        if habits or habits is not None and not runtime["otg"]["ixnetwork"]:
            raise Refusal(f"virtual testbed '{name}' is up already, and a chassis gets its API and habits when it is"
                          f" brought up: end it first with `{down}`")
        if faults and list(faults) != has:
            raise Refusal(f"virtual testbed '{name}' is up already with {', '.join(has) or 'no fault'}, and faults are"
                          f" injected when it is brought up: end it first with `{down}`")
        clock = runtime["clock"]["mode"]
        step(f"{name} is up already, on the {clock} clock, {', '.join(has) or 'without faults'}: it is used as it is,"
             " and stays up")
        yield files_of(name, runtime)
        return
    command = [str(BIN / "virtual-testbed"), "up", name, "--clock", "virtual", "--json",
               "--testbed-file", str(testbed_file), "--owner-pid", str(os.getpid())]
    for fault in faults:
        command += ["--fault", fault]
    if habits is not None:
        command += ["--ixnetwork", *(text for habit in habits for text in ("--habit", habit))]
    up = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if up.returncode:
        raise Failure(f"the virtual testbed '{name}' did not come up")
    try:
        yield files_of(name, json.loads(up.stdout))
    finally:
        _down(name)


def _down(name: str) -> None:
    subprocess.run([str(BIN / "virtual-testbed"), "down", name], stdout=subprocess.DEVNULL, cwd=ROOT, check=False)


def deploy(testbed: TestbedFiles, log: Path) -> None:
    """Run the deploy playbook; its output goes to `log`.

    Raises:
        Failure: it failed; the sentence has Ansible's reason.
    """
    command = [str(BIN / "ansible-playbook"), "-i", str(testbed.inventory), str(ANSIBLE / "deploy_testbed.yml"),
               "-e", json.dumps({"testbed_name": testbed.name, "testbed_file": str(testbed.testbed_file)})]
    with log.open("w", encoding="utf-8") as out:
        code = run(command, ANSIBLE, out)
    if code:
        text = log.read_text(encoding="utf-8")
        reasons = list(dict.fromkeys(ANSIBLE_REASON.findall(text))) or text.strip().splitlines()[-1:]
        raise Failure(f"testbed '{testbed.name}' could not be deployed: {'; '.join(reasons)} "
                      f"(Ansible's whole output: {shown(log)})")


def environment(results_root: Path) -> None:
    """What every step inherits: Ansible's configuration, and the reporting database unless the user named one."""
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ["ANSIBLE_CONFIG"] = str(ANSIBLE / "ansible.cfg")
    os.environ.setdefault("ANSIBLE_HOME", str(ROOT / ".ansible"))
    keep_in_clone(results_root)


def step(text: str) -> None:
    """Announce a step."""
    put(f"== {text}\n", sys.stdout)


def catch_signals() -> None:
    """Every signal that ends a run ends it like Ctrl-C, so that everything is taken down."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup means it
            signal.signal(signum, end_by_exception)


def end_by_exception(signum: int, frame: object) -> None:
    """Ends a run like Ctrl-C."""
    raise KeyboardInterrupt


def reason(error: OSError) -> str:
    """`/disk/testbed_run.log: No space left on device`."""
    said = error.strerror or str(error) or type(error).__name__
    return f"{shown(Path(os.fsdecode(error.filename)))}: {said}" if isinstance(error.filename, str | bytes) else said


def shown(path: Path) -> str:
    """A path for the user: short where it is below the current folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
