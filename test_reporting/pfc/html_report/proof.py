"""What the first screen says: the verdict in a sentence, the plot that shows it, the testbed and its pauses."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from tests.common.pfc.record.effective_records import Verdict
from tests.common.pfc.record.records import VERDICT
from tests.common.pfc.record.verdict import Status

from .. import schema
from ..queries import counting, natural
from . import timeline
from .failures import Group
from .ports import PortResults
from .rate_plot import VictimPlot
from .texts import counted, first_cause, listed, ranges

MOST_CANDIDATES = 40
"""Records of which the clearest plot is taken."""
LEAST = 0.02
"""Change of a rate, as a share of it, that a plot shows."""
MOST_PORTS = 3
CONFIGURATION = re.compile(r"evidence(/(?!\.)[A-Za-z0-9._-]+)*-configuration-before-[0-9]+\.json")
"""The names that the suite gives: no other text of a record becomes a link."""
OF_A_CASE = re.compile(
    r"evidence/(?P<folder>(?!\.)[A-Za-z0-9._-]+)/(?P<name>traffic-[0-9]+\.json|capture-[0-9]+\.pcap(ng)?"
    r"|(?!\.)[A-Za-z0-9._-]+-(counters|commands)-[0-9]+\.txt)")
"""What a test case sent, what the switch printed meanwhile, and what was captured."""
TRAFFIC = "traffic-"


@dataclass(frozen=True)
class TestbedPicture:
    """The generators and the switch as they stood in the measurement that is plotted.

    Attributes:
        device, port, tx_port: the switch, the port under test and the port where data enters (empty: not known).
        generators: behind the tx port and behind the port under test; empty texts: not known.
        pauses: what was paused, `PFC on priority 3`; empty: nothing is known.
        victim: who lost, or was not held by its pause, `priority 1 loses`; empty: nobody.
        speed: `100G`; empty: not known.
    """

    device: str
    port: str
    tx_port: str
    generators: tuple[str, str]
    pauses: str
    victim: str
    speed: str


@dataclass(frozen=True)
class Proof:
    """The first screen of a run.

    Attributes:
        headline: what the verdicts come to, one sentence each.
        plot: what shows it; None: no record has a timeline that can be drawn.
        picture: the testbed; None: nothing was measured.
        configuration: names of the files that hold the switch's configuration before the run.
        files: names of the files of the test case that is plotted: what was sent, what the switch printed.
        record: what is plotted, a row of `records`; empty where nothing is.
    """

    headline: list[str]
    plot: VictimPlot | None
    picture: TestbedPicture | None
    configuration: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Shown:
    """A record that a plot may be of, a victim's label in it, and how clearly it shows."""

    row: Mapping[str, Any]
    evidence: Mapping[str, Any]
    plot: Mapping[str, Any]
    victim: str
    contrast: float


def read_proof(connection: Connection, run: Mapping[str, Any], verdict: Verdict, ports: Sequence[PortResults],
               groups: Sequence[Group], diagnosis: str) -> Proof:
    """Read what the first screen needs.

    Args:
        connection: to the database.
        run: its row of `runs`.
        verdict: its verdict.
        ports: its ports, their victims known.
        groups: what is not PASS.
        diagnosis: what its failed checks come to; empty: nothing was said.
    """
    rows = _candidates(connection, run["run_id"], verdict.status, groups)
    found = [one for row in rows for one in _shown(row, ports, verdict.status)]
    best = max(found, key=lambda one: (one.contrast >= LEAST, one.contrast), default=None)
    first = best.row if best else rows[0] if rows else None
    evidence = best.evidence if best else json.loads(rows[0]["evidence"]) if rows else {}
    plot = None if best is None else VictimPlot(
        best.plot, best.victim, f"{best.row['plan_id']} {best.row['scenario']}, {best.row['port_id']}")
    return Proof(_headline(verdict, ports, groups, diagnosis), plot,
                 None if first is None else _picture(first, evidence, run, best), _configuration(evidence),
                 _of_the_case(evidence),
                 best.row if best else {})


def repeat_plot(connection: Connection, run_id: str, proof: Proof) -> VictimPlot | None:
    """The same plot of another run, for comparison; None: that has none of this test case, port and class.

    Args:
        connection: to the database.
        run_id: the other run.
        proof: whose plot it is.
    """
    if proof.plot is None:
        return None
    like = proof.record
    table = schema.records.c
    found = connection.execute(
        select(table.evidence).where(table.run_id == run_id, table.kind == VERDICT, counting(),
                                     *(table[name] == like[name] for name in ("device_id", "port_id", "plan_id")),
                                     table.priority.is_not_distinct_from(like["priority"]))
        .order_by(table.timestamp.desc()).limit(1)).first()
    for plot in timeline.plots(json.loads(found.evidence)) if found else ():
        if "problem" not in plot and any(row["label"] == proof.plot.victim for row in plot["rows"]):
            return VictimPlot(plot, proof.plot.victim, proof.plot.title)
    return None


def _candidates(connection: Connection, run_id: str, status: Status, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Records that may show the verdict: of what is not PASS the first of each reason, else the first of all."""
    table = schema.records.c
    columns = [table[name] for name in ("record_id", "device_id", "port_id", "priority", "plan_id", "scenario",
                                        "metric_name", "status", "hwsku", "evidence")]
    query = (select(*columns).where(table.run_id == run_id, counting(), table.status == status.value)
             .order_by(table.timestamp, table.record_id).limit(MOST_CANDIDATES))
    named = [place["record_id"] for group in groups for place in group.places if group.status is status]
    if status is not Status.PASS and named:
        query = query.where(table.record_id.in_(named))
    return [dict(row) for row in connection.execute(query).mappings()]


def _shown(row: Mapping[str, Any], ports: Sequence[PortResults], status: Status) -> Iterator[_Shown]:
    """What of a record can be plotted, with each class that lost in it; of a PASS the class that was paused."""
    evidence = json.loads(row["evidence"])
    victims = next((port.shown_at(row["record_id"], row["priority"]) for port in ports
                    if (port.device_id, port.port_id) == (row["device_id"], row["port_id"])), ())
    for plot in timeline.plots(evidence):
        if "problem" in plot:
            continue
        paused = {priority for storm in plot["storms"] for priority in storm["priorities"]}
        for label in _labels(plot, victims):
            rate = next(one for one in plot["rows"] if one["kind"] == "rate" and one["label"] == label)
            priority = int(label.split()[1])
            is_held = priority in paused and status is not Status.PASS
            yield _Shown(row, evidence, plot, label, _contrast(rate, is_held, priority in paused or status is not
                                                               Status.PASS))


def _labels(plot: Mapping[str, Any], victims: Iterable[int | None]) -> list[str]:
    rows = [row["label"] for row in plot["rows"] if row["kind"] == "rate" and row["rx"]]
    return [label for victim in victims for label in rows if label.startswith(f"priority {victim} (")]


def _contrast(row: Mapping[str, Any], should_be_held: bool, is_telling: bool) -> float:
    """How far the storm changes a rate, or, of a class that has to stand still, how far it goes on."""
    if row["in_storm"] is None or not row["most"] or not is_telling:
        return 0.0
    share = min(1.0, row["in_storm"] / row["most"])
    return float(share if should_be_held else 1 - share)


def _headline(verdict: Verdict, ports: Sequence[PortResults], groups: Sequence[Group], diagnosis: str) -> list[str]:
    """What the verdicts come to."""
    if diagnosis:
        return [diagnosis]  # it begins with the name of a port
    if verdict.status is Status.PASS:
        return [_passed(ports)]
    found = [group for group in groups if group.status is verdict.status]
    if not found:
        return [first_cause(verdict.cause)]
    group = found[0]
    more = f"; {counted(len(found) - 1, 'other reason')} below" if found[1:] else ""
    who = _who(group)
    if not group.cases:
        return [f"{group.title}: {who}{more}"]
    if verdict.status is Status.ERROR:
        return [f"Could not be measured at {who}: {first_cause(group.places[0]['cause']) or group.title}{more}"]
    place = group.places[0]
    seen = f": expected {place['expected']}, got {place['seen']}" if place["expected"] or place["seen"] else ""
    return [f"{group.title} fails at {who} in {counted(len(group.cases), 'test case')}, first in {place['plan_id']}"
            f"{seen}{more}"]


def _who(group: Group) -> str:
    names = list(dict.fromkeys(f"{place['port'].device_id} {place['port'].port_id or 'device'}"
                               for place in group.places))
    where = listed(names) if len(names) <= MOST_PORTS else counted(len(group.ports), "port")
    if not group.priorities:
        return where
    return f"{where} {'priority' if len(group.priorities) == 1 else 'priorities'} {ranges(group.priorities)}"


def _passed(ports: Sequence[PortResults]) -> str:
    metrics = {row["metric_name"] for port in ports for row in port.metrics}
    says = [text for name, text in (("pfc.lossless", "pauses stop lossless queues without losing a frame"),
                                    ("pfc.lossy", "lossy queues go on")) if name in metrics]
    verdicts = sum(sum(port.codes[4::5]) for port in ports)
    what = f"{counted(verdicts, 'verdict')} of {counted(len(ports), 'port')}"
    said = f"{listed(says)}: all {what} are PASS" if says else f"all {what} are PASS"
    return said[0].upper() + said[1:]


def _picture(row: Mapping[str, Any], evidence: Mapping[str, Any], run: Mapping[str, Any],
             best: _Shown | None) -> TestbedPicture:
    info = json.loads(run["info"]) if isinstance(run["info"], str) else run["info"]
    known = info.get("ports")
    known = known if isinstance(known, dict) else {}
    own, tx = (one if isinstance(one := known.get(name), dict) else {} for name in ("under_test", "tx"))
    is_own = own.get("port") == row["port_id"]
    storms = list(dict.fromkeys(storm["label"] for storm in best.plot["storms"])) if best else []
    speed = evidence.get("speed_mbps")
    return TestbedPicture(
        device=row["device_id"], port=row["port_id"], tx_port=str(evidence.get("tx_port") or ""),
        generators=(_generator(tx) if is_own else "", _generator(own) if is_own else ""),
        pauses="; ".join(storms[:2]) or _paused(evidence), victim=_victim(best, row),
        speed=f"{speed / 1000:g}G" if isinstance(speed, (int, float)) and not isinstance(speed, bool) else "")


def _victim(best: _Shown | None, row: Mapping[str, Any]) -> str:
    if best is None or row["status"] != Status.FAIL:
        return ""
    priority = int(best.victim.split()[1])
    paused = any(priority in storm["priorities"] for storm in best.plot["storms"])
    return f"priority {priority} {'is not held' if paused else 'loses'}"


def _generator(port: Mapping[str, Any]) -> str:
    return " ".join(str(port[name]) for name in ("generator", "location") if port.get(name))


def _paused(evidence: Mapping[str, Any]) -> str:
    priorities = evidence.get("storm_priorities")
    if not isinstance(priorities, list) or not priorities:
        return ""
    return f"{'priority' if len(priorities) == 1 else 'priorities'} {listed(map(str, priorities))}"


def _configuration(evidence: Mapping[str, Any]) -> list[str]:
    return [name for name in _files(evidence) if CONFIGURATION.fullmatch(name)]


def _of_the_case(evidence: Mapping[str, Any]) -> list[str]:
    """The files in the folder of the case itself, which is that of the traffic that was sent last: that first."""
    found = [one for name in _files(evidence) if (one := OF_A_CASE.fullmatch(name))]
    sent = [one["folder"] for one in found if one["name"].startswith(TRAFFIC)]
    own = [one for one in found if sent and one["folder"] == sent[-1]]
    return [one[0] for one in sorted(own, key=lambda one: (not one["name"].startswith(TRAFFIC), natural(one["name"])))]


def _files(evidence: Mapping[str, Any]) -> list[str]:
    files = evidence.get("files")
    return [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
