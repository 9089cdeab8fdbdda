"""Random healthy testbeds: files that are drawn, a virtual testbed of them, deployed and configured as its user wants
it, and the suite as that user runs it. Nothing is broken, so every verdict has to be PASS."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import yaml

from scripts import suite, testbeds
from scripts.campaign.broken_testbed import OpenSsh, Testbed, broken_testbed
from scripts.campaign.entries import HEALTHY, ROOT, CampaignEntry
from scripts.campaign.results import EntryResult, EntryVerdict
from tests.common.pfc.cases.plan import port_cases
from tests.common.pfc.lab.configuration import lossless_set
from tests.common.pfc.lab.dut import READ_CONFIG
from tests.common.pfc.lab.reservation import Rows
from tests.common.pfc.record.effective_records import effective_records
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_lines, read_lines
from tests.common.pfc.record.record_file import RecordFile
from tests.common.pfc.record.records import VERDICT, Record
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.simulated_time.endpoint_clock import EndpointClock

CASES = 10
"""Test cases that are drawn for a testbed; one in `WHOLE_IN` gets the whole plan."""
WHOLE_IN = 20
NOT_DRAWN = ("SOAK", "HOP", "SPEED")
"""Families that need a time, a row of switches, or several speeds towards one port."""
SPEEDS = {
    "Arista-7060CX-32S-C32": (100_000, 50_000, 40_000, 25_000),
    "DellEMC-Z9664f-O64": (400_000,),
    "Dell-Z9864f-O64": (800_000, 400_000, 100_000),
}
"""HwSKU -> what one of its ports can be without a breakout, Mb/s."""
LOSSLESS_SETS = ((3, 4), (3, 4), (3,), (2, 5), (1, 3, 4), (0, 6))
SETTLE_S = 5.0
"""Until SONiC's daemons have followed a change of CONFIG_DB."""
MOST_CHECKS = 20
GRAPH_COLUMNS = "StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode"
VLAN = "in a VLAN"
ROUTED = "routed"
HALF = "half in a VLAN"


@dataclass(frozen=True)
class HealthySetting:
    """A testbed that was drawn.

    Attributes:
        number: of its seed.
        hwsku: of its switch.
        speeds: of the ports behind each of the two traffic generators, Mb/s.
        place: which of the first generator's ports is under test.
        segments: `VLAN`, `ROUTED` or `HALF`.
        ip_version: of the data.
        talks: whether switch and hosts send frames of their own.
        lossless: the lossless priorities.
        dscps: DSCP -> traffic class; empty: SONiC's map.
        weights: of the two schedulers; none: SONiC's.
        alpha: `dynamic_th` of lossless priority groups; empty: SONiC's.
        cases: plan ids; none: the whole plan.
    """

    number: int
    hwsku: str
    speeds: tuple[int, ...]
    place: int
    segments: str
    ip_version: int
    talks: bool
    lossless: tuple[int, ...]
    dscps: Mapping[int, int]
    weights: tuple[int, ...]
    alpha: str
    cases: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of the testbed."""
        return f"healthy-{self.number:04}"

    @property
    def switch(self) -> str:
        """Its switch."""
        return f"{self.name}-01"

    @property
    def ports(self) -> list[str]:
        """The switch's ports: as many behind the first generator as behind the second."""
        known = yaml.safe_load((ROOT / f"ansible/vars/hwsku/{self.hwsku}.yml").read_text(encoding="utf-8"))["ports"]
        return list(known[:2 * len(self.speeds)])

    @property
    def port(self) -> str:
        """The port under test."""
        return self.ports[self.place]

    @property
    def in_vlan(self) -> list[int]:
        """Positions of the ports in the VLAN, which has two at least."""
        many = len(self.speeds)
        if self.segments == VLAN:
            return list(range(2 * many))
        if self.segments == HALF:
            return list(range(0, 2 * many, 2))
        return [many - 1, 2 * many - 1]

    def __str__(self) -> str:
        """In words."""
        speeds = "/".join(f"{speed // 1000}G" for speed in dict.fromkeys(self.speeds))
        words = [
            self.hwsku, f"2 x {len(self.speeds)} ports of {speeds}", f"{self.port} under test", self.segments,
            f"IPv{self.ip_version}", f"lossless {','.join(map(str, self.lossless))}",
            "a DSCP map of its own" if self.dscps else "",
            f"scheduler weights {','.join(map(str, self.weights))}" if self.weights else "",
            f"dynamic_th {self.alpha}" if self.alpha else "", "talking" if self.talks else "",
            f"{len(self.cases)} cases" if self.cases else "the whole plan",
        ]
        return ", ".join(filter(None, words))


def drawn_setting(seed: str, number: int) -> HealthySetting:
    """Testbed `number` of a seed."""
    random = Random(f"{seed} healthy {number}")
    hwsku = random.choice(list(SPEEDS))
    several = random.sample(SPEEDS[hwsku], min(len(SPEEDS[hwsku]), random.choice((1, 1, 2))))
    speeds = tuple(speed for speed in several for _ in range(random.randint(3, 5)))
    segments = random.choice((VLAN, VLAN, ROUTED, HALF))
    routed = segments == ROUTED
    dscps = {dscp: random.randrange(7) for dscp in range(64)} if random.random() < 0.3 else {}
    if dscps:
        dscps |= dict(zip(random.sample(range(64), 7), range(7)))  # each class is reached
    cases = [case.plan_id for case in port_cases() if case.family not in NOT_DRAWN]
    return HealthySetting(
        number, hwsku, speeds,
        place=random.randrange(len(speeds) - 1 if routed else len(speeds)),
        segments=segments,
        ip_version=random.choice((4, 4, 6)),
        talks=random.random() < 0.3,
        lossless=random.choice(LOSSLESS_SETS),
        dscps=dscps,
        weights=(random.randint(1, 100), random.randint(1, 100)) if random.random() < 0.3 else (),
        alpha=random.choice(("-3", "-2", "-1", "0", "1")) if random.random() < 0.3 else "",
        cases=() if number % WHOLE_IN == 0 else tuple(sorted(random.sample(cases, CASES), key=cases.index)),
    )


def draw_healthy(seed: str, count: int) -> list[CampaignEntry]:
    """The first testbeds of a seed, as entries."""
    settings = [drawn_setting(seed, number) for number in range(1, count + 1)]
    return [CampaignEntry(HEALTHY, f"{one.number:04}", (), None, one.cases, testbed=one.name,
                          ip_version=one.ip_version, setting=str(one), seed=seed) for one in settings]


def write_files(setting: HealthySetting, folder: Path) -> Path:
    """Writes a testbed file, and the graph and the topology that it needs, into an empty folder; returns its path."""
    (folder / "files").mkdir(parents=True)
    (folder / "vars/hwsku").mkdir(parents=True)
    shutil.copy(ROOT / f"ansible/vars/hwsku/{setting.hwsku}.yml", folder / "vars/hwsku")
    entry = {"conf-name": setting.name, "topo": "drawn", "ptf": "ptf", "ptf_ip": "127.0.0.1/8",
             "dut": [setting.switch], "inv_name": setting.name, "virtual": True}
    (folder / "testbed.yaml").write_text(yaml.safe_dump([entry]), encoding="utf-8")
    (folder / "files/graph_groups.yml").write_text(yaml.safe_dump([setting.name]), encoding="utf-8")
    (folder / "vars/topo_drawn.yml").write_text(yaml.safe_dump(_topology(setting)), encoding="utf-8")
    many = len(setting.speeds)
    devices = ["Hostname,ManagementIp,HwSku,Type", f"{setting.switch},127.0.0.1/8,{setting.hwsku},DevSonic",
               *(f"snappi-{number},127.1.0.{number}/8,SNAPPI-tester,DevSnappiChassis" for number in (1, 2))]
    links = [f"{setting.switch},{port},snappi-{1 + place // many},Card1/Port{1 + place % many},"
             f"{setting.speeds[place % many]},{10 + place},Access" for place, port in enumerate(setting.ports)]
    _write_lines(folder / f"files/sonic_{setting.name}_devices.csv", devices)
    _write_lines(folder / f"files/sonic_{setting.name}_links.csv", [GRAPH_COLUMNS, *links])
    return folder / "testbed.yaml"


def _topology(setting: HealthySetting) -> dict[str, Any]:
    vlan = {"id": 1000, "intfs": setting.in_vlan, "prefix": "192.168.0.1/21", "prefix_v6": "fc02:1000::1/64",
            "tag": 1000}
    return {
        "topology": {"host_interfaces": list(range(2 * len(setting.speeds))), "DUT": {
            "loopback": {"ipv4": ["10.1.0.32/32"], "ipv6": ["fc00:1::32/128"]},
            "vlan_configs": {"default_vlan_config": "one_vlan_a", "one_vlan_a": {"Vlan1000": vlan}}}},
        "configuration_properties": {"common": {"dut_asn": 65100, "dut_type": "ToRRouter", "swrole": "leaf",
                                                "failure_rate": 0}},
        "configuration": {},
    }


def _write_lines(file: Path, lines: Sequence[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows_of(setting: HealthySetting, config_db: Mapping[str, Any]) -> Rows:
    """What its user changed in CONFIG_DB after the deployment."""
    rows: dict[str, dict[str, Any]] = {}
    if setting.dscps:
        rows["DSCP_TO_TC_MAP"] = {"AZURE": {str(dscp): str(number) for dscp, number in sorted(setting.dscps.items())}}
    if setting.weights:
        rows["SCHEDULER"] = {f"scheduler.{number}": {"type": "DWRR", "weight": str(weight)}
                             for number, weight in enumerate(setting.weights)}
    if setting.alpha:
        profiles = config_db.get("BUFFER_PROFILE", {})
        rows["BUFFER_PROFILE"] = {name: {**row, "dynamic_th": setting.alpha} for name, row in profiles.items()
                                  if name.startswith("pg_lossless_")}
    if setting.lossless != (3, 4):
        changed = {**config_db, **{table: {**config_db.get(table, {}), **own} for table, own in rows.items()}}
        made = dict(lossless_set(changed, setting.switch, setting.ports, setting.lossless))
        made.pop("DSCP_TO_TC_MAP", None)  # it reaches priority 7 too, whose queue has no scheduler
        made["PORT_QOS_MAP"] = {port: _watched(row, config_db["PORT_QOS_MAP"][port], setting.lossless)
                                for port, row in made["PORT_QOS_MAP"].items() if row is not None}
        for table, own in made.items():
            rows[table] = {**rows.get(table, {}), **own}
    return rows


def _watched(row: Mapping[str, Any], before: Mapping[str, Any], lossless: tuple[int, ...]) -> dict[str, Any]:
    """A port's QoS with the DSCP map that it had, and the watchdog for its lossless priorities."""
    return {**row, "dscp_to_tc_map": before["dscp_to_tc_map"], "pfcwd_sw_enable": ",".join(map(str, lossless))}


def script_of(rows: Rows) -> str:
    """The shell commands that write rows into CONFIG_DB."""
    lines = []
    for table, own in rows.items():
        for key, row in own.items():
            name = shlex.quote(f"{table}|{key}")
            lines.append(f"sonic-db-cli CONFIG_DB DEL {name} > /dev/null")
            if row is not None:
                fields = " ".join(shlex.quote(str(word)) for pair in (row or {"NULL": "NULL"}).items() for word in pair)
                lines.append(f"sonic-db-cli CONFIG_DB HSET {name} {fields} > /dev/null")
    return "\n".join(["set -e", *lines])


def configure(testbed: Testbed, setting: HealthySetting) -> None:
    """Makes the changes of the testbed's user.

    Raises:
        Failure: the switch does not take them.
    """
    host = OpenSsh(testbed["switches"][setting.switch], setting.switch)
    try:
        rows = rows_of(setting, json.loads(host.shell(READ_CONFIG)["stdout"]))
        answer = host.shell(script_of(rows))
    finally:
        host.close()
    if answer["rc"]:
        raise testbeds.Failure(f"{setting.switch} did not take its configuration: {answer['stdout']}{answer['stderr']}")
    EndpointClock(testbed["clock"]["url"]).sleep(SETTLE_S)


def measure(entry: CampaignEntry, folder: Path) -> EntryResult:
    """What the suite makes of a testbed that was drawn.

    Args:
        entry: it.
        folder: takes the run's records and logs.

    Raises:
        Failure: the testbed does not come up, or cannot be deployed or configured.
    """
    began = time.monotonic()
    setting = replace(drawn_setting(entry.seed, int(entry.name)), cases=entry.cases)
    run = folder / "run"
    if run.exists():  # of a try that was ended
        shutil.rmtree(run)
    run.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="campaign-") as temporary:
        testbed_file = write_files(setting, Path(temporary) / "lab")
        state = Path(temporary) / "state"
        state.mkdir()
        faults = ["chatter@*"] if setting.talks else []
        with broken_testbed(state, faults, name=setting.name, testbed_file=testbed_file) as testbed:
            configure(testbed, setting)
            os.environ["PFC_REPORT_DB"] = f"sqlite:///{run / 'pfc.db'}"  # it is no run of the user's testbeds
            testbeds.environment(run)
            ended = _run_suite(testbed, setting, run)
    return _concluded(entry, setting, run, ended, round(time.monotonic() - began, 1))


def _run_suite(testbed: Testbed, setting: HealthySetting, run: Path) -> suite.Ended:
    """pytest on the testbed; how it ended."""
    names = [f"--pfc-scenario={','.join(setting.cases)}"] if setting.cases else []
    command = suite.suite_command(
        testbeds.files_of(setting.name, testbed), run, [suite.SUITE], "--pfc-port", setting.port, "--pfc-ip-version",
        str(setting.ip_version), "--pfc-results", str(run), "--pfc-run-id", run.parent.name, *names)
    return suite.how_it_ended(suite.run_suite(command, run), run)


def _called(record: Record) -> str:
    """`PFC-1 3`."""
    return " ".join(str(one) for one in (record.plan_id, record.priority) if one is not None)


def verdicts_in(run: Path) -> list[Record]:
    """The verdicts of a run that count; none where it wrote no records.

    Raises:
        RecordError: a line is no record.
    """
    file = RecordFile(run).path
    records = []
    for found in parse_lines(read_lines(file), str(file)) if file.exists() else ():
        if isinstance(found, RecordError):
            raise found
        if found.kind == VERDICT:
            records.append(found)
    return effective_records(records)


def _concluded(
    entry: CampaignEntry, setting: HealthySetting, run: Path, ended: suite.Ended, seconds: float
) -> EntryResult:
    """What the records of a run say."""
    records = verdicts_in(run)
    statuses = {record.status for record in records}
    judgement = EntryVerdict.PASSED
    if Status.FAIL in statuses:
        judgement = EntryVerdict.MISJUDGED
    elif statuses != {Status.PASS} or ended.cause or ended.pytest != 0:
        judgement = EntryVerdict.ERROR
    bad = [
        {"case": _called(record), "name": check.name, "status": check.status.value,
         "metric": check.metric_name, "message": check.message}
        for record in records for check in record.checks if check.status is not Status.PASS and check.required
    ]
    causes = [record.cause for record in records if record.status is not Status.PASS and not record.checks]
    said = dict.fromkeys(filter(None, [ended.cause, *causes]))
    cases = list(dict.fromkeys(map(_called, records)))
    return EntryResult(
        entry, {"rx": setting.port}, judgement, diagnosis=list(said)[:MOST_CHECKS], cases=cases,
        checks=bad[:MOST_CHECKS], more_checks=max(0, len(bad) - MOST_CHECKS), seconds=seconds, is_alone=True)
