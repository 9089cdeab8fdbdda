"""HOP-1: back-pressure travels up a chain of switches, hop by hop, to the sender. The steps are PFC-2's; the port under
test and the tx port are at the two ends of the chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..cases.checks import judge, validity
from ..cases.engine import Procedure, Table, settled_counters, with_late_counts
from ..cases.pauses import pause_lossless
from ..cases.storm_sequence import measure
from ..cases.targets import all_lossless
from ..cases.validity import watchdog_stopped
from ..lab.lab import Lab
from ..model.checking import Place, at_priority, fail_unless
from ..model.counters import DutCounters, changed
from ..model.errors import QualificationError
from ..model.measurement import Measurement, PortUnderTest
from ..model.ports import PortPair
from ..record.case import PlanCase, Target
from ..record.verdict import Check
from .chain import ChainDut
from .hops import Hop, SwitchChain

HOP_BY_HOP = PlanCase("pause-hop-by-hop", "HOP-1")


@dataclass(frozen=True)
class ChainRun(Measurement):
    """One run, measured at the two ends of the chain.

    Attributes:
        hops: all switches of the chain, its ends included.
        readings: of each time, the counters of each switch.
    """

    hops: Sequence[Hop] = field(kw_only=True)
    readings: Sequence[Mapping[str, DutCounters]] = field(kw_only=True)

    @property
    def settled(self) -> None:
        """The next run reads the switch under test's own counters."""

    def details(self) -> dict[str, Any]:
        """Also what each switch sent up the chain."""
        return {**super().details(), **_evidence(self.hops, self.readings)}


def measure_chain(lab: Lab, target: Target, before: DutCounters) -> ChainRun:
    """A storm at one end of the chain, the traffic from the other; every switch between is looked at."""
    chain = lab.subject.chain
    if not isinstance(chain, SwitchChain):
        raise QualificationError(f"{lab.subject.where()}: {HOP_BY_HOP.plan_id} needs a row of switches")
    dut = ChainDut(chain.hops, {lab.dut.name: lab.dut, **lab.others})
    builder = type(lab.builder)(lab.builder.api, chain.subject, chain.hosts, chain.router_mac)
    whole = replace(lab, subject=chain.subject, dut=dut, builder=builder, delays=chain.delays)

    def over_all(run: Measurement) -> ChainRun:
        return ChainRun(**vars(run), hops=chain.hops, readings=dut.readings)

    run = measure(whole, pause_lossless(target, chain.subject.qos), settled_counters(whole))
    return over_all(with_late_counts(whole, run, validity, lambda run: judge_chain(over_all(run))))


def chain_validity(run: ChainRun) -> Iterator[Check]:
    """Whether it was a measurement: also the watchdogs of the other switches must not have acted."""
    yield from validity(run)
    before, during, *_ = run.readings
    end = run.subject.pair.rx
    for hop in run.hops:
        ports = (replace(end, device=hop.device, port=port) for port in (hop.leaves, hop.enters))
        here = replace(run.subject, pair=PortPair(*ports), bystanders=())
        yield from watchdog_stopped(replace(run, subject=here, before=before[hop.device], during=during[hop.device]))


def judge_chain(run: ChainRun) -> list[Check]:
    """What the storm must do at the ends, and in between."""
    return [*judge(run), *hop_checks(run.hops, run.readings, run)]


def hop_checks(hops: Sequence[Hop], readings: Sequence[Mapping[str, DutCounters]], run: Measurement) -> Iterator[Check]:
    """Checks between the ends, which `judge` looks at: each switch but the last pauses the next one, for the tested
    priorities only, and that one counts every pause (as near as the tolerances say: on hardware some may be on their
    way when counters are read)."""
    before, during, *_, after = readings
    for here, onward in zip(hops, hops[1:], strict=False):
        sent = changed(before[here.device].pfc_tx, during[here.device].pfc_tx, here.enters)
        in_all = changed(before[here.device].pfc_tx, after[here.device].pfc_tx, here.enters)
        received = changed(before[onward.device].pfc_rx, after[onward.device].pfc_rx, onward.leaves)
        for priority in range(8):
            place = _at(run.subject, here.device, here.enters, priority)
            if priority not in run.scenario.tested:
                expected = f"0 PFC frames sent out of {here.enters} to {onward.device}"
                yield fail_unless(
                    "hop-no-other-back-pressure", place, in_all[priority] == 0, expected, in_all[priority]
                )
                continue
            expected = f"more than 0 PFC frames sent out of {here.enters} to hold {onward.device}"
            yield fail_unless("hop-back-pressure", place, sent[priority] > 0, expected, sent[priority])
            expected = f"{in_all[priority]} PFC frames of {here.device} counted by {onward.device} {onward.leaves}"
            met = run.subject.tolerances.alike(received[priority], in_all[priority])
            place = _at(run.subject, onward.device, onward.leaves, priority)
            yield fail_unless("hop-pause-counted", place, met, expected, received[priority])


def _at(subject: PortUnderTest, device: str, port: str, priority: int) -> Place:
    return replace(at_priority(subject, priority), where=f"{device} {port} priority {priority}")


def _evidence(hops: Sequence[Hop], readings: Sequence[Mapping[str, DutCounters]]) -> dict[str, object]:
    """PFC frames for priorities 0 to 7 that each switch sent up the chain, from before the storm until after it."""
    before = readings[0]
    after = readings[-1]
    sent = {
        f"{hop.device} {hop.enters}": list(changed(before[hop.device].pfc_tx, after[hop.device].pfc_tx, hop.enters))
        for hop in hops
    }
    return {"hops": [hop.device for hop in hops], "hop_pfc_tx_in_all": sent}


CASES: Table = {
    HOP_BY_HOP: Procedure(
        measure_chain, chain_validity, judge_chain,
        all_lossless.where(
            lambda subject: subject.chain, "another switch on its cables with a traffic generator behind it"
        ),
        is_audited=False,
    ),
}
