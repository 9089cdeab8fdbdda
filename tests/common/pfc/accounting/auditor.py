"""Keeps the books of cases, on one port or on several at once: reads every counter of the switch around each, and
checks that what was sent explains how they moved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ..cases.engine import sending, settled_counters, unmet
from ..cases.plan import port_cases
from ..cases.switch_counters import OWN_FRAMES, delay_s, port_hash_command, priority_groups, watch_idle
from ..lab.counter_polling import POLL_GRACE_S
from ..lab.generator import SETTLE_S
from ..lab.lab import Lab
from ..model.checking import Place, at_most, error_unless, fail_unless, none_of
from ..model.counters import fallen
from ..model.errors import NoMeasurement, QualificationError
from ..model.measurement import PortUnderTest
from ..model.traffic import FlowStats, Role
from ..record.case import PlanCase
from ..record.verdict import LOSSLESS, LOSSY, Check, Status
from .arrival import RECEIVED, STORM_ARRIVED, Arrival, data_into, received
from .books import (
    COMMANDS, DROPPED, GROUP_DROPS, PFC_RX, PFC_TX, RX_DRP, RX_OK, SENT, TX_OK, Books, Counter, Idle, books_of,
)
from .explained import ANY, Explained, data_ends, explained, together
from .totals import FlowTotals, totals_from_now_on
from .trace import Trace, numbered_flows

MINUTE_S = 60.0
HOST_FRAMES = 25
"""In a case: each host looks for its gateway whenever flows are configured, a few times, by broadcast."""
OWN_COLUMNS = (RX_OK, TX_OK, SENT)
"""Where frames that are the switch's and its neighbours' own count while nothing is congested, to the frame."""
OWN_FPS = 150
"""The most that protocols send over a link, frames a second: three sessions of BFD every 50 ms (60), PTP's telecom
profile (ITU-T G.8275.1: 16 each of Sync, Delay_Req and Delay_Resp, 8 Announce), LACP, routing. What moves faster on an
idle switch is no protocol. (Asked where time is exact only: on virtual testbeds.)"""
HOLDING = ("PFC", "FRAME", "TIME", "CLASS", "SENT", "LOAD", "SIZE", "PAIRS", "M2O", "SPEED", "SOAK")
"""Families of cases in which no lossless frame may be lost, whatever is held. COUNT looks at drops by itself."""
RECONFIGURED = ("LSET", "TAG")
"""Families of cases that change which priorities are lossless: of none a frame may be lost."""
BESIDE_ALONE = ("FLAP", "TAG-2", "LSET-11")
"""Cases of which only what is sent beside them is compared. In FLAP and TAG-2 links go down: frames that are sent
before the switch sees it arrive nowhere, and those for a port that is down it may flood. In LSET-11 a watchdog drops
what only that configuration has lossless."""
Flows = Mapping[str, Sequence[FlowStats]]
"""Port under test -> its flows."""
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
        kept: priorities of which no frame may be lost in the case, whatever is held.
    """

    subject: PortUnderTest
    metrics: Sequence[str]
    gains: Mapping[Counter, int]
    explained: Mapping[Counter, Explained]
    own: Mapping[Counter, int]
    totals: Sequence[FlowStats]
    kept: Collection[int] = ()

    def checks(self) -> Iterator[Check]:
        """Checks that every counter moved as far as is explained, and that flows beside the case lost nothing."""
        yield from self.bystanders()
        yield from self._dropped_where_they_leave()
        yield from self._dropped_where_they_enter()
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

    def bystanders(self) -> Iterator[Check]:
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

    def _dropped_where_they_leave(self) -> Iterator[Check]:
        """Of frames that may not be lost none was dropped in its queue, at the port under test: a lossless queue
        holds what it cannot send, and what comes in after XOFF is dropped where it comes in. Nothing else tells the one
        port from the other where no frame leaves."""
        for counter, dropped in self.gains.items():
            is_queue = counter.column == DROPPED and counter.port == self.subject.pair.rx.port
            if not (is_queue and counter.number in self.kept):
                continue
            if dropped > self.own.get(counter, 0) and self._is_explained(counter):
                yield none_of("no-queue-drops", self._place(counter), f"frames more in {counter}", dropped)

    def _dropped_where_they_enter(self) -> Iterator[Check]:
        """Of frames that may not be lost none was dropped where it came in but by a full priority group, which the
        case itself looks at: more are not than what else explains (lossy frames, pauses), and what groups dropped."""
        for counter, dropped in self.gains.items():
            if not self.kept or counter.column != RX_DRP or not self._is_explained(counter):
                continue
            of_groups = sum(gain for one, gain in self.gains.items() if one[:2] == (counter.port, GROUP_DROPS))
            lost = sum(max(0, flow.frames_tx - flow.frames_rx) for flow in self.totals
                       if flow.plan.priority in self.kept
                       and data_ends(self.subject, flow.plan)[0] == counter.port)
            most = self.explained.get(counter, Explained()).most - lost + self.own.get(counter, 0) + of_groups
            if dropped > most:
                what = f"frames more in {counter}, without lossless ones but those of full priority groups"
                yield at_most("no-port-drops", self._place(counter), most, what, dropped)

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
            if Counter(enters, PFC_TX, flow.plan.priority) == counter:
                beside = " beside the case" if flow.plan.role is Role.BYSTANDER else ""
                return f"nothing may hold frames from {enters} to {leaves}{beside}"
        return "nothing that was sent counts there"

    def _place(self, counter: Counter, off: Iterable[Counter] = ()) -> Place:
        """Where a counter is, and the metric that it concerns. One of a whole port concerns the metric of that port's
        counters of priorities among `off`, where all of these have the same; else the case's first."""
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
        self._totals: FlowTotals | None = None
        self._unshown: set[str] = set()  # ports under test of the last case at which nothing shows that pauses arrived

    def begin(self, lab: Lab, beside: Sequence[Lab] = ()) -> None:
        """A case begins. Unless the one before was audited, the idle switch is watched, and its counters are read; of
        other ports than that one's at least what shows that pauses arrive there.

        Raises:
            QualificationError: they cannot be read.
        """
        labs = (lab, *beside)
        anew = self._books is None or self._is_open
        if anew or self._totals is None or self._totals.generator is not lab.generator:  # of another lab of the port
            self._totals = totals_from_now_on(lab.generator)
        if anew:
            self._idle, self._books = _watch(labs)
        elif self._books is not None and (others := [one for one in labs if one.port not in self._books.received]):
            printed = lab.dut.counters(also=_receive_commands(others)).printed
            self._books = replace(self._books, received={**self._books.received, **_received(printed, others)})
        self._is_open = True
        self._unshown = set()

    def audit(self, labs: Sequence[Lab], case: PlanCase) -> list[list[Check]]:
        """A case has ended: the checks of the books, of each port that it measured; where the counters cannot be read,
        one that is ERROR.

        Raises:
            NoMeasurement: nothing shows that the pauses arrived which the case sent on the one port that it measured;
                of several, `reconsidered` knows of it.
        """
        before = self._books
        assert before is not None, "a case begins before it ends"
        try:
            if case.plan_id.startswith(BESIDE_ALONE):
                labs[0].clock.sleep(SETTLE_S)
                return [list(account.bystanders()) for account in _beside(labs, case, self._flows(labs))]
            after = self._books = _read(labs)
            flows = self._flows(labs)  # what was on its way has come meanwhile
            accounts, found = self._judged(labs, case, before, after, flows)
            if not labs[0].clock.exact and any(map(unmet, found)):  # a poll may come later than the switch says
                labs[0].clock.sleep(POLL_GRACE_S)
                after = self._books = _read(labs)
                accounts, found = self._judged(labs, case, before, after, flows)
        except QualificationError as error:  # what the case itself found is not lost by it
            places = [Place(lab.subject.where(), case.metrics[0]) for lab in labs]
            expected = "the counters of all ports read after the case"
            return [[error_unless("counters-read", place, False, expected, str(error))] for place in places]
        gains = after.gains(before)
        for account, checks in zip(accounts, found, strict=True):
            port = account.subject.pair.rx.port
            check = _arrival(account, accounts, gains, after.received_since(before, port))
            if check is None:
                continue
            is_unshown = check.required and check.status is Status.ERROR
            self._unshown |= {port} if is_unshown else set()
            metrics = case.metrics if is_unshown else case.metrics[:1]  # without a storm none of them was measured
            checks += [replace(check, metric_name=metric) for metric in metrics]
        self._is_open = bool(self._unshown)
        if self._unshown and len(labs) == 1:
            raise NoMeasurement(next(check for check in found[0] if check.name == STORM_ARRIVED))
        return found

    def reconsidered(self, lab: Lab, case: PlanCase, checks: Sequence[Check]) -> Sequence[Check]:
        """They stand where pauses arrived, as far as counters show. One that failed of a port measured beside others,
        where nothing shows it, says nothing of the switch."""
        if lab.port not in self._unshown:
            return checks
        return [
            replace(check, status=Status.ERROR, seen=f"{check.seen}, and nothing shows that the pauses arrived")
            if check.status is Status.FAIL else check
            for check in checks
        ]

    def explain(self, lab: Lab) -> str:
        """Where the port's queue counters say that frames left, of which each priority and port is sent another number;
        nothing where they say what left, or that cannot be sent."""
        flows = numbered_flows(lab)
        try:
            before = _read([lab])
            traffic = lab.builder.build(flows)
            with sending(lab, traffic):
                lab.generator.start(list(traffic.flows))
                lab.generator.run_out(list(traffic.flows), SETTLE_S)
                lab.clock.sleep(SETTLE_S)
                stats = lab.generator.stats(traffic.flows)
            after = _read([lab])
        except QualificationError:
            return ""
        return Trace(lab.subject, before, after, list(stats.values())).sentence

    def _flows(self, labs: Sequence[Lab]) -> Flows:
        """What the generators counted since the case began."""
        assert self._totals is not None, "a case begins before it ends"
        return flows_of(labs, self._totals.take(), answerable([lab.subject for lab in labs]))

    def _judged(
        self, labs: Sequence[Lab], case: PlanCase, before: Books, after: Books, flows: Flows
    ) -> tuple[list[CaseAccount], list[list[Check]]]:
        """The account of each port, and its checks."""
        accounts = list(self._accounts(labs, case, before, after, flows))
        return accounts, [list(account.checks()) for account in accounts]

    def _accounts(
        self, labs: Sequence[Lab], case: PlanCase, before: Books, after: Books, flows: Flows
    ) -> Iterator[CaseAccount]:
        gains = after.gains(before)
        answers = answerable([lab.subject for lab in labs])
        known = together(
            explained(lab.subject, flows[lab.port], _groups(lab), _may_be_held(lab, case)) for lab in labs)
        lasted_s = after.read_s - before.read_s
        if labs[0].clock.exact:
            own = self._idle_gains(lasted_s)
        else:
            hosts = {port for lab in labs for flow in flows[lab.port] for port in data_ends(lab.subject, flow.plan)}
            own = self._own(labs[0].subject, gains, known, lasted_s, len(hosts))

        for lab in labs:
            its = {counter: gain for counter, gain in gains.items() if answers.get(counter.port, lab.port) == lab.port}
            due = {counter: one for counter, one in known.items() if answers.get(counter.port, lab.port) == lab.port}
            yield CaseAccount(lab.subject, case.metrics, its, due, own, flows[lab.port], _kept(lab, case))

    def _own(
        self, subject: PortUnderTest, gains: Mapping[Counter, int], known: Mapping[Counter, Explained], lasted_s: float,
        hosts: int,
    ) -> dict[Counter, int]:
        """How many frames each counter may have gained on hardware that nothing sent explains: protocols of the switch
        and its neighbours, hosts that look for their gateways, a bad frame now and then (frames of the case that are
        lost its own checks count); and what its own traffic brings on the idle switch. Pauses as exactly as the
        testbed's tolerances say; those that the switch sends may count as frames, XON without being counted as PFC.
        `hosts`: how many play in the case; what they look for is dropped nowhere but where it comes in."""
        frames = ceil(OWN_FRAMES * max(1.0, lasted_s / MINUTE_S))
        own = {}
        for counter in gains:
            own[counter] = self._idle.may_gain(counter, lasted_s)
            if counter.column not in (PFC_RX, PFC_TX):
                own[counter] += frames + (HOST_FRAMES * hosts if counter.column in (*OWN_COLUMNS, RX_DRP) else 0)
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


def _beside(labs: Sequence[Lab], case: PlanCase, flows: Flows) -> Iterator[CaseAccount]:
    """Accounts of what was sent beside a case, without any counter. Where time is not exact the switch may be a real
    one, which floods frames for a port that is down: a slower port may not have room for both."""
    for lab in labs:
        least_mbps = 0 if lab.clock.exact else lab.subject.pair.speed_mbps
        fast = {port.port for port in lab.subject.bystanders if port.speed_mbps >= least_mbps}
        its = [flow for flow in flows[lab.port] if flow.plan.leaves in fast]
        yield CaseAccount(lab.subject, case.metrics, {}, {}, {}, its)


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
    names = {lab.builder.flow_name(""): lab.port for lab in labs}
    for flow in totals:
        own = next((port for name, port in names.items() if flow.plan.name.endswith(name)), None)
        found[own or answers.get(flow.plan.leaves, labs[0].port)].append(flow)
    return found


def _arrival(
    account: CaseAccount, accounts: Sequence[CaseAccount], gains: Mapping[Counter, int], gained: Mapping[str, int]
) -> Check | None:
    """The check of whether a port's pauses arrived, where there were any.

    Args:
        account: the port's.
        accounts: those of all ports that were measured at once.
        gains: what each counter of the switch gained.
        gained: what the further receive counters of the port gained.
    """
    pair = account.subject.pair
    rx = pair.rx.port
    tx = pair.tx.port
    others = [one for one in accounts if one is not account]
    if others:  # what else the switch counts may be about others' pauses: where it holds whom they are sent data by
        gains = {one: gain for one, gain in gains.items() if one.port == (tx if one.column == PFC_TX else rx)}
    own = account.own.get(Counter(rx, RX_OK), 0)
    beside = sum(data_into(rx, one.subject, one.totals) for one in others)
    return Arrival(account.subject, account.totals, gained, gains, own, beside).check(account.metrics[0])


def family_of(case: PlanCase) -> str:
    """The family of a case; of one that repeats another one, that one's."""
    repeated = case.name.removeprefix("afterwards-")
    return next((one.family for one in port_cases() if one.name == repeated), case.family)


def _may_be_held(lab: Lab, case: PlanCase) -> Collection[int]:
    """The priorities whose senders the switch may pause in a case."""
    return range(8) if family_of(case) in RECONFIGURED else lab.subject.qos.lossless


def _kept(lab: Lab, case: PlanCase) -> Collection[int]:
    """The priorities of which no frame may be lost in a case, whatever is held: lossless ones, and where it changes
    which are lossless, all."""
    return _may_be_held(lab, case) if family_of(case) in (*HOLDING, *RECONFIGURED) else ()


def _groups(lab: Lab) -> Mapping[int, int]:
    """Priority -> its priority group."""
    rx = lab.subject.pair.rx
    return priority_groups(lab.config_db, rx.device, rx.port)


def _watch(labs: Sequence[Lab]) -> tuple[Idle, Books]:
    """The idle switch, and its books after that."""
    settled = _read(labs)
    watch_idle(labs[0])
    books = _read(labs)
    return Idle(books.gains(settled), max(books.read_s - settled.read_s, 1.0)), books


def _read(labs: Sequence[Lab]) -> Books:
    """The books when everything is in them that came before, with what shows that pauses arrive at these ports."""
    lab = labs[0]
    group_s = delay_s(lab.config_db, lab.dut.name, "PG_DROP") or 0.0
    wait_s = max(lab.delays.port_s, lab.delays.queue_s, group_s)
    reading = settled_counters(lab, wait_s, {**COMMANDS, **_receive_commands(labs)})
    return replace(books_of(reading, lab.clock.now()), received=_received(reading.printed, labs))


def _receive_commands(labs: Sequence[Lab]) -> dict[str, str]:
    """A name for each port -> what prints its receive counters."""
    return {f"{RECEIVED}_{lab.port}": port_hash_command(lab.port) for lab in labs}


def _received(printed: Mapping[str, str], labs: Sequence[Lab]) -> dict[str, dict[str, int]]:
    """Port -> what that printed, as numbers."""
    return {lab.port: received(printed[f"{RECEIVED}_{lab.port}"]) for lab in labs}
