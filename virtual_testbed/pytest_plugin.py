"""A pytest plugin: `pytest --virtual-testbed NAME` brings a testbed up for whatever suite is run.

The testbed is up before tests are collected and is taken down at the end, however that comes. The suite learns of it
by environment variables and the fixture `virtual_testbed`. Without the option nothing happens and nothing is imported.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from virtual_testbed.supervision.endpoints import Endpoints

FOLDER_VARIABLE = "VIRTUAL_TESTBED_FOLDER"
"""Where the running testbed keeps its files: how pytest-xdist's workers find it."""
PLACEHOLDERS = ("otg_url", "otg_grpc", "clock_url", "testbed_file", "inventory")
"""What stands in braces in `--virtual-testbed-env`: attributes of `Endpoints`."""
CLI = [sys.executable, "-P", "-m", "virtual_testbed.supervision.cli"]
PLAYBOOK = [sys.executable, "-P", "-m", "ansible", "playbook"]
REASON = re.compile(r"^(?:\[ERROR\]: |ERROR! )(?:Task failed: )?(?:(?:Module|Action) failed: )?(.+)$", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options; all but the first only refine it."""
    group = parser.getgroup("virtual-testbed", "virtual SONiC testbeds")
    add = group.addoption
    add("--virtual-testbed", metavar="NAME", help="bring the testbed NAME of a testbed file up for this session")
    add("--virtual-testbed-file", metavar="FILE", help="the testbed file (default: ansible/testbed.yaml)")
    add("--virtual-testbed-state", metavar="DIR", help="where the testbed keeps its files (default: .virtual_testbed)")
    add("--virtual-testbed-clock", choices=("realtime", "virtual"), default="realtime",
        help="follow the wall clock (default), or stand still until advanced")
    add("--virtual-testbed-fault", action="append", default=[], metavar="SPEC",
        help="what the switches do wrong, as virtual-testbed's --fault; may be repeated")
    add("--virtual-testbed-deploy", metavar="PLAYBOOK",
        help="a playbook that configures the switches first; it gets testbed_name and testbed_file")
    add("--virtual-testbed-env", action="append", default=[], metavar="VARIABLE=TEXT",
        help="set a further environment variable; {otg_url}, {otg_grpc}, {clock_url}, {testbed_file} and {inventory} "
             "in TEXT stand for this run's; may be repeated")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Bring the testbed up, before any other plugin or the suite looks for it.

    Raises:
        pytest.UsageError: it cannot come up.
    """
    option = config.option
    is_worker = hasattr(config, "workerinput")  # of pytest-xdist: the controller has brought it up
    if not option.virtual_testbed or is_worker or option.help or getattr(option, "version", 0):
        return
    further = [_further_variable(text) for text in option.virtual_testbed_env]
    if option.virtual_testbed_deploy and not Path(option.virtual_testbed_deploy).is_file():
        raise pytest.UsageError(f"--virtual-testbed-deploy: there is no file {option.virtual_testbed_deploy}")
    runtime = json.loads(_run_cli(["up", option.virtual_testbed, "--json", *_up_arguments(option)]))
    config.add_cleanup(lambda: _take_down(option))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    _announce(patch, Path(runtime["testbed_file"]).parent, further)
    if option.virtual_testbed_deploy:
        _deploy(runtime, Path(option.virtual_testbed_deploy))


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line that says where OTG is."""
    if not config.option.virtual_testbed or FOLDER_VARIABLE not in os.environ:
        return None
    found = _read()
    return f"virtual testbed: {found.name}, OTG at {found.otg_url} and (gRPC) {found.otg_grpc}"


@pytest.fixture(scope="session")
def virtual_testbed(pytestconfig: pytest.Config) -> Endpoints:
    """The endpoints (`virtual_testbed.supervision.endpoints`) of the testbed that `--virtual-testbed` brought up."""
    if not pytestconfig.option.virtual_testbed:
        raise pytest.UsageError("the fixture virtual_testbed needs --virtual-testbed NAME")
    return _read()


def _read() -> Endpoints:
    from virtual_testbed.supervision.endpoints import read_endpoints
    return read_endpoints(Path(os.environ[FOLDER_VARIABLE]))


def _further_variable(text: str) -> tuple[str, str]:
    """Name and template of `--virtual-testbed-env`."""
    name, equals, template = text.partition("=")
    if not equals or not name.isidentifier():
        raise pytest.UsageError(f"--virtual-testbed-env {text}: VARIABLE=TEXT expected")
    try:
        template.format(**dict.fromkeys(PLACEHOLDERS, ""))
    except (KeyError, IndexError, ValueError, AttributeError):
        raise pytest.UsageError(f"--virtual-testbed-env {text}: only {', '.join(PLACEHOLDERS)} may be in braces"
                                ) from None
    return name, template


def _state_arguments(option: Any) -> list[str]:
    return ["--state", option.virtual_testbed_state] if option.virtual_testbed_state else []


def _up_arguments(option: Any) -> list[str]:
    """Options of `virtual-testbed up`; the owner's end is the testbed's, so that a killed session leaves nothing."""
    file = ["--testbed-file", option.virtual_testbed_file] if option.virtual_testbed_file else []
    faults = [text for spec in option.virtual_testbed_fault for text in ("--fault", spec)]
    return [*file, *_state_arguments(option), *faults, "--clock", option.virtual_testbed_clock,
            "--owner-pid", str(os.getpid())]


def _run_cli(arguments: Sequence[str]) -> str:
    """What `virtual-testbed` prints.

    Raises:
        pytest.UsageError: with its own sentence when it fails.
    """
    done = subprocess.run([*CLI, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"virtual-testbed ended with exit status {done.returncode}"]
        raise pytest.UsageError(f"--virtual-testbed: {said[-1].removeprefix('error: ').removeprefix('Error: ')}")
    return done.stdout


def _take_down(option: Any) -> None:
    """Take the testbed down; its switches keep their configuration."""
    try:
        _run_cli(["down", option.virtual_testbed, *_state_arguments(option)])
    except pytest.UsageError as error:  # the session is over: nobody catches anything any more
        print(error, file=sys.stderr)


def _announce(patch: pytest.MonkeyPatch, folder: Path, further: Sequence[tuple[str, str]]) -> None:
    """Set the environment variables, which pytest-xdist's workers inherit."""
    patch.setenv(FOLDER_VARIABLE, str(folder))
    found = _read()
    values = {name: getattr(found, name) for name in PLACEHOLDERS}
    for name, text in found.variables().items():
        patch.setenv(name, text)
    for name, template in further:
        patch.setenv(name, template.format(**values))


def _deploy(runtime: dict[str, Any], playbook: Path) -> None:
    """Run a playbook with the testbed's inventory; Ansible's output goes to the testbed's logs.

    Raises:
        pytest.UsageError: it failed.
    """
    log = Path(runtime["testbed_file"]).parent / "log" / "deploy.log"
    settings = playbook.resolve().parent / "ansible.cfg"
    environment = {**({"ANSIBLE_CONFIG": str(settings)} if settings.is_file() else {}), **os.environ}
    command = [*PLAYBOOK, "-i", runtime["inventory"], str(playbook), "-e", f"testbed_name={runtime['testbed']}",
               "-e", f"testbed_file={runtime['testbed_file']}"]
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                              env=environment, check=False)
    if done.returncode:
        text = log.read_text(encoding="utf-8")
        reasons = list(dict.fromkeys(REASON.findall(text))) or text.strip().splitlines()[-1:]
        raise pytest.UsageError(f"--virtual-testbed-deploy: {playbook} failed: {'; '.join(reasons)} "
                                f"(Ansible's whole output: {log})")
