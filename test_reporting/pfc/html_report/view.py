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
from ..defects import Defect, known
from ..queries import Rows
from .configured import configuration_in_words
from .differences import Comparison, compare, flaky
from .failures import Group, failures
from .past_runs import PastRuns, read_past
from .ports import STATUSES, DeviceResults, PageNumbering, PortResults, devices_of, read_ports
from .proof import Proof, read_proof, repeat_plot
from .rate_plot import VictimPlot
from .texts import counted, duration, first_cause, moment
from .victims import read_losses

MOST_CAUSES = 5
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
    proof: Proof
    past: PastRuns
    plot_before: VictimPlot | None
    links: bool
    defects: list[Defect]

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
    def title(self) -> str:
        """What was tested: device, HwSKU, build and port."""
        ports = (self.ports[0].port_id or "device") if len(self.ports) == 1 else counted(len(self.ports), "port")
        device = self.fact("device") if len(self.devices) < 4 else counted(len(self.devices), "device")
        known = (device, self.fact("HwSKU"), self.fact("OS version"), ports if self.ports else "")
        return " \u00b7 ".join(part for part in known if part) or str(self.run["run_id"])

    @property
    def cause(self) -> str:
        """The first cause, where neither the headline nor what the checks come to says it."""
        said = first_cause(self.verdict.cause)
        return "" if self.diagnosis or any(said in line for line in self.proof.headline) else said

    @property
    def worse_in_words(self) -> str:
        """What is worse than in the baseline, and how many causes that has; then what was not measured again, which no
        cause of a verdict explains."""
        if self.comparison is None:
            return ""
        gone = self.comparison.gone
        unknown = f"{counted(gone, 'place')} of the baseline not measured" if gone else ""
        return "; ".join(filter(None, (self._worse_with_causes(self.comparison.worse), unknown)))

    def _worse_with_causes(self, worse: int) -> str:
        if not worse:
            return ""
        places = counted(worse, "place")
        ports = {place["port"].number for group in self.groups for place in group.places}
        if self.diagnosis and len(ports) == 1:
            return f"{places} worse, one cause: {self.diagnosis}"
        found = [f"{group.title} ({group.count})" for group in self.groups[:MOST_CAUSES]]
        more = f" and {len(self.groups) - MOST_CAUSES} more" if len(self.groups) > MOST_CAUSES else ""
        if not found:
            return f"{places} worse"
        return f"{places} worse, {counted(len(self.groups), 'cause')}: {', '.join(found)}{more}"

    @property
    def provenance(self) -> list[tuple[str, str]]:
        """Who measured it with what; what is not known is left out."""
        commit = self.fact("suite commit")
        suite = " ".join(filter(None, (self.fact("software"), f"({commit[:12]}{commit[40:]})" if commit else "")))
        picture = self.proof.picture
        generators = " and ".join(dict.fromkeys(filter(None, picture.generators))) if picture else ""
        sku = self.fact("HwSKU")
        serial = self.fact("serial")
        image = " ".join(filter(None, (self.fact("OS version"), f"on {sku}" if sku else "",
                                       f"serial {serial}" if serial else "")))
        took = f"({self.fact('took')})" if self.fact("took") else "(not ended)"
        known = [("switch", image), ("suite", suite), ("generator", generators), ("testbed", self.run["testbed"]),
                 ("measured by", self.fact("operator")),
                 ("when", f"{moment(self.run['started'])} {took}"),
                 ("since when", self.past.since)]
        return [(name, value) for name, value in known if value]

    @property
    def configuration(self) -> list[str]:
        """What is known of the switch's configuration, in words."""
        info = queries.plain({"info": self.run["info"]})["info"]
        return configuration_in_words(info)

    @property
    def left_out(self) -> list[str]:
        """What the run does not speak for: test cases by family (`31 test cases, of SIZE, PAIRS`), priorities."""
        cases = [name for name in self.fact("plan ids not selected").split(", ") if name]
        families = dict.fromkeys(name.split("-")[0] for name in cases)
        priorities = self.fact("lossless priorities not selected")
        return [*([f"{counted(len(cases), 'test case')}, of {', '.join(families)}"] if cases else []),
                *([f"lossless priorities {priorities}"] if priorities else [])]

    @property
    def commands(self) -> list[str]:
        """What shows on the switch itself what was measured."""
        picture = self.proof.picture
        port = f" {picture.port}" if picture and picture.port else ""
        return ["show pfc counters", f"show queue counters{port}", "show pfcwd stats"] if picture else []

    @property
    def has_one_port(self) -> bool:
        """Whether it is of one port alone: a sweep has a front panel instead."""
        return len(self.ports) < 2

    @cached_property
    def priorities(self) -> list[int]:
        """The priorities that any port has a verdict of: the matrix has columns for no others."""
        return sorted({priority for port in self.ports for priority in port.cells if priority is not None})

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
                        for number, count in Counter(one[2] for port in self.ports for one in port.verdicts).items()})

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
              baseline: tuple[Sequence[Mapping[str, Any]], bool] | None, links: bool) -> RunView:
    """Read a run.

    Args:
        connection: to the database.
        run: its row of `runs`.
        first: the number of its first port in the page.
        numbering: of test cases and metrics.
        baseline: the runs to compare with, and whether one is compared with one; None: with none.
        links: whether the page lies beside the run's evidence, so that links lead there.
    """
    metrics = queries.metric_rows(connection, run["run_id"])
    verdict = queries.run_verdict(connection, run)
    losses = read_losses(connection, run["run_id"])
    ports = read_ports(connection, run["run_id"], [row for row in metrics if row["status"]], first, numbering, losses)
    groups = failures(connection, run["run_id"], ports, losses)
    diagnosis = queries.diagnosis_of(run)
    proof = read_proof(connection, run, verdict, ports, groups, diagnosis)
    comparison = compare(connection, run, baseline[0], ports, baseline[1]) if baseline else None
    before = comparison.baseline if comparison else None
    return RunView(
        run=run, verdict=verdict, ports=ports, groups=groups, flaky=flaky(connection, run["run_id"], ports),
        comparison=comparison, proof=proof, past=read_past(connection, run, verdict.status),
        links=links, defects=known(connection),
        plot_before=repeat_plot(connection, before["run_id"], proof) if before else None,
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
    return every - sum(sum(port.codes[4::5]) for port in ports)
