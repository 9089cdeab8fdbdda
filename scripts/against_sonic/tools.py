"""sonic-utilities' commands and the virtual switch's own, on one switch in the same states: is the output equal?"""
from __future__ import annotations

import difflib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from scripts.against_sonic.deviations import DEVIATIONS, OutputDeviation
from scripts.against_sonic.installation import Installation
from virtual_testbed.tests.supervision.deployed import Deployed, Host, Load, deployed

TESTBED = "vtb-t0"
SWITCH = "vtb-t0-01"
_TX = Host("127.1.0.1;1;2", "00:00:22:33:44:01", "192.168.0.3", "192.168.0.1", 21)
_RX = Host("127.1.0.1;1;1", "00:01:22:33:44:01", "192.168.0.2", "192.168.0.1", 21)
BOTH = (
    "pfcstat", "pfcstat -j", "pfcstat -d all", "pfcstat -s all", "pfcstat --history", "portstat", "portstat -j",
    "portstat -e", "portstat -R", "portstat -a", "portstat -i Ethernet0,Ethernet4", "portstat -l -i Ethernet0",
    "queuestat -p Ethernet0", "queuestat -p Ethernet0 -nz", "queuestat -j -p Ethernet0", "pfcwd show stats",
    "pfcwd show stats -e", "pfcwd show stats Ethernet0:3", "pfcwd show config", "pfc show priority",
    "pfc show asymmetric", "counterpoll show", "show pfc counters", "show pfc priority", "show pfc asymmetric",
    "show pfcwd stats", "show pfcwd config", "show queue counters Ethernet0", "show queue watermark unicast",
    "show priority-group watermark headroom", "show priority-group watermark shared",
    "show priority-group drop counters", "show interfaces status", "show interfaces counters",
    "show interfaces counters errors", "show interfaces counters rates", "show vlan brief", "pfcwd", "pfc",
    "counterpoll", "queuestat", "queuestat -j", "portstat -nz", "portstat -a -j", "portstat -r",
    "pfc show priority Ethernet0",
    "pfcwd show config Ethernet0", "pfcwd show stats Ethernet99", "pfcwd show config Ethernet99",
    "pfcwd start --action drop Ethernet0 400", "sudo pfcwd start --action drop Ethernet99 400",
    "sudo pfcwd start --action drop Ethernet0 99", "pfcwd start --action jump Ethernet0 400", "show queue counters",
    "show queue counters Ethernet99", "show interfaces status Ethernet0", "show interfaces status Ethernet99",
    "show interfaces autoneg status", "show interfaces autoneg status Ethernet0", "show interfaces autoneg",
    "show interfaces counters -i Ethernet0", "show interfaces counters detailed Ethernet0", "portstat -i Ethernet99",
    "queuestat -p Ethernet99", "show pfc", "show pfcwd", "show version",
    "show feature status", "show feature status swss", "show feature status none",
    "portstat -f", "portstat -fh", "portstat -T", "portstat -T -j", "portstat -f -nz", "portstat -T -nz",
    "queuestat -a -p Ethernet0", "queuestat -T -p Ethernet0", "queuestat -a -j -p Ethernet0",
    "queuestat -a -nz -p Ethernet0", "queuestat -V", "queuestat -V -j", "queuestat -V -p Ethernet0",
    "show queue counters Ethernet0 --all", "show queue counters Ethernet0 -nz", "show queue counters Ethernet0 -a -j",
    "show interfaces counters fec-stats", "show interfaces counters trim", "show interfaces counters trim Ethernet0",
    "dropstat -c show", "dropstat -c show -t PORT_INGRESS_DROPS", "dropstat -c show -t PORT_EGRESS_DROPS",
    "dropstat -c show -g none", "dropstat -c nothing", "show dropcounters counts",
    "show dropcounters counts -t PORT_EGRESS_DROPS", "show dropcounters configuration",
    "show dropcounters capabilities", "watermarkstat -t q_shared_uni", "watermarkstat -t pg_headroom -j",
    "watermarkstat -p -t buffer_pool", "show queue watermark multicast", "show queue watermark all",
    "show queue persistent-watermark unicast", "show priority-group persistent-watermark headroom",
    "show priority-group persistent-watermark shared -j")
"""Commands that both have."""
CONFIGURED = (
    "ecnconfig", "ecnconfig -l", "ecnconfig -l -vv", "ecnconfig -q 3,5", "ecnconfig -q 3 -vv",
    "ecnconfig -l -p X -gmin 1",
    "ecnconfig -p NONE -gmin 1", "ecnconfig -p AZURE_LOSSLESS", "ecnconfig -p AZURE_LOSSLESS -gmin x",
    "ecnconfig -p AZURE_LOSSLESS -gmin 90000000", "ecnconfig -p AZURE_LOSSLESS -gmin 5 -rdrop 101",
    "ecnconfig -p AZURE_LOSSLESS -gmin 5", "ecnconfig -q 3 on", "show ecn",
    "mmuconfig -l", "mmuconfig -l -vv", "mmuconfig -p egress_lossy_profile -a 3",
    "sudo mmuconfig -p egress_lossy_profile -s 3", "sudo mmuconfig -p egress_lossless_profile -a 3",
    "mmuconfig -p egress_lossy_profile -a 9", "show mmu", "show buffer configuration", "show buffer information",
    "buffershow -l", "show buffer_pool watermark", "show buffer_pool persistent-watermark",
    "show headroom-pool watermark", "show headroom-pool persistent-watermark", "watermarkcfg -s",
    "show watermark telemetry interval")
"""Commands that both have, and whose output goes by the configuration alone: they are run once."""
CHANGES = {
    "sudo ecnconfig -p AZURE_LOSSLESS -gmin 1000 -gmax 2000 -gdrop 3": "", "sudo ecnconfig -q 3 off": "",
    "sudo ecnconfig -q 3,9 on -vv": "", "sudo mmuconfig -p egress_lossy_profile -a 2 -vv": "",
    "sudo mmuconfig -p egress_lossless_profile -s 1000000": "", "sudo mmuconfig -p none -a 2": "",
    "sudo config interface mtu Ethernet0 1500": "sudo portconfig -p Ethernet0 -m 1500",
    "sudo config interface mtu Ethernet99 1500": "sudo portconfig -p Ethernet99 -m 1500",
    "sudo config interface speed Ethernet0 50000": "sudo portconfig -p Ethernet0 -s 50000",
    "sudo config interface speed Ethernet0 7": "sudo portconfig -p Ethernet0 -s 7",
    "sudo config interface speed Ethernet99 50000": "sudo portconfig -p Ethernet99 -s 50000",
    "sudo config interface pfc priority Ethernet0 3 off": "sudo pfc config priority off Ethernet0 3",
    "sudo config interface pfc asymmetric Ethernet0 on": "sudo pfc config asymmetric on Ethernet0",
    "sudo config pfcwd start --action drop Ethernet0 400": "sudo pfcwd start --action drop Ethernet0 400",
    "sudo config pfcwd start ports all detection-time 400": "sudo pfcwd start all 400",
    "sudo config pfcwd start Ethernet99 400": "sudo pfcwd start Ethernet99 400",
    "sudo config pfcwd interval 300": "sudo pfcwd interval 300",
    "sudo config pfcwd big_red_switch enable": "sudo pfcwd big_red_switch enable",
    "sudo config pfcwd start_default": "sudo pfcwd start_default", "sudo config pfcwd stop": "sudo pfcwd stop"}
"""Commands that change CONFIG_DB, and what SONiC's `config` calls for them, where that is another one; compared by what
they print and by what CONFIG_DB has afterwards."""
THEIRS = ("show interfaces description", "show interfaces alias")
"""Commands that only SONiC has: they must run on this switch's databases."""
_CLEARS = ("pfcstat -c", "queuestat -c", "portstat -c", "dropstat -c clear")
_KEPT = "/tmp/config_db.before.json"
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d+")
_RUNNER = """
import json, os, shutil, subprocess, sys
context = os.path.join(os.path.dirname(shutil.which("pfcstat")), ".context.json")
results = []
for words in json.loads({commands!r}):
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                           env={{**os.environ, "SONIC_CONTEXT": context}})
    results.append((ended.returncode, ended.stdout))
print(json.dumps(results))
"""
"""Runs commands on the switch and prints exit status and output of each."""


class CommandEnd(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    output: str


@dataclass
class Tools:
    """What the commands came to: counts, and differences as text."""

    compared: int = 0
    equal: int = 0
    known: dict[OutputDeviation, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def count(self, difference: str) -> None:
        """One command more; without a difference it is equal."""
        self.compared += 1
        if difference:
            self.differences.append(difference)
        else:
            self.equal += 1


def compare_tools(installation: Installation) -> Tools:
    """Bring a switch into seven states and compare the commands in each."""
    tools = Tools()
    with tempfile.TemporaryDirectory() as folder, deployed(TESTBED, Path(folder)) as lab:
        switch = _Switch(lab, installation.programs)
        for state in switch.states():
            if not tools.compared:
                _compare_once(state, switch, tools)
            _compare(state, switch, tools)
        ours, theirs = switch.clears
        for line in _CLEARS:
            _judge("clearing", line, ours[line], theirs[line], tools)
    return tools


class _Switch:
    """The switch, and how its commands are run.

    Attributes:
        clears: what the clears printed, ours and theirs.
    """

    def __init__(self, lab: Deployed, programs: Path) -> None:
        self._lab = lab
        self._programs = programs
        self.clears: list[dict[str, CommandEnd]] = []

    def run(self, lines: Sequence[str], theirs: bool) -> dict[str, CommandEnd]:
        """Run commands; `sudo` before one is for both."""
        commands = json.dumps([self._words(line, theirs) for line in lines])
        config = self._lab.folder / "ssh/config"
        ended = subprocess.run(["ssh", "-F", str(config), SWITCH, "python3 -"], check=True, capture_output=True,
                               text=True, input=_RUNNER.format(commands=commands))
        return {line: CommandEnd(*result) for line, result in zip(lines, json.loads(ended.stdout))}

    def _words(self, line: str, theirs: bool) -> list[str]:
        words = line.split()
        if theirs:
            place = words.index("sudo") + 1 if "sudo" in words else 0
            words[place] = str(self._programs / words[place])
        return words

    def change(self, line: str, theirs: bool) -> CommandEnd:
        """Run a command that changes CONFIG_DB, and put that back; the output has what CONFIG_DB had in between.

        No service restarts: time does not pass between the changes, and a switch that restarts has no ports.
        """
        dump = "sonic-cfggen -d --print-data"
        self.run([f"sudo config save -y {_KEPT}"], theirs=False)
        ended = self.run([line], theirs)[line]
        config = self.run([dump], theirs=False)[dump]
        back = f"sudo config reload -y -f -n {_KEPT}"
        found = self.run([back], theirs=False)[back]
        if found.status:
            raise RuntimeError(f"CONFIG_DB cannot be put back after {line}: {found.output}")
        return CommandEnd(ended.status, f"{ended.output}{config.output}")

    def states(self) -> Iterator[str]:
        """Bring the switch into one state after the other; yields their names. The watchdog is started and stopped by
        SONiC's own command.
        """
        lab = self._lab
        self._must("sudo pfcwd stop")
        lab.advance(61_000)
        yield "idle"
        self._traffic()
        lab.advance(11_000)
        yield "storm"
        self._stop("storm")
        lab.advance(11_000)
        yield "after the storm"
        self._must("sudo pfcwd interval 200", "sudo pfcwd start --action drop Ethernet0 400 --restoration-time 400")
        self._start("storm")
        lab.advance(11_000)
        yield "watchdog in a storm"
        self._stop("storm")
        lab.advance(11_000)
        yield "restored"
        self.clears = [self.run(_CLEARS, theirs) for theirs in (False, True)]
        yield "cleared"
        self._start("storm")
        lab.advance(20_000)
        yield "after the clear"

    def _must(self, *lines: str) -> None:
        for line, ended in self.run(lines, theirs=True).items():
            if ended.status:
                raise RuntimeError(f"{line} ended with {ended.status}: {ended.output}")

    def _traffic(self) -> None:
        """Data of priority 3 to Ethernet0, from where a storm of class 3 comes."""
        lab = self._lab
        mac = lab.connect(_TX, _RX)
        lab.configure(_TX, _RX, mac, Load(percent=50, paused=True))
        lab.transmit("start")

    def _start(self, flow: str) -> None:
        self._lab.transmit("start", [flow])

    def _stop(self, flow: str) -> None:
        self._lab.transmit("stop", [flow])


def _compare_once(state: str, switch: _Switch, tools: Tools) -> None:
    ours, theirs = (switch.run(CONFIGURED, side) for side in (False, True))
    for line in CONFIGURED:
        _judge(state, line, ours[line], theirs[line], tools)
    for line, called in CHANGES.items():
        _judge(state, line, switch.change(line, theirs=False), switch.change(called or line, theirs=True), tools)


def _compare(state: str, switch: _Switch, tools: Tools) -> None:
    ours, theirs = (switch.run(BOTH, side) for side in (False, True))
    for line in BOTH:
        _judge(state, line, ours[line], theirs[line], tools)
    for line, ended in switch.run(THEIRS, theirs=True).items():
        fails = ended.status or "Traceback" in ended.output
        tools.count(f"{state}: {line} fails on this switch: {ended}" if fails else "")


def _judge(state: str, line: str, ours: CommandEnd, theirs: CommandEnd, tools: Tools) -> None:
    pair = [CommandEnd(one.status, _STAMP.sub("<time>", one.output)) for one in (ours, theirs)]
    for deviation in DEVIATIONS:
        if pair[0] != pair[1] and deviation.concerns(line):
            changed = [CommandEnd(*deviation.without(*one)) for one in pair]
            if changed != pair:
                tools.known[deviation] = tools.known.get(deviation, 0) + 1
            pair = changed
    tools.count("" if pair[0] == pair[1] else f"{state}: {line}\n" + _difference(*pair))


def _difference(ours: CommandEnd, theirs: CommandEnd) -> str:
    lines = difflib.unified_diff([f"exit status {ours.status}", *ours.output.splitlines()],
                                 [f"exit status {theirs.status}", *theirs.output.splitlines()], "ours", "SONiC's",
                                 lineterm="", n=0)
    return "\n".join(f"    {line}" for line in list(lines)[:14])
