"""Sweeps in a session: what is owed, what a run that goes on leaves out, what is left for the next one."""

import json
from types import SimpleNamespace

import pytest

from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.effective_records import judge
from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.parsing import parse_line
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, PortVerdict, Status
from tests.common.pfc.sweep.full_load import ALL_PORTS
from tests.common.pfc.sweep.plan import Bench
from tests.common.pfc.sweep.port_sweep import PORT
from tests.common.pfc.sweep.sweeper import LabGone
from tests.common.unit_tests.pfc.fakes import DEVICE, PORTS
from tests.common.unit_tests.pfc.sweep_fakes import SweptLab
from tests.snappi_tests.pfc.qualification.files.extension import deselected
from tests.snappi_tests.pfc.qualification.files.resume import Resuming
from tests.snappi_tests.pfc.qualification.files.session import PORT_PARAMETER, Session
from tests.snappi_tests.pfc.qualification.files.sweep import SWEEPS_KEY, Sweeps, pfc_sweep, sweep_lines
from tests.snappi_tests.pfc.qualification.files.steps import SESSION_KEY


class Item:
    """A collected pytest item."""

    def __init__(self, port, case=PORT):
        self.nodeid = f"test_{case.name}.py::test_port[{DEVICE}|{port}]"
        self.callspec = SimpleNamespace(params={PORT_PARAMETER: f"{DEVICE}|{port}"})
        self.case = case

    def get_closest_marker(self, name):
        """The marker with the test case."""
        return SimpleNamespace(args=(self.case,)) if name == "pfc_case" else None


ITEMS = [Item(port) for port in PORTS]


def begin(folder, resume=False, testbed="lab", ports=None, both=False, items=ITEMS):
    """A session that sweeps the fake switch, or goes on with that; and the items that it runs."""
    ours = Session("run-1", None if resume else str(folder))
    given = {"pfc_resume": str(folder) if resume else None, "testbed": testbed, "pfc_concurrency": None,
             "pfc_ports": ports, "pfc_both": both}
    ours.ask([Resuming(ours, given.get), Sweeps(ours, given.get)], ["test_port_sweep.py"])  # in the order of `plugins`
    left = deselected(ours.extensions, items)
    ours.begin([item for item in items if item not in left], testbed)
    return ours, [item for item in items if item not in left]


def verdicts(port, status=Status.PASS):
    """A verdict in each metric."""
    error = "the switch went away" if status is Status.ERROR else None
    made = []
    for metric in (LOSSLESS, LOSSY):
        checks = [] if error else [Check("resumed", metric, status, "all frames", 7, f"{DEVICE} {port}")]
        made.append(PortVerdict(DEVICE, port, None, metric, checks, error))
    return made


def keep(session, item, status=Status.PASS):
    """An item ends with a verdict in each metric."""
    port = item.nodeid.split("|")[1].rstrip("]")
    session.keep(item.nodeid, Outcome(item.case, verdicts(port, status), {}))


def stored(folder, port):
    """The records of a port."""
    return [one for one in parsed(folder) if one.port_id == port]


def parsed(folder):
    """All records."""
    return [parse_line(line) for line in (folder / "records.jsonl").read_bytes().splitlines()]


def test_what_was_not_measured_is_left_for_the_next_part_of_the_run(tmp_path):
    """It has no record, and the run is no PASS; the next part measures it, and replaces what was ERROR."""
    first, items = begin(tmp_path)
    keep(first, items[0])
    keep(first, items[1], Status.ERROR)
    first.gone("no route to host")
    assert not first.finish(), "a run with ports that were not measured passed"
    second, items = begin(tmp_path, resume=True)
    assert [item.nodeid for item in items] == [item.nodeid for item in ITEMS[1:]], "items of the second part"
    assert second.run_id == "run-1" and any("not again: Ethernet0" in note for note in second.notes), second.notes
    for item in items:
        keep(second, item)
    assert second.finish(), second.collector.metric_verdicts()
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    replaced = {record["replaces"] for record in records}
    counting = [(record["port_id"], record["metric_name"]) for record in records if record["record_id"] not in replaced]
    assert sorted(counting) == [(port, metric) for port in sorted(PORTS) for metric in (LOSSLESS, LOSSY)], counting
    third, items = begin(tmp_path, resume=True)
    assert not items and third.finish(), "everything was measured"


def test_a_case_that_never_ran_beside_one_that_did_is_no_pass_for_whoever_reads_the_records(tmp_path):
    """The stress after a sweep: a port of which there is a record is missed by nobody, so its stress has one too, an
    ERROR, which the next part replaces. A port without any is left."""
    items = ITEMS + [Item(port, ALL_PORTS) for port in PORTS]
    first, ran = begin(tmp_path, items=items)
    for item in ran[1:4]:
        keep(first, item)
    first.gone("no route to host")
    assert not first.finish(), "a run with a stress that was not measured passed"
    assert not stored(tmp_path, PORTS[0]), "a port that has no verdict was not left"
    found = stored(tmp_path, PORTS[1])
    assert judge([one for one in found if one.metric_name == LOSSY], True).status is Status.ERROR, found
    assert "no route to host" in found[-1].cause and found[-1].plan_id == ALL_PORTS.plan_id, found[-1]
    second, ran = begin(tmp_path, resume=True, items=items)
    assert [item.case for item in ran] == [PORT, *[ALL_PORTS] * 4], "the second part"
    for item in ran:
        keep(second, item)
    assert second.finish(), second.collector.metric_verdicts()
    found = [one for one in stored(tmp_path, PORTS[1]) if one.metric_name == LOSSY]
    assert judge(found, True).status is Status.PASS, found


def test_what_failed_is_kept_where_nothing_can_be_measured_any_more(tmp_path):
    """Of ports whose items have not come yet too; a verdict that is there stays, and each item has its own case's."""
    items = ITEMS + [Item(port, ALL_PORTS) for port in PORTS]
    first, ran = begin(tmp_path, items=items)
    sweeps = next(one for one in first.extensions if isinstance(one, Sweeps))
    keep(first, ran[0])
    failed = {port: Outcome(PORT, verdicts(port, Status.FAIL), {}) for port in PORTS[:2]}
    first.gone("no route to host")
    sweeps.keep_failures(failed, ran)
    assert not first.finish(), "a run with ports that were not measured passed"
    found = [(one.port_id, one.status.value) for one in parsed(tmp_path) if one.plan_id == PORT.plan_id]
    assert found == [(PORTS[0], "PASS")] * 2 + [(PORTS[1], "FAIL")] * 2, found
    second, ran = begin(tmp_path, resume=True, items=items)
    assert PORTS[1] not in [second.planned(item).port for item in ran if item.case is PORT], "a FAIL is measured again"


@pytest.mark.parametrize("failed", [True, False])
def test_a_port_that_failed_fails_its_item_where_the_lab_goes_away(tmp_path, failed):
    """Any other one is skipped; either ends the session."""
    ours, ran = begin(tmp_path)
    sweeps = next(one for one in ours.extensions if isinstance(one, Sweeps))
    sweeps.plan_of_ports = SimpleNamespace(device=DEVICE, ports=PORTS, refused={})
    pytest_session = SimpleNamespace(items=ran, shouldstop=False)
    request = SimpleNamespace(config=SimpleNamespace(stash={SESSION_KEY: ours, SWEEPS_KEY: sweeps}), node=ran[0],
                              session=pytest_session)

    class Gone:
        """What cannot measure."""

        failures = {PORTS[0]: Outcome(PORT, verdicts(PORTS[0], Status.FAIL), {})} if failed else {}

        def outcome(self, port):
            """Nothing answers."""
            raise LabGone("no route to host")

    sweep = pfc_sweep.__wrapped__(request, lambda case: Gone(), None)
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception), match="expected|no route to host") as caught:
        sweep(f"{DEVICE}|{PORTS[0]}")
    assert caught.type is (pytest.fail.Exception if failed else pytest.skip.Exception), caught.value
    assert pytest_session.shouldstop == "no route to host", "the session goes on"
    assert [one.status for one in ours.verdicts_of(ran[0].nodeid)] == [Status.FAIL] * 2 * failed, "the verdict"


def test_a_sweep_of_some_ports_goes_on(tmp_path):
    """`--pfc-ports` names ports that were measured, too; those that it does not name are left alone."""
    first, items = begin(tmp_path)
    keep(first, items[0])
    keep(first, items[1], Status.FAIL)
    second, items = begin(tmp_path, resume=True, ports=f"{PORTS[0]},{PORTS[2]}")
    assert [item.nodeid for item in items] == [ITEMS[2].nodeid], "the port that is not measured yet"
    keep(second, items[0])
    assert second.finish(), "the verdict of a port that was not asked for decided"


def test_a_run_on_another_testbed_is_refused(tmp_path):
    """In one sentence."""
    first, items = begin(tmp_path)
    keep(first, items[0])
    with pytest.raises(QualificationError, match="is of a run on testbed lab, not on other"):
        begin(tmp_path, resume=True, testbed="other")


def test_ports_that_cannot_be_measured_are_refused_each_with_its_reason():
    """Down, at another speed, without QoS: the others are planned, with each other."""
    lab = SweptLab()
    world = next(iter(lab.worlds.values()))
    world.down = ("Ethernet4",)
    del world.config_db["PORT_QOS_MAP"]["Ethernet68"]
    plan = lab.plan()
    assert {"Ethernet4", "Ethernet68"} <= set(plan.refused), plan.refused
    assert "Ethernet4 is down (admin up, oper down)" in plan.refused["Ethernet4"], plan.refused
    assert all(reason.count("\n") == 0 for reason in plan.refused.values()), plan.refused
    assert {*plan.plans, *plan.refused} == set(PORTS), "a port is lost"
    lines = sweep_lines(plan, None, plan.ports)
    assert sum(line.startswith("  not measured: ") for line in lines) == len(plan.refused), lines


def test_a_sweep_of_refused_ports_alone_measures_nothing():
    """The items have their reasons; nothing breaks."""
    lab, ours = SweptLab(), Session("run-1", None)
    next(iter(lab.worlds.values())).down = PORTS
    sweeps, plan = Sweeps(ours, {}.get), lab.plan()
    sweeps.plan_of_ports, sweeps.ports = plan, list(PORTS)
    assert not plan.plans and set(plan.refused) == set(PORTS), plan.refused
    assert sweeps.sweeper(PORT, Bench(Dut(lab.host), lab.api, lab.clock)) is not None, "no sweeper"


def test_a_run_of_ports_in_a_wave_and_alone_goes_on_as_such(tmp_path):
    """The waves of what is left are those of the whole sweep: a port that is left alone has the others in its wave."""
    first, items = begin(tmp_path, both=True)
    for item in items[:-1]:
        keep(first, item)
    first.finish()
    second, items = begin(tmp_path, resume=True, both=True)
    sweeps = next(one for one in second.extensions if isinstance(one, Sweeps))
    assert [item.nodeid for item in items] == [ITEMS[-1].nodeid] and sweeps.of == list(PORTS), sweeps.of
    with pytest.raises(RecordError, match="of a run with --pfc-both given, this one has not given"):
        begin(tmp_path, resume=True)


@pytest.mark.parametrize(("concurrency", "at_once"), [(None, None), ("max", None), ("2", 2), ("1", ...)])
def test_waves_of_ports_that_are_measured_alone_too(concurrency, at_once):
    """As many as there can be, unless the user says how many; one is no wave."""
    ours = Session("run-1", "folder")
    sweeps = Sweeps(ours, {"pfc_both": True, "pfc_concurrency": concurrency}.get)
    if at_once is ...:
        with pytest.raises(QualificationError, match="--pfc-both measures each port in a wave, too"):
            sweeps.read_options()
        return
    sweeps.read_options()
    assert sweeps.at_once == at_once, concurrency
