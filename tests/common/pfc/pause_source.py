"""Pause storms from a host on the cable of the port under test instead of from the traffic generator.

`HostSource` runs `pfctest` there, one process a storm. Each ends by itself after its `--duration`, so a killed run
leaves nothing paused for longer, and ends with quanta 0. What the host says of the frames that it sent is nothing that
a verdict rests on; `validity.storm_unbroken` says what alone is asked of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from shlex import join, quote
from typing import Any, Protocol

from .dut import Host, Output, run_batch
from .errors import QualificationError
from .pause_entry import HostPort
from .pause_options import frame_options, probe_options
from .polling import Clock
from .sonic_text import first_line
from .traffic import FlowPlan, FlowStats

LEAST_DURATION_S = 60.0  # as of a flow of a storm on hardware (`conditions`)
RELEASES = 3  # quanta-0 frames at a storm's end
POLLS, POLL_S = 200, 0.05  # 10 s for a process to begin to send, or to end
PROCESS = """alive() { case "$(sed 's/.*) //' /proc/$1/stat 2>/dev/null)" in ''|Z*) return 1;; esac; }
born() { sed 's/.*) //' /proc/$1/stat 2>/dev/null | cut -d' ' -f20; }
"""
"""Whether a process is there and no zombie; and when it was started, which no other of the same id has in common."""
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
    def open_s(self) -> float:
        """For how long the sender itself says that it left the queue open; 0 where it says nothing."""
        return float(self.report.get("open_share") or 0.0) * float(self.report.get("elapsed_s") or 0.0)

    def evidence(self) -> dict[str, Any]:
        """For the record."""
        said = {name: self.report[name] for name in KEPT if name in self.report}
        return {"source": self.source, "lasted_s": self.lasted_s, "not_judged": said}


class PauseSource(Protocol):
    """What starts and stops storms, and says whether they run."""

    def start(self, plan: FlowPlan) -> None:
        """Starts a storm; it sends when this returns."""

    def stop(self, names: Iterable[str]) -> None:
        """Stops storms that were started; they send no more when this returns."""

    def ask(self, plan: FlowPlan) -> HostStorm:
        """What is known of a storm."""

    def probe(self, priorities: Sequence[int]) -> None:
        """Sends a few PFC frames that a switch counts and that pause nothing to speak of."""


@dataclass
class _Storm:
    """A storm's process: its number here, when it was begun, its id and when the kernel says that it was started; and
    when it had ended, with what it said."""

    number: int
    began_s: float
    pid: str = ""
    born: str = ""
    ended_s: float | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


class HostSource:
    """Storms from one interface of a host."""

    def __init__(self, host: Host, port: HostPort, speed_mbps: int, clock: Clock) -> None:
        """`host` is an Ansible host object whose `shell` runs as root; `speed_mbps` is the speed of the cable."""
        self._host, self._port, self._clock, self._speed_mbps = host, port, clock, speed_mbps
        self._storms: dict[str, _Storm] = {}
        self._begun = 0

    def check(self) -> None:
        """Whether the host can send storms.

        Raises:
            QualificationError: it cannot; the sentence says what is missing.
        """
        python, archive = quote(self._port.python), self._path("pfctest.pyz")
        packets = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
        found = run_batch(self._host, {
            "python": f"{python} -c 'import sys; sys.exit(sys.version_info < (3, 8))'",
            "archive": f"test -f {archive}",
            "packets": f"{python} -c {quote(packets)}",
            "interface": self._command(["--priority=3", "--duration=1", "--dry-run"]),
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
        """Starts a storm; when this returns, frames have left the interface.

        Raises:
            QualificationError: it does not run; the sentence has pfctest's reason.
        """
        assert plan.pause is not None, f"flow {plan.name} is no storm"
        self._begun += 1
        storm = self._storms[plan.name] = _Storm(self._begun, self._clock.now())
        seconds = plan.seconds or max(plan.needed_s, LEAST_DURATION_S)
        command = self._command([*frame_options(plan.pause), f"--rate={plan.fps}", f"--duration={seconds:g}", "--json"])
        found = run_batch(self._host, {"start": f"""{PROCESS}
sent() {{ awk -v name={quote(self._port.interface)} '{{ sub(/:/, " ") }} $1 == name {{ print $11 }}' /proc/net/dev; }}
before=$(sent)
setsid {command} >{self._output(storm)} 2>{self._errors(storm)} </dev/null &
for poll in $(seq {POLLS}); do
  [ "$(sent)" = "$before" ] && alive $! || break
  sleep {POLL_S}
done
echo "$! $(born $!)"
alive $!""", "errors": f"cat {self._errors(storm)}"})
        if found["start"].status:
            raise QualificationError(f"pause source {self._port.where}: no storm: {_reason(found['errors'])}")
        storm.pid, storm.born = found["start"].text.split()[-2:]

    def stop(self, names: Iterable[str]) -> None:
        """Stops storms, each of which sends its quanta-0 frames; whatever becomes of one, the others are stopped too.

        Raises:
            QualificationError: one did not end, and was killed.
        """
        errors = []
        for storm in [self._storms[name] for name in names if name in self._storms]:
            if storm.ended_s is None and storm.pid:
                try:
                    self._stop(storm)
                except QualificationError as error:
                    errors.append(error)
        if errors:
            raise errors[0]

    def ask(self, plan: FlowPlan) -> HostStorm:
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
        found = run_batch(self._host, {"probe": self._command(probe_options(priorities))})["probe"]
        if found.status:
            raise QualificationError(f"pause source {self._port.where}: {_reason(found)}")

    def _stop(self, storm: _Storm) -> None:
        found = run_batch(self._host, {"stop": f"""{PROCESS}
[ "$(born {storm.pid})" = {storm.born} ] && alive {storm.pid} || exit 0
kill -TERM {storm.pid}
for poll in $(seq {POLLS}); do
  alive {storm.pid} || exit 0
  sleep {POLL_S}
done
kill -KILL {storm.pid}
exit 1""", "report": f"cat {self._output(storm)}"})
        storm.ended_s = self._clock.now()
        if found["stop"].status:
            raise QualificationError(
                f"pause source {self._port.where}: the storm (process {storm.pid}) did not end within"
                f" {POLLS * POLL_S:g} s and was killed: what it paused opens when its last quanta have run out"
            )
        storm.report = _report(found["report"].text)

    def _runs(self, storm: _Storm) -> bool:
        look = f'{PROCESS}\n[ "$(born {storm.pid})" = {storm.born} ] && alive {storm.pid}'
        return run_batch(self._host, {"look": look})["look"].status == 0

    def _command(self, options: Sequence[str]) -> str:
        words = [f"--device={self._port.interface}", f"--speed={self._speed_mbps}M", *options]
        return f"{quote(self._port.python)} {self._path('pfctest.pyz')} {join(words)}"

    def _path(self, name: str) -> str:
        return quote(f"{self._port.folder}/{name}")

    def _output(self, storm: _Storm) -> str:
        return self._path(f"{self._port.interface}-{storm.number}.json")

    def _errors(self, storm: _Storm) -> str:
        return self._path(f"{self._port.interface}-{storm.number}.txt")


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
