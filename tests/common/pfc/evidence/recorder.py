"""Records what a run sends, reads and captures, as evidence: files, and a timeline of what happened."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any

from ..lab.clock import Clock
from ..lab.observer import RunObserver
from ..model.errors import QualificationError
from ..model.traffic import FlowPlan, FlowStats
from ..record.records import SOFTWARE
from .files import EvidenceFiles, Section
from .pfc_readings import COUNTERS, PfcReadings
from .timeline import Timeline

SECRET_TABLES = ("SNMP_COMMUNITY", "SNMP_USER", "NTP_KEY", "MACSEC_PROFILE", "USER")
"""Tables of CONFIG_DB with credentials in their keys or in fields of any name."""
SECRET_FIELD = re.compile(
    r"pass(key|wd|word|phrase)|secret|community|token|hmac|_cak$"
    r"|((auth|md5|sha|private|shared)[a-z0-9_-]*key|key[_-]?string)(?![_-]?id)", re.IGNORECASE)
CONFIGURATION = "sonic-cfggen"
LOOKS = 2  # readings of flow statistics while data is sent in a storm
LEFT_OUT = "left out: a credential"
PCAPNG = b"\x0a\x0d\x0d\x0a"  # the block type that such a file begins with


class EvidenceRecorder(RunObserver):
    """Gathers the evidence of one run. One that has no files keeps the timeline only."""

    def __init__(self, files: EvidenceFiles | None = None) -> None:
        """`files` takes what is worth a file."""
        self._files = files
        self._session = files.section("session") if files else None
        self._standing: list[Section] = []
        self._section: Section | None = None
        self._latest: dict[str, tuple[str | None, str]] = {}  # switch -> the file of its counters, or why there is none
        self._before: list[tuple[str | None, str]] = []
        self._timeline = Timeline()
        self._pfc = PfcReadings()
        self._clock: Clock | None = None

    def measured_by(self, clock: Clock) -> None:
        """The clock by which readings of the switch's counters get their time."""
        self._clock = clock

    def measurement_started(self, name: str, for_all: bool = False) -> None:
        """A measurement begins. The latest reading of each switch's counters is the one before it.

        Args:
            name: what it is, with its port.
            for_all: what is kept from here on is evidence of all measurements that follow, too.
        """
        self._timeline = Timeline()
        self._pfc.begin()
        self._before = list(self._latest.values())
        self._section = self._files.section(name) if self._files else None
        if for_all and self._section is not None:
            self._standing.append(self._section)

    def evidence(self, flows_of: str = "") -> dict[str, Any]:
        """What the record of the measurement says of it: `files`, `files_missing` and `timeline`, each where there is
        some.

        Args:
            flows_of: how the names of the flows end that the timeline is about; empty: of all.
        """
        sections = [one for one in (self._session, *self._standing, self._section) if one is not None]
        own = {id(section): section for section in sections}.values()
        names = [name for section in own if section is not self._section for name in section.names]
        names += [name for name, _ in self._before if name is not None]
        names += self._section.names if self._section else ()
        lacks = [lack for name, lack in self._before if name is None]
        found = {
            "files": list(dict.fromkeys(names)),
            "files_missing": list(dict.fromkeys([*lacks, *(lack for section in own for lack in section.lacks)])),
            "timeline": self._with_pfc(self._timeline.evidence(flows_of)),
        }
        return {name: value for name, value in found.items() if value}

    def _with_pfc(self, timeline: dict[str, Any]) -> dict[str, Any]:
        """A timeline with what the switches counted meanwhile; without readings of flows there is none."""
        counters = self._pfc.evidence(self._timeline.first_s) if timeline else []
        return timeline | ({"pfc_counters": counters} if counters else {})

    def lost(self) -> Sequence[str]:
        """Why files could not be written."""
        return self._files.lost if self._files else ()

    def notes(self) -> Sequence[str]:
        """What was left out because it is too large."""
        return self._files.notes if self._files else ()

    def session_started(self) -> None:
        """The versions of everything that measures are kept."""
        if self._session is not None:
            packages = sorted({f"{one.metadata['Name']}=={one.version}" for one in metadata.distributions()})
            system = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
            lines = [SOFTWARE, system, *packages]
            self._session.keep("versions", ".txt", "".join(f"{line}\n" for line in lines).encode())

    def configuration_read(self, device: str, moment: str, config_db: Mapping[str, Any]) -> None:
        """The whole CONFIG_DB of a switch was read; credentials in it are left out.

        Args:
            device: the switch.
            moment: `before` or `after`.
            config_db: what `sonic-cfggen -d --print-data` printed.
        """
        if self._session is not None:
            text = _as_text(config_db)
            self._session.keep(f"{device}-configuration-{moment}", ".json", text.encode(), shared=False)

    def commands_run(self, device: str, commands: Mapping[str, str], texts: Mapping[str, str]) -> None:
        """A switch's commands were run in one call; `texts` is what each of `commands` printed."""
        if self._clock is not None:
            self._pfc.read(device, commands, texts, self._clock.moment())
        if self._section is None:
            return
        parts = [f"{device}# {commands[name]}\n{_cleaned(commands[name], text).strip()}\n"
                 for name, text in texts.items()]
        counters = COUNTERS in commands.values()
        what = f"{device}-{'counters' if counters else 'commands'}"
        kept = self._section.keep(what, ".txt", "\n".join(parts).encode())
        if counters:
            self._latest[device] = (kept, "" if kept else self._section.lacks[-1])

    def data_in_storm(self, clock: Clock, read: Callable[[], object], seconds: float) -> None:
        """Reads statistics for the timeline after the first and second quarter of this time: a reading that fails, or
        takes long, changes nothing."""
        for _ in range(LOOKS):
            clock.sleep(seconds / 4)
            with suppress(QualificationError):
                read()

    def capture_read(self, data: bytes) -> None:
        """A traffic generator port's capture has ended."""
        if self._section is not None:
            self._section.keep("capture", ".pcapng" if data.startswith(PCAPNG) else ".pcap", data)

    def traffic_pushed(self, flows: Iterable[FlowPlan], config: Any, now_s: float) -> None:
        """A traffic configuration is sent to the generators."""
        self._timeline.pushed(flows, now_s)
        if self._section is None:
            return
        try:
            text = str(config.serialize())
        except Exception as error:  # snappi raises plain Exception
            self._section.lacks.append(f"a traffic configuration is not kept, snappi cannot write it: {error}")
            return
        self._section.keep("traffic", ".json", f"{text}\n".encode())

    def flows_started(self, flows: Sequence[FlowPlan], now_s: float) -> None:
        """Flows are started."""
        self._timeline.started(flows, now_s)

    def flows_stopped(self, names: Sequence[str], now_s: float) -> None:
        """Flows were told to stop; no names: all."""
        self._timeline.stopped(names, now_s)

    def statistics_read(self, stats: Mapping[str, FlowStats], now_s: float) -> None:
        """Flow statistics were read."""
        self._timeline.counted(stats, now_s)


def _cleaned(command: str, text: str) -> str:
    """What a command printed, without credentials: only a configuration has any."""
    if CONFIGURATION not in command:
        return text
    try:
        return _as_text(json.loads(text))
    except ValueError:
        return "left out: no JSON, so it may have credentials"


def _as_text(config_db: Any) -> str:
    return json.dumps(without_credentials(config_db), indent=1, sort_keys=True) + "\n"


def without_credentials(document: Any) -> Any:
    """CONFIG_DB, or a part of it, with every credential replaced by a text that says so."""
    if not isinstance(document, dict):
        return document
    return {
        name: LEFT_OUT if name in SECRET_TABLES or SECRET_FIELD.search(str(name)) else without_credentials(value)
        for name, value in document.items()
    }
