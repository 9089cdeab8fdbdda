"""Compiled stepping comes to the same counts as the data plane without it, and as the oracle."""
from __future__ import annotations

import itertools
from fractions import Fraction
from unittest.mock import Mock, patch

import pytest

from virtual_testbed.dataplane import compiled
from virtual_testbed.dataplane.compiled import Compiled, tables
from virtual_testbed.dataplane.compiled.cycle import COUNTS
from virtual_testbed.dataplane.compiled.stepper import Stepper
from virtual_testbed.dataplane.compiled.transfer import bounded
from virtual_testbed.dataplane.fast_forward import partition, skip
from virtual_testbed.dataplane.model.line import Line
from virtual_testbed.dataplane.model.traffic import FIRST_BIT, Duration
from virtual_testbed.faults import BUILT_IN, Fault, Scope
from virtual_testbed.tests.dataplane.differential import run_case
from virtual_testbed.tests.dataplane.differential_cases import FAMILIES, make_case
from virtual_testbed.tests.dataplane.testbeds import (MS, SECOND, SWITCH, US, data, line_rate, names, network, pair,
                                                      storm, switch_config)

SEED, MORE_SEEDS = 100, range(101, 108)
FULL = line_rate(1024)
EVERYWHERE = Scope()


class LeaksOften(Fault):
    """A shut queue lets a frame out every few microseconds."""

    def leak_period_ps(self, queue, period_ps):
        """Each queue in another time."""
        return (31 + queue) * US


class LeaksOnce(Fault):
    """A shut queue lets frames out, which those that are shut later do not."""

    is_asked = False

    def leak_period_ps(self, queue, period_ps):
        """What the first one is told."""
        was_asked = self.is_asked
        self.is_asked = True
        return 0 if was_asked else 31 * US


class AgesOften(Fault):
    """A shut queue discards what it holds every few microseconds."""

    def aging_ps(self, queue, is_off, time_ps):
        """Each queue in another time."""
        return (33 + queue) * US


def incast(senders, percent, dscp=3):
    """So many ports send to one more."""
    return [data(f"d{n}", n, senders, [dscp], dscp if dscp == 3 else 0, rate_fps=FULL * Fraction(percent, 100),
                 latency=FIRST_BIT)
            for n in range(senders)]


TRAFFIC = {
    "incast, lossless": (3, incast(2, 80), []),
    "incast, lossless, uneven": (8, incast(7, Fraction(2013, 100)), []),
    "incast, lossy": (3, incast(2, 80, 8), []),
    "lapsing pauses": (2, [*incast(1, 100), storm("s", 1, {3: 0x2000}, 20_000)], []),
    "lapsing pauses, half load": (2, [*incast(1, 50), storm("s", 1, {3: 0x2000}, 20_000)], []),
    "a pause flow at line rate": (2, [data("d", 0, 1, [4], 4), storm("s", 0, {3: 0xFFFF}, FULL * 1044 / 84)], []),
    "drops at full load": (2, incast(1, 100), [BUILT_IN["lossless-dropped"](EVERYWHERE, one_in="7")]),
    "bursts": (3, [data(f"d{n}", n, 2, [3, 4], 3, sizes=(64, 1500, 700), rate_fps=line_rate(1500), duration=Duration(
        burst_frames=70, burst_period_ps=20 * US)) for n in range(2)], []),
    "flows that end": (3, [data(f"d{n}", n, 2, [3], 3, rate_fps=FULL, duration=Duration(frames=20_001 + n))
                           for n in range(2)] + [storm("s", 2, {3: 0x100}, 90_000, duration=Duration(frames=37))], []),
    "a switch that answers late": (3, incast(2, 80), [BUILT_IN["slow-response"](EVERYWHERE, factor="3")]),
    "shut queues that leak": (3, [*incast(2, 80), storm("s", 2, {3: 0x2000}, 20_000)], [LeaksOften()]),
    "drops, and queues that leak once they are shut": (2, incast(1, 100), [
        BUILT_IN["lossless-dropped"](EVERYWHERE, one_in="7"), LeaksOften()]),
    "a queue that stays shut and leaks": (3, [*incast(2, 40), storm("s", 2, {3: 0xFFFF, 4: 0xFFFF})], [LeaksOften()]),
    "shut queues that discard": (3, [*incast(2, 80), storm("s", 2, {3: 0x2000, 4: 0x1000}, 20_000)],
                                 [AgesOften(), LeaksOften()]),
    "a queue that stays shut and discards": (3, [*incast(2, 40), storm("s", 2, {3: 0xFFFF})], [AgesOften()]),
}


def run(ports, flows, faults, span_ps, capture=0):
    """A network that has been computed up to the end of the span."""
    net = network(switch_config(ports), flows, faults)
    net.start_flows(names(flows))
    if capture:
        net.start_capture(f"p{ports - 1}", capture)
    net.advance_to(span_ps)
    net.statistics()
    return net


def counters(net, flows):
    """Everything that can be read."""
    return ([net.flow_counters(name) for name in names(flows)], net.switch_counters(SWITCH),
            [net.generator_counters(f"p{number}") for number in range(len(net._ports))])


def differences(seed, family):
    """What differs from the oracle in a case."""
    found = run_case(make_case(seed, family), compiled=True)[0]
    return f"make_case({seed}, {family!r}): {found[:8]}" if found else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seeded_case(family):
    assert not differences(SEED, family)


@pytest.mark.slow("seven times as many cases")
@pytest.mark.parametrize("family", FAMILIES)
def test_more_seeded_cases(family):
    for seed in MORE_SEEDS:
        assert not differences(seed, family)


@pytest.mark.parametrize("what", TRAFFIC)
@pytest.mark.parametrize("span_ps", [700 * US + 1])
def test_counts_and_captures_are_those_without_it(what, span_ps, monkeypatch):
    ports, flows, faults = TRAFFIC[what]
    monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    net = run(ports, flows, faults, span_ps, capture=3000)
    assert net.statistics().compiled_events
    with patch.object(Compiled, "stepper", lambda self: None):
        other = run(ports, flows, faults, span_ps, capture=3000)
    assert counters(net, flows) == counters(other, flows)
    assert net.capture(f"p{ports - 1}") == other.capture(f"p{ports - 1}")


@pytest.mark.parametrize("what", TRAFFIC)
def test_it_leaps_to_where_it_would_have_stepped(what, monkeypatch):
    """Both are compiled; without samples nothing recurs."""
    ports, flows, faults = TRAFFIC[what]
    monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    net = run(ports, flows, faults, 20 * MS)
    monkeypatch.setattr("virtual_testbed.dataplane.compiled.transfer.Transfer.slowest_first", lambda self: [])
    other = run(ports, flows, faults, 20 * MS)
    assert not other._advance._compiled.leaps
    first, second = counters(net, flows), counters(other, flows)
    assert first == second
    for each in (net, other):
        each.stop_flows(names(flows))
        each.advance_to(SECOND)
    assert counters(net, flows) == counters(other, flows)


def test_congestion_is_leapt_over():
    leaps = {}
    for what, (ports, flows, faults) in TRAFFIC.items():
        with patch.object(skip, "COMPILED_FROM", 100), patch.object(
                skip.Recurrence, "at_sample", lambda *_: None):
            leaps[what] = run(ports, flows, faults, 60 * MS)._advance._compiled.leaps
    assert {what for what in leaps if leaps[what]} >= {"incast, lossy", "lapsing pauses", "drops at full load",
                                                       "a pause flow at line rate", "bursts",
                                                       "drops, and queues that leak once they are shut"}, leaps


def test_steady_states_that_end_before_they_can_be_used_do_not_stop_it():
    """All to all, and a storm of so many frames at one port: the state is carried over a few times, not in each
    pause."""
    flows = [data(f"d{tx}{rx}", tx, rx, [3], 3, rate_fps=FULL * Fraction(22, 100), duration=Duration(MS))
             for tx, rx in itertools.permutations(range(3), 2)]
    flows.append(storm("s", 0, {3: 0xFFFF}, duration=Duration(MS, frames=596)))
    with patch.object(Stepper, "step", autospec=True, side_effect=Stepper.step) as step:
        net = run(3, flows, [], 40 * MS)
    assert net.statistics().compiled_events and step.call_count <= skip.MOST_USELESS + 4
    with patch.object(Compiled, "stepper", lambda self: None):
        assert counters(net, flows) == counters(run(3, flows, [], 40 * MS), flows)


def test_where_looking_for_steady_states_costs_more_than_stepping_it_steps():
    """A storm whose pauses lapse, and light traffic of many ports: a steady state begins and ends with each pause, and
    each time all flows are looked at."""
    dscps = {0: 8, 1: 0, 2: 5, 3: 3, 4: 4, 5: 46, 6: 48}
    flows = [data(f"d{queue}", 1, 0, [dscp], queue, rate_fps=FULL / 14) for queue, dscp in dscps.items()]
    flows += [data(f"b{rx}.{queue}", rx + 1, rx, [dscp], queue, rate_fps=FULL / 1400)
              for rx in range(2, 14, 2) for queue, dscp in dscps.items()]
    flows.append(storm("s", 0, {3: 0x4000, 4: 0x4000}, rate_fps=5960))
    net = run(14, flows, [], 100 * MS)
    with patch.object(skip, "EVENTS_PER_PROVEN_FLOW", 0):
        other = run(14, flows, [], 100 * MS)
    assert 4 * net.statistics().regenerations < other.statistics().regenerations
    assert [net.flow_counters(name) for name in names(flows)] == [other.flow_counters(name) for name in names(flows)]
    assert net.switch_counters(SWITCH).ports == other.switch_counters(SWITCH).ports


def test_what_recurs_together_beside_others_is_left_to_that():
    """A full line, a storm that holds none of it, and light traffic of two other ports."""
    dscps = {0: 8, 1: 0, 2: 5, 3: 3, 4: 4, 5: 46, 6: 48}
    flows = [data(f"d{queue}", 1, 0, [dscp], queue, rate_fps=FULL * Fraction(25 if queue in (3, 4) else 10, 100))
             for queue, dscp in dscps.items()]
    flows += [data(f"b{queue}", 2, 3, [dscp], queue, rate_fps=FULL / 100) for queue, dscp in dscps.items()]
    flows.append(storm("s", 0, dict.fromkeys((0, 1, 2, 5, 6), 0xFFFF)))
    net = run(4, flows, [], 100 * MS)
    assert net.statistics().compiled_events < 100_000


def test_components_that_are_advanced_apart_for_microseconds_only_are_stepped_by_it():
    flows = [flow for number, storm_fps in enumerate((2000, 5960, 5960, 5960)) for flow in pair(number, storm_fps)]
    with patch.multiple(partition, FIRST_TURN=1, LONGEST_TURN=1, FIRST_STRETCH_PS=partition.SHORTEST_PS):
        net = run(8, flows, [], 8 * MS)
    assert net.statistics().compiled_events
    assert net.statistics().sessions_apart < 20
    with patch.object(Compiled, "stepper", lambda self: None):
        other = run(8, flows, [], 8 * MS)
    assert [net.flow_counters(name) for name in names(flows)] == [other.flow_counters(name) for name in names(flows)]
    assert net.switch_counters(SWITCH).ports == other.switch_counters(SWITCH).ports


def test_what_does_not_fit_into_64_bits_is_stepped_without_it():
    flows = [data(f"d{n}", n, 2, [3], 3, rate_fps=FULL * Fraction(8 * 10**30 + n, 10**31)) for n in range(2)]
    with patch.object(skip, "COMPILED_FROM", 100):
        net = run(3, flows, [], 100 * US)
        reasons = net.statistics().not_skipped
    assert reasons["not stepped by compiled code: a number beyond 64 bits"] and not net.statistics().compiled_events
    assert net.flow_counters("d0").frames_rx > 500


def test_a_line_that_never_had_data_fits_into_a_table_after_time_was_skipped():
    """The lines back to senders that are held have pauses alone."""
    line = Line(Mock(), 100_000, 0, Mock())
    line.shift(10**15)
    assert bounded(line.data_ps) == -tables.NEVER, "a number that is no instant any more"


def test_a_queue_that_goes_on_leaking_where_no_other_would_is_stepped_without_it():
    _, flows, _ = TRAFFIC["a queue that stays shut and leaks"]
    with patch.object(skip, "COMPILED_FROM", 100):
        net = run(3, flows, [LeaksOnce()], MS)
        reasons = net.statistics().not_skipped
    with patch.object(Compiled, "stepper", lambda self: None):
        other = run(3, flows, [LeaksOnce()], MS)
    assert any("a fault does to a shut queue what it will not do" in reason for reason in reasons), reasons
    assert counters(net, flows) == counters(other, flows)


def test_tables_grow(monkeypatch):
    """Rings, runs of frames and notes that become full are made larger."""
    monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    monkeypatch.setattr("virtual_testbed.dataplane.compiled.transfer.LEAST_NODES", tables.MARGIN)
    ports, flows, faults = TRAFFIC["incast, lossless"]
    net = run(ports, flows, faults, MS)
    with patch.object(Compiled, "stepper", lambda self: None):
        other = run(ports, flows, faults, MS)
    assert counters(net, flows) == counters(other, flows)


def test_frames_of_flows_that_are_gone_still_arrive(monkeypatch):
    """Flows are removed, and a capture tells DSCPs apart, while frames are on the lines: their paths are no flow's."""
    monkeypatch.setattr(skip, "COMPILED_FROM", 100)
    ports, flows, _ = TRAFFIC["incast, lossy"]

    def counted():
        net = run(ports, flows, [], 200 * US + 7)
        net.start_capture("p0", 10)
        net.advance_to(300 * US + 1)
        net.remove_flows(["d1"])
        more = [data("e", 1, 2, [3], 3, rate_fps=FULL * Fraction(97, 100)), data("f", 2, 1, [8, 0], 0, rate_fps=FULL)]
        net.add_flows(more)
        net.start_flows(names(more))
        net.advance_to(2 * MS)
        assert net.statistics()
        return [net.flow_counters(name) for name in ("d0", "e", "f")], net.switch_counters(SWITCH), net
    *mine, net = counted()
    assert net.statistics().compiled_events
    with patch.object(Compiled, "stepper", lambda self: None):
        *theirs, _ = counted()
    assert mine == theirs


def test_it_is_not_needed():
    with patch.object(compiled, "find_spec", lambda name: None):
        net = run(*TRAFFIC["incast, lossy"], MS)
    assert not net.statistics().compiled_events and net._advance._compiled.stepper() is None


def test_a_count_that_is_forgotten_is_noticed(monkeypatch):
    """The comparison itself."""
    monkeypatch.setitem(COUNTS, "flows", ("lost",))
    ports, flows, faults = TRAFFIC["incast, lossy"]
    with patch.object(skip, "COMPILED_FROM", 100), patch.object(skip.Recurrence, "at_sample", lambda *_: None):
        net = run(ports, flows, faults, 20 * MS)
    assert net._advance._compiled.leaps
    counted = net.flow_counters("d0")
    assert counted.frames_tx != int(FULL * Fraction(80, 100) * 20 / 1000) + 1
