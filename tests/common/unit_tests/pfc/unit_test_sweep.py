"""Sweeps on the fake switch: each port has its own verdict, the same in both modes; what is broken stops no other."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tests.common.pfc.model.ports import ConnectedPort, PortPair
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Check, Status
from tests.common.pfc.sweep.port_sweep import LateSender, late_senders
from tests.common.pfc.sweep.sweeper import LAB_DEADLINE_S, LabGone
from tests.common.unit_tests.pfc.fakes import DEVICE, PORTS, FakeWorld
from tests.common.unit_tests.pfc.sweep_fakes import SweptLab
from tests.common.unit_tests.pfc.unit_test_scheduler_shares import QOS, TABLES

WAVES = [["Ethernet0", "Ethernet4"], ["Ethernet64", "Ethernet68"]]


def statuses(outcomes):
    """Port -> status of lossless and lossy."""
    return {port: tuple(verdict.status.value for verdict in outcome.verdicts) for port, outcome in outcomes.items()}


def causes(outcome):
    """Every reason that is given for a port, once."""
    return list(dict.fromkeys(message for verdict in outcome.verdicts for message in verdict.messages))


def bad_checks(outcome):
    """The checks that are not PASS."""
    return {check.name for verdict in outcome.verdicts for check in verdict.checks if check.status is not Status.PASS}


@pytest.mark.parametrize(("at_once", "waves"), [(1, [[port] for port in PORTS]), (None, WAVES)])
def test_every_port_is_measured_with_its_own_priorities(at_once, waves):
    """A preflight over all ports in two flights, then the waves, a configuration each."""
    lab = SweptLab()
    outcomes = lab.sweep(at_once)
    assert statuses(outcomes) == dict.fromkeys(PORTS, ("PASS", "PASS")), [causes(one) for one in outcomes.values()]
    assert lab.pushes == [*WAVES, *waves], f"configurations: {lab.pushes}"
    assert not lab.transmits, "a storm runs on"
    for wave in waves:
        for port in wave:
            evidence = outcomes[port].evidence
            assert evidence["ports_at_once"] == wave and evidence["storm_priorities"] == [3, 4], evidence
            assert "first_try" not in evidence, "tried twice"
    verdicts = [(verdict.device, verdict.port, verdict.priority, verdict.metric_name)
                for outcome in outcomes.values() for verdict in outcome.verdicts]
    assert verdicts == [(DEVICE, port, None, metric) for port in PORTS for metric in (LOSSLESS, LOSSY)], verdicts


@pytest.mark.parametrize("at_once", [1, None])
def test_every_port_has_the_evidence_of_its_own_flows(at_once):
    """Of all ports the readings are of the same moments of their measurement, and the data of the others is not its
    own."""
    outcomes = SweptLab(Ethernet4=FakeWorld(leaked={4: 12})).sweep(at_once)
    times = {port: outcome.evidence["timeline"]["readings_s"] for port, outcome in outcomes.items()}
    assert all(found == times["Ethernet0"] and len(found) > 8 for found in times.values()), times
    for port, outcome in outcomes.items():
        found = outcome.evidence["timeline"]
        assert [storm["label"] for storm in found["storms"]] == ["PFC on priority 3", "PFC on priority 4"], found
        in_the_storm = [counted[3] for counted in found["frames_rx"].values()]
        leaked = 12 if port == "Ethernet4" else 0
        assert in_the_storm[:2] == [0, leaked] and min(in_the_storm[2:]) > 0, f"{port}: {found}"


BROKEN = {
    "blocked-while-paused": (dict(leaked={4: 12}), ("FAIL", "PASS")),
    "background-unaffected": (dict(lost_in_storm={1: 9}), ("PASS", "FAIL")),
    "pause-counted": (dict(counts_pause=False), ("FAIL", "PASS")),
    "no-other-back-pressure": (dict(pushes_back_also=(0,)), ("PASS", "FAIL")),
    "resumed-rate": (dict(slow_to_resume=(3,)), ("FAIL", "PASS")),
    "held-frames-drained": (dict(lost_held=1), ("FAIL", "PASS")),
}


@pytest.mark.parametrize("check", BROKEN)
def test_both_modes_say_the_same_of_a_broken_port_and_of_the_others(check):
    """One port fails, by its own check; it is no port that could not be measured, so it is not tried again."""
    faults, expected = BROKEN[check]
    for at_once in (1, None):
        lab = SweptLab(Ethernet4=FakeWorld(**faults))
        outcomes = lab.sweep(at_once)
        assert statuses(outcomes) == {port: expected if port == "Ethernet4" else ("PASS", "PASS") for port in PORTS}, (
            f"{at_once}: {[causes(one) for one in outcomes.values()]}")
        assert check in bad_checks(outcomes["Ethernet4"]), f"{at_once}: {causes(outcomes['Ethernet4'])}"
        assert "first_try" not in outcomes["Ethernet4"].evidence, "a FAIL was tried again"


def test_a_dead_path_is_tried_once_more_and_stops_nothing():
    """Its cause is the preflight's, of the second try; the others are PASS."""
    for at_once in (1, None):
        lab = SweptLab(Ethernet64=FakeWorld(dead_path=True))
        outcomes = lab.sweep(at_once)
        assert statuses(outcomes) == {
            port: ("ERROR", "ERROR") if port == "Ethernet64" else ("PASS", "PASS") for port in PORTS}, at_once
        cause = causes(outcomes["Ethernet64"])[0]
        assert cause.startswith("preflight: vtb-t0-01 Ethernet64: expected the 7000 frames sent into Ethernet0"), cause
        assert outcomes["Ethernet64"].evidence["first_try"] == cause, outcomes["Ethernet64"].evidence
        assert lab.pushes.count(["Ethernet64"]) == 1, f"its preflight alone, no storm: {lab.pushes}"


def test_a_port_that_recovers_is_measured_the_second_time():
    """The record says why the first try was none."""
    lab = SweptLab(Ethernet4=FakeWorld(dead_path=True))
    lab.on_push = lambda ports: setattr(lab.worlds["Ethernet4"], "dead_path", ports != ["Ethernet4"])
    outcomes = lab.sweep()
    assert statuses(outcomes) == dict.fromkeys(PORTS, ("PASS", "PASS")), [causes(one) for one in outcomes.values()]
    assert "check cabling" in outcomes["Ethernet4"].evidence["first_try"], outcomes["Ethernet4"].evidence
    assert outcomes["Ethernet4"].evidence["ports_at_once"] == ["Ethernet4"], "measured again with the others"


@pytest.mark.parametrize("at_once", [1, None])
def test_a_port_that_the_generators_refuse_stops_no_other(at_once):
    """Not in the preflight, where it is taken out of its flight; so it is in no wave."""
    lab = SweptLab()
    lab.refused = "Ethernet0"
    outcomes = lab.sweep(at_once)
    assert statuses(outcomes) == {
        port: ("ERROR", "ERROR") if port == "Ethernet0" else ("PASS", "PASS") for port in PORTS}, lab.pushes
    assert "there is no port behind Ethernet0" in causes(outcomes["Ethernet0"])[0], causes(outcomes["Ethernet0"])


def test_a_wave_that_fails_as_a_whole_is_taken_apart():
    """Once more together, then each by itself: the one that stops the others is ERROR."""
    lab = SweptLab()
    storms = []

    def refuse_storms(ports):
        """The preflight of a port flies, its measurement is refused."""
        storms.append(ports)
        lab.refused = "Ethernet0" if len(storms) > 2 and storms.count(["Ethernet0", "Ethernet4"]) != 3 else ""

    lab.on_push = refuse_storms
    outcomes = lab.sweep()
    assert storms == [
        *WAVES, WAVES[0], WAVES[0], WAVES[0], ["Ethernet0"], ["Ethernet4"], WAVES[1]], f"configurations: {storms}"
    assert statuses(outcomes) == {
        port: ("ERROR", "ERROR") if port == "Ethernet0" else ("PASS", "PASS") for port in PORTS}, storms
    assert "no port behind Ethernet0" in outcomes["Ethernet4"].evidence["first_try"], outcomes["Ethernet4"].evidence


def test_a_lab_that_comes_back_is_waited_for():
    """It goes away in the first wave's storm and is back half a minute later; nothing is lost."""
    lab = SweptLab()

    def go_away(ports):
        """At the first storm."""
        lab.answers = len(lab.pushes) != 3

    lab.on_push = go_away
    sweeper, slept = lab.sweeper(None), []

    def come_back(seconds):
        """The clock of the wait."""
        slept.append(seconds)
        lab.answers = len(slept) > 30

    sweeper._patience = SimpleNamespace(now=lambda: sum(slept), sleep=come_back)
    outcomes = {port: sweeper.outcome(port) for port in PORTS}
    assert statuses(outcomes) == dict.fromkeys(PORTS, ("PASS", "PASS")), [causes(one) for one in outcomes.values()]
    assert "connection refused" in outcomes["Ethernet0"].evidence["first_try"], outcomes["Ethernet0"].evidence
    assert "first_try" not in outcomes["Ethernet64"].evidence, "the second wave was not disturbed"


def test_a_lab_that_stays_away_ends_the_sweep_and_keeps_what_was_measured():
    """After the second wave's ports are owed still; those of the first have their verdicts."""
    lab = SweptLab()
    lab.on_push = lambda ports: setattr(lab, "answers", len(lab.pushes) < 4)
    sweeper = lab.sweeper(None)
    first = {port: sweeper.outcome(port) for port in WAVES[0]}
    began = lab.clock.now()
    with pytest.raises(LabGone, match="no route to host"):
        sweeper.outcome("Ethernet64")
    assert lab.clock.now() - began >= LAB_DEADLINE_S, "given up too early"
    assert statuses(first) == dict.fromkeys(WAVES[0], ("PASS", "PASS")), first
    assert {port: sweeper.outcome(port) for port in WAVES[0]} == first, "the first wave's verdicts changed"


@pytest.mark.parametrize(("both_of", "asked"), [((), "Ethernet4"), (PORTS, "Ethernet0")])
def test_what_failed_is_kept_where_the_lab_goes_away_while_its_neighbour_is_tried_again(both_of, asked):
    """Whichever port of the wave asks first: no later try may pass it."""
    lab = SweptLab(Ethernet0=FakeWorld(ignores_pause=True), Ethernet4=FakeWorld(dead_path=True))
    lab.on_push = lambda ports: setattr(lab, "answers", len(lab.pushes) < 4)
    sweeper = lab.sweeper(None, both_of=both_of)
    with pytest.raises(LabGone, match="no route to host"):
        sweeper.outcome(asked)
    assert statuses(sweeper.failures) == {"Ethernet0": ("FAIL", "PASS")}, statuses(sweeper.failures)


def test_what_failed_the_second_time_is_kept_where_the_lab_goes_away_then():
    """The port was refused first; its neighbour cannot be measured, and after that nothing can."""
    lab = SweptLab(Ethernet0=FakeWorld(ignores_pause=True))

    def break_ports(ports):
        """The first storm is refused; Ethernet4 is dead from then on."""
        lab.refused = "Ethernet0" if len(lab.pushes) == 3 else ""
        lab.worlds["Ethernet4"].dead_path = len(lab.pushes) >= 3

    lab.on_push = break_ports
    sweeper, waits = lab.sweeper(None), []

    def wait():
        """The lab answers once."""
        waits.append(len(lab.pushes))
        if len(waits) > 1:
            raise LabGone("no route to host")

    sweeper._wait_for_the_lab = wait
    with pytest.raises(LabGone):
        sweeper.outcome("Ethernet0")
    assert statuses(sweeper.failures) == {"Ethernet0": ("FAIL", "PASS")}, (waits, statuses(sweeper.failures))


@pytest.mark.parametrize("at_once", [1, None])
def test_an_interruption_stops_the_traffic(at_once):
    """Ctrl-C in the storm."""
    lab = SweptLab()
    sweeper = lab.sweeper(at_once)
    ask, asked = lab.host.shell, []

    def interrupted(command, **options):
        """Ctrl-C comes at the first reading of the counters with a storm on."""
        if lab.transmits:
            asked.append(command)
            raise KeyboardInterrupt
        return ask(command, **options)

    lab.host.shell = interrupted
    with pytest.raises(KeyboardInterrupt):
        sweeper.outcome("Ethernet0")
    assert asked and not lab.transmits, "the storm runs on"


def test_what_a_wave_holds_is_added_up():
    """Each port alone holds 8.2 MB of 12.8, two of them together hold more than there is: that is a FAIL of both."""
    alone, together = SweptLab(), SweptLab()
    for lab in (alone, together):
        for world in lab.worlds.values():
            world.held_frames = 4000
    one_by_one, in_waves = alone.sweep(1), together.sweep()
    held = 2 * 4000 * 1024
    for port in PORTS:
        evidence = one_by_one[port].evidence
        assert (evidence["held_bytes"], evidence["held_bytes_on_other_ports"]) == (held, 0), evidence
        assert in_waves[port].evidence["held_bytes_on_other_ports"] == held, in_waves[port].evidence
    assert statuses(one_by_one) == dict.fromkeys(PORTS, ("PASS", "PASS")), causes(one_by_one["Ethernet0"])
    assert statuses(in_waves) == dict.fromkeys(PORTS, ("FAIL", "PASS")), causes(in_waves["Ethernet0"])
    assert causes(in_waves["Ethernet0"]) == [
        "vtb-t0-01 Ethernet0 priorities 3, 4: expected fewer than the 12766208 bytes of egress_lossless_pool sent"
        f" while paused, those held for other ports ({held}) among them, got {2 * held}"], in_waves["Ethernet0"]


@dataclass
class Witness:
    """An auditor to whom a counter of a port moves that none of a wave uses, whenever one of `why` is measured."""

    why: set[str]
    alone: bool = True
    seen: list[list[str]] = field(default_factory=list)

    def begin(self, lab, beside=()):
        """Nothing to read."""

    def audit(self, labs, case):
        """The same failed check of each port."""
        ports = [lab.port for lab in labs]
        self.seen.append(ports)
        moved = not self.why.isdisjoint(ports) and (self.alone or len(ports) > 1)
        status = Status.FAIL if moved else Status.PASS
        checks = [Check("counter-explained", LOSSLESS, status, "0 more", 7, f"{DEVICE} E99 {'' if moved else port}")
                  for port in ports]
        return [[check] for check in checks]

    def reconsidered(self, lab, case, checks):
        """None."""
        return checks


@pytest.mark.parametrize(("witness", "failed", "seen"), [
    (Witness({"Ethernet4"}), {"Ethernet4"}, [WAVES[0], ["Ethernet0"], ["Ethernet4"], WAVES[1]]),
    (Witness({"Ethernet0"}, alone=False), {*WAVES[0]}, [WAVES[0], ["Ethernet0"], ["Ethernet4"], WAVES[1]]),
    (Witness(set()), set(), WAVES),
])
def test_what_any_port_of_a_wave_may_be_why_of_is_traced(witness, failed, seen):
    """To the one of which it shows alone; of all, if it shows of none."""
    lab = SweptLab()
    sweeper = lab.sweeper(None, auditors=[witness])
    outcomes = {port: sweeper.outcome(port) for port in PORTS}
    expected = {port: ("FAIL" if port in failed else "PASS", "PASS") for port in PORTS}
    assert statuses(outcomes) == expected, [causes(one) for one in outcomes.values()]
    assert witness.seen == seen, witness.seen


def test_a_port_that_cannot_be_measured_has_no_checks_of_an_auditor():
    """The others of its wave have."""
    witness = Witness(set())
    lab = SweptLab(Ethernet4=FakeWorld(idle=(3,)))
    sweeper = lab.sweeper(None, auditors=[witness])
    outcomes = {port: sweeper.outcome(port) for port in WAVES[0]}
    names = {port: {check.name for one in outcome.verdicts for check in one.checks}
             for port, outcome in outcomes.items()}
    assert "counter-explained" in names["Ethernet0"] and "counter-explained" not in names["Ethernet4"], names


PROFILES = "BUFFER_PG_TABLE:{}:3-4 pg_lossless {{'xoff': '165568', 'size': '0', 'dynamic_th': '0', 'pool': 'ingress'}}"


@pytest.mark.parametrize(("shared_headroom", "change", "exact", "late"), [
    (0, {}, True, LateSender(12_352, 2 * 165568)), (0, {}, False, LateSender(12_352, 2 * 165568)),
    (4 * 165568, {}, True, LateSender(12_352, 2 * 165568)), (4 * 165568, {}, False, LateSender()),
    (2 * 165568, {}, True, LateSender((55 * 1044 * 7 - 27967) // 64, 165568)),  # 82784 bytes: 57 frames of 1443
    (0, {"CABLE_LENGTH": {}}, True, LateSender()), (0, {"BUFFER_POOL": {}}, True, LateSender()),
])
def test_senders_go_on_for_as_long_as_headroom_covers(shared_headroom, change, exact, late):
    """Of two ports at once, each with two lossless priorities; less where the pool has less for all of them. On
    hardware nobody knows how chips divide what a pool shares."""
    pool = {"BUFFER_POOL": {"ingress": {"size": "12766208", "xoff": str(shared_headroom)}}}
    tables = {**TABLES, "PORT_QOS_MAP": dict.fromkeys(PORTS, TABLES["PORT_QOS_MAP"]["Ethernet0"]),
              "CABLE_LENGTH": {"AZURE": dict.fromkeys(PORTS, "5m")}, **pool, **change}
    dut = SimpleNamespace(ask=lambda commands: {name: PROFILES.format(name) for name in commands})
    parts = []
    for port, tx in (("Ethernet0", "Ethernet64"), ("Ethernet4", "Ethernet68")):
        pair = PortPair(*(ConnectedPort(DEVICE, name, "tester", "", 100_000) for name in (port, tx)))
        subject = SimpleNamespace(pair=pair, qos=QOS, where=lambda port: port)
        lab = SimpleNamespace(port=port, subject=subject, config_db=tables, dut=dut,
                              clock=SimpleNamespace(exact=exact))
        parts.append(SimpleNamespace(
            lab=lab, scenario=SimpleNamespace(tested=(3, 4), background=(0, 1, 2, 5, 6), frame_bytes=1024)
        ))
    found = late_senders(parts)
    assert found == {"Ethernet0": late, "Ethernet4": late}, found
