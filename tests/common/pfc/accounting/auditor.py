"""Keeps the books of cases, on one port or on several at once: reads every counter of the switch around each, and
checks that what was sent explains how they moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ..cases.engine import sending, settled_counters
from ..cases.switch_counters import OWN_FRAMES, priority_groups, watch_idle
from ..lab.generator import SETTLE_S
from ..lab.lab import Lab
from ..model.checking import Place, error_unless, fail_unless
from ..model.counters import fallen
from ..model.errors import NoMeasurement, QualificationError
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowStats, Role
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .arrival import RECEIVED, Arrival, arrival_command, received
from .books import COMMANDS, PFC_RX, PFC_TX, RX_OK, SENT, TX_OK, Books, Counter, Idle, books_of
from .bystanders import PAIRS_BESIDE
from .explained import ANY, Explained, data_ends, explained, together
from .trace import Trace, numbered_flows

MINUTE_S = 60.0
HOST_FRAMES = 25
"""In a case: each host looks for its gateway whenever flows are configured, a few times, by broadcast."""
OWN_COLUMNS = (RX_OK, TX_OK, SENT)
"""Where frames that are the switch's and its neighbours' own count while nothing is congested, to the frame."""
OWN_FPS = 10
"""The most that protocols send over a link, frames a second: what moves faster on an idle switch is no protocol."""
MOST_CHECKS = 12
"""Checks that one cause may add to a record: a switch that floods moves counters of every port."""


@dataclass(frozen=True)
class CaseAccount:
    """What was read and counted around a case, so far as it is a port's.

    Attributes:
        subject: the port under test.
        metrics: those that the case owes.
        gains: what each counter gained that the port answers for.
        explained: what the traffic of all ports explains.
        own: how many frames a counter may have gained that switch and hosts send by themselves.
        totals: what the generators counted for each of the port's flows.
    """

    subject: PortUnderTest
    metrics: Sequence[str]
    gains: Mapping[Counter, int]
    explained: Mapping[Counter, Explained]
    own: Mapping[Counter, int]
    totals: Sequence[FlowStats]

    def checks(self) -> Iterator[Check]:
        """Checks that every counter moved as far as is explained, and that flows beside the case lost nothing."""
        yield from self._bystanders()
        fell = {counter: gain for counter, gain in self.gains.items() if gain < 0}
        for counter, gain in list(fell.items())[:MOST_CHECKS]:
            expected = f"a counter {counter} that only grows in the case"
            yield error_unless("counters-kept", self._place(counter), False, expected, fallen(-gain))
        for counter, one in self.explained.items():
            if one.least and counter not in self.gains:
                expected = f"a number in {counter} before and after the case, as frames count there"
                yield error_unless("counter-counted", self._place(counter), False, expected, "none")
        off = [counter for counter in self.gains if counter not in fell and not self._is_explained(counter)]
        for counter in off[:MOST_CHECKS]:
            more = f" (and {len(off) - MOST_CHECKS} other counters)" if len(off) > MOST_CHECKS else ""
            seen = f"{self.gains[counter]}{more}"
            place = self._place(counter, off)
            yield fail_unless("counter-explained", place, False, self._expected(counter), seen)
        if not off:
            ports = len({counter.port for counter in self.gains})
            expected = f"{len(self.gains)} counters of {ports} ports that moved as the traffic explains"
            yield fail_unless("counter-explained", Place(self.subject.where(), self.metrics[0]), True, expected, "them")

    def _bystanders(self) -> Iterator[Check]:
        """What flows beside the case sent arrived, all of it."""
        for flow in self.totals:
            if flow.plan.role is not Role.BYSTANDER:
                continue
            enters, leaves = data_ends(self.subject, flow.plan)
            place = self._place(Counter(leaves, "", flow.plan.priority))
            sent = f"frames sent from {enters} to {leaves} beside the case"
            yield error_unless("bystander-sent", place, flow.frames_tx > 0, f"more than 0 {sent}", flow.frames_tx)
            expected = f"all {flow.frames_tx} {sent} received"
            met = flow.frames_rx == flow.frames_tx
            yield fail_unless("bystander-unaffected", place, met, expected, flow.frames_rx)

    def _is_explained(self, counter: Counter) -> bool:
        return self.explained.get(counter, Explained()).holds(self.gains[counter], self.own.get(counter, 0))

    def _expected(self, counter: Counter) -> str:
        """How far a counter may have moved, for the message."""
        found = self.explained.get(counter, Explained())
        most = found.most + self.own.get(counter, 0)
        if most >= ANY:
            return f"at least {found.least} more in {counter}, which arrived"
        if most == 0:
            return f"0 more in {counter}, as {self._why_none(counter)}"
        return f"from {found.least} to {most} more in {counter}, as what was sent explains"

    def _why_none(self, counter: Counter) -> str:
        """Why a counter must not move, for the message: a sender beside the case must not be held, else nothing counts
        there."""
        for flow in self.totals:
            enters, leaves = data_ends(self.subject, flow.plan)
            if flow.plan.role is Role.BYSTANDER and Counter(enters, PFC_TX, flow.plan.priority) == counter:
                return f"nothing may hold frames from {enters} to {leaves} beside the case"
        return "nothing that was sent counts there"

    def _place(self, counter: Counter, off: Iterable[Counter] = ()) -> Place:
        """Where a counter is, and the metric that it concerns. A port's own concerns that which those of its priorities
        have in common that are `off` too; else the case's first."""
        metric = self._metric(counter.number)
        beside = {self._metric(one.number) for one in off if one.port == counter.port and one.number is not None}
        if counter.number is None and len(beside) == 1:
            metric = beside.pop()
        return Place(self.subject.where(counter.number, counter.port), metric)

    def _metric(self, priority: int | None) -> str:
        """The metric of a priority, where the case owes it; else the case's first."""
        if priority is None:
            return self.metrics[0]
        own = LOSSLESS if priority in self.subject.qos.lossless else LOSSY
        return own if own in self.metrics else self.metrics[0]


class BookAuditor:
    """Audits the cases of a switch, one after the other. Of ports that are measured at once each answers for its own
    counters, and for those of its tx port unless that is under test too; and all answer for those of ports that none of
    them uses, because any may be why these moved."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._books: Books | None = None
        self._is_open = False
        self._idle = Idle({}, 1.0)

    def begin(self, lab: Lab, others: Sequence[Lab] = ()) -> None:
        """A case begins. Unless the one before was audited, the idle switch is watched, and its counters are read; of
        another port than that one's at least what shows that pauses arrive there.

        Raises:
            QualificationError: they cannot be read.
        """
        anew = self._books is None or self._is_open
        lab.generator.keep_totals(anew)  # another lab of the same port may have taken the place of the one before
        if anew:
            self._idle, self._books = _watch(lab)
        elif self._books is not None and self._books.port != lab.port:
            printed = lab.dut.counters(also={RECEIVED: arrival_command(lab.port)}).printed
            self._books = replace(self._books, port=lab.port, received=received(printed[RECEIVED]))
        self._is_open = True

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """A case has ended: the checks of the books, of each port that it measured; where the counters cannot be read,
        one that is ERROR.

        Raises:
            NoMeasurement: nothing shows that the pauses arrived which the case sent.
        """
        before = self._books
        assert before is not None, "a case begins before it ends"
        try:
            self._books = _read(labs[0])
            accounts = list(self._accounts(labs, case, before, self._books))
        except QualificationError as error:  # what the case itself found is not lost by it
            places = [Place(lab.subject.where(), case.metrics[0]) for lab in labs]
            expected = "the counters of all ports read after the case"
            return [[error_unless("counters-read", place, False, expected, str(error))] for place in places]
        found = [list(account.checks()) for account in accounts]
        if len(accounts) == 1:  # of several at once the cases' own checks see whether a port was paused
            found[0] += _arrival(accounts[0], self._books.received_since(before))
        self._is_open = False
        return found

    def doubt(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> Sequence[Check]:
        """They stand."""
        return checks

    def explain(self, lab: Lab) -> str:
        """Where the port's queue counters say that frames left, of which each priority and port is sent another number;
        nothing where they say what left, or that cannot be sent."""
        flows = numbered_flows(lab)
        try:
            before = _read(lab)
            traffic = lab.builder.build(flows)
            with sending(lab, traffic):
                lab.generator.start(list(traffic.flows))
                lab.generator.run_out(list(traffic.flows), SETTLE_S)
                lab.clock.sleep(SETTLE_S)
                stats = lab.generator.stats(traffic.flows)
            after = _read(lab)
        except QualificationError:
            return ""
        return Trace(lab.subject, before, after, list(stats.values())).sentence

    def _accounts(self, labs: Sequence[Lab], case: PlanCase, before: Books, after: Books) -> Iterator[CaseAccount]:
        gains = after.gains(before)
        answers = answerable([lab.subject for lab in labs])
        flows = flows_of(labs, labs[0].generator.take_totals(), answers)
        known = together(explained(lab.subject, flows[lab.port], _groups(lab)) for lab in labs)
        lasted_s = after.read_s - before.read_s
        own = self._idle_gains(lasted_s) if labs[0].clock.exact else self._own(labs, gains, known, lasted_s)

        for lab in labs:
            its = {counter: gain for counter, gain in gains.items() if answers.get(counter.port, lab.port) == lab.port}
            due = {counter: one for counter, one in known.items() if answers.get(counter.port, lab.port) == lab.port}
            yield CaseAccount(lab.subject, case.metrics, its, due, own, flows[lab.port])

    def _own(
        self, labs: Sequence[Lab], gains: Mapping[Counter, int], known: Mapping[Counter, Explained], lasted_s: float
    ) -> dict[Counter, int]:
        """How many frames each counter may have gained on hardware that nothing sent explains: protocols of the switch
        and its neighbours, hosts that look for their gateways, a bad frame now and then (frames of the case that are
        lost its own checks count); and what its own traffic brings on the idle switch. Pauses as exactly as the
        testbed's tolerances say; those that the switch sends may count as frames, XON without being counted as PFC."""
        subject = labs[0].subject
        hosts = 2 * (len(labs) + PAIRS_BESIDE)
        frames = ceil(OWN_FRAMES * max(1.0, lasted_s / MINUTE_S)) + HOST_FRAMES * hosts
        own = {}
        for counter in gains:
            own[counter] = self._idle.may_gain(counter, lasted_s)
            if counter.column not in (PFC_RX, PFC_TX):
                own[counter] += frames
            elif counter in known:
                own[counter] += ceil(known[counter].most * subject.tolerances.count_tolerance_percent / 100)
        for counter, gain in gains.items():
            sent = Counter(counter.port, TX_OK)
            if counter.column == PFC_TX and sent in own:
                own[sent] += 2 * max(0, gain)
        return own

    def _idle_gains(self, lasted_s: float) -> dict[Counter, int]:
        """The same on an exact clock: what its protocols bring on the idle switch shows there in full; nothing else."""
        most = OWN_FPS * self._idle.lasted_s
        counters = [one for one, gain in self._idle.gains.items() if one.column in OWN_COLUMNS and gain <= most]
        return {counter: self._idle.may_gain(counter, lasted_s) for counter in counters}


def answerable(subjects: Sequence[PortUnderTest]) -> dict[str, str]:
    """Port -> the port under test that answers for its counters, where there is one."""
    ports = {subject.pair.tx.port: subject.pair.rx.port for subject in reversed(subjects)}
    return ports | {subject.pair.rx.port: subject.pair.rx.port for subject in subjects}


def flows_of(
    labs: Sequence[Lab], totals: Sequence[FlowStats], answers: Mapping[str, str]
) -> dict[str, list[FlowStats]]:
    """Port under test -> its flows: those that bear its name, and others by the port that they leave by, as `answers`
    says (`answerable`); what leaves by no port of these is the first one's."""
    found: dict[str, list[FlowStats]] = {lab.port: [] for lab in labs}
    names = {lab.builder.named(""): lab.port for lab in labs}
    for flow in totals:
        own = next((port for name, port in names.items() if flow.plan.name.endswith(name)), None)
        found[own or answers.get(flow.plan.leaves, labs[0].port)].append(flow)
    return found


def _arrival(account: CaseAccount, gained: Mapping[str, int]) -> list[Check]:
    """The check of whether the pauses arrived, where there were any.

    Raises:
        NoMeasurement: nothing shows that they did.
    """
    own = account.own.get(Counter(account.subject.pair.rx.port, RX_OK), 0)
    arrival = Arrival(account.subject, account.totals, gained, account.gains, own)
    check = arrival.check(account.metrics[0])
    if check is not None and check.required and check.status is Status.ERROR:
        raise NoMeasurement(check)
    return [] if check is None else [check]


def _groups(lab: Lab) -> Mapping[int, int]:
    """Priority -> its priority group."""
    rx = lab.subject.pair.rx
    return priority_groups(lab.config_db, rx.device, rx.port)


def _watch(lab: Lab) -> tuple[Idle, Books]:
    """The idle switch, and its books after that."""
    settled = _read(lab)
    watch_idle(lab)
    books = _read(lab)
    return Idle(books.gains(settled), max(books.read_s - settled.read_s, 1.0)), books


def _read(lab: Lab) -> Books:
    """The books when everything is in them that came before."""
    wait_s = max(lab.delays.port_s, lab.delays.queue_s, lab.delays.group_s or 0.0)
    reading = settled_counters(lab, wait_s, {**COMMANDS, RECEIVED: arrival_command(lab.port)})
    books = books_of(reading, lab.clock.now())
    return replace(books, port=lab.port, received=received(reading.printed[RECEIVED]))
