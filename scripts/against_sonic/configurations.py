"""CONFIG_DB of the switches of the project's testbeds, in the states that the factory, SONiC's commands and the
deployment bring them into.
"""
from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual_testbed.lab_files.description import virtual_testbeds
from virtual_testbed.sonic.databases import Config, natural
from virtual_testbed.tests.supervision.deployed import ROOT, Deployed, brought_up

TESTBEDS = ROOT / "ansible" / "testbed.yaml"
_QOS = ("config qos reload",)
_DYNAMIC = ("sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' buffer_model dynamic", *_QOS)
_CHANGES = (
    "config interface ip add {0} 10.0.0.1/24", "config interface ip add {0} fc00::1/64",
    "config interface shutdown {1}", "config vlan add 20", "config vlan member add 20 {2}",
    "config vlan member add -u 20 {3}", "config interface ip add Vlan20 10.1.0.1/24",
    "config interface ip add -s Vlan20 10.2.0.1/24", "pfc config asymmetric on {0}", "pfc config priority on {0} 5",
    "pfcwd start --action alert --pfc-stat-history --restoration-time 400 {0} 400", "pfcwd interval 300",
    "pfcwd counter_poll disable", "counterpoll queue interval 500",
    "counterpoll port disable", "counterpoll watermark interval 2000", "counterpoll pg-drop enable")
"""Commands that write into CONFIG_DB; the numbers are places in the list of ports."""
_RED = ("pfcwd big_red_switch enable",)


@dataclass(frozen=True)
class ConfigSnapshot:
    """CONFIG_DB of a switch, and what was done to it last."""

    testbed: str
    switch: str
    after: str
    config: Config

    def __str__(self) -> str:
        return f"{self.testbed} {self.switch}, {self.after}"


def switch_states() -> Iterator[ConfigSnapshot]:
    """Every switch of every virtual testbed in seven states, testbed by testbed.

    Raises:
        AssertionError: a command or a playbook failed.
    """
    for testbed in virtual_testbeds(TESTBEDS):
        switches = [switch.name for switch in testbed.switches]
        with tempfile.TemporaryDirectory() as folder, brought_up(testbed.name, Path(folder)) as lab:
            for after in _pass_through(lab, switches):
                for switch in switches:
                    yield ConfigSnapshot(testbed.name, switch, after, lab.configuration(switch))


def _pass_through(lab: Deployed, switches: Sequence[str]) -> Iterator[str]:
    yield "as from the factory"
    _run(lab, switches, _QOS)
    yield "after config qos reload"
    lab.play("deploy_testbed.yml")
    yield "deployed"
    lab.play("remove_testbed.yml")
    yield "with its testbed removed"
    _run(lab, switches, _DYNAMIC)
    yield "with dynamic buffers"
    _run(lab, switches, ("config qos reload --no-dynamic-buffer", *_CHANGES))
    yield "changed by commands"
    _run(lab, switches, _RED)
    yield "with the big red switch on"


def _run(lab: Deployed, switches: Sequence[str], lines: Sequence[str]) -> None:
    """Run commands on every switch."""
    for switch in switches:
        ports = sorted(lab.configuration(switch)["PORT"], key=natural)
        lab.ssh(switch, " && ".join(f"sudo {line.format(*ports)}" for line in lines))
