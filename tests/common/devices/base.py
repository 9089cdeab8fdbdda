"""A host whose attributes are Ansible modules, as sonic-mgmt's host objects are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.common.devices.ansible_hosts import AnsibleHost
from tests.common.errors import RunAnsibleModuleFail


class AnsibleHostBase:
    """`host.shell("date")` runs Ansible's module `shell` on the host and returns its result as a dict."""

    def __init__(self, host: AnsibleHost, hostname: str) -> None:
        """`hostname` is the name in the inventory."""
        self._host = host
        self.hostname = hostname

    def inventory_variables(self) -> dict[str, Any]:
        """What the inventory says about the host."""
        return self._host.variables()

    def __getattr__(self, module: str) -> Callable[..., dict[str, Any]]:
        """An Ansible module as a function.

        `module_ignore_errors=True` returns the result of a failed module instead of raising RunAnsibleModuleFail.
        """
        if module.startswith("_") or not self._host.has_module(module):
            raise AttributeError(f"{type(self).__name__} has no attribute {module!r} and Ansible has no such module")

        def run(*args: Any, module_ignore_errors: bool = False, **options: Any) -> dict[str, Any]:
            result = self._host.run(module, args, options)
            return result if module_ignore_errors else self._succeeded(module, result)

        return run

    def _succeeded(self, module: str, result: dict[str, Any]) -> dict[str, Any]:
        """The result of a module.

        Raises:
            RunAnsibleModuleFail: the module failed.
        """
        if result.get("failed") or result.get("rc", 0) != 0:
            said = str(result.get("stderr") or result.get("msg") or result.get("stdout") or "it gave no reason")
            raise RunAnsibleModuleFail(f"Ansible module {module} failed on {self.hostname}: {' '.join(said.split())}")
        return result

    def __str__(self) -> str:
        return self.hostname
