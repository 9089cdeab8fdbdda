"""What a testbed's measurements have to allow for: named data with a reason, written into every verdict.

The generators of a virtual testbed share the switches' clock and start flows at the instant at which they are told to,
so the plan's 50 % and 50 % fill the line exactly. Real generators have clocks of their own (IEEE 802.3 allows each 100
parts per million) and the line also carries control frames, so a full line of data would overload it a little.
"""

from __future__ import annotations

from dataclasses import dataclass

KEY = "pfc_conditions"  # of a testbed's entry that says otherwise


@dataclass(frozen=True)
class Tolerances:
    """What holds on a testbed.

    Attributes:
        line_percent: what a full line is loaded with, percent of its rate; the plan's loads are parts of it.
        load_tolerance_percent: how many percent fewer frames than due a flow may send and still count as sent in full
            (start delay, clock). A switch that holds a sender for a shorter time than that goes unnoticed. 0: at most
            one frame may be missing.
        count_tolerance_percent: what may lie between the counts of a generator and a switch for the same pause frames:
            so many pauses may go uncounted. 0: each is counted.
        storm_limit_s: after so many seconds each flow of a pause storm ends by itself, so that a killed run does not
            hold a port for longer; one that is needed for longer has several flows, or is refused. 0: it goes on until
            it is stopped, because the generators end with the run.
        whole_seconds: flows last whole seconds: the longer ones of fractions (IxNetwork refuses fractions).
        pfc_queues: queues of a generator port that PFC can hold: 8, or 4 on some cards.
        starts_beside: generators start flows while others run.
        trust_generator: pauses that no counter of the switch shows have arrived, because that was seen otherwise.
        reason: why.
    """

    line_percent: float
    load_tolerance_percent: float
    count_tolerance_percent: float
    storm_limit_s: int
    whole_seconds: bool
    pfc_queues: int
    starts_beside: bool
    trust_generator: bool
    reason: str

    def alike(self, counted: int, due: int) -> bool:
        """Whether a switch counted as many frames as are due, as near as two counts of the same can be asked to be."""
        return abs(counted - due) * 100 <= due * self.count_tolerance_percent

    @property
    def more_or_less(self) -> str:
        """How near that is, behind a number in messages: ` (1 % more or less)`; empty: it is that number."""
        return f" ({self.count_tolerance_percent:g} % more or less)" if self.count_tolerance_percent else ""


EXACT = Tolerances(
    100, 0, 0, 0, False, 8, True, False, "simulated generators share the switches' clock and end with the testbed",
)
HARDWARE = Tolerances(
    99, 1, 1, 60, True, 8, True, False,
    "clocks of generator and switch may differ by 200 ppm, flows start late, and the line has control frames too",
)
