"""The one place that uses pytest-ansible's host management, which pytest-ansible calls deprecated: what replaces it
goes here."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ansible.constants
import pytest
from ansible.cli.adhoc import AdHocCLI
from ansible.errors import AnsibleError
from ansible.executor.task_executor import TaskExecutor
from ansible.playbook.play import Play
from ansible.playbook.play_context import PlayContext
from ansible.plugins import loader as plugin_loader

from tests.common.errors import HostUnreachable, LabError

DEPRECATIONS = "ANSIBLE_DEPRECATION_WARNINGS"
ANSIBLE_DIR = Path(__file__).resolve().parents[3] / "ansible"
EXCEPTION = "exception"  # in a result: an object of Ansible's own; `msg` says the same


class AnsibleHost:
    """One host of the inventory."""

    def __init__(self, dispatcher: Any, hostname: str) -> None:
        """`dispatcher` is pytest-ansible's module dispatcher for the host."""
        self._dispatcher = dispatcher
        self._hostname = hostname

    def has_module(self, module: str) -> bool:
        """Whether Ansible knows a module of this name."""
        return bool(self._dispatcher.has_module(module))

    def variables(self) -> dict[str, Any]:
        """The host's variables, those of its groups included."""
        manager, inventory = (self._dispatcher.options[key] for key in ("variable_manager", "inventory_manager"))
        with _quiet():
            return dict(manager.get_vars(host=inventory.get_host(self._hostname)))

    def set_variable(self, name: str, value: str) -> None:
        """Sets a variable as if the inventory did."""
        self._dispatcher.options["inventory_manager"].get_host(self._hostname).set_variable(name, value)

    def run(self, module: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
        """Runs an Ansible module, in this process.

        Ansible itself forks a process for each task, which takes longer than most commands do, and must not be done
        where gRPC has threads: it aborts in what is forked.

        Returns:
            Its result; one that Ansible could not run has a `msg`, and no `rc`.

        Raises:
            HostUnreachable: the host does not answer over SSH.
        """
        arguments = {**options, "_raw_params": " ".join(args)} if args else dict(options)
        with _quiet():
            answer = self._execute({module: arguments})
        if answer.get("unreachable"):
            raise self._unreachable(answer.get("msg", "it gave no reason"))
        return {key: value for key, value in answer.items() if not key.startswith("_ansible_") and key != EXCEPTION}

    def _execute(self, task_text: Mapping[str, Any]) -> dict[str, Any]:
        """What becomes of a play of one task."""
        options = self._dispatcher.options
        inventory, variables, loader = (options[one] for one in ("inventory_manager", "variable_manager", "loader"))
        AdHocCLI(["ansible", self._hostname]).parse()  # the options that a play context begins with
        how = {name: options[name] for name in ("become", "connection") if options.get(name)}
        play = Play.load({"name": "one task", "hosts": self._hostname, "gather_facts": False, "tasks": [task_text],
                          **how}, variable_manager=variables, loader=loader)
        host = inventory.get_host(self._hostname)
        task = play.get_tasks()[0][0]
        known = variables.get_vars(play=play, host=host, task=task)
        executor = TaskExecutor(host, task, known, PlayContext(play=play), loader, plugin_loader, None, variables)
        return dict(executor.run())

    def _unreachable(self, reason: object) -> HostUnreachable:
        return HostUnreachable(f"{self._hostname} cannot be reached over SSH: {' '.join(str(reason).split())}")


class AnsibleHosts:
    """The hosts of the inventory that `--inventory` names."""

    def __init__(self, config: pytest.Config) -> None:
        """Takes pytest-ansible's options from `config`.

        Raises:
            LabError: pytest-ansible is not active, or the inventory is not there.
        """
        self._plugin: Any = config.pluginmanager.getplugin("ansible")
        if self._plugin is None or not hasattr(self._plugin, "initialize"):
            raise LabError("pytest-ansible is not active: start pytest in the folder tests/, without -p no:ansible")
        self._config = config
        self._inventory = [source for source in str(config.getoption("ansible_inventory")).split(",") if source]
        for source in self._inventory:
            if not Path(source).exists():
                raise LabError(f"inventory {source} does not exist: --inventory takes the file of the testbed's hosts")
        with _quiet():  # done already by another object of this class
            plugin_loader.init_plugin_loader()
        plugin_loader.module_utils_loader.add_directory(str(ANSIBLE_DIR / "module_utils"))

    def switch(self, hostname: str) -> AnsibleHost:
        """A switch: every command on it runs as root.

        Raises:
            LabError: the inventory does not have it.
        """
        return self._host(hostname, inventory=self._inventory, become=True)

    def controller(self) -> AnsibleHost:
        """This machine, with the Python that runs the tests."""
        host = self._host("localhost", inventory="localhost,", connection="local", become=False)
        host.set_variable("ansible_python_interpreter", sys.executable)
        host.set_variable("ansible_remote_tmp", ansible.constants.DEFAULT_LOCAL_TMP)  # nothing in the user's home
        return host

    def _host(self, hostname: str, **options: Any) -> AnsibleHost:
        with _quiet():
            try:
                manager = self._plugin.initialize(
                    config=self._config, host_pattern=hostname, module_path=str(ANSIBLE_DIR / "library"), **options
                )
                return AnsibleHost(manager[hostname], hostname)
            except KeyError as error:
                raise LabError(f"inventory {', '.join(self._inventory)} has no host {hostname}") from error
            except AnsibleError as error:
                raise LabError(f"inventory {', '.join(self._inventory)}: {' '.join(str(error).split())}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences what pytest-ansible, at each use of its host management, and Ansible say of what is deprecated."""
    before = os.environ.get(DEPRECATIONS)
    os.environ[DEPRECATIONS] = "False"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ[DEPRECATIONS]
        else:
            os.environ[DEPRECATIONS] = before
