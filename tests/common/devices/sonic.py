"""A SONiC switch."""

from __future__ import annotations

import json
import shlex
from functools import cached_property
from typing import Any

from tests.common.devices.ansible_hosts import AnsibleHosts
from tests.common.devices.base import AnsibleHostBase

LONGEST_ARGUMENT = 100_000  # execve(2) takes 128 KiB in one argument
LONGEST_S = 100
"""A command that has not ended then never will: a service hangs that it asks, while the switch answers SSH. (An end of
the run waits longer than this for what puts the switch back.)"""
TIMED_OUT = (124, 137)  # of timeout(1), and where it is killed itself


class SonicHost(AnsibleHostBase):
    """Ansible modules on a switch, as root, and what tests often ask of one."""

    is_multi_asic = False

    def __init__(self, hosts: AnsibleHosts, hostname: str) -> None:
        """`hosts` is the session's inventory."""
        super().__init__(hosts.switch(hostname), hostname)

    def shell(self, command: str, module_ignore_errors: bool = False, **options: Any) -> dict[str, Any]:
        """Ansible's module `shell`. A plain command goes as `raw`: to the same shell with the same answer, but without
        first sending a Python program to the switch, which takes longer than most commands. One that does not end is
        ended there."""
        if options or len(command) > LONGEST_ARGUMENT:
            module = super().__getattr__("shell")
            return module(command, module_ignore_errors=module_ignore_errors, **options)
        ended = f"timeout -s KILL {LONGEST_S} /bin/sh -c {shlex.quote(command)}"
        answer = self._host.run("raw", (ended,), {})
        if answer.get("rc") in TIMED_OUT:
            answer["stderr"] = f"it did not end within {LONGEST_S} s, or was killed"
        if not module_ignore_errors:
            self._succeeded("raw", answer)
        return answer | {name: str(answer.get(name, "")).rstrip("\r\n") for name in ("stdout", "stderr")}

    @cached_property
    def facts(self) -> dict[str, str]:
        """`asic_type`, `platform`, `hwsku` and `os_version`, as `show version` prints them."""
        pairs = (line.split(": ", 1) for line in self.shell("show version")["stdout_lines"] if ": " in line)
        fields = {name.strip(): value.strip() for name, value in pairs}
        names = {"asic_type": "ASIC", "platform": "Platform", "hwsku": "HwSKU", "os_version": "SONiC Software Version"}
        return {fact: fields.get(printed, "") for fact, printed in names.items()}

    @property
    def os_version(self) -> str:
        """Version of the SONiC image."""
        return self.facts["os_version"]

    def get_running_config_facts(self) -> dict[str, Any]:
        """CONFIG_DB as the module `config_facts` gives it: two-part keys are nested."""
        return dict(self.config_facts(host=self.hostname, source="running")["ansible_facts"])

    def get_config_db(self) -> dict[str, Any]:
        """CONFIG_DB with its keys as they are."""
        return dict(json.loads(self.shell("sonic-cfggen -d --print-data")["stdout"]))

    def get_dut_iface_mac(self, port: str) -> str:
        """MAC address of a port."""
        return str(self.shell(f"cat /sys/class/net/{port}/address")["stdout"]).strip()
