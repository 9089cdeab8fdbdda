"""Reads one switch through its command line. Several commands go in one call: a call over SSH costs 0.3 to 0.5 s."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from ..model.counters import DutCounters
from ..model.errors import BatchBroken, QualificationError, SwitchUnreachable
from ..model.ports import PortState
from ..model.qos import ConfigDb
from . import cli_text
from .observer import RunObserver
from .reservation import Reservation

MARK = "@@pfc-qualification@@"
WATCHDOG_STATISTICS = "pfcwd show stats"
READ_CONFIG = "sonic-cfggen -d --print-data"
READ_TRAITS = (
    "exec 2>/dev/null;"
    " cat /usr/share/sonic/device/$(sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' platform)/platform_asic;"
    " echo dlr:$(sonic-db-cli STATE_DB HGET 'SWITCH_CAPABILITY|switch' PFC_DLR_INIT_CAPABLE)"
    " recovery:$(sonic-db-cli STATE_DB HGET 'PFC_WD_STATE_TABLE|PFC_WD' RECOVERY_MECHANISM)"
)
"""A shell command: prints what else tells an ASIC, so far as it is known: `broadcom-dnx dlr:true recovery:hardware`."""


class Host(Protocol):
    """What is needed of a switch's host object (sonic-mgmt's and this project's own have it)."""

    hostname: str

    def shell(self, command: str, **options: Any) -> Mapping[str, Any]:
        """Runs `command` as root in a shell on the switch; the answer has `stdout` and `rc`."""


@dataclass(frozen=True)
class Output:
    """What one command of a batch printed (stdout and stderr) and its exit status."""

    text: str
    status: int

    @property
    def shown(self) -> str:
        """What it printed, and its exit status where that is not 0."""
        return f"{self.text}\nexit status {self.status}" if self.status else self.text


@dataclass(frozen=True)
class SwitchState:
    """What a switch is and how it is configured, read once before anything changes. `asic` has all that tells ASICs
    apart: `asic_type switch_type platform`, what `READ_TRAITS` printed."""

    device: str
    config_db: ConfigDb
    interfaces: Mapping[str, PortState]
    os_version: str
    hwsku: str
    asic: str
    serial: str = ""


def run_batch(host: Host, commands: Mapping[str, str]) -> dict[str, Output]:
    """Runs several commands in one call, by a name for each; one runs whatever became of those before it.

    Raises:
        SwitchUnreachable: the switch cannot be reached.
        BatchBroken: the shell did not get through all of them.
    """
    script = "\n".join(
        f"( {command}\n) 2>&1; printf '\\n%s %s %d\\n' '{MARK}' '{name}' $?" for name, command in commands.items()
    )
    answer = _shell(host, script)
    outputs: dict[str, Output] = {}
    lines: list[str] = []
    for line in str(answer.get("stdout", "")).splitlines():
        if line.startswith(MARK):
            _, name, status = line.split()
            outputs[name] = Output("\n".join(lines), int(status))
            lines = []
        else:
            lines.append(line)
    missing = [name for name in commands if name not in outputs]
    if missing:
        said = cli_text.first_line(
            str(answer.get("stderr") or answer.get("msg") or answer.get("stdout") or "no output")
        )
        raise BatchBroken(host.hostname, missing[0], commands[missing[0]].strip(), said)
    return outputs


def _shell(host: Host, script: str) -> Mapping[str, Any]:
    try:
        return host.shell(script, module_ignore_errors=True)
    except Exception as error:  # each host layer has its own for a switch that went away
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SwitchUnreachable(reason if host.hostname in reason else f"{host.hostname}: {reason}") from error


def checked(host: Host, name: str, outputs: Mapping[str, Output]) -> str:
    """The text of a batch's command; raises QualificationError where its exit status was not 0."""
    output = outputs[name]
    if output.status:
        raise QualificationError(
            f"{host.hostname}: `{name}` ended with status {output.status}: {cli_text.first_line(output.text)}"
        )
    return output.text


class Dut:
    """The device under test."""

    def __init__(
        self, host: Host, observers: Sequence[RunObserver] = (), reservation: Reservation | None = None
    ) -> None:
        """A switch; `observers` look on at what its commands print. `reservation`: this run's hold on the switch,
        checked and renewed with every reading; None: the switch is only read, nothing is changed."""
        self.host = host
        self.name = host.hostname
        self.reservation = reservation
        self.observers = observers

    def state(self) -> SwitchState:
        """Reads configuration, ports and version; raises QualificationError where a command failed or printed something
        unexpected, or the switch has several ASICs."""
        asked = {"config": READ_CONFIG, "traits": READ_TRAITS,
                 "ports": "show interfaces status", "version": "show version"}
        outputs = run_batch(self.host, asked)
        config_db = parse_config_db(self.host, checked(self.host, "config", outputs))
        version = cli_text.version_fields(checked(self.host, "version", outputs))
        if (asics := version.get("ASIC Count", "1")) not in ("0", "1", cli_text.NOT_COUNTED):
            raise QualificationError(f"{self.name}: it has {asics} ASICs, each with databases of its own; expected one")
        own = config_db.get("DEVICE_METADATA", {}).get("localhost", {})
        traits = checked(self.host, "traits", outputs).lower().replace('"', "").split()
        known = (trait for trait in traits if not trait.endswith((":", ":none")))
        names = (version.get("ASIC", "unknown"), own.get("switch_type"), own.get("platform"), *known)
        return SwitchState(
            device=self.name,
            config_db=config_db,
            interfaces=cli_text.interface_states(checked(self.host, "ports", outputs)),
            os_version=version.get("SONiC Software Version", "unknown"),
            hwsku=str(own.get("hwsku", version.get("HwSKU", "unknown"))),
            asic=" ".join(filter(None, names)),
            serial=version.get("Serial Number", ""),
        )

    def ask(self, commands: Mapping[str, str]) -> dict[str, str]:
        """Runs commands as this run, in one call: name -> what each printed.

        Raises:
            ReservationLost: the switch is not this run's any more.
            QualificationError: a command failed.
        """
        held = {} if self.reservation is None else {"held": self.reservation.check()}
        outputs = run_batch(self.host, held | dict(commands))
        for observer in self.observers:
            observer.commands_run(self.name, commands, {name: outputs[name].shown for name in commands})
        if self.reservation is not None and outputs["held"].status:
            raise self.reservation.loss(self.name, outputs["held"].text)
        return {name: checked(self.host, name, outputs) for name in commands}

    def guarded(self, command: str) -> str:
        """A command that changes something, to be run only for as long as the switch is this run's."""
        return command if self.reservation is None else f"{{ {self.reservation.still_ours()}; }} || exit 1; {command}"

    def counters(
        self, queues_of: Sequence[str] = (), also: Mapping[str, str] = MappingProxyType({}),
        statistics: str = WATCHDOG_STATISTICS,
    ) -> DutCounters:
        """Reads the counters of all ports, and those of the queues of some. `also`: further commands, which are run in
        the same call, after `statistics` has printed those of the watchdog and before anything else.

        Raises:
            ReservationLost: the switch is not this run's any more.
            QualificationError: a command failed, or a counter is `N/A`.
        """
        own = {
            "pfc": "show pfc counters",
            "rows": "sonic-db-cli CONFIG_DB KEYS 'PFC_WD|*'",
            "ports": "show interfaces status",
        }
        if queues_of:  # of several ports it is faster to ask for all
            own["queues"] = f"show queue counters {queues_of[0] if len(queues_of) == 1 else ''}".strip()
        assert not {"watchdog", *own} & set(also), f"names of further commands that are taken: {', '.join(also)}"
        text = self.ask({"watchdog": statistics, **also, **own})
        rows = (key.split("|")[-1] for key in text["rows"].split() if key.startswith("PFC_WD|"))
        return DutCounters(
            pfc_rx=cli_text.pfc_counters(text["pfc"], "Rx"),
            pfc_tx=cli_text.pfc_counters(text["pfc"], "Tx"),
            queues={port: cli_text.queue_packets(text["queues"], port) for port in queues_of},
            watchdog=cli_text.watchdog_rows(text["watchdog"]),
            watchdog_ports=tuple(sorted(row for row in rows if row != "GLOBAL")),
            interfaces=cli_text.interface_states(text["ports"]),
            printed={name: text[name] for name in also},
        )


def parse_config_db(host: Host, text: str) -> ConfigDb:
    """CONFIG_DB as `sonic-cfggen -d --print-data` prints it; raises QualificationError where that is no JSON object."""
    try:
        config_db: ConfigDb = {**json.loads(text)}
    except (TypeError, ValueError) as error:
        raise QualificationError(
            f"{host.hostname}: `sonic-cfggen -d --print-data` printed no JSON object: {cli_text.first_line(text)!r}"
        ) from error
    return config_db
