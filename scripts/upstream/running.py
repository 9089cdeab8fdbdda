"""Runs sonic-mgmt's tests in a copy of its checkout, against a testbed that is up and deployed."""
from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts import testbeds
from scripts.against_sonic.minigraph import MINIGRAPH, minigraph
from scripts.qualifying.progress import ItemEvents
from scripts.suite import PYTEST_LOG
from scripts.testbeds import Failure, shown, step
from scripts.upstream.table import UpstreamSession, OutcomeRow
from scripts.upstream.tree import OVER_SSH, SUITES
from tests.common.clone import ROOT
from virtual_testbed.lab_files.description import Testbed, load_testbed
from virtual_testbed.process import PARENT_VARIABLE
from virtual_testbed.sonic_mgmt.checkout import entry_of, name_there, ptf_name, write_lab
from virtual_testbed.sonic_mgmt.outcomes import FILE, NAMES
from virtual_testbed.sonic_mgmt.ptf_host import MODULE, write_settings
from virtual_testbed.sonic_mgmt.simulated_sleep import CLOCK
from virtual_testbed.supervision.endpoints import Endpoints, read_endpoints

STAND_INS = ROOT / "virtual_testbed/sonic_mgmt"
LIBRARY = STAND_INS / "library"
OUTCOMES = "outcomes.jsonl"
PTF_LOG = "ptf.log"
PLUGINS = {
    "simulated_sleep": "time.sleep and the clocks of sonic-mgmt's files",
    "outcomes": "the package nnpy, by an empty one",
}
"""What is loaded into their pytest, and what each replaces."""
OVER_GRPC = {"plain_otg": "IxNetwork's statistics"}
"""The same, where sonic-mgmt does not speak to IxNetwork."""
ONE_SWITCH = "tgen"
"""Their marker of tests that need a switch and a traffic generator."""
SEVERAL_SWITCHES = "multidut-tgen"
"""Their marker of those that need two switches, or can do with them."""
SSH_PORT = "VIRTUAL_TESTBED_SSH_PORT"
"""Where the stand-in of Ansible's `wait_for` finds what sonic-mgmt looks for at port 22."""
SSH_S = 60
"""A switch that does not answer in this time is taken for one that never does."""
FOREIGN = ("ANSIBLE_", "PYTEST", "PYTHON", "PFC_", "VIRTUAL_TESTBED_", "VIRTUAL_ENV")
"""What this project's environment says, and is about other Pythons and other settings than sonic-mgmt's."""

FORKED = {"GRPC_ENABLE_FORK_SUPPORT": "0"}
"""Ansible forks a process for each task, in which gRPC's own fork handlers wait for ever now and then (about once in
1,000 forks). What is forked speaks no gRPC and needs no handler."""


@dataclass(frozen=True)
class TheirRun:
    """One session of their pytest.

    Attributes:
        copy: of the checkout.
        python: of an environment with what they need.
        names: parts of the names of the tests that are run; none: all that restart nothing.
        folder: for what it leaves.
        options: further words for pytest.
        ixnetwork: whether they speak to IxNetwork's API, not OTG over gRPC.
        suites: folders and files of the checkout.
    """

    copy: Path
    python: Path
    names: tuple[str, ...]
    folder: Path
    options: tuple[str, ...] = ()
    ixnetwork: bool = False
    suites: tuple[str, ...] = SUITES


def their_command(run: TheirRun, lab: Endpoints, group: str) -> list[str]:
    """pytest, as their labs start it, from their `tests/`. `group`: their name of the lab's inventory."""
    topology = topology_of(run, lab)
    name = name_there(lab)
    return [str(run.python), "-m", "pytest", *(word for plugin in plugins_of(run) for word in ("-p", plugin)),
            "-c", "pytest.ini",
            "--inventory", f"../ansible/{group}", "--host-pattern", "all",
            "--testbed_file", f"../ansible/{name}.yaml", "--testbed", name, "--topology", topology,
            "--assert", "plain", "--ignore-conditional-mark", "--skip_sanity", "--disable_loganalyzer",
            "--disable_memory_utilization", *run.options,
            *(suite.removeprefix("tests/") for suite in run.suites)]


def topology_of(run: TheirRun, lab: Endpoints) -> str:
    """Their markers of tests that this lab is for, with commas; those over SSH are for T0, T1 or any."""
    if run.suites == OVER_SSH:
        topology = str(entry_of(lab)["topo"])
        return ",".join(["any", *(layer for layer in ("t0", "t1") if layer in topology)])
    return ONE_SWITCH if len(lab.switches) == 1 else SEVERAL_SWITCHES


def plugins_of(run: TheirRun) -> dict[str, str]:
    """The plugins of a session, each with what it replaces."""
    return PLUGINS if run.ixnetwork else {**PLUGINS, **OVER_GRPC}


def taken_places(run: TheirRun) -> list[str]:
    """In the place of what a session has something of this project: Ansible's modules, what plugins replace, a host."""
    modules = [f"Ansible's {name}" for name in own_modules()]
    host = ["the PTF container (ptf_host)"] if has_host(run) else []
    return [*modules, *(f"{place} ({plugin})" for plugin, place in plugins_of(run).items()), *host]


def has_host(run: TheirRun) -> bool:
    """Whether the lab is to have a host in the place of a PTF container: for the tests over SSH."""
    return run.suites == OVER_SSH


def own_modules() -> list[str]:
    """The Ansible modules that are found before all others of their names."""
    return sorted(path.stem for path in LIBRARY.glob("*.py"))


def replaced_modules(copy: Path) -> list[str]:
    """Those of sonic-mgmt's Ansible modules of which another one is found first. `copy`: of the checkout."""
    return [name for name in own_modules() if (copy / f"ansible/library/{name}.py").is_file()]


def their_environment(run: TheirRun, lab: Endpoints, own: Mapping[str, str]) -> dict[str, str]:
    """The variables of their pytest. `own`: those of this process."""
    kept = {name: text for name, text in own.items() if not name.startswith(FOREIGN)}
    return {**kept, "PYTHONPATH": f"..{os.pathsep}{STAND_INS}", "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{run.python.parent}{os.pathsep}{own.get('PATH', '')}",
            "ANSIBLE_CONFIG": "../ansible", "ANSIBLE_HOME": own.get("ANSIBLE_HOME", str(ROOT / ".ansible")),
            "ANSIBLE_LIBRARY": f"{LIBRARY}{os.pathsep}../ansible/library",
            CLOCK: lab.clock_url, SSH_PORT: str(next(iter(lab.switches.values())).ssh_port),
            FILE: str(run.folder / OUTCOMES), NAMES: ",".join(run.names), **FORKED}


def unused_ports(testbed: Testbed) -> dict[str, list[str]]:
    """The ports that have no cable, by switch; switches without one are left out."""
    cabled = {(link.switch, link.switch_port) for link in testbed.generator_links}
    cabled |= {end for link in testbed.switch_links for end in (link.a, link.b)}
    found = {switch.name: [port for port in switch.hwsku.ports if (switch.name, port) not in cabled]
             for switch in testbed.switches}
    return {switch: ports for switch, ports in found.items() if ports}


def shut_unused_ports(lab: Endpoints) -> None:
    """Shuts the ports that have no cable, as a minigraph leaves them: sonic-mgmt waits after a reload for all that are
    not shut to be up.

    Raises:
        Failure: a switch does not do it.
    """
    for switch, ports in unused_ports(load_testbed(lab.name, lab.testbed_file)).items():
        shut = json.dumps({"PORT": {port: {"admin_status": "down"} for port in ports}})
        _on_switch(lab, switch, f"sudo sonic-cfggen -a {shlex.quote(shut)} --write-to-db && sudo config save -y",
                   f"the ports of {switch} without a cable could not be shut")


def write_minigraphs(lab: Endpoints) -> None:
    """Writes a minigraph on each switch, of what is configured, as sonic-mgmt's `deploy-mg` does in a lab.

    Raises:
        Failure: a switch does not do it.
    """
    for switch in lab.switches:
        failed = f"{switch} could not be given a minigraph"
        config = json.loads(_on_switch(lab, switch, "sonic-cfggen -d --print-data", failed))
        text = minigraph(switch, config, with_speeds=True)
        _on_switch(lab, switch, f"sudo tee {MINIGRAPH}", failed, text)


def _on_switch(lab: Endpoints, switch: str, command: str, failed: str, said: str = "") -> str:
    """What a command prints on a switch. `failed`: how the sentence begins where it fails. Raises Failure."""
    try:
        done = subprocess.run(["ssh", "-F", str(lab.ssh_config), switch, command], capture_output=True, text=True,
                              check=False, timeout=SSH_S, input=said)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{failed}: no answer over SSH in {SSH_S} s") from late
    if done.returncode:
        raise Failure(f"{failed}: {done.stderr.strip()}")
    return done.stdout


def run_theirs(run: TheirRun, folder: Path, meanwhile: Callable[[OutcomeRow], None]) -> UpstreamSession:
    """Makes the testbed a lab of the copy, and runs their tests there.

    Args:
        run: what is run.
        folder: of the running testbed.
        meanwhile: gets the row of each test when it has ended.
    """
    lab = read_endpoints(folder)
    shut_unused_ports(lab)
    write_minigraphs(lab)
    with plain_host(run, lab) as ptf_port:
        write_lab(run.copy, folder, run.ixnetwork, ptf_port)
        return _run(run, lab, meanwhile)


@contextlib.contextmanager
def plain_host(run: TheirRun, lab: Endpoints) -> Iterator[int | None]:
    """The host in the place of a PTF container; yields the port of its SSH server, None where there is none."""
    if not has_host(run):
        yield None
        return
    with TemporaryDirectory(prefix="ptf-") as folder:
        settings = write_settings(Path(folder), lab, ptf_name(lab))
        command = [sys.executable, "-P", "-m", MODULE, str(settings)]
        with (run.folder / PTF_LOG).open("w", encoding="utf-8") as log, subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
                env={**os.environ, PARENT_VARIABLE: str(os.getpid())}) as process:
            assert process.stdout is not None
            try:
                said = process.stdout.readline()
                if not said:
                    step(f"no host in the place of a PTF container: {shown(run.folder / PTF_LOG)} says why")
                yield int(json.loads(said)["ssh_port"]) if said else None
            finally:
                process.terminate()


def _run(run: TheirRun, lab: Endpoints, meanwhile: Callable[[OutcomeRow], None]) -> UpstreamSession:
    """Runs their pytest in a copy that has the lab."""
    command = their_command(run, lab, lab.inventory.name)
    session = UpstreamSession()
    events = ItemEvents(run.folder / OUTCOMES)

    def look() -> None:
        for event in events.read():
            row = session.take(event)
            if row is not None:
                meanwhile(row)

    with (run.folder / PYTEST_LOG).open("a", encoding="utf-8") as log, _environment(their_environment(
            run, lab, os.environ)):
        log.write(f"{shlex.join(command)}\n")
        log.flush()
        try:
            testbeds.run(command, run.copy / "tests", log, look)
        except KeyboardInterrupt:
            look()
    return session


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Children that are started meanwhile have these variables, and no others."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def why_none(folder: Path) -> Sequence[str]:
    """The last lines of what pytest printed, where it planned nothing."""
    return (folder / PYTEST_LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
