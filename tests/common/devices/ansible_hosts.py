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
from ansible.errors import AnsibleError
from ansible.plugins.loader import (
    action_loader,
    become_loader,
    connection_loader,
    module_utils_loader,
    shell_loader,
)
from pytest_ansible.errors import AnsibleConnectionFailure

from tests.common.errors import HostUnreachable, LabError

DEPRECATIONS = "ANSIBLE_DEPRECATION_WARNINGS"
ANSIBLE_DIR = Path(__file__).resolve().parents[3] / "ansible"

# Each module call runs in a process that is forked from this one: what is loaded here is not loaded by each of them,
# which halves the time of a call.
PLUGINS_OF_EACH_CALL = (
    (action_loader, "normal"),
    (action_loader, "raw"),
    (become_loader, "sudo"),
    (connection_loader, "ssh"),
    (shell_loader, "sh"),
)


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
        """Runs an Ansible module.

        Returns:
            Its result.

        Raises:
            HostUnreachable: the host does not answer over SSH.
        """
        with _quiet():
            try:
                answer = getattr(self._dispatcher, module)(*args, **options)
            except AnsibleConnectionFailure as error:
                reason = " ".join(str(error.dark.get(self._hostname, {}).get("msg", error)).split())
                raise HostUnreachable(f"{self._hostname} cannot be reached over SSH: {reason}") from error
        return dict(answer.contacted[self._hostname])


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
        module_utils_loader.add_directory(str(ANSIBLE_DIR / "module_utils"))
        for loader, plugin in PLUGINS_OF_EACH_CALL:
            loader.get(plugin, class_only=True)

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
    """Silences what is said at each use: two deprecations, by pytest-ansible and by Ansible, for one way of calling."""
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
