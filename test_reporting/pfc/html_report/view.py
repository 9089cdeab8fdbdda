"""All that the page shows of each run, read from the database; the template says how."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, func, select

from tests.common.pfc.record.records import VERDICT
from tests.common.pfc.record.effective_records import Verdict

from .. import queries, schema
from ..queries import Rows
from .differences import Comparison, compare, flaky
from .failures import Group, failures
from .ports import STATUSES, DeviceResults, PageNumbering, PortResults, devices_of, read_ports
from .texts import duration, moment

MOST_NUMBERS = 200
"""Values of metrics that are numbers, not verdicts, that are listed."""


@dataclass(frozen=True)
class RunView:
    """One run: its row of `runs`, its verdict, its ports, and what is said about them."""

    run: Mapping[str, Any]
    verdict: Verdict
    ports: list[PortResults]
    groups: list[Group]
    flaky: Rows
    comparison: Comparison | None
    facts: list[tuple[str, str]]
    numbers: Rows
    tried_again: int

    @property
    def started(self) -> datetime:
        """When it began, UTC."""
        started: datetime = self.run["started"]
        return started

    @property
    def faults(self) -> list[str]:
        """What was broken on purpose in its testbed."""
        return queries.faults_of(self.run)

    @property
    def diagnosis(self) -> str:
        """What its failed checks come to; empty: nothing was said."""
        return queries.diagnosis_of(self.run)

    @property
    def devices(self) -> list[DeviceResults]:
        """Its devices."""
        return devices_of(self.ports)

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that its ports have verdicts of."""
        return sorted({row["metric_name"] for port in self.ports for row in port.metrics})

    @property
    def records(self) -> Counter[str]:
        """How many verdict records that count are PASS, FAIL, ERROR."""
        return Counter({STATUSES[number].value: count
                        for number, count in Counter(code for port in self.ports for code in port.codes[3::4]).items()})

    @property
    def verdicts(self) -> Counter[str]:
        """How many metrics of ports are PASS, FAIL, ERROR."""
        return Counter(row["status"] for port in self.ports for row in port.metrics)

    def fact(self, name: str) -> str:
        """One of the facts; empty when it is not known. What the run's info calls the same comes after it."""
        return next((value for one, value in self.facts if one == name), "")

    @cached_property
    def has_port_cells(self) -> bool:
        """Whether there are verdicts of no single priority."""
        return any(None in port.cells for port in self.ports)


def read_view(connection: Connection, run: Mapping[str, Any], first: int, numbering: PageNumbering,
              baseline: tuple[Sequence[Mapping[str, Any]], bool] | None) -> RunView:
    """Read a run.

    Args:
        connection: to the database.
        run: its row of `runs`.
        first: the number of its first port in the page.
        numbering: of test cases and metrics.
        baseline: the runs to compare with, and whether one is compared with one; None: with none.
    """
    metrics = queries.metric_rows(connection, run["run_id"])
    ports = read_ports(connection, run["run_id"], [row for row in metrics if row["status"]], first, numbering)
    return RunView(
        run=run, verdict=queries.run_verdict(connection, run), ports=ports,
        groups=failures(connection, run["run_id"], ports), flaky=flaky(connection, run["run_id"], ports),
        comparison=compare(connection, run, baseline[0], ports, baseline[1]) if baseline else None,
        facts=_facts(run, ports), tried_again=_tried_again(connection, run["run_id"], ports),
        numbers=[row for row in metrics if row["status"] is None])


def column(priority: int | None) -> str:
    """How the page names the column of a priority, in links too."""
    return "all" if priority is None else f"p{priority}"


def _facts(run: Mapping[str, Any], ports: Sequence[PortResults]) -> list[tuple[str, str]]:
    """Environment and build: pairs of name and value, which is empty where it is not known."""
    info = queries.plain({"info": run["info"]})["info"]
    of_ports = {name: ", ".join(sorted({row[name] for port in ports for row in port.metrics} - {""}))
                for name in ("os_version", "hwsku", "on_behalf_of")}
    return [("run", run["run_id"]), ("job", run["job_id"]), ("testbed", run["testbed"]),
            ("device", ", ".join(device.device_id for device in devices_of(list(ports)))),
            ("on behalf of", of_ports["on_behalf_of"]), ("HwSKU", of_ports["hwsku"]),
            ("OS version", of_ports["os_version"]), ("started", moment(run["started"])),
            ("ended", moment(run["finished"]) or "it has not"),
            ("took", duration(run["started"], run["finished"])), ("software", run["software_version"]),
            ("origin", run["origin"]),
            *((str(name).replace("_", " "), value if isinstance(value, str) else json.dumps(value))
              for name, value in sorted(info.items()))]


def _tried_again(connection: Connection, run_id: str, ports: Sequence[PortResults]) -> int:
    """How many verdict records do not count: errors that were tried again."""
    table = schema.records.c
    every = connection.scalar(select(func.count()).where(table.run_id == run_id, table.kind == VERDICT)) or 0
    return every - sum(len(port.codes) // 4 for port in ports)
