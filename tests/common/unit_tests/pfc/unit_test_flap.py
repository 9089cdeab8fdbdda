"""A link that flaps: what has to have been sent before and after it, unless the switch held it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.flap import (
    AFTER, BEFORE, DETECTED, DOWN, STILL, UP, FlapRun, came_up_in_storm, detected_and_over, dropped_again,
    flap_validity, held_from_the_first, nobody_held, stayed_stormed, switched_link,
)
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.lab.reservation import Reservation
from tests.common.pfc.model.counters import WatchdogRow
from tests.common.pfc.model.errors import SwitchUnreachable
from tests.common.pfc.model.ports import PortState
from tests.common.pfc.model.traffic import FlowPlan, FlowStats, Role, pfc_frame
from tests.common.pfc.record.verdict import Status
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld, plan_port
from tests.common.unit_tests.pfc.shell_switch import Clock
from tests.common.unit_tests.pfc.unit_test_run import TESTER_PORTS

LINE_FPS = 100e9 / 8 / 1044
DUE = round(LINE_FPS / 4)


def unmet(early, late, pushed_early=0, pushed_late=0):
    """The messages of `load-applied` where so much of priority 3 was sent before and after the flap, while the switch
    sent so many PFC frames to its sender."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, before = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()
    sent = before.pfc_tx["Ethernet64"]

    def reading(frames):
        """Counters with so many more."""
        more = tuple(count + (frames if priority == 3 else 0) for priority, count in enumerate(sent))
        return replace(before, pfc_tx={**before.pfc_tx, "Ethernet64": more})

    flows = (FlowPlan("over", Role.CLEAN, 3, 1024, 25.0), FlowPlan("later", Role.TEST, 3, 1024, 25.0, seconds=1))
    over, later = ({plan.name: FlowStats(plan, False, frames, frames)}
                   for plan, frames in zip(flows, (early, late), strict=True))
    down, after = reading(pushed_early), reading(pushed_early + pushed_late)
    run = FlapRun(subject, before, down, after, (3,), {BEFORE: over, AFTER: later}, down, down, None, True)
    return [check.message for check in flap_validity(run)
            if check.name == "load-applied" and check.status is Status.ERROR]


class DutOfOneLink:
    """A switch whose answer to the first order to bring the link up gets lost, and the order too."""

    name = "vtb-t0-01"
    host = SimpleNamespace(hostname=name)
    guarded = Dut.guarded
    reservation = Reservation(watchdog={})
    is_up, is_away = True, True

    def ask(self, commands):
        """A link that follows orders."""
        if "startup" in commands.get("link", "") and self.is_away:
            self.is_away = False
            raise SwitchUnreachable("vtb-t0-01: connection reset")
        self.is_up = "startup" in commands["link"] if "link" in commands else self.is_up
        return dict.fromkeys(commands, "{}")

    def counters(self):
        """How the link is."""
        return SimpleNamespace(interfaces={"Ethernet0": PortState(self.is_up, self.is_up, 100000)})


def test_a_link_is_brought_up_where_the_switch_was_away_for_a_moment():
    """Otherwise it would be down in every later case."""
    dut = DutOfOneLink()
    subject = plan_port(Dut(FakeHost(FakeWorld())), TESTER_PORTS, "Ethernet0", None).subject
    lab = SimpleNamespace(dut=dut, subject=subject, clock=Clock(), port="Ethernet0")
    with switched_link(lab, True) as switch:
        switch(False)
        assert not dut.is_up, "it was not shut"
    assert dut.is_up and not dut.is_away, "the link stayed down"


@pytest.mark.parametrize(("run", "said"), [
    ({"early": 1, "late": DUE}, ""),
    ({"early": 0, "late": DUE}, "at least 1 frames sent before the flap, got 0"),
    ({"early": 0, "late": DUE, "pushed_early": 5}, ""),
    ({"early": 1, "late": DUE // 2}, "frames sent after the flap, got "),
    ({"early": 1, "late": 1, "pushed_late": 2980}, ""),
    ({"early": 1, "late": 0, "pushed_late": 2980}, "at least 1 frames sent after the flap, got 0"),
    ({"early": 1, "late": 1, "pushed_late": 2900}, "frames sent after the flap, got "),
    ({"early": 1, "late": DUE // 2, "pushed_early": 5}, "frames sent after the flap, got "),
])
def test_data_has_to_be_there_unless_the_switch_holds_it(run, said):
    found = unmet(**run)
    assert len(found) == bool(said) and all(said in message for message in found), found


@pytest.mark.parametrize(("leaked", "storm_s", "free_s", "exact", "name"), [
    (500, 3.0, 3.0, True, ""),
    (600, 3.0, 3.0, True, "held-from-link-up"),
    (600, 3.0, 3.0, False, ""),
    (400_000, 3.0, 3.0, False, "held-from-link-up"),
    (400_000, 2.5, 3.0, False, "storm-ran"),
    (0, 3.0, 0.0, True, "frames-passed"),
])
def test_a_link_that_comes_up_in_a_storm(leaked, storm_s, free_s, exact, name):
    """What leaked before the first pause came is no fault; where the storm came later than frames passed, nothing is
    known; on hardware a tenth of a second may be the generator's."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, down = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()
    received = tuple(count + (priority == 3) for priority, count in enumerate(down.pfc_rx["Ethernet0"]))
    after = replace(down, pfc_rx={**down.pfc_rx, "Ethernet0": received})
    test, free = (FlowPlan(f"{priority}", Role.CLEAN, priority, 1024, 25.0) for priority in (3, 0))
    storm = FlowPlan("storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
    gains = {test: leaked, free: round(free_s * LINE_FPS / 4), storm: round(storm_s * 5960)}
    early = {plan.name: FlowStats(plan, True, 7, 7) for plan in gains}
    late = {plan.name: FlowStats(plan, True, 7 + gain, 7 + gain) for plan, gain in gains.items()}
    run = FlapRun(subject, down, down, after, (3,), {DOWN: early, UP: late}, down, down, None, exact)
    bad = [check for check in (*came_up_in_storm(run), *held_from_the_first(run)) if check.status is not Status.PASS]
    assert [check.name for check in bad][:1] == [name] * bool(name), bad


def sent_too_many(gains, slower=False, exact=True, tested=(3, 4), **ways):
    """The checks that fail where the sender is sent pauses between the readings before the flap, while the link was
    down, still down, and after it. `slower`: the switch has a slower port."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, first = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()
    if slower:
        first = replace(first, interfaces={**first.interfaces, "Ethernet8": PortState(True, True, 25_000)})
    readings = [first]
    for gain in gains:
        counts = tuple(count + gain.get(number, 0) for number, count in enumerate(readings[-1].pfc_tx["Ethernet64"]))
        readings.append(replace(first, pfc_tx={**first.pfc_tx, "Ethernet64": counts}))
    before, down, still_down, after = readings
    phases = {UP: {}} if ways.get("comes_up_in_storm") else {}
    watched = before if ways.get("quiet") else None
    run = FlapRun(subject, before, down, after, tested, phases, still_down, still_down, watched, exact)
    bad = [check for check in nobody_held(run) if check.status is not Status.PASS]
    assert all(check.where.startswith("vtb-t0-01 Ethernet64 priority ") for check in bad), bad
    return [(check.name, check.priority) for check in bad]


@pytest.mark.parametrize(("gains", "ways", "failed"), [
    (({3: 2}, {}, {}), {}, []),
    (({3: 2}, {3: 1}, {}), {}, [("no-pause-sent-after", 3)]),
    (({3: 2}, {}, {4: 1}), {}, [("no-pause-sent-after", 4)]),
    (({3: 2}, {}, {4: 9}), {"comes_up_in_storm": True}, []),
    (({3: 2}, {3: 9}, {4: 9}), {"comes_up_in_storm": True}, [("no-pause-sent-after", 3)]),
    (({3: 2}, {}, {}), {"quiet": True}, [("no-pause-sent-after", 3)]),
    (({3: 2}, {}, {}), {"quiet": True, "exact": False}, []),
    (({}, {3: 9}, {}), {"exact": False}, [("no-pause-sent-after", 3)]),
    (({}, {3: 9}, {}), {"exact": False, "slower": True}, []),
    (({}, {3: 9}, {}), {"slower": True}, [("no-pause-sent-after", 3)]),
    (({4: 9}, {}, {}), {"tested": (3,)}, []),
    (({4: 9}, {4: 1}, {}), {"tested": (3,)}, [("no-pause-sent-after", 4)]),
    (({0: 1}, {}, {}), {}, [("no-other-back-pressure", 0)]),
    (({}, {}, {0: 1}), {"comes_up_in_storm": True, "exact": False, "slower": True}, [("no-other-back-pressure", 0)]),
])
def test_nobody_is_paused_for_a_port_whose_link_is_down(gains, ways, failed):
    """A pause as the link goes down is right where a storm held frames, or time is not exact; one that comes while it
    is down is not, unless frames may be flooded to a slower port; whether the storm was of that priority or not. Lossy
    priorities have none at any time."""
    found = sent_too_many(gains, **ways)
    assert found == failed, found


def in_a_watched_storm(
    leaked=0, pauses=0, statuses=("stormed",) * 3, after="operational", sent=1000, storm=20_000, exact=True,
):
    """The checks that fail where the link comes up in a storm that the watchdog has to detect: so much is received,
    and counted, in the while after that. The switch has a slower port."""
    dut = Dut(FakeHost(FakeWorld()))
    subject, first = plan_port(dut, TESTER_PORTS, "Ethernet0", None).subject, dut.counters()
    first = replace(first, interfaces={**first.interfaces, "Ethernet8": PortState(True, True, 25_000)})

    def reading(status, more=0):
        """Counters with so many more pauses for the sender."""
        counts = tuple(count + more * (number == 3) for number, count in enumerate(first.pfc_tx["Ethernet64"]))
        rows = {"Ethernet0:3": WatchdogRow(status, 1, 0)}
        return replace(first, watchdog=rows, pfc_tx={**first.pfc_tx, "Ethernet64": counts})

    plans = FlowPlan("3", Role.CLEAN, 3, 1024, 25.0), FlowPlan("storm", Role.STORM, None, 64, fps=5960,
                                                               pause=pfc_frame((3,), 65535))
    gains = {plans[0]: (sent, leaked), plans[1]: (storm, 0)}
    early = {plan.name: FlowStats(plan, True, 7, 7) for plan in plans}
    late = {plan.name: FlowStats(plan, True, 7 + tx, 7 + rx) for plan, (tx, rx) in gains.items()}
    stormed = reading(statuses[0]), reading(statuses[1]), reading(statuses[2], pauses)
    phases = {DETECTED: early, STILL: late}
    run = FlapRun(subject, first, first, reading(after), (3,), phases, first, first, first, exact, in_storm=stormed)
    made = (*stayed_stormed(run), *detected_and_over(run), *dropped_again(run))
    return [check.name for check in made if check.status is not Status.PASS]


@pytest.mark.parametrize(("ways", "failed"), [
    ({}, []),
    ({"leaked": 1}, ["dropped-in-storm"]),
    ({"pauses": 1}, ["no-back-pressure"]),
    ({"pauses": 1, "exact": False}, []),
    ({"statuses": ("operational", "stormed", "stormed")}, ["storm-detected"]),
    ({"statuses": ("stormed", "operational", "operational")}, ["storm-detected"] * 2),
    ({"after": "stormed"}, ["restored"]),
    ({"sent": 0}, ["load-applied"]),
    ({"sent": 0, "pauses": 9}, ["no-back-pressure"]),
    ({"storm": 5000}, ["storm-ran"]),
])
def test_a_watchdog_goes_on_under_a_link_that_comes_up_in_a_storm(ways, failed):
    """How often it detected the storm is not asked; that it acts is."""
    found = in_a_watched_storm(**ways)
    assert found == failed, found
