"""Plans a sweep: the ports of a switch, which tx port each has, which are measured at once, how long that takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..cases.switch_counters import delay_s
from ..lab.clock import Clock
from ..lab.counter_polling import PollDelays
from ..lab.dut import Dut, SwitchState
from ..lab.lab import Lab
from ..lab.option import check_keys, options, tolerances_of
from ..lab.planning import measured_device, open_lab, plan_measured
from ..lab.port_plan import LabFacts, PortPlan, PortRequest
from ..lab.generator import SETTLE_S
from ..model.errors import QualificationError
from ..model.ports import ConnectedPort, PortPair, natural, summary, with_generators
from .waves import Pairing, pair_ports, plan_waves

STORM_LEAD_S = 1
DATA_S = 5


@dataclass(frozen=True)
class Bench:
    """What all ports of a sweep are measured with.

    Attributes:
        dut: the switch.
        api: snappi API object of the traffic generators.
        clock: what to wait on.
    """

    dut: Dut
    api: Any
    clock: Clock


@dataclass(frozen=True)
class SweepPlan:
    """The ports of a switch that a sweep is about.

    Attributes:
        state: the switch as it was found.
        pairing: the pair of each port.
        plans: port under test -> its plan.
        refused: port -> why it cannot be measured.
        on_behalf_of: the T1 that the switch stands for; None: itself.
    """

    state: SwitchState
    pairing: Pairing
    plans: Mapping[str, PortPlan]
    refused: Mapping[str, str]
    on_behalf_of: str | None = None

    @property
    def device(self) -> str:
        """Name of the switch."""
        return self.state.device

    @property
    def ports(self) -> list[str]:
        """Every port with a traffic generator behind it, in natural order."""
        return sorted({*self.plans, *self.refused}, key=natural)

    @property
    def remarks(self) -> list[str]:
        """What is remarkable of ports that are measured; the same of several ports once."""
        of: dict[str, list[str]] = {}
        for port, plan in self.plans.items():
            for remark in plan.remarks:
                of.setdefault(remark.replace(f" {port} ", " {} ", 1), []).append(port)
        return [remark.replace("{}", summary(ports), 1) for remark, ports in of.items()]

    def waves(self, at_once: int | None, only: Collection[str] | None = None) -> list[list[PortPair]]:
        """Pairs that are measured at once; see `waves.plan_waves`.

        Args:
            at_once: so many at most; None: as many as there can be.
            only: ports under test; None: all that can be measured.
        """
        wanted = {port for port in self.plans if only is None or port in only}
        return plan_waves(self.pairing, at_once, wanted)

    def port_waves(self, at_once: int | None, only: Collection[str] | None = None) -> list[list[str]]:
        """The same waves as the names of their ports under test."""
        return [[pair.rx.port for pair in wave] for wave in self.waves(at_once, only)]

    def both_waves(self, at_once: int | None, only: Collection[str], of: Collection[str]) -> list[list[str]]:
        """Waves for each port to be measured in one and alone: first waves of several ports, then each by itself. One
        that would be left over has another port in its wave, which has been in one already.

        Args:
            at_once: so many ports at most; None: as many as there can be.
            only: ports under test.
            of: those of them that are to be measured; the others are in their waves.
        """
        waves = [wave if len(wave) > 1 else self._in_company(wave[0], only)
                 for wave in self.waves(at_once, only)]
        names = [[pair.rx.port for pair in wave] for wave in waves]
        alone = [port for port in self.plans if port in of]
        return [wave for wave in names if not set(of).isdisjoint(wave)] + [[port] for port in alone]

    def _in_company(self, pair: PortPair, only: Collection[str]) -> list[PortPair]:
        """A pair with another one that shares no port with it, if there is one."""
        ends = {pair.rx.location, pair.tx.location}
        free = (other for other in self.pairing.pairs if other.rx.port in self.plans and other.rx.port in only
                and ends.isdisjoint({other.rx.location, other.tx.location}))
        return [pair, *islice(free, 1)]

    def labs(self, bench: Bench, only: Collection[str] | None = None) -> dict[str, Lab]:
        """What each port under test is measured with. They are used together, so the traffic generators are told what
        to send by one object, which knows all flows.

        Args:
            bench: the switch and the traffic generators.
            only: ports under test; None: all that can be measured.

        Raises:
            QualificationError: the switch's configuration leaves no addresses for hosts behind a port.
        """
        plans = {port: plan for port, plan in self.plans.items() if only is None or port in only}
        for option in options():
            option.prepare(list(plans.values()), bench.dut, bench.clock)  # all at once: daemons are waited for
        labs = {port: open_lab(plan, bench.dut, bench.api, bench.clock) for port, plan in plans.items()}
        first = next(iter(labs.values()), None)
        if first is None:
            return {}
        # whoever waits keeps the storms going that this generator started, so the clock is its own, too
        return {port: replace(lab, generator=first.generator, clock=first.clock) for port, lab in labs.items()}

    def seconds(
        self, waves: Sequence[Sequence[PortPair]], lead_s: float = STORM_LEAD_S, data_s: float = DATA_S,
        audited: bool = False,
    ) -> float:
        """How long the waves take on the testbed's clock, the preflight before them included: what is waited for,
        without what commands and the traffic generators' API take. Where it is `audited` the slowest counters are
        waited for after each wave, and twice before the first one."""
        delays: list[PollDelays] = [plan.delays for plan in self.plans.values()]
        if not delays:
            return 0.0
        batches = self.waves(None, [pair.rx.port for wave in waves for pair in wave])
        preflight_s = max(delays[0].queue_s, delays[0].port_s) + len(batches) * 2 * SETTLE_S + delays[0].queue_s
        group_s = delay_s(self.state.config_db, self.state.device, "PG_DROP") or 0.0
        slowest_s = max(delays[0].port_s, delays[0].queue_s, group_s)
        readings_s = (len(waves) + 2) * slowest_s if audited else 0.0
        return preflight_s + readings_s + len(waves) * (lead_s + 2 * data_s + 2 * delays[0].port_s + SETTLE_S)


def plan_sweep(facts: LabFacts, device: str, asked: PortRequest) -> SweepPlan:
    """Plans the sweep of a device under test: of its ports, or those of a T1's replacement.

    Args:
        facts: the testbed.
        device: the device under test.
        asked: how ports are measured; its port under test and tx port are not looked at.

    Raises:
        QualificationError: there is no port to measure; the sentence says why.
    """
    check_keys(facts.testbed)
    if facts.testbed.get("virtual"):
        asked = replace(asked, change_config=True)
    state = measured_device(facts, device)
    on_behalf_of = device if state.device != device else None
    tolerances = tolerances_of(facts.testbed)
    own = [port for port in facts.ports if port.device == state.device]
    if not own:
        raise QualificationError(f"{state.device}: the links file connects no port of it to a traffic generator")
    pairing = pair_ports(with_generators(own, asked.same_generator), state.interfaces)
    if named := next(filter(None, (option.pauses_named(facts.testbed) for option in options())), ""):
        return SweepPlan(state, pairing, {}, {port.port: _paused_elsewhere(port, named) for port in own})
    plans = dict[str, PortPlan]()
    refused = dict(pairing.unpaired)
    for number, pair in enumerate(pairing.pairs):
        try:
            plan = plan_measured(state, own, replace(asked, port_under_test=pair.rx.port, tx_port=pair.tx.port))
        except QualificationError as error:
            refused[pair.rx.port] = str(error)
            continue
        subject = replace(plan.subject, tolerances=tolerances, further=())
        plans[pair.rx.port] = replace(
            plan, subject=subject, first_host=2 * number, on_behalf_of=on_behalf_of)
    return SweepPlan(state, pairing, plans, refused, on_behalf_of)


def _paused_elsewhere(port: ConnectedPort, named: str) -> str:
    return (
        f"{port.device} {port.port}: a sweep needs a traffic generator as the source of pauses on every port, and the"
        f" testbed's {named}"
    )
