"""Sweeps in a pytest session: what the user asked for, what is going to be measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tests.common.pfc.cases.plan import sweep_cases
from tests.common.pfc.lab.counter_polling import watermark_delay_s
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import PlanCase
from tests.common.pfc.sweep.full_load import ALL_PORTS
from tests.common.pfc.sweep.plan import Bench, SweepPlan
from tests.common.pfc.sweep.port_sweep import PORT
from tests.common.pfc.sweep.cases import OF_ALL_PORTS, make_full_load, make_sweeper
from tests.common.pfc.sweep.sweeper import Sweeper
from tests.snappi_tests.pfc.qualification.files.session import PORT_PARAMETER, Session

ALL_AT_ONCE = "max"
MODULES = ("test_port_sweep.py", "test_full_load.py", "test_watchdog_all_ports.py")


def is_sweep(cases: Collection[PlanCase]) -> bool:
    """Whether no single port is under test."""
    return set(cases) <= set(sweep_cases())


def only_sweeps(arguments: Sequence[str]) -> bool:
    """Whether pytest was given the modules of sweeps alone: then they are asked for. Among others they are left out
    unless `--pfc-scenario` names them."""
    return bool(arguments) and all(Path(one.split("::")[0]).name in MODULES for one in arguments)


def ports_of(items: Sequence[Any], case: PlanCase | None = None) -> list[str]:
    """The ports that the items of sweeps are about, each once; of one test case, or of all."""
    own = [item for item in items if case is None or case_of(item) is case]
    return list(dict.fromkeys(port for item in own if (port := _port_of(item)) is not None))


def note_items(session: Session, items: Sequence[Any]) -> None:
    """The ports that are going to be swept, and those whose verdicts a load of all ports gives."""
    session.sweep_of = ports_of(items, PORT)
    session.load_of = {case: ports for case in OF_ALL_PORTS if (ports := ports_of(items, case))}


def other_ports(items: Sequence[Any], option: str | None) -> list[Any]:
    """The items of a sweep that are about none of the ports of `--pfc-ports`; None: it was not given.

    Raises:
        QualificationError: a port of the option is none that is swept.
    """
    if option is None:
        return []
    wanted, known = option.replace(" ", "").split(","), ports_of(items)
    for name in wanted:
        if name not in known:
            raise QualificationError(
                f"--pfc-ports: {name!r} is no port of the sweep; it has {', '.join(known) or 'none'}"
            )
    return [item for item in items if (port := _port_of(item)) is not None and port not in wanted]


def _port_of(item: Any) -> str | None:
    """The port that an item of a sweep is about; None: it is none, or is about no single port."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if case_of(item) not in sweep_cases() or PORT_PARAMETER not in parameters:
        return None
    return str(parameters[PORT_PARAMETER]).split("|")[1]


def case_of(item: Any) -> PlanCase | None:
    """The test case that an item carries out; None: it is none of ours."""
    marker = item.get_closest_marker("pfc_case")
    return marker.args[0] if marker is not None else None


def parse_concurrency(text: str) -> int | None:
    """How many ports are measured at once; None: as many as there can be.

    Raises:
        QualificationError: the option says neither a number from 1 on nor `max`.
    """
    if text == ALL_AT_ONCE:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise QualificationError(f"--pfc-concurrency is {text!r}, it takes a number from 1 on, or max")
    return int(text)


def sweeper_of(session: Session, case: PlanCase, bench: Bench) -> Sweeper:
    """What measures the ports that the session is about; under the load of all ports, whichever of them it is about."""
    assert session.sweep is not None, "a sweep has to be planned before it is measured"
    if case in OF_ALL_PORTS:
        return make_full_load(session.sweep, bench, case)
    return make_sweeper(session.sweep, bench, session.at_once, session.sweep_of)


def plan_lines(session: Session) -> list[str]:
    """What the sweeps of a session are going to measure."""
    if session.sweep is None:
        return []
    lines = sweep_lines(session.sweep, session.at_once, session.sweep_of) if session.sweep_of else []
    return lines + [line for case, ports in session.load_of.items() for line in load_lines(session.sweep, case, ports)]


def sweep_lines(plan: SweepPlan, at_once: int | None, ports: Sequence[str]) -> list[str]:
    """What a sweep measures, when, how long that takes, and what cannot be measured."""
    waves = plan.waves(at_once, ports)
    number = sum(map(len, waves))
    lines = [f"sweep of {plan.device}: {number} ports in {len(waves)} waves, {plan.seconds(waves):.0f} s of traffic and"
             " waiting on the testbed's clock (port under test <- tx port):"]
    lines += [f"  wave {place}: {', '.join(f'{pair.rx.port} <- {pair.tx.port}' for pair in wave)}"
              for place, wave in enumerate(waves, 1)]
    return lines + [f"  not measured: {plan.refused[port]}" for port in ports if port in plan.refused]


def load_lines(plan: SweepPlan, case: PlanCase, ports: Sequence[str]) -> list[str]:
    """The same of a case of all ports, whichever of them (`ports`) a verdict is asked for."""
    pairs, what = [pair for wave in plan.waves(None) for pair in wave], f"{case.name} of {plan.device}"
    if not pairs:
        return [f"{what}: cannot be measured: no port can"]
    try:
        scenario = OF_ALL_PORTS[case][0](next(iter(plan.plans.values())).subject.qos)
        seconds = plan.seconds([pairs], scenario.storm_lead_s, scenario.data_s)
        seconds += watermark_delay_s(plan.state.config_db, plan.device) if case is ALL_PORTS else 0
    except QualificationError as error:
        return [f"{what}: cannot be measured: {error}"]
    return [f"{what}: {len(pairs)} ports at once, {seconds:.0f} s of traffic and waiting on the testbed's clock,"
            f" verdicts of {len(ports)}"]
