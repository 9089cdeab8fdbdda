"""Storms of several flows in the cases that have them."""

import dataclasses

import pytest

from tests.common.pfc.cases.counting import _patient
from tests.common.pfc.cases.engine import unmet
from tests.common.pfc.cases.hold_in_storm import Hold, hold_traffic, storm_ran_and_load_applied
from tests.common.pfc.cases.ingress import IngressLoad
from tests.common.pfc.cases.pauses import global_pause, pause_lossless, pause_lossy
from tests.common.pfc.cases.storm_sequence import scenario_traffic
from tests.common.pfc.cases.watchdog.checks import WatchdogRun, validity as watchdog_validity
from tests.common.pfc.lab.watchdog import DROP, Timers
from tests.common.pfc.model.tolerances import HARDWARE
from tests.common.unit_tests.pfc.unit_test_hold_in_storm import held_run
from tests.common.unit_tests.pfc.unit_test_storm_chain import STORM, Noting, lab_of, storms


@pytest.mark.parametrize(("make_scenario", "target", "is_patient"), [
    (pause_lossless, (3,), False), (pause_lossy, (0, 1), False), (global_pause, (), False),
    (pause_lossless, (3, 4), True),
], ids=["PFC-1", "PFC-3", "PFC-4", "COUNT-3"])
def test_on_hardware_as_a_rule_a_storm_is_one_flow(make_scenario, target, is_patient):
    """What is configured where one flow lasts long enough: nothing more than that."""
    lab = lab_of(Noting(port_poll_s=1.0), HARDWARE)
    polled = {"FLEX_COUNTER_TABLE": {"PG_DROP": {"FLEX_COUNTER_STATUS": "enable"}}}
    lab = dataclasses.replace(lab, config_db={**lab.config_db, **polled})
    lab = _patient(lab) if is_patient else lab
    traffic = scenario_traffic(lab, make_scenario(target, lab.subject.qos))
    assert storms(traffic) == [STORM], storms(traffic)
    assert traffic.flows[STORM].needed_s == (47 if is_patient else 38), traffic.flows[STORM].needed_s
    hold = hold_traffic(lab, Hold((3,), (IngressLoad(lab.subject.pair.tx, (3,), 50, 5.0),), 1.0))
    assert storms(hold) == [STORM], storms(hold)


@pytest.mark.parametrize("gap", ["", "the storm had a gap"])
def test_a_gap_counts_in_every_family_whose_storms_are_chains(gap):
    """Held senders and the watchdog judge by the same check."""
    run = held_run(1_197_318)
    drained = {name: dataclasses.replace(flow, gap=gap) if name == "storm" else flow
               for name, flow in run.phases["drained"].items()}
    lacking = ["storm-running"] if gap else []
    gone_on = dataclasses.replace(run, phases={**run.phases, "drained": drained})
    assert [check.name for check in unmet(storm_ran_and_load_applied(gone_on))] == lacking, gap
    phases = {"stormed": {"storm": run.phases["paused"]["storm"]}, "over": {"storm": drained["storm"]}}
    watched = WatchdogRun(run.subject, run.before, run.before, run.before, (3,), phases, Timers(DROP), ())
    found = {check.name for check in unmet(watchdog_validity(watched))}
    assert [name for name in found if name.startswith("storm")] == lacking, gap
