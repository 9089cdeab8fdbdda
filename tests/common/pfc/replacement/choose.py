"""Which switch is measured for a device under test. Facts in, a choice or one sentence out.

Pause frames are link-local (802.1D forwards nothing to 01-80-C2-00-00-01): those of a traffic generator end at the T0
that it is connected to and never reach the T1 behind it. What a T1 does with them is measured on a replacement: a T0 of
the same HwSKU and build with a traffic generator behind every port. The testbed's entry names the switches that may
replace a T1: `replacements: {vtb-t1-01: [vtb-t1-rep-01]}`; they are among its switches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.errors import QualificationError
from ..model.ports import ConnectedPort, Links, natural
from ..lab.dut import SwitchState
from ..lab.port_plan import StateOf

KEY = "replacements"
T0_ROLES = ("ToRRouter", "BackEndToRRouter")
T1_ROLES = ("LeafRouter", "BackEndLeafRouter")
# PORT rows of a chassis' inner side carry one of these roles; no cable can be plugged in there
INNER_PORTS = ("Int", "Inb", "Rec", "Dpc")
PORTS_NAMED = 3


@dataclass(frozen=True)
class DeviceFacts:
    """What is compared of a switch; texts are empty where it does not say.

    Attributes:
        name: of the switch.
        role: `type` of DEVICE_METADATA, e.g. `LeafRouter`.
        hwsku, platform: its model.
        build: the version of its image, as `show version` prints it.
        ports: its front-panel ports, in natural order.
    """

    name: str
    role: str
    hwsku: str
    platform: str
    build: str
    ports: tuple[str, ...]


def choose_device(
    testbed: Mapping[str, Any], device: str, state_of: StateOf, ports: Sequence[ConnectedPort], links: Links
) -> SwitchState:
    """Chooses what is measured for a device under test: a T1's replacement, any other device itself.

    Args:
        testbed: the testbed's entry (`tbinfo`).
        device: the device under test.
        state_of: reads a switch of the testbed; of those that may replace a T1 each is read until one fits.
        ports: every port of the testbed's switches that the links file connects to a traffic generator. Whether a link
            is up is not asked: some generators light their ports only when a configuration is set.
        links: `device_conn` of `conn_graph_facts`: switch -> port -> `peerdevice`.

    Raises:
        QualificationError: a T1 without a replacement that fits; the sentence says what each one lacks.
    """
    state = state_of(device)
    facts = device_facts(state)
    names = replacements_of(testbed, device)
    if facts.role not in T1_ROLES:
        _check_no_replacement(facts, names)
        return state
    _check_comparable(facts)
    _check_named(testbed, facts, names)
    reasons: list[str] = []
    for name in names:
        try:
            candidate = state_of(name)
        except QualificationError as error:
            reasons.append(str(error))
            continue
        lacks = mismatch(facts, device_facts(candidate), ports, links.get(name, {}))
        if lacks is None:
            return candidate
        reasons.append(lacks)
    found = "; ".join(reasons)
    raise QualificationError(f"{_unreached(facts)}, and none of its replacements fits: {found}; {_right(facts)}")


def device_facts(state: SwitchState) -> DeviceFacts:
    """What a switch's state says of it."""
    metadata = state.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    rows = state.config_db.get("PORT", {})
    outer = [port for port, row in rows.items() if row.get("role") not in INNER_PORTS]
    return DeviceFacts(
        name=state.device,
        role=str(metadata.get("type", "")),
        hwsku=_known(state.hwsku),
        platform=_known(str(metadata.get("platform", ""))),
        build=_known(state.os_version),
        ports=tuple(sorted(outer, key=natural)),
    )


def replacements_of(testbed: Mapping[str, Any], device: str) -> tuple[str, ...]:
    """The switches that a testbed's entry names as replacements of a device, in its order.

    Raises:
        QualificationError: the key is not of the form `{T1: [T0, ...]}` (one T0 may stand without a list).
    """
    value = testbed.get(KEY) or {}
    if not isinstance(value, Mapping):
        raise QualificationError(
            f"testbed {_name(testbed)}: {KEY} is {value!r}, it takes a dictionary of T1 and T0s, e.g. "
            f"{{{device}: [NAME OF A T0]}}"
        )
    names = value.get(device) or []
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise QualificationError(f"testbed {_name(testbed)}: {KEY} of {device} is {names!r}, it takes names of T0s")
    return tuple(names)


def mismatch(
    t1: DeviceFacts, t0: DeviceFacts, ports: Sequence[ConnectedPort], cables: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """The first thing that keeps a switch from replacing a T1, as a clause that names what was found; None: it fits.

    Args:
        t1: the T1.
        t0: the switch that may replace it.
        ports: every port with a traffic generator behind it.
        cables: what is at the other ends of the switch's cables: port -> `peerdevice`.
    """
    if t0.role not in T0_ROLES:
        return f"{t0.name} is {f'of type {t0.role}' if t0.role else 'of no type'}, no T0 ({T0_ROLES[0]})"
    found = {"HwSku": (t0.hwsku, t1.hwsku), "platform": (t0.platform, t1.platform), "build": (t0.build, t1.build)}
    for what, (its, wanted) in found.items():
        if its != wanted:
            return f"{t0.name} has {what} {its or '(none)'}, not {wanted or '(none)'}"
    if not t0.ports:
        return f"{t0.name} has no port in CONFIG_DB"
    behind = {port.port for port in ports if port.device == t0.name}
    missing = [port for port in t0.ports if port not in behind]
    return f"{t0.name} has {_without_generator(missing, len(t0.ports), cables)}" if missing else None


def _without_generator(missing: Sequence[str], total: int, cables: Mapping[str, Mapping[str, Any]]) -> str:
    named = [f"{port} ({_other_end(cables.get(port, {}))})" for port in missing[:PORTS_NAMED]]
    more = [f"{len(missing) - PORTS_NAMED} more"] if len(missing) > PORTS_NAMED else []
    return f"no traffic generator behind {len(missing)} of its {total} ports: {', '.join(named + more)}"


def _other_end(cable: Mapping[str, Any]) -> str:
    peer = cable.get("peerdevice")
    return f"leads to {peer}" if peer else "no cable"


def _check_no_replacement(facts: DeviceFacts, names: Sequence[str]) -> None:
    """A replacement for a switch that is no T1 means that the switch or the entry is not what somebody thinks."""
    if names:
        raise QualificationError(
            f"{facts.name} has a replacement in the testbed's entry ({', '.join(names)}) but is of type "
            f"{facts.role or '(none)'}, no T1 ({T1_ROLES[0]}): deploy it, or take it out of {KEY}"
        )


def _check_comparable(facts: DeviceFacts) -> None:
    """Two switches that both say nothing are not alike."""
    for what, value in (("HwSku", facts.hwsku), ("build", facts.build)):
        if not value:
            raise QualificationError(
                f"{_unreached(facts)}, and says no {what} that a replacement could be compared with"
            )


def _check_named(testbed: Mapping[str, Any], facts: DeviceFacts, names: Sequence[str]) -> None:
    """There are replacements, and all of them are switches of the testbed."""
    if not names:
        raise QualificationError(
            f"{_unreached(facts)}, and testbed {_name(testbed)} names no replacement for it: its entry takes "
            f"`{KEY}: {{{facts.name}: [NAME]}}`; {_right(facts)}"
        )
    duts = [str(dut) for dut in testbed.get("duts") or []]
    for name in _unknown(names, duts):
        raise QualificationError(
            f"{_unreached(facts)}, and its replacement {name} is not one of the switches of testbed {_name(testbed)} "
            f"({', '.join(duts) or 'none'}); {_right(facts)}"
        )


def _unknown(names: Sequence[str], duts: Sequence[str]) -> Iterator[str]:
    return (name for name in names if name not in duts)


def _unreached(facts: DeviceFacts) -> str:
    return f"{facts.name} is a T1 ({facts.role}), which pause frames of a traffic generator behind a T0 do not reach"


def _right(facts: DeviceFacts) -> str:
    return (
        f"right would be a T0 with HwSku {facts.hwsku} and build {facts.build}, and a traffic generator behind every"
        " port"
    )


def _known(text: str) -> str:
    """Empty for what the readers of a switch put where it says nothing."""
    return "" if text in ("unknown", "N/A") else text


def _name(testbed: Mapping[str, Any]) -> str:
    return str(testbed.get("conf-name") or testbed.get("name") or "(no name)")
