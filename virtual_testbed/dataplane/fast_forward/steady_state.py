"""Regeneration: in a steady state counts follow from schedules, and single frames from a short window.

While every line is idle now and then, no threshold is reached and no pause begins or ends, what happened before a
line's last idle instant no longer matters. So the state at any later instant t is found by letting every frame that
came due before t - `window_ps` be delivered (closed form) and stepping the rest. `SteadyProof` shows that this holds.
"""
from __future__ import annotations

from collections.abc import Mapping

from virtual_testbed.dataplane.fast_forward.buffer_levels import SteadyFlow, is_congested
from virtual_testbed.dataplane.fast_forward.delivery import Tally, deliver, shares
from virtual_testbed.dataplane.fast_forward.steady_latency import SteadyLatency
from virtual_testbed.dataplane.fast_forward.steady_proof import SteadyProof
from virtual_testbed.dataplane.model.buffer import EgressQueue, PriorityGroup, Share
from virtual_testbed.dataplane.model.flow import FlowSnapshot, Lane
from virtual_testbed.dataplane.model.port import Path, SwitchPort


class SteadyState:
    """See the module.

    Attributes:
        valid_ps: the first instant that a window may begin at; `end_ps` the last that the steady state holds at.
        uses: what groups and queues may hold.
        window_ps: how much must be stepped to know the state; `long_window_ps` to know the end of every pause too.
    """

    def __init__(self, proof: SteadyProof, now_ps: int) -> None:
        self.sides = proof.sides
        self.ports = proof.ports
        self.flows = proof.steady_flows
        self.anchors = proof.anchors
        self.tallies = proof.tallies
        self.window_ps = proof.window_ps
        self.long_window_ps = proof.window_ps + proof.response_ps + proof.longest_gap_ps
        self.valid_ps = now_ps + proof.settle_ps + 1
        self.end_ps = proof.end_ps
        self.uses = proof.uses
        self._measured = proof.measured
        self._latencies = proof.latencies
        self._fillers = proof.fillers
        self._ledger = proof.ledger
        self._shares = {share for path in self.tallies for share in shares(path)}
        self._shut = [(port, queue, queue.content())
                      for port in self.ports for queue in port.queues if port.gate & queue.bit]

    def place(self, begin_ps: int, now_ps: int) -> None:
        """The state in which every frame due before `begin_ps` has been delivered, and none after, from the one now."""
        tallies = {path: tally.copy() for path, tally in self.tallies.items()}
        invariants_ps = self._invariants_ps(now_ps)
        for steady_flow in self.flows:
            _place_flow(steady_flow, begin_ps, tallies)
        for path, tally in tallies.items():
            tally.arrive(path.arrived_ps)
        for latency, invariant_ps in invariants_ps:
            tallies[latency.last_path].arrive(latency.arrived_when_placed_ps(invariant_ps))
        for tally in tallies.values():
            tally.apply()
        for port in self.ports:
            port.empty()
        for port, queue, runs in self._shut:
            self._refill(port, queue, runs, tallies)
        self._charge(tallies)
        for anchor in self.anchors:
            anchor.place(begin_ps)
        for side in self.sides:
            side.empty()

    def is_settled(self, now_ps: int) -> bool:
        """Whether the latencies of all frames from now on are known, and of those under way."""
        return not any(flow.is_measured for flow in self._measured) or (
            now_ps >= self.valid_ps and all(latency.invariant_ps(now_ps) is not None
                                            for latency in self._latencies if latency.flow.is_measured))

    def _invariants_ps(self, now_ps: int) -> list[tuple[SteadyLatency, int]]:
        """Latencies, each with what stays the same from instant to instant."""
        found = [(latency, latency.invariant_ps(now_ps)) for latency in self._latencies
                 if latency.flow.is_measured]
        return [(latency, invariant_ps) for latency, invariant_ps in found if invariant_ps is not None]

    def _refill(self, port: SwitchPort, queue: EgressQueue[Path], runs: list[tuple[Path, int]],
                tallies: Mapping[Path, Tally]) -> None:
        """Let a shut queue hold what it held at the beginning, and what has come since (of one path only)."""
        filler = self._fillers.get(id(queue))
        if filler is not None:
            added = tallies[filler].waits - sum(frames for path, frames in runs if path is filler)
            runs = [*runs, (filler, added)] if added else runs
        port.fill(queue, runs)

    def _charge(self, tallies: Mapping[Path, Tally]) -> None:
        """Let groups and queues hold what waits in queues that are shut, reserved bytes first."""
        held = dict.fromkeys(self._shares, 0)
        for path, tally in tallies.items():
            for share in shares(path):
                held[share] += tally.waits * path.size
        for share, size in held.items():
            if not is_congested(share):
                shared = max(0, size - share.size)
                if share.shared != shared or share.reserved != size - shared:
                    share.hold(size - shared, shared)

    def peaks(self) -> list[tuple[Share, int]]:
        """Highest levels so far."""
        return [(share, share.peak) for share in self._shares]

    def restore_peaks(self, before: list[tuple[Share, int]], now_ps: int) -> None:
        """After a window up to now: levels in it were not all real, but they are now."""
        for share, peak in before:
            now = share.shared if isinstance(share, PriorityGroup) else share.shared + share.reserved
            if share.peak > peak or now > peak:  # it was stepped higher than it was, or is higher now
                share.set_peak(max(peak, now))
        for use in self.uses:
            use.note_bound(self._ledger, now_ps)


def _place_flow(steady_flow: SteadyFlow, begin_ps: int, tallies: Mapping[Path, Tally]) -> None:
    flow = steady_flow.flow
    begin = steady_flow.begin
    frames = flow.due_by(steady_flow.segment, begin_ps - 1)
    rounds, rest = divmod(frames, len(flow.lanes))
    counts: dict[Lane, int] = {}
    for number, lane in enumerate(flow.lanes):
        extra = (number - begin.position) % len(flow.lanes) < rest
        counts[lane] = counts.get(lane, 0) + rounds + extra
    lost = begin.lost
    for lane in flow.kinds:
        if lane.path is None:
            lost += counts[lane]
        else:
            deliver(tallies, lane.path, counts[lane])
    launched = tuple([before + counts[lane] for lane, before in zip(flow.kinds, begin.launched)])
    flow.restore(FlowSnapshot(
        begin.state, begin.has_begun, flow.after(steady_flow.segment, frames), begin.later, begin.frozen,
        (begin.position + frames) % len(flow.lanes), begin.sent + frames, flow.sent_ps, lost,
        launched))
