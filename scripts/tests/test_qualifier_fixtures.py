"""The fixtures that measure: a switch that they took is put back, also where the rest of the set-up fails."""
import inspect
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import pytest

from tests.common.pfc.lab.port_plan import LabFacts
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import ConnectedPort
from tests.snappi_tests.pfc.qualification import conftest
from tests.snappi_tests.pfc.qualification.files import steps, sweep
from tests.snappi_tests.pfc.qualification.files.session import Session

DEVICE = "dut-1"
PLAN = SimpleNamespace(devices=[DEVICE], device=DEVICE, state=SimpleNamespace(device=DEVICE), pauses=None)
FIXTURES = {conftest: conftest.pfc_qualifier, sweep: sweep.pfc_sweepers}


class TakenSession:
    """A session that notes what it takes."""

    plan = PLAN
    timing = None

    def __init__(self) -> None:
        self.has: list[str] = []

    def take(self, hosts: dict[str, Any]) -> dict[str, Any]:
        self.has = list(hosts)
        return {name: SimpleNamespace(observers=()) for name in hosts}

    def put_back(self) -> None:
        self.has = []

    def qualifier(self, lab: object) -> object:
        return lab


def fail(*arguments: object) -> NoReturn:
    """A step of the set-up."""
    raise QualificationError("no address is left")


@pytest.mark.parametrize(("module", "step"), [
    (conftest, "open_clock"), (conftest, "adapted"), (conftest, "open_lab"), (sweep, "open_clock"), (sweep, "adapted"),
    (conftest, None), (sweep, None),
])
def test_a_switch_is_put_back(module: ModuleType, step: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    session = TakenSession()
    stash = {steps.SESSION_KEY: session, sweep.SWEEPS_KEY: SimpleNamespace(plan_of_ports=PLAN)}
    request = SimpleNamespace(config=SimpleNamespace(stash=stash))
    monkeypatch.setattr(steps, "STANDALONE", False)
    monkeypatch.setattr(conftest, "open_lab", lambda *lab: lab)
    set_up = inspect.unwrap(FIXTURES[module])(request, {DEVICE: None}, {}, None, None)
    if step is not None:
        monkeypatch.setattr(module, step, fail)
        with pytest.raises(pytest.fail.Exception, match="no address is left"):
            next(set_up)
    else:
        next(set_up)
        assert session.has == [DEVICE]
        assert next(set_up, None) is None
    assert session.has == []


@pytest.mark.parametrize(("module", "planner"), [(conftest, "plan_device"), (sweep, "plan_sweep")])
def test_the_switch_is_measured_that_has_a_generator(module: ModuleType, planner: str,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("run-1", None)
    stash = {steps.SESSION_KEY: session, sweep.SWEEPS_KEY: SimpleNamespace(plan_of_ports=None)}
    request = SimpleNamespace(config=SimpleNamespace(stash=stash), session=SimpleNamespace(items=[]))
    port = ConnectedPort(DEVICE, "Ethernet0", "snappi-1", "127.1.0.1;1;1", 100_000)
    duthosts = [SimpleNamespace(hostname=name) for name in ("supervisor", DEVICE)]
    asked: list[str] = []

    def plan(facts: LabFacts, device: str, wishes: object) -> None:
        asked.append(device)
        fail()

    monkeypatch.setattr(module, planner, plan)
    facts = LabFacts({}, lambda name: fail(name), [port], {})
    with pytest.raises(pytest.fail.Exception, match="no address is left"):
        next(inspect.unwrap(FIXTURES[module])(request, duthosts, {}, None, (facts, None)))
    assert asked == [DEVICE]
