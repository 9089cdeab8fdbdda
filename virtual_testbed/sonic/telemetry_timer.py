"""Orchagent's telemetry timer, at whose ticks `PERIODIC_WATERMARKS` begin anew (sonic-swss `watermarkorch.cpp`).

It is started when the first group of watermarks is enabled, and ticks every interval from then on. What is told to it
takes effect at its next tick: another interval, or that no group is enabled any more, with which it stops. An interval
of 0 stops it with that tick for as long as orchagent runs. Orchagent that starts looks at the groups before it looks
at the interval, so the first tick comes after the default one.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace

from virtual_testbed.sonic.databases import Config

TABLE, ROW = "WATERMARK_TABLE", "TELEMETRY_INTERVAL"
DEFAULT_S = 120
LONGEST_S = 2**32 - 1
GROUPS = ("QUEUE_WATERMARK", "PG_WATERMARK")
"""The groups of counters that start it."""
_FLEX_COUNTERS = "FLEX_COUNTER_TABLE"
_PS_PER_S = 10**12


@dataclass(frozen=True)
class TelemetryTimer:
    """What the timer does from an instant on, unless it is told something else; the first of all was told nothing.

    Attributes:
        interval_s: as it was told last; 0: no more ticks.
        enabled: groups of watermarks.
        tick_ps: an instant at which it ticks, and from which on it goes by the interval; None: it does not tick.
        is_stuck: it runs and never ticks, and cannot be started.
        told_ps: when it was told that, and `before`: what it did until then. What is told at one instant is one thing.
    """

    interval_s: int = DEFAULT_S
    enabled: frozenset[str] = frozenset()
    tick_ps: int | None = None
    is_stuck: bool = False
    told_ps: int = -1
    before: TelemetryTimer | None = None

    def last_tick(self, after_ps: int, until_ps: int) -> int | None:
        """The last tick after one instant, up to and including another."""
        if self.tick_ps is None or self.tick_ps > until_ps:
            return None
        tick_ps = self.tick_ps
        if self._goes_on():
            tick_ps += (until_ps - tick_ps) // self._interval_ps * self._interval_ps
        return tick_ps if tick_ps > after_ps else None

    def told(self, config: Config, now_ps: int) -> TelemetryTimer:
        """What it does once it has seen a CONFIG_DB. As in orchagent a row that is removed, or malformed, changes
        nothing.
        """
        old = self.before if self.before is not None and self.told_ps == now_ps else self
        enabled = _enabled(config, old.enabled)
        interval_s = _interval_or(config, old.interval_s)
        tick_ps = old._next_tick(now_ps)
        is_stuck = old.is_stuck or old._is_stuck_at(now_ps)
        if enabled and not old.enabled and tick_ps is None and not is_stuck:
            first_s = interval_s if old.told_ps >= 0 else old.interval_s
            tick_ps = now_ps + first_s * _PS_PER_S if first_s else None
            is_stuck = not first_s
        return TelemetryTimer(interval_s, enabled, tick_ps, is_stuck, now_ps, replace(old, before=None))

    @property
    def _interval_ps(self) -> int:
        return self.interval_s * _PS_PER_S

    def _goes_on(self) -> bool:
        """Whether there are ticks after `tick_ps`."""
        return bool(self.enabled) and self.interval_s > 0

    def _next_tick(self, now_ps: int) -> int | None:
        """The first one after an instant."""
        if self.tick_ps is None or self.tick_ps > now_ps:
            return self.tick_ps
        if not self._goes_on():
            return None
        return self.tick_ps + ((now_ps - self.tick_ps) // self._interval_ps + 1) * self._interval_ps

    def _is_stuck_at(self, now_ps: int) -> bool:
        """Whether its last tick is over, and has begun an interval of 0."""
        is_over = self.tick_ps is not None and self.tick_ps <= now_ps
        return is_over and bool(self.enabled) and not self.interval_s


def read_interval(config: Config) -> int | None:
    """The interval of a CONFIG_DB, seconds; None: it has none.

    Raises:
        ValueError: it is malformed.
    """
    text = config.get(TABLE, {}).get(ROW, {}).get("interval")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]+", str(text)) or int(str(text)) > LONGEST_S:
        raise ValueError(f"{TABLE}|{ROW} ignored: interval must be 0..{LONGEST_S} seconds, found {text!r}")
    return int(str(text))


def _interval_or(config: Config, old_s: int) -> int:
    try:
        interval_s = read_interval(config)
    except ValueError:  # `polling.read_intervals` says so
        return old_s
    return old_s if interval_s is None else interval_s


def _enabled(config: Config, old: frozenset[str]) -> frozenset[str]:
    rows = config.get(_FLEX_COUNTERS, {})
    statuses = {group: rows.get(group, {}).get("FLEX_COUNTER_STATUS") for group in GROUPS}
    return frozenset(group for group, status in statuses.items()
                     if status == "enable" or (group in old and status != "disable"))
