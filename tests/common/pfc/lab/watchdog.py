"""The PFC watchdog as test cases use it: its times, starting it on some ports, and stopping it again.

Outside a test case the watchdog of the whole switch is stopped (`restore`). A case starts it on the ports that it
needs; however it ends, these ports have no row in PFC_WD afterwards and the polling interval is the one that was found
before the first run, as the reservation has it. Where none was found the switch's own default stays in CONFIG_DB until
the run ends: orchagent does not act on the removal of the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from ..model.counters import DutCounters
from ..model.errors import QualificationError
from .cli_text import first_line
from .clock import Clock
from .dut import WATCHDOG_STATISTICS, Dut
from .reservation import Reservation
from .restore import put_back_or_raise
from .watchdog_deviations import judges_whole_intervals

DROP = "drop"
FORWARD = "forward"
ALERT = "alert"
STORMED = "stormed"
OPERATIONAL = "operational"
MS_PER_S = 1000
LATE_MS = Fraction(100)
"""How much later than the polling interval says a poll may be on hardware, and a flow may start."""
DEFAULT_POLL_MS = 100
"""Polling interval where CONFIG_DB says nothing (sonic-swss orchdaemon.cpp, PFC_WD_POLL_MSECS)."""
POLLED = "FLEX_COUNTER_TABLE|PFCWD"
"""The row of CONFIG_DB that says whether it is polled at all (sonic-swss flexcounterorch.cpp); without it, it is."""
POLL_FIELD = "'PFC_WD|GLOBAL' POLL_INTERVAL"
FORGET_POLL_INTERVAL = (
    f"[ -z \"$(sonic-db-cli CONFIG_DB HGET {POLL_FIELD})\" ] ||"
    f" {{ sonic-db-cli CONFIG_DB HSET {POLL_FIELD} {DEFAULT_POLL_MS} && sleep 1"
    f" && sonic-db-cli CONFIG_DB HDEL {POLL_FIELD}; }}"
)
"""A shell command: the watchdog polls as where CONFIG_DB says nothing, also after a run that was killed. orchagent does
not act on the removal of the field, and sees of two changes in a row the last one only: nothing says when it has seen
the first one."""


@dataclass(frozen=True)
class Timers:
    """What the watchdog does, and when, in milliseconds.

    A poll judges the time since the poll before. It takes D/P polls in a row, rounded up, to detect a storm, and R/P
    without a pause frame to restore (sonic-swss, pfc_detect_*.lua and pfc_restore.lua). The first of them is over one
    to two intervals after the storm begins (ends), because of the interval in which that happens nothing is known, and
    the last one, of N, N - 1 intervals later. So a storm is detected N P to (N + 1) P after it began: D to D + P where
    D is a multiple of P, before D + 2P in any case; and the queue is restored in the same way after the storm ended.

    Attributes:
        action: `drop`, `forward` or `alert`.
        detection_ms, restoration_ms, poll_ms: D, R and P.
    """

    action: str
    detection_ms: int = 200
    restoration_ms: int = 200
    poll_ms: int = 100

    def __str__(self) -> str:
        return f"detection {self.detection_ms}, restoration {self.restoration_ms}, polls {self.poll_ms} ms"

    @property
    def latest_detection_s(self) -> float:
        """Seconds after the beginning of a storm at which it is detected at the latest."""
        return (self.detection_ms + 2 * self.poll_ms) / MS_PER_S

    @property
    def latest_restoration_s(self) -> float:
        """Seconds after the end of a storm at which the queue is restored at the latest."""
        return (self.restoration_ms + 2 * self.poll_ms) / MS_PER_S

    def detection_bounds_ms(self, asic: str, late_ms: Fraction) -> tuple[Fraction, Fraction]:
        """Earliest and latest detection after the beginning of a storm.

        Args:
            asic: `asic_type switch_type`: some judge an interval that was paused in part, and are up to one earlier.
            late_ms: how much later than the polling interval says a poll may be, and what else the measurement adds.
        """
        least_ms = self._in_polls(self.detection_ms)
        early_ms = 0 if judges_whole_intervals(asic) else self.poll_ms
        return Fraction(least_ms - early_ms), least_ms + self.poll_ms + late_ms

    def restoration_bounds_ms(self, late_ms: Fraction) -> tuple[Fraction, Fraction]:
        """Earliest and latest restoration after the end of a storm."""
        least_ms = self._in_polls(self.restoration_ms)
        return Fraction(least_ms), least_ms + self.poll_ms + late_ms

    def _in_polls(self, time_ms: int) -> int:
        """The polls that a time takes, rounded up, in milliseconds."""
        return -(-time_ms // self.poll_ms) * self.poll_ms


class Watchdog:
    """The watchdog of some ports of a switch."""

    def __init__(self, dut: Dut, ports: Sequence[str], lossless: Sequence[int]) -> None:
        """`lossless`: the priorities whose queues are watched."""
        self._dut = dut
        self._ports = tuple(ports)
        self.timers: Timers | None = None  # while it runs
        self.queues = tuple(f"{port}:{priority}" for port in ports for priority in lossless)

    def start(self, timers: Timers) -> None:
        """Starts it, or stops it and starts it with other times.

        Raises:
            QualificationError: the switch refuses, or says nothing and does nothing.
        """
        kept = self._interval_kept()
        self.timers = timers
        before = {
            **kept,
            "stop": self._dut.guarded(f"pfcwd stop {' '.join(self._ports)}"),
            "interval": self._dut.guarded(f"pfcwd interval {timers.poll_ms}"),
        }
        self._start(timers, before)

    def start_over(self, timers: Timers) -> None:
        """Starts it with another action and other times, while it runs: it is not stopped before.

        Raises:
            QualificationError: the switch refuses, or says nothing and does nothing.
        """
        assert self.timers is not None, "it runs"
        self.timers = timers
        self._start(timers, {})
        rows = "; ".join(f"sonic-db-cli CONFIG_DB HGET 'PFC_WD|{port}' action" for port in self._ports)
        found = self._dut.ask({"actions": rows})["actions"].split()
        if found != [timers.action] * len(self._ports):
            raise QualificationError(
                f"{self._dut.name}: expected action {timers.action} in the rows PFC_WD|{', PFC_WD|'.join(self._ports)}"
                f" of CONFIG_DB after `pfcwd start`, got {', '.join(found) or 'none'}"
            )

    def stop_at(self, port: str) -> None:
        """Stops it at one of its ports."""
        self._dut.ask({"stop": self._dut.guarded(f"pfcwd stop {port}")})

    def start_at(self, port: str) -> None:
        """Starts it there again, as it runs at the others; raises QualificationError as `start`."""
        assert self.timers is not None, "it runs at the others"
        self._start(self.timers, {}, (port,))

    def _start(self, timers: Timers, before: Mapping[str, str], only: Sequence[str] = ()) -> None:
        """Starts it after these commands, at all its ports or at some only."""
        ports = only or self._ports
        said = self._dut.ask(
            {
                **before,
                "start": self._dut.guarded(
                    f"pfcwd start --action {timers.action} {' '.join(ports)} {timers.detection_ms}"
                    f" --restoration-time {timers.restoration_ms}"
                ),
                "rows": "sonic-db-cli CONFIG_DB KEYS 'PFC_WD|*'",
                "polls": f"sonic-db-cli CONFIG_DB HGET '{POLLED}' FLEX_COUNTER_STATUS",
            }
        )
        if said["polls"].strip() == "disable":
            raise QualificationError(
                f"{self._dut.name}: {POLLED} has FLEX_COUNTER_STATUS 'disable' in CONFIG_DB, so its watchdog detects"
                " and restores nothing: expected enable (`pfcwd counter_poll enable`)"
            )
        for port in ports:
            if f"PFC_WD|{port}" not in said["rows"].split():
                raise QualificationError(
                    f"{self._dut.name} {port}: expected a row PFC_WD|{port} in CONFIG_DB after `pfcwd start`, got none:"
                    f" {first_line(said['start']) or 'it said nothing'}"
                )

    def counters(self) -> DutCounters:
        """The switch's counters, with the statistics of every watched queue."""
        return self._dut.counters(statistics=self._statistics)

    def stop(self) -> DutCounters:
        """Stops it; the switch's counters, with the statistics that it had just before."""
        found_ms = int(self._reservation.watchdog.get("GLOBAL", {}).get("POLL_INTERVAL", DEFAULT_POLL_MS))
        back = f"sonic-db-cli CONFIG_DB HSET {POLL_FIELD} {found_ms}"
        stop = self._dut.guarded(f"pfcwd stop {' '.join(self._ports)}")
        # those of all other queues too, so that the next run may begin with them
        statistics = f"{WATCHDOG_STATISTICS} && echo && {self._statistics}"
        commands = {"stop": stop, "interval": self._dut.guarded(back)}
        counters = self._dut.counters(also=commands, statistics=statistics)
        self.timers = None
        return counters

    def leave(self) -> None:
        """Stops it if it runs."""
        if self.timers is not None:
            self.stop()

    @property
    def _statistics(self) -> str:
        """A shell command: prints the statistics of the watched queues, also where there are none yet."""
        return f"{WATCHDOG_STATISTICS} -e {' '.join(self.queues)}"

    @property
    def _reservation(self) -> Reservation:
        """Who wrote down what was found; raises QualificationError where nobody did."""
        if self._dut.reservation is None:
            raise QualificationError(f"{self._dut.name}: the watchdog is started on a reserved switch only")
        return self._dut.reservation

    def _interval_kept(self) -> dict[str, str]:
        """The command that writes down how the polling interval comes back, once the reservation has that; none where
        the rows that were found have the interval."""
        if "POLL_INTERVAL" in self._reservation.watchdog.get("GLOBAL", {}):
            return {}
        self._reservation.scripts.setdefault("watchdog-polls", FORGET_POLL_INTERVAL)
        return {"lease": self._dut.guarded(self._reservation.write())}


@contextmanager
def watching(dut: Dut, clock: Clock, ports: Sequence[str], lossless: Sequence[int]) -> Iterator[Watchdog]:
    """The watchdog of some ports, not started yet; it is stopped when the `with` block ends, however that is. A switch
    that does not answer then gets some time to come back."""
    watchdog = Watchdog(dut, ports, lossless)
    try:
        yield watchdog
    finally:
        if dut.reservation is not None:  # without one it cannot have been started
            put_back_or_raise("the watchdog", watchdog.leave, dut.reservation, clock)
