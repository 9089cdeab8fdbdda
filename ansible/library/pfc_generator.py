#!/usr/bin/python
"""Ansible module: the pause frame generator pfctest on a Linux host or a switch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: pfc_generator
short_description: Start, stop and check a storm of pause frames from this host
description:
  - Runs C(pfctest.pyz) of I(folder) with the host's own Python, in the background, one storm at a time.
  - A storm that is running with the same options is left alone; one with other options is ended first.
  - Stopping lets the generator send its quanta-0 frames, so that nothing stays paused.
  - What the generator reports of itself is what a sender can know. What a switch made of it, only the switch can say.
options:
  state:
    description:
      - C(started), the storm runs.
      - C(stopped), no storm runs.
      - C(checked), fails unless the storm asked for last runs, or has ended and kept the queue shut as far as the
        sender saw; a storm of quanta 0, which is to keep nothing shut, must only have ended well.
      - A start that was refused fails each check until another one is accepted, whatever storm there was before.
    type: str
    choices: [started, stopped, checked]
    required: true
  folder:
    description: Where pfctest.pyz is; what is known of the storm is kept there.
    type: path
    required: true
  options:
    description: Options of pfctest, for C(started); a duration is needed.
    type: list
    elements: str
    default: []
author: sonic-mgmt-pfc
"""

EXAMPLES = r"""
- name: Keep priority 3 of the switch behind two ports shut for a minute
  pfc_generator:
    state: started
    folder: /run/pfc_generator
    options: [--device=Ethernet0, --device=Ethernet4, --priority=3, --duration=60, --speed=100G]
"""

RETURN = r"""
running:
  description: Whether a storm runs now.
  returned: success
  type: bool
report:
  description: What the last storm reported when it ended, null while it runs or when there was none.
  returned: success
  type: dict
"""

ARCHIVE = "pfctest.pyz"
RUN = "run.json"
REPORT = "report.json"
ERRORS = "errors.txt"
REFUSAL = "refusal.txt"
ERROR = "error: "  # what the generator's own sentences begin with
START_S = 0.5
BEGIN_S = 15.0
STOP_S = 15.0
PROBE_S = 0.05


class GeneratorError(Exception):
    """The generator does not do what is asked of it; `str()` is one sentence."""


class InstalledGenerator:
    """A pause frame generator installed in a folder, and the storm that it runs or ran."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @property
    def run(self) -> dict[str, Any]:
        """`pid`, `started` (as the kernel counts) and `options` of the last storm; empty without one."""
        try:
            found: dict[str, Any] = json.loads((self.folder / RUN).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return found

    def is_running(self) -> bool:
        """Whether that process, and no other that has its number since, is there."""
        run = self.run
        return bool(run) and _started(run["pid"]) == run["started"]

    def report(self) -> dict[str, Any] | None:
        """What the last storm reported when it ended; None without a report."""
        try:
            found: dict[str, Any] = json.loads((self.folder / REPORT).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return found

    def errors(self) -> str:
        """The last line that the storm wrote to stderr."""
        try:
            lines = (self.folder / ERRORS).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return lines[-1] if lines else ""

    def refusal(self) -> str:
        """Why the last start was refused; empty when it was not."""
        try:
            return (self.folder / REFUSAL).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def note(self, refusal: str) -> None:
        """Remember why a start was refused, so that no check takes the storm before for this one; empty: it was not."""
        if not refusal:
            (self.folder / REFUSAL).unlink(missing_ok=True)
        elif self.folder.is_dir():
            (self.folder / REFUSAL).write_text(refusal, encoding="utf-8")

    def replace(self, options: list[str]) -> None:
        """Start a storm after ending one that runs, unless the options are wrong. Raises GeneratorError."""
        self.try_options(options)
        stopped = self.is_running()
        if stopped:
            self.stop()
        try:
            self.start(options)
        except GeneratorError as error:
            if stopped:
                raise GeneratorError(f"{error}; the storm before was stopped") from error
            raise

    def try_options(self, options: list[str]) -> None:
        """Let the generator read the options without sending. Raises GeneratorError."""
        if not (self.folder / ARCHIVE).is_file():
            raise GeneratorError(f"{self.folder} holds no {ARCHIVE}: copy it there first")
        if not any(option.split("=")[0] == "--duration" for option in options):
            raise GeneratorError("the options have no --duration: a storm needs an end of its own")
        done = subprocess.run([*self._command(options), "--dry-run"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise GeneratorError(done.stderr.strip() or f"{ARCHIVE} ended with status {done.returncode}")

    def start(self, options: list[str]) -> None:
        """Start a storm that can be stopped. Raises GeneratorError when it ends at once."""
        (self.folder / REPORT).unlink(missing_ok=True)
        with (self.folder / REPORT).open("wb") as report, (self.folder / ERRORS).open("wb") as errors:
            process = subprocess.Popen(self._command(options), stdin=subprocess.DEVNULL, stdout=report, stderr=errors,
                                       start_new_session=True, cwd="/")
        run = {"pid": process.pid, "started": _started(process.pid), "options": options}
        (self.folder / RUN).write_text(json.dumps(run), encoding="utf-8")
        began = time.monotonic()
        while process.poll() is None and not _heeds_sigterm(process.pid) and time.monotonic() < began + BEGIN_S:
            time.sleep(PROBE_S)  # it is still loading: to stop it now would leave no report
        while time.monotonic() < began + START_S and not process.poll():
            time.sleep(PROBE_S)
        if process.poll():
            raise GeneratorError(self.errors() or f"the storm ended at once with status {process.returncode}")

    def stop(self) -> None:
        """End the storm, so that it opens what it shut. Raises GeneratorError."""
        pid = self.run["pid"]
        _signal(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while self.is_running():
            if time.monotonic() > deadline and _signal(pid, signal.SIGKILL):
                raise GeneratorError(f"the storm (process {pid}) did not end within {STOP_S:g} s and was killed: what "
                                     "it paused opens when the last quanta have run out")
            time.sleep(PROBE_S)

    def _command(self, options: list[str]) -> list[str]:
        return [sys.executable, str(self.folder / ARCHIVE), "--json", *options]


def _started(pid: int) -> str | None:
    """When a process began, as the kernel counts; None when there is none, or only what is left of one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def _heeds_sigterm(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def _signal(pid: int, number: int) -> bool:
    """Send a signal; False when the process has just ended by itself."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def run_module(params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """Do what the arguments ask for; the module's result. Raises GeneratorError."""
    generator = InstalledGenerator(params["folder"])
    was_running = generator.is_running()
    changed = False
    if params["state"] == "checked":
        _check(generator, was_running)
    elif params["state"] == "stopped":
        changed = was_running
        if changed and not check_mode:
            generator.stop()
    else:
        changed = not (was_running and generator.run["options"] == params["options"])
        if not check_mode:
            _start(generator, params["options"] if changed else None)
    running = generator.is_running()
    return {"changed": changed, "running": running, "report": None if running else generator.report()}


def _start(generator: InstalledGenerator, options: list[str] | None) -> None:
    """Start a storm, None: it runs already; a later check knows what became of it. Raises GeneratorError."""
    try:
        if options is not None:
            generator.replace(options)
    except GeneratorError as error:
        generator.note(_sentence(error))
        raise
    generator.note("")


def _check(generator: InstalledGenerator, running: bool) -> None:
    """Raises GeneratorError unless the storm asked for last runs, or did what it was asked for."""
    refusal = generator.refusal()
    if refusal:
        before = " (the storm before it still runs)" if running else ""
        raise GeneratorError(f"the last start was refused{before}: {refusal}")
    if running:
        return
    report = generator.report()
    errors = generator.errors()
    if report is None or errors.startswith(ERROR):
        raise GeneratorError(errors or "no storm runs, and none has reported")
    share = report["open_share"]
    limit = report["max_open_share"]
    if share is not None and share > limit:
        raise GeneratorError(f"the storm left the queue open for {share * 100:.4f} % of its time, as seen at the "
                             f"sender: expected at most {limit * 100:g} %")


def _sentence(error: GeneratorError) -> str:
    return str(error).replace(ERROR, "", 1)


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped", "checked"], "required": True},
            "folder": {"type": "path", "required": True},
            "options": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run_module(module.params, module.check_mode))
    except GeneratorError as error:
        module.fail_json(msg=_sentence(error))


if __name__ == "__main__":
    main()
