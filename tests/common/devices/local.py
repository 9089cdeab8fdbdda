"""The machine that the tests run on."""

from __future__ import annotations

from tests.common.devices.ansible_hosts import AnsibleHosts
from tests.common.devices.base import AnsibleHostBase


class Localhost(AnsibleHostBase):
    """Ansible modules on this machine."""

    def __init__(self, hosts: AnsibleHosts) -> None:
        """`hosts` is the session's inventory."""
        super().__init__(hosts.controller(), "localhost")
