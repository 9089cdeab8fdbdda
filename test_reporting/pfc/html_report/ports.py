"""The verdicts of a run as its matrix shows them: devices, their ports, and a cell for each priority."""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, select

from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import Rows, counting, natural
from .victims import Loss

STATUSES = (Status.PASS, Status.FAIL, Status.ERROR)
NO_PRIORITY = -1
"""How the page's data write the priority of a verdict of all priorities together (None)."""
Key = TypeVar("Key", bound=Hashable)


class Numbered(Generic[Key]):
    """Things that the page's data name by a number: the first one met is 0."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key) -> int:
        """The number of a thing, which gets one now when it has none."""
        return self._numbers.setdefault(key, len(self._numbers))

    def all(self) -> list[Key]:
        """All of them, in the order of their numbers."""
        return list(self._numbers)


@dataclass
class PageNumbering:
    """The numbers that stand for test cases (plan id, scenario) and metrics in the page's data."""

    cases: Numbered[tuple[str, str]] = field(default_factory=Numbered)
    metrics: Numbered[str] = field(default_factory=Numbered)


@dataclass
class PortResults:
    """The results of a port: its metrics (rows of `metrics`) and how many verdicts of each status each priority has.

    `codes` has five numbers for each verdict that counts and each priority that it stands at: priority, test case,
    metric, status, and 1 where it is the verdict's first, else 0. `victims`, by record, are the priorities that a FAIL
    stands at, where these are not its own. `number` names the port in the page.
    """

    number: int
    run_id: str
    device_id: str
    port_id: str
    metrics: Rows = field(default_factory=list)
    cells: dict[int | None, Counter[str]] = field(default_factory=dict)
    codes: list[int] = field(default_factory=list)
    victims: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def shown_at(self, record_id: str, priority: int | None) -> tuple[int | None, ...]:
        """The priorities that a verdict stands at: those that lost, else the one that it is about."""
        return self.victims.get(record_id) or (priority,)

    @property
    def verdicts(self) -> Iterator[tuple[int, int, int]]:
        """Test case, metric and status of each verdict that counts, once."""
        codes = self.codes
        return ((case, metric, status) for case, metric, status, first
                in zip(codes[1::5], codes[2::5], codes[3::5], codes[4::5], strict=True) if first)

    def metric(self, name: str) -> dict[str, Any] | None:
        """Its row of a metric."""
        return next((row for row in self.metrics if row["metric_name"] == name), None)

    def cell(self, priority: int | None) -> Counter[str]:
        """How many verdicts of a priority have which status."""
        return self.cells.get(priority, Counter())

    @property
    def series(self) -> list[str]:
        """The `series_id` of each of its metrics."""
        return [row["series_id"] for row in self.metrics]

    @property
    def status(self) -> Status:
        """The worst of its metrics."""
        return worst(Counter(row["status"] for row in self.metrics))


@dataclass
class DeviceResults:
    """The results of a device's ports, and the values that its metrics name: build, HwSKU, on whose behalf."""

    device_id: str
    ports: list[PortResults] = field(default_factory=list)

    def values(self, column: str) -> list[str]:
        """The different values of a column of `metrics`, empty ones left out."""
        return sorted({row[column] for port in self.ports for row in port.metrics} - {""})

    @property
    def counts(self) -> Counter[str]:
        """How many of its ports are PASS, FAIL, ERROR."""
        return Counter(port.status.value for port in self.ports)

    @property
    def status(self) -> Status:
        """The worst of its ports."""
        return worst(self.counts)


def worst(counts: Mapping[str, int]) -> Status:
    """FAIL if any is, else ERROR if any is or there is none, else PASS."""
    return next((status for status in (Status.FAIL, Status.ERROR) if counts.get(status)),
                Status.PASS if counts.get(Status.PASS) else Status.ERROR)


def read_ports(connection: Connection, run_id: str, metrics: Rows, first: int, numbering: PageNumbering,
               losses: Mapping[str, Loss]) -> list[PortResults]:
    """The ports of a run, those that were not measured too.

    Args:
        connection: to the database.
        run_id: the run.
        metrics: its rows of `metrics` that are verdicts, in the order that the ports are to have.
        first: the number of the first port; the others follow.
        numbering: of test cases and metrics.
        losses: what failed verdicts come to, by record.
    """
    ports: dict[tuple[str, str], PortResults] = {}
    for row in metrics:
        place = row["device_id"], row["port_id"]
        if place not in ports:
            ports[place] = PortResults(first + len(ports), run_id, *place)
        ports[place].metrics.append(row)
    _count(connection, run_id, list(ports.values()), numbering, losses)
    return list(ports.values())


def devices_of(ports: list[PortResults]) -> list[DeviceResults]:
    """The devices of these ports."""
    devices: dict[str, DeviceResults] = {}
    for port in ports:
        devices.setdefault(port.device_id, DeviceResults(port.device_id)).ports.append(port)
    return list(devices.values())


def tally(ports: list[PortResults], numbering: PageNumbering) -> list[dict[str, Any]]:
    """The test cases in natural order: plan id, scenario, and how many verdicts of each metric have which status."""
    counts: dict[int, Counter[tuple[int, int]]] = {}
    for port in ports:
        for case, metric, status in port.verdicts:
            counts.setdefault(case, Counter())[metric, status] += 1
    cases = numbering.cases.all()
    metrics = numbering.metrics.all()
    found = [{"number": case, "plan_id": cases[case][0], "scenario": cases[case][1], "status": worst(Counter(
        {status.value: sum(counted[number, place] for number in range(len(metrics)))
         for place, status in enumerate(STATUSES)})), "metrics": {
        metric: Counter({status.value: counted[number, place] for place, status in enumerate(STATUSES)})
        for number, metric in enumerate(metrics)}} for case, counted in counts.items()]
    return sorted(found, key=lambda row: (natural(str(row["plan_id"])), natural(str(row["scenario"]))))


def _count(connection: Connection, run_id: str, ports: list[PortResults], numbering: PageNumbering,
           losses: Mapping[str, Loss]) -> None:
    """One pass over the verdicts of a run that count."""
    table = schema.records.c
    metrics = {row["series_id"]: (port, numbering.metrics.number(row["metric_name"]))
               for port in ports for row in port.metrics}
    numbers = {status.value: number for number, status in enumerate(STATUSES)}
    for record_id, series, priority, plan_id, scenario, status in connection.execute(
            select(table.record_id, table.series_id, table.priority, table.plan_id, table.scenario, table.status)
            .where(table.run_id == run_id, counting()).order_by(table.timestamp)):
        port, metric = metrics[series]
        loss = losses.get(record_id)
        if loss is not None and status == Status.FAIL and loss.victims and loss.victims != (priority,):
            port.victims[record_id] = loss.victims
        for place, at in enumerate(port.shown_at(record_id, priority)):
            cell = port.cells.get(at)
            if cell is None:
                cell = port.cells[at] = Counter()
            cell[status] += 1
            port.codes += (NO_PRIORITY if at is None else at, numbering.cases.number((plan_id, scenario)), metric,
                           numbers[status], int(not place))
