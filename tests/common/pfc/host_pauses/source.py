"""Pause storms from a host on the cable of the port under test instead of from the traffic generator.

`HostSource` runs `pfctest` there, one process a storm. Each ends by itself after its `--duration`, so a killed run
leaves nothing paused for longer, and ends with quanta 0. What the host says of the frames that it sent is nothing that
a verdict rests on; `validity` says what alone is asked of it, for its check `storm-unbroken`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from shlex import join, quote
from typing import Any

from ..lab.cli_text import first_line
from ..lab.clock import Clock
from ..lab.dut import Host, Output, run_batch
from ..model.errors import BatchBroken, QualificationError
from ..model.traffic import FlowPlan, FlowStats
from .entry import HostPort
from .options import frame_options, probe_options

LEAST_DURATION_S = 60.0  # as of a flow of a storm on hardware (`tolerances`)
RELEASES = 3  # quanta-0 frames at a storm's end
POLLS = 200
POLL_S = 0.05  # so often, at such intervals: 10 s for a process to begin to send, or to end
DEAD = 3  # exit status of the script that starts a storm whose process has ended
PLAN = """import sys
sys.path.insert(0, sys.argv[1])
from pfctest import interface, options, storm
try:
    storm.plan(options.read(sys.argv[2:]))
except interface.InterfaceError as error:
    sys.exit(str(error).replace(", or --force", ""))
"""
"""All that pfctest looks at before it sends."""
PROCESS = """alive() { case "$(sed 's/.*) //' /proc/$1/stat 2>/dev/null)" in ''|Z*) return 1;; esac; }
born() { sed 's/.*) //' /proc/$1/stat 2>/dev/null | cut -d' ' -f20; }
"""
"""Whether a process is there and no zombie; and when it was started, which no other of the same id has in common."""
SENT = """sent() { awk -v name="$name" '{ sub(/:/, " ") } $1 == name { print $11 }' /proc/net/dev; }"""
"""Frames that an interface has sent."""
KEPT = ("frames", "rate_fps", "elapsed_s", "gap_s", "open_share", "ended_by", "released", "scheduling", "seen_at")


@dataclass(frozen=True)
class HostStorm(FlowStats):
    """What is known of a storm of a host. Nobody counts its frames but the switch: `frames_tx` and `frames_rx` are 0.

    Attributes:
        source: the host and its interface.
        lasted_s: from before it was started until after it had stopped, or until now: it cannot have sent for longer.
        report: what pfctest said of itself when it ended; empty: it has not ended, or said nothing.
    """

    source: str = ""
    lasted_s: float = 0.0
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def most_frames(self) -> int:
        """Frames that it can have sent: its rate for its time, and the quanta-0 frames."""
        return ceil((self.plan.fps or 0) * self.lasted_s) + RELEASES

    @property
    def open_s(self) -> float | None:
        """For how long the sender itself says that it left the queue open; None: it did not say."""
        share = self.report.get("open_share")
        elapsed_s = self.report.get("elapsed_s")
        if not isinstance(share, (int, float)) or not isinstance(elapsed_s, (int, float)):
            return None
        return share * elapsed_s

    def numbers(self) -> dict[str, Any]:
        """What is known, for the record."""
        said = {name: self.report[name] for name in KEPT if name in self.report}
        return {"source": self.source, "lasted_s": self.lasted_s, "not_judged": said}


@dataclass
class _Storm:
    """A storm's process: its number here, when it was begun, its id and when the kernel says that it was started (empty
    until the host has said so); whether a call that started or stopped it was cut, so that nobody knows whether it
    runs; and when it had ended, with what it said."""

    number: int
    began_s: float
    pid: str = ""
    born: str = ""
    adrift: bool = True
    ended_s: float | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


class HostSource:
    """Storms from one interface of a host."""

    def __init__(self, host: Host, port: HostPort, speed_mbps: int, clock: Clock) -> None:
        """`host` is an Ansible host object whose `shell` runs as root; `speed_mbps` is the speed of the cable."""
        self._host = host
        self._port = port
        self._clock = clock
        self._speed_mbps = speed_mbps
        self._storms: dict[str, _Storm] = {}
        self._begun = 0

    def check(self) -> None:
        """Whether the host can send storms.

        Raises:
            QualificationError: it cannot; the sentence says what is missing.
        """
        python = quote(self._port.python)
        archive = self._path("pfctest.pyz")
        packets = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
        found = self._run({
            "python": f"{python} -c 'import sys; sys.exit(sys.version_info < (3, 8))'",
            "archive": f"test -f {archive}",
            "packets": f"{python} -c {quote(packets)}",
            "interface": f"{python} -c {quote(PLAN)} {archive} {self._options(['--priority=3', '--duration=1'])}",
        })
        for name, sentence in (
            ("python", f"{self._port.python} is no Python 3.8 or newer there"),
            ("archive", f"it has no {archive}: copy it there with ansible/pfc_generator.yml"
                        " (pfc_generator_state=copied)"),
            ("packets", "its login may not send frames: expected root, or a Python with CAP_NET_RAW"),
            ("interface", _reason(found["interface"])),
        ):
            if found[name].status:
                raise QualificationError(f"pause source {self._port.host}: {sentence}")

    def start(self, plan: FlowPlan) -> None:
        """Starts a storm; when this returns, frames have left the interface. What a cut call left is ended first.

        Raises:
            QualificationError: it does not run; the sentence has pfctest's reason.
        """
        assert plan.pause is not None, f"flow {plan.name} is no storm"
        for name, left in self._storms.items():
            if left.ended_s is None and (left.adrift or name == plan.name):
                self._stop(left)
        self._begun += 1
        storm = self._storms[plan.name] = _Storm(self._begun, self._clock.now())
        seconds = plan.seconds or max(plan.needed_s, LEAST_DURATION_S)
        command = self._command([*frame_options(plan.pause), f"--rate={plan.fps}", f"--duration={seconds:g}", "--json"])
        found = self._run({"start": f"""{PROCESS}
{SENT}
name={quote(self._port.interface)}; before=$(sent)
rm -f {self._file(storm, "pid")}
setsid {command} >{self._file(storm, "json")} 2>{self._file(storm, "txt")} </dev/null &
echo "$! $(born $!)" | tee {self._file(storm, "pid")}
for poll in $(seq {POLLS}); do
  [ "$(sent)" = "$before" ] && alive $! || break
  sleep {POLL_S}
done
alive $! || exit {DEAD}
[ "$(sent)" != "$before" ]""", "errors": f"cat {self._file(storm, 'txt')}"})
        known = re.search(r"^(\d+) (\d+)$", found["start"].text, re.MULTILINE)
        if known is not None:
            storm.pid, storm.born = known.groups()
        if found["start"].status or known is None:
            raise QualificationError(f"pause source {self._port.where}: no storm: {_why_not(found)}")
        storm.adrift = False

    def stop(self, names: Iterable[str]) -> None:
        """Stops storms, each of which sends its quanta-0 frames; whatever becomes of one, the others are stopped too.

        Raises:
            QualificationError: one did not end, and was killed.
        """
        errors = []
        for storm in [self._storms[name] for name in names if name in self._storms]:
            if storm.ended_s is None:
                try:
                    self._stop(storm)
                except QualificationError as error:
                    errors.append(error)
        if errors:
            raise errors[0]

    def statistics(self, plan: FlowPlan) -> HostStorm:
        """Whether a storm runs, by its process on the host, and what it said when it ended."""
        storm = self._storms.get(plan.name)
        if storm is None:
            return HostStorm(plan, False, 0, 0, source=self._port.where)
        running = storm.ended_s is None and self._runs(storm)
        ended_s = self._clock.now() if storm.ended_s is None else storm.ended_s
        return HostStorm(plan, running, 0, 0, source=self._port.where, lasted_s=ended_s - storm.began_s,
                         report=storm.report)

    def probe(self, priorities: Sequence[int]) -> None:
        """Sends 100 PFC frames for 1 quantum in 0.1 s.

        Raises:
            QualificationError: they could not be sent; the sentence has pfctest's reason.
        """
        found = self._run({"probe": self._command(probe_options(priorities))})["probe"]
        if found.status:
            raise QualificationError(f"pause source {self._port.where}: {_reason(found)}")

    def _stop(self, storm: _Storm) -> None:
        """Ends one; its id is what the host noted, where the call that started it was cut."""
        storm.adrift = True
        found = self._run({"stop": f"""{PROCESS}
set -- {storm.pid} {storm.born}
[ $# = 2 ] || set -- $(cat {self._file(storm, "pid")} 2>/dev/null)
[ $# = 2 ] && [ "$(born $1)" = $2 ] && alive $1 || exit 0
kill -TERM $1
for poll in $(seq {POLLS}); do
  alive $1 || exit 0
  sleep {POLL_S}
done
kill -KILL $1
echo $1
exit 1""", "report": f"cat {self._file(storm, 'json')}",
                           "remove": f"rm -f {' '.join(self._file(storm, kind) for kind in ('json', 'txt', 'pid'))}"})
        storm.ended_s = self._clock.now()
        if found["stop"].status:
            raise QualificationError(
                f"pause source {self._port.where}: the storm (process {first_line(found['stop'].text)}) did not end"
                f" within {POLLS * POLL_S:g} s and was killed: what it paused opens when its last quanta have run out"
            )
        storm.report = _report(found["report"].text)

    def _runs(self, storm: _Storm) -> bool:
        if not storm.pid:
            return False
        look = f'{PROCESS}\n[ "$(born {storm.pid})" = {storm.born} ] && alive {storm.pid}'
        return self._run({"look": look})["look"].status == 0

    def _run(self, commands: Mapping[str, str]) -> dict[str, Output]:
        try:
            return run_batch(self._host, commands)
        except BatchBroken as error:
            raise QualificationError(
                f"pause source {self._port.where}: the storm's {error.name} did not end: {error.said}"
            ) from error

    def _command(self, options: Sequence[str]) -> str:
        return f"{quote(self._port.python)} {self._path('pfctest.pyz')} {self._options(options)}"

    def _options(self, options: Sequence[str]) -> str:
        return join([f"--device={self._port.interface}", f"--speed={self._speed_mbps}M", *options])

    def _path(self, name: str) -> str:
        return quote(f"{self._port.folder}/{name}")

    def _file(self, storm: _Storm, kind: str) -> str:
        """On the host: what a storm said (`json`), what was wrong with it (`txt`), its process (`pid`)."""
        return self._path(f"{self._port.interface}-{storm.number}.{kind}")


def _why_not(found: Mapping[str, Output]) -> str:
    """Why a storm did not start: it ended, or sends nothing."""
    if found["start"].status == DEAD:
        said = found["errors"].text.strip()
        return _reason(found["errors"]) if said else "pfctest ended without a word"
    return f"it has sent no frame within {POLLS * POLL_S:g} s"


def _reason(output: Output) -> str:
    """What pfctest said was wrong: its last line."""
    lines = [line for line in output.text.splitlines() if line.strip()]
    return (lines[-1] if lines else f"it ended with status {output.status}").removeprefix("error: ")


def _report(text: str) -> Mapping[str, Any]:
    """What pfctest printed; empty where it is no JSON."""
    try:
        found = json.loads(first_line(text) if text.strip() else "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
