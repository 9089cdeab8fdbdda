"""What tells of a cable: how often its link changed, and how many frames it spoiled, as both of its ends have it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..lab.lab import Lab

FLAPS = "flap_count"
"""Field of a port in APPL_DB: how often its link came up or went down (sonic-swss `portsorch.cpp`,
`updateDbPortFlapCount`). A switch that does not have it says nothing of its links."""
SPOILED = "SAI_PORT_STAT_IF_IN_ERRORS"
NONE = "-"
"""Of a port that has no such field."""
READ_FLAPS = (
    "local found = {} for place, port in ipairs(ARGV) do"
    f" found[place] = redis.call('HGET', 'PORT_TABLE:' .. port, '{FLAPS}') or '{NONE}' end return found"
)
READ_SPOILED = (
    "local found = {} for place, port in ipairs(ARGV) do"
    " local key = redis.call('HGET', 'COUNTERS_PORT_NAME_MAP', port)"
    f" found[place] = key and redis.call('HGET', 'COUNTERS:' .. key, '{SPOILED}') or '{NONE}' end return found"
)
"""Redis scripts that answer a line for each port: a call of `sonic-db-cli` for each takes seconds on a whole switch."""


@dataclass(frozen=True)
class Soundness:
    """What both ends of a cable have counted so far.

    Attributes:
        flaps: how often the link came up or went down, as the switch has it.
        spoiled_to_switch: frames with errors that the switch received.
        spoiled_to_generator: frames with a wrong FCS that the traffic generator received.
    """

    flaps: int = 0
    spoiled_to_switch: int = 0
    spoiled_to_generator: int = 0

    def since(self, before: Soundness) -> Soundness:
        """What came after an earlier look; a count that was cleared in between is what came after that."""
        now = {field.name: getattr(self, field.name) for field in fields(self)}
        gains = {name: count - getattr(before, name) for name, count in now.items()}
        return Soundness(**{name: gain if gain >= 0 else now[name] for name, gain in gains.items()})


def look(labs: Sequence[Lab]) -> dict[str, Soundness]:
    """Switch port -> what is known of its cable, of all ports that the traffic of these labs goes through.

    Args:
        labs: of ports of one switch, with one traffic generator.

    Raises:
        QualificationError: the switch does not answer.
    """
    names = {port: [one.builder.port_name(port) for one in labs] for lab in labs for port in lab.subject.ports}
    ports = " ".join(names)
    printed = labs[0].dut.ask({
        "flaps": f"sonic-db-cli APPL_DB EVAL {shlex.quote(READ_FLAPS)} 0 {ports}",
        "spoiled": f"sonic-db-cli COUNTERS_DB EVAL {shlex.quote(READ_SPOILED)} 0 {ports}",
    })
    flaps = dict(zip(names, printed["flaps"].splitlines()))
    spoiled = dict(zip(names, printed["spoiled"].splitlines()))
    crc_errors = _crc_errors(labs[0].generator.api, names)
    return {
        port: Soundness(_number(flaps.get(port, NONE)), _number(spoiled.get(port, NONE)), crc_errors.get(port, 0))
        for port in names
    }


def _number(text: str) -> int:
    """A field that is a number; one that is not there counts nothing."""
    found = re.fullmatch(r"[0-9]+", text.strip())
    return int(found[0]) if found else 0


def _crc_errors(api: Any, names: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Switch port -> frames with a wrong FCS that its generator received, where the generator counts them.

    Args:
        api: of the traffic generators; IxNetwork's has `crc_errors`, OTG has no such counter.
        names: switch port -> the names that its generator port may have.
    """
    counted: Mapping[str, int] = api.crc_errors() if hasattr(api, "crc_errors") else {}
    return {port: sum(counted.get(name, 0) for name in set(known)) for port, known in names.items()}


def unsound(port: str, cable: Soundness, malformed: bool) -> Iterable[str]:
    """What is wrong with a cable, in words.

    Args:
        port: the switch port at one end of it.
        cable: what its ends counted meanwhile.
        malformed: whether frames were sent to the port that a switch may count as errors, whatever the cable.
    """
    if cable.spoiled_to_generator:
        yield f"the cable of {port} has CRC errors: {cable.spoiled_to_generator} counted by the traffic generator"
    if cable.spoiled_to_switch and not malformed:
        yield f"the cable of {port} has errors: {cable.spoiled_to_switch} frames counted by the switch as received so"
    if cable.flaps:
        yield f"the link of {port} went down and up: {cable.flaps} changes counted by the switch"
