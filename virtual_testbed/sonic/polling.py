"""SONiC's flex counters: which counters are brought into COUNTERS_DB together, and at which instants.

Hardware counts exactly; COUNTERS_DB holds what was read at the last poll. Here group G with interval I is polled at
every multiple of I since the start of the testbed; the watchdog's group at the watchdog's own polls, which begin when
it is started (sonic-swss `pfcwdsworch.cpp`). Intervals and states are those of CONFIG_DB's FLEX_COUNTER_TABLE;
the defaults are orchagent's (sonic-swss `portsorch.cpp`, `flexcounterorch.cpp`). Nobody can read a database while time
is being computed, so of all polls in an advance only the last one of each group has to be made; and of watermarks,
where the telemetry timer ticks in it, the last one before its last tick: what they were then must not show after it.
So a watermark in `COUNTERS:<oid>` is the highest since the last poll that was made, which depends on how time is
advanced when several polls lie in one advance; what the three tables keep, highest of many polls, does not.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from virtual_testbed.sonic import telemetry_timer
from virtual_testbed.sonic.databases import Config, Row
from virtual_testbed.sonic.telemetry_timer import TelemetryTimer

TABLE = "FLEX_COUNTER_TABLE"
DEFAULT_MS = {"PORT": 1_000, "QUEUE": 10_000, "PG_DROP": 10_000, "QUEUE_WATERMARK": 60_000, "PG_WATERMARK": 60_000}
"""Groups that this switch polls, and how often unless CONFIG_DB says otherwise, in milliseconds."""
WATCHDOG = "PFC_WD"
"""The group of what the watchdog decides on: it is polled while a port is watched."""
STATISTICS = "PFC_WD statistics"
"""No group of counters: orchagent's timer, at which it writes what was counted in a storm that goes on."""
TELEMETRY = "telemetry"
"""No group of counters either: the tick of orchagent's telemetry timer. One at the instant of a poll comes before it:
syncd begins to poll later than orchagent starts the timer."""
WATCHDOG_ROW = "PFCWD"
"""Its row in CONFIG_DB (sonic-swss `flexcounterorch.cpp`)."""
SHORTEST_MS, LONGEST_MS = 100, 3_600_000
_PS_PER_MS = 10**9
_STATISTICS_MS = 1_000


@dataclass(frozen=True)
class Intervals:
    """`by_group`: picoseconds between two polls of each group that is polled. `problems`: one sentence a bad row.
    `begun_ps`: when the polls of a group began, where that is not 0. `timer`: the telemetry timer.
    """

    by_group: Mapping[str, int]
    problems: tuple[str, ...] = ()
    begun_ps: Mapping[str, int] = field(default_factory=dict)
    timer: TelemetryTimer = TelemetryTimer()

    def last_polls(self, after_ps: int, until_ps: int) -> dict[int, set[str]]:
        """What is to be done after one instant, up to and including another: instant -> groups to poll, `TELEMETRY`
        first.
        """
        polls = self._last_polls_of(self.by_group, after_ps, until_ps)
        tick_ps = self.timer.last_tick(after_ps, until_ps)
        if tick_ps is not None:
            before = self._last_polls_of(telemetry_timer.GROUPS, after_ps, tick_ps - 1)
            for instant, groups in (*before.items(), (tick_ps, {TELEMETRY})):
                polls.setdefault(instant, set()).update(groups)
        return polls

    def missed_polls(self, after_ps: int, until_ps: int, made: Mapping[str, int]) -> set[str]:
        """Of what was to be done after one instant, up to and including another, what was not. `made`: when each was
        done last since. A tick after which watermarks were polled is over: now it would clear what that poll has read.
        """
        missed = set()
        for instant, groups in self.last_polls(after_ps, until_ps).items():
            missed |= {group for group in groups if instant > made.get(group, after_ps)}
        tick_ps = self.timer.last_tick(after_ps, until_ps)
        if tick_ps is not None and any(made.get(group, after_ps) >= tick_ps for group in telemetry_timer.GROUPS):
            missed.discard(TELEMETRY)
        return missed

    def _last_polls_of(self, groups: Iterable[str], after_ps: int, until_ps: int) -> dict[int, set[str]]:
        """The last poll of each of these groups that is polled."""
        polls: dict[int, set[str]] = {}
        for group in groups:
            if group not in self.by_group:
                continue
            interval = self.by_group[group]
            begun_ps = self.begun_ps.get(group, 0)
            instant = begun_ps + (until_ps - begun_ps) // interval * interval
            if instant > max(after_ps, begun_ps):
                polls.setdefault(instant, set()).add(group)
        return polls

    def watching(self, poll_ms: int, before: Intervals, now_ps: int) -> Intervals:
        """With the watchdog's group, which is polled so often (0: not at all). It goes on as `before`, or begins
        now.
        """
        if not poll_ms:
            return self
        interval = poll_ms * _PS_PER_MS
        goes_on = before.by_group.get(WATCHDOG) == interval
        begun_ps = before.begun_ps[WATCHDOG] if goes_on else now_ps
        by_group = {**self.by_group, WATCHDOG: interval}
        return replace(self, by_group=by_group, begun_ps={WATCHDOG: begun_ps})

    def with_statistics(self) -> Intervals:
        """With what orchagent writes of storms every second (sonic-swss `pfcwdsworch.cpp`)."""
        return replace(self, by_group={**self.by_group, STATISTICS: _STATISTICS_MS * _PS_PER_MS})

    def ticking(self, timer: TelemetryTimer) -> Intervals:
        """With orchagent's telemetry timer."""
        return replace(self, timer=timer)


def polls_watchdog(config: Config) -> bool:
    """Whether the watchdog's group is polled: unless `pfcwd counter_poll disable` was said, also without a row."""
    return config.get(TABLE, {}).get(WATCHDOG_ROW, {}).get("FLEX_COUNTER_STATUS") != "disable"


def read_intervals(config: Config) -> Intervals:
    """The intervals of a CONFIG_DB. As in orchagent a group without a row, or not enabled, is not polled."""
    intervals, problems = {}, []
    rows = config.get(TABLE, {})
    for group, default in DEFAULT_MS.items():
        try:
            interval = _interval_ms(rows.get(group, {}), default)
        except ValueError as error:
            problems.append(f"{TABLE}|{group} ignored: {error}")
            continue
        if interval is not None:
            intervals[group] = interval * _PS_PER_MS
    try:
        telemetry_timer.read_interval(config)
    except ValueError as error:
        problems.append(str(error))
    return Intervals(intervals, tuple(problems))


def _interval_ms(row: Row, default: int) -> int | None:
    status = str(row.get("FLEX_COUNTER_STATUS", "disable"))
    text = str(row.get("POLL_INTERVAL", default))
    if status not in ("enable", "disable"):
        raise ValueError(f"FLEX_COUNTER_STATUS must be enable or disable, found {status!r}")
    if not re.fullmatch(r"[0-9]+", text) or not SHORTEST_MS <= int(text) <= LONGEST_MS:
        raise ValueError(f"POLL_INTERVAL must be {SHORTEST_MS}..{LONGEST_MS} milliseconds, found {text!r}")
    return int(text) if status == "enable" else None
