"""What orchagent and syncd do: CONFIG_DB goes to the data plane, counters and states come back into the databases.

The engine owns the agent and calls it around each step of simulated time; the agent has no thread and no clock. It says
at which instants it wants to poll counters (`due_polls`), and the engine stops there.
"""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import datetime
import json
import logging
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.control_plane import ControlProtocol
from virtual_testbed.dataplane.model.counters import ALL_PARTS, SwitchCounters, SwitchStates, WatchdogState
from virtual_testbed.dataplane.model.hooks import Fault, Hooks, PortPlace
from virtual_testbed.dataplane.model.watchdog_decider import Decider, PolledQueue
from virtual_testbed.sonic import databases, flex_counters
from virtual_testbed.sonic.agent_keys import BOOT_KEY, CAUSES, DOWN, REBOOT, RESTART_KEY, SERVICES_KEY, UP
from virtual_testbed.sonic.asic_db import object_rows
from virtual_testbed.sonic.control_plane import ControlPlane
from virtual_testbed.sonic.counters import POOL_NAME_MAP, Hash, ObjectIds, parts_of, watermark_parts
from virtual_testbed.sonic.counters_db import CountersDb
from virtual_testbed.sonic.counters_since import since, states_since, written
from virtual_testbed.sonic.databases import Config
from virtual_testbed.sonic.dynamic_buffers import in_effect, is_dynamic, memory_bytes
from virtual_testbed.sonic.factory import factory_config, switch_mac
from virtual_testbed.sonic.lossless_groups import Reasons, reasons
from virtual_testbed.sonic.periods import PREFIX as PERIODS, Periods
from virtual_testbed.sonic.polling import STATISTICS, TELEMETRY, Intervals, polls_watchdog, read_intervals
from virtual_testbed.sonic.port_channels import LAG, LAG_MEMBER, PortChannel, lag_member_rows, lag_rows
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.publisher import Publisher
from virtual_testbed.sonic.removal_faults import can_switch_aging, taking_effect, withhold_removals
from virtual_testbed.sonic.resp import DatabaseError
from virtual_testbed.sonic.restarts import (
    CONTAINERS, PORTS, SSH, Recovery, RestartRequest, restart_by_itself, unpowered,
)
from virtual_testbed.sonic.router_interfaces import PREFIX as INTERFACES, interface_rows
from virtual_testbed.sonic.system_log import SystemLog
from virtual_testbed.sonic.telemetry_timer import TelemetryTimer
from virtual_testbed.sonic.translate import Translation, translate
from virtual_testbed.sonic.vendor_sdk import REFUSES, SDK, SWITCH, is_aging_off, log_ports
from virtual_testbed.sonic.watchdog_log import Message, about_rows, about_storms
from virtual_testbed.sonic.watchdog_registration import TABLE as PFC_WD, Registrations, as_registered, registered
from virtual_testbed.sonic.watchdog_scripts import ScriptDecider, read_scripts

_log = logging.getLogger(__name__)

ONLY_BUFFERS = "create_only_config_db_buffers"
"""Field of DEVICE_METADATA: queues and priority groups without a row in BUFFER_QUEUE or BUFFER_PG are not counted
(sonic-swss `flexcounterorch.cpp`)."""
_EPHEMERAL = ("APPL_DB", "ASIC_DB", "COUNTERS_DB", "PFC_WD_DB", "STATE_DB")


class SwitchDataPlane(Protocol):
    """The data plane as the agent of one switch uses it; `virtual_testbed.dataplane.network.Network` has this."""

    @property
    def now_ps(self) -> int:
        """Simulated time since the start, picoseconds."""

    def configure_switch(self, config: SwitchConfig) -> None:
        """Add a switch or change its configuration now."""

    def clear_peaks(self, switch: str, parts: Collection[str] = ALL_PARTS) -> None:
        """Let the watermarks of these parts of a switch begin anew."""

    def decide_watchdog_by(self, switch: str, decider: Decider) -> None:
        """Leave it to somebody else where a storm of a switch's queue begins and ends."""

    def switch_counters(self, switch: str, parts: Collection[str]) -> SwitchCounters:
        """Counters of a switch now, these parts of them."""

    def switch_states(self, switch: str) -> SwitchStates:
        """States of a switch now."""


class ChangeWatch:
    """Knows whether CONFIG_DB, the SDK's part of ASIC_DB, or what asks for a restart was written to, without a race.

    Redis answers a PING on the subscribed connection after the notifications of all earlier writes, so what was written
    before `seen` is called is seen by it.
    """

    def __init__(self, redis_socket: str) -> None:
        self._connection = databases.connect(redis_socket, "CONFIG_DB")
        self._removed: set[str] = set()
        self._periods: set[str] = set()
        self._set: set[str] = set()
        watched = [f"__keyspace@{databases.NUMBERS[name]}__:{keys}"
                   for name, keys in (("CONFIG_DB", "*"), ("ASIC_DB", SDK), ("ASIC_DB", SWITCH),
                                      ("STATE_DB", RESTART_KEY), ("STATE_DB", f"{PERIODS}*"))]
        self._connection.send([("PSUBSCRIBE", *watched)])
        for _ in watched:
            self._connection.read()

    def seen(self) -> bool:
        """True when something was written since the last call, not counting periods. Raises DatabaseError."""
        self._connection.send([("PING",)])
        changed = False
        while (message := self._connection.read())[0] != "pong":
            key = str(message[-2]).partition(":")[2]
            if key.startswith(PERIODS):
                if message[-1] == "hset":
                    self._periods.add(key)
                continue
            changed = True
            (self._removed if message[-1] == "del" else self._set).add(key)
        return changed

    def take_periods(self) -> set[str]:
        """The rows of periods (`periods`) that were written since the last call."""
        periods = self._periods
        self._periods = set()
        return periods

    def take_set(self) -> set[str]:
        """The rows of which a field was written since the last call, whether they are there still or not."""
        found = self._set
        self._set = set()
        return found

    def take_removed(self) -> set[str]:
        """The rows that were removed since the last call, whether they are there again or not: `PORT|Ethernet0`."""
        removed = self._removed
        self._removed = set()
        return removed

    def close(self) -> None:
        """End the subscription."""
        self._connection.close()


class SonicAgent:
    """One switch's link between its databases and the data plane."""

    def __init__(self, switch: str, redis_socket: str, hwsku: str, network: SwitchDataPlane,
                 faults: Sequence[Fault], swss: Path | None = None, system_log: SystemLog | None = None) -> None:
        """Start: the switch gets its factory configuration if it has none, name maps and first counters are written.

        Args:
            switch: the switch's name in the data plane.
            redis_socket: its Redis.
            hwsku: its hardware.
            network: the data plane; must know the switch's links already.
            faults: all of the testbed; those about the agent are honoured, on a copy of each.
            swss: a checkout of sonic-swss, whose scripts decide what the watchdog does; None: the data plane does.
            system_log: of the switch, for what orchagent says; None: it has none.

        Raises:
            DatabaseError: Redis does not answer.
            ProfileError: unknown HwSKU.
            ScriptError: the checkout has no scripts for its ASIC.
        """
        self._switch = switch
        self._socket = redis_socket
        self._network = network
        self._faults = tuple(faults)
        self._system_log = system_log
        self._profile = load_profile(hwsku)
        self._ids = ObjectIds(self._profile)
        self._scripts = read_scripts(swss, self._profile.asic_type) if swss is not None else ()
        self._decider: ScriptDecider | None = None
        self._applied: Translation | None = None
        self._shown: tuple[SwitchStates, SwitchConfig, Mapping[str, PortChannel]] | None = None
        self._oper: dict[str, str] = {}  # port -> `up` or `down`, as APPL_DB has it
        self._flaps: Counter[str] = Counter()  # how often that has changed
        self._intervals = Intervals({})
        self._lost = False
        self._is_written = False  # something that this agent has not looked at yet
        self._written: Mapping[tuple[str, int], WatchdogState] = {}  # what the last of orchagent's timers has seen
        self._watchdog_ms = 0  # how often the watchdog polls, unless it is not polled at all
        self._derived_by: dict[str, Reasons] = {}  # port -> what its lossless groups were derived by
        self._control_plane = ControlPlane()  # outlives the databases, as the data plane's counters do
        self._last_config: SwitchConfig | None = None  # what the hardware was told last
        self._recovery = Recovery()
        self._causes: list[RestartRequest] = []  # reboots, the last one last
        self._last_reboot: dict[str, str] = {}  # what names it
        self._crashes = sorted((fault.scope.from_ps, kind) for fault in faults
                               if fault.scope.switch in (None, switch) and (kind := fault.restarts(""))
                               and (fault.scope.from_ps > network.now_ps or network.now_ps == 0))  # what is to come
        self._counters_then: SwitchCounters | None = None  # as they were at the last restart
        self._states_then: SwitchStates | None = None
        self._connect()
        self.apply_configuration()

    def apply_configuration(self) -> bool:
        """Bring CONFIG_DB into effect if it was written to; True when the data plane got something new.

        A Redis that is away is waited for by asking again at the next call.
        """
        try:
            if self._lost:
                self._connect()
            self._is_written |= self._watch.seen()
            if self._is_written:
                self._restart_if_asked()
            self._come_up()
            self._time_periods()
            starts = self._applied is None
            is_due = (self._is_written or starts) and not self._recovery.is_down(PORTS)
            changed = is_due and self._apply(databases.read_config(self._config))
            self._is_written = False  # but where the data plane was late: then it is asked for once more
            if is_due and starts:
                self.publish_counters()
            return changed
        except DatabaseError as error:
            self._lose(error)
            return False

    def next_stage_ps(self) -> int | None:
        """When something of a switch that restarts is up again, or crashes, or a command has waited; None: never."""
        crashes_ps = [instant for instant, _ in self._crashes]
        due = [instant for instant in (self._recovery.next_ps(), self.awaited_ps(), *crashes_ps)
               if instant is not None]
        return None if self._lost else min(due, default=None)

    def awaited_ps(self) -> int | None:
        """Until when a command of the switch waits, the one that waits the least long; None: none does."""
        return None if self._lost else self._periods.next_ps()

    def due_polls(self, until_ps: int) -> Mapping[int, Collection[str]]:
        """The last poll of each counter group after the present instant, up to and including `until_ps`: instant ->
        groups to poll then. Earlier ones would be overwritten before anybody can read them; but see `polling` of
        watermarks.
        """
        if self._lost or self._applied is None:
            return {}
        return self._intervals.last_polls(self._network.now_ps, until_ps)

    def missed_polls(self, after_ps: int, made: Mapping[str, int]) -> Collection[str]:
        """What was due after an instant, up to now, and was not polled; `made`: when each was polled last since."""
        if self._lost or self._applied is None:
            return ()
        return self._intervals.missed_polls(after_ps, self._network.now_ps, made)

    def poll(self, groups: Collection[str]) -> None:
        """Write the counters of these groups (`due_polls` names them) as of the present instant."""
        self._write(groups, states=False)

    def publish_states(self) -> None:
        """Write what shows at once, as of the present instant: states of ports, the watchdog's states and counters."""
        self._write((), states=True)

    def publish_counters(self) -> None:
        """Write everything as of the present instant, as a switch does that starts."""
        self._write(self._intervals.by_group, states=True)

    def close(self) -> None:
        """Close all connections."""
        self._open.close()

    def _connect(self) -> None:
        """Connect and begin afresh, as after a start of the switch. Raises DatabaseError, nothing is open then."""
        with contextlib.ExitStack() as stack:
            self._watch = stack.enter_context(contextlib.closing(ChangeWatch(self._socket)))
            self._config, self._asic = (
                stack.enter_context(databases.connect(self._socket, name)) for name in ("CONFIG_DB", "ASIC_DB"))
            for database in _EPHEMERAL:
                with databases.connect(self._socket, database) as connection:
                    connection.call("FLUSHDB")
            self._periods = Periods(stack.enter_context(databases.connect(self._socket, "STATE_DB")))
            self._appl, self._asic_objects, self._shown_counters, self._state, self._flex = (
                stack.enter_context(contextlib.closing(Publisher(self._socket, name)))
                for name in ("APPL_DB", "ASIC_DB", "COUNTERS_DB", "STATE_DB", "FLEX_COUNTER_DB"))
            if not databases.read_config(self._config):
                databases.write_config(self._config, factory_config(self._profile, self._switch), {})
            self._config.call("SET", "CONFIG_DB_INITIALIZED", "1")
            self._state.publish({BOOT_KEY: {"id": uuid.uuid4().hex}})
            self._publish_restarts()
            self._hooks = Hooks(copy.deepcopy(self._faults))  # what a fault remembers is one start of one switch
            if not can_switch_aging(self._hooks, self._switch, self._profile):
                self._asic.call("HSET", SDK, REFUSES, "yes")
            self._counters = CountersDb(self._switch, self._shown_counters, self._ids, self._hooks)
            if self._scripts:
                queues = {self._ids.queue(*queue): queue for queue in self._ids.queues()}
                self._decider = stack.enter_context(contextlib.closing(ScriptDecider(
                    self._switch, self._socket, self._scripts, queues, self._publish_polled)))
            self._open = stack.pop_all()
        self._applied = None
        self._watchdogs: Registrations = {}
        self._logged: Mapping[tuple[str, int], WatchdogState] = {}  # as the system log has the storms
        self._written = {}
        self._timer = TelemetryTimer()
        self._lost = False
        self._shown = None

    def _restart_if_asked(self) -> None:
        """Begin a restart that a command has asked for; it waits until the request is gone. Raises DatabaseError."""
        with databases.connect(self._socket, "STATE_DB") as connection:
            request = RestartRequest.read(databases.read_hash(connection, RESTART_KEY))
            if request is not None:
                self._go_down(request)
                self._note_restart(request)
            connection.call("DEL", RESTART_KEY)

    def _go_down(self, request: RestartRequest) -> None:
        """Let the hardware do nothing if that restarts. What fails here has to be done again, nothing is noted yet.

        Raises:
            DatabaseError: Redis does not answer.
            Overrun: the data plane takes too long.
        """
        if not request.restart.is_dark:
            return
        if self._last_config is not None:
            self._network.configure_switch(unpowered(self._last_config))
            self._network.clear_peaks(self._switch)
            self._counters_then = self._network.switch_counters(self._switch, ALL_PARTS)
            self._states_then = self._network.switch_states(self._switch)
        if (wanted := request.configuration()) is not None:
            databases.write_config(self._config, wanted)

    def _note_restart(self, request: RestartRequest) -> None:
        """Note what is down from now on, and say so. Raises DatabaseError."""
        _log.info("%s: %s at %.3f s of simulated time", self._switch, request.kind, self._network.now_ps / 1e12)
        self._recovery.begin(request.restart, self._network.now_ps)
        if request.restart.is_reboot:
            self._causes.append(request)
            self._last_reboot = {REBOOT: uuid.uuid4().hex}
        if not request.restart.is_dark:
            self._publish_restarts()
            return
        self._control_plane = ControlPlane()
        self._oper.clear()
        self._flaps.clear()
        self.close()
        self._connect()

    def _come_up(self) -> None:
        """Bring up what is due, or let what crashes restart. Raises DatabaseError."""
        while self._last_config is not None and self._crashes and self._crashes[0][0] <= self._network.now_ps:
            request = restart_by_itself(self._crashes[0][1], datetime.datetime.now(datetime.UTC))
            self._go_down(request)
            self._crashes.pop(0)
            self._note_restart(request)
        if self._recovery.take_due(self._network.now_ps):
            self._publish_restarts()

    def _time_periods(self) -> None:
        """Begin and end the periods that commands ask for. Raises DatabaseError."""
        now_ps = self._network.now_ps
        self._periods.pass_time(now_ps, self._look)
        if asked := self._watch.take_periods():
            self._periods.begin(asked, now_ps, self._look)

    def _look(self) -> str:
        """What ports show as of now, as JSON: as COUNTERS_DB has it, and their states."""
        self._write((), states=True)
        oids = [self._ids.port(port) for port in self._profile.ports]
        return json.dumps({"COUNTERS": self._shown_counters.hashes("COUNTERS:", oids),
                           "RATES": self._shown_counters.hashes("RATES:", oids),
                           "PORT_TABLE": self._appl.hashes("PORT_TABLE:", self._profile.ports)})

    def _publish_restarts(self) -> None:
        """Write what is up and what is not, and the reboots so far. Raises DatabaseError."""
        says = {part: DOWN if self._recovery.is_down(part) else UP for part in (SSH, *CONTAINERS)}
        reboots = self._causes if not self._recovery.is_down(SSH) else self._causes[:-1]
        self._state.publish({BOOT_KEY: {SSH: says.pop(SSH), **self._last_reboot}, SERVICES_KEY: says,
                             **{f"{CAUSES}{reboot.name}": reboot.cause() for reboot in reboots}})

    def _lose(self, error: DatabaseError) -> None:
        if not self._lost:
            _log.warning("%s: %s", self._switch, error)
        self._lost = True
        self.close()

    def _apply(self, found: Config) -> bool:
        buffers = in_effect(found, self._profile)
        old = self._applied
        if self._system_log is not None and old is not None and _is_watching(old.config):
            self._log_storms(self._states_now(old.config))  # before a watchdog stops, which reports no end
        removed = self._watch.take_removed()
        rows = found.get(PFC_WD, {})
        written = self._watch.take_set()
        if old is None:  # a switch that starts takes all rows
            written = {f"{PFC_WD}|{key}" for key in rows}
        translation = translate(buffers.config, self._profile, self._switch, switch_mac(self._switch),
                                self._deriving(buffers.config, removed, starts=old is None),
                                None if old is None else old.parsed)
        translation = dataclasses.replace(translation, problems=(*buffers.problems, *translation.problems))
        config = databases.merge(buffers.config, translation.derived)
        databases.add_rows(self._config, translation.derived)
        is_off = is_aging_off(self._asic, log_ports(self._profile))
        fields = config.get(PFC_WD, {}).get("GLOBAL", {})  # orchagent does not act on the removal of one
        if old is None or "POLL_INTERVAL" in fields:
            self._watchdog_ms = translation.config.watchdog_poll_ms
        is_red = translation.config.big_red_switch
        if old is not None and fields.get("BIG_RED_SWITCH") not in ("enable", "disable"):
            is_red = old.config.big_red_switch
        translation = dataclasses.replace(translation, config=dataclasses.replace(
            translation.config, aging_off=is_off, big_red_switch=is_red,
            watchdog_poll_ms=self._watchdog_ms if polls_watchdog(config) else 0))
        intervals = read_intervals(config)
        known = () if old is None else (*old.problems, *self._intervals.problems)
        for problem in (*translation.problems, *intervals.problems):
            if problem not in known:
                _log.warning("%s: %s", self._switch, problem)
        self._hooks.now_ps = self._network.now_ps
        was = None if old is None else old.config
        watchdogs = self._watchdogs
        wanted = self._with_watchdogs(translation.config, rows, removed)
        self._say(about_rows(rows, written, removed, watchdogs, self._watchdogs, self._profile.ports))
        kept = wanted if was is None else withhold_removals(was, wanted, self._hooks)
        translation = dataclasses.replace(translation, config=taking_effect(was, kept, self._hooks))
        if was is not None and (stopped := self._stopped(was, wanted, removed)) != was:  # started in the same moment
            self._network.configure_switch(stopped)
            was = stopped
        is_watching = _is_watching(translation.config)
        poll_ms = translation.config.watchdog_poll_ms if is_watching else 0
        self._applied = translation
        before = self._intervals if was is not None and _is_watching(was) else Intervals({})
        self._intervals = intervals.watching(poll_ms, before, self._network.now_ps)
        if is_watching:
            self._intervals = self._intervals.with_statistics()
        self._timer = self._timer.told(config, self._network.now_ps)
        self._intervals = self._intervals.ticking(self._timer)
        self._publish_configuration(config, translation)
        only_buffers = config.get("DEVICE_METADATA", {}).get("localhost", {}).get(ONLY_BUFFERS) == "true"
        maps = self._ids.maps(translation.config if only_buffers else None)
        self._counters.publish_maps({**maps, POOL_NAME_MAP: self._ids.pools(config.get("BUFFER_POOL", {}))})
        objects = object_rows(config, self._ids, translation.group_profiles, translation.queue_profiles)
        for prefix, rows in objects.items():
            self._asic_objects.replace(prefix, rows)
        self._flex.replace("", flex_counters.rows(
            self._ids, self._intervals, translation.config, maps, self._watchdog_ms))
        if was == translation.config:
            return False
        self._network.configure_switch(translation.config)
        self._last_config = translation.config
        if self._system_log is not None and (was is None or _is_watching(was)):
            self._logged = self._states_now(translation.config).watchdog  # what a new agent finds was reported before
        if old is None and self._decider is not None:
            self._network.decide_watchdog_by(self._switch, self._decider)
        return True

    def _say(self, messages: Iterable[Message]) -> None:
        """Write what orchagent says into the system log."""
        if self._system_log is not None:
            for message in messages:
                message.write(self._system_log)

    def _log_storms(self, states: SwitchStates) -> None:
        """Write which storms have begun and ended."""
        self._say(about_storms(self._logged, states.watchdog, self._ids))
        self._logged = states.watchdog

    def _with_watchdogs(self, config: SwitchConfig, rows: Collection[str], removed: Collection[str]) -> SwitchConfig:
        """The switch with the watchdogs that orchagent has registered."""
        self._watchdogs = registered(self._watchdogs, config, rows, removed)
        return as_registered(config, self._watchdogs)

    def _stopped(self, was: SwitchConfig, wanted: SwitchConfig, removed: Collection[str]) -> SwitchConfig:
        """What was in effect, with those watchdogs stopped that were removed and are there again: that ends a storm."""
        ports = {name: dataclasses.replace(port, watchdog=None) if wanted.ports[name].watchdog is not None
                 and f"{PFC_WD}|{name}" in removed else port for name, port in was.ports.items()}
        return withhold_removals(was, dataclasses.replace(was, ports=ports), self._hooks)

    def _deriving(self, config: Config, removed: Collection[str], starts: bool) -> Collection[str] | None:
        """The ports whose lossless groups buffermgrd looks at: what it goes by is not what it was, or it has forgotten
        it, as their row of PORT_QOS_MAP was removed. None: all of them.
        """
        before = self._derived_by
        self._derived_by = reasons(config)
        if starts:
            return None
        return {port for port, by in self._derived_by.items()
                if before.get(port) != by or f"PORT_QOS_MAP|{port}" in removed}

    def _publish_polled(self, polled: Sequence[PolledQueue], now_ps: int) -> None:
        """Write what a poll of the watchdog has read. Raises DatabaseError."""
        if self._applied is not None:
            self._counters.publish_polled(polled, self._applied.config, now_ps)

    def _publish_configuration(self, config: Config, translation: Translation) -> None:
        pools = {f"BUFFER_POOL_TABLE:{name}": databases.hash_from_row(row)
                 for name, row in config.get("BUFFER_POOL", {}).items()}
        profiles = {f"BUFFER_PROFILE_TABLE:{name}": databases.hash_from_row(row)
                    for name, row in config.get("BUFFER_PROFILE", {}).items()}
        groups = {f"BUFFER_PG_TABLE:{key}": {"profile": profile} for key, profile in translation.buffer_pg.items()}
        queues = {f"BUFFER_QUEUE_TABLE:{key}": {"profile": profile}
                  for key, profile in translation.buffer_queue.items()}
        for name, row in config.get("PORT", {}).items():
            if "pfc_asym" in row:
                self._appl.publish({f"PORT_TABLE:{name}": {"pfc_asym": str(row["pfc_asym"])}})
            else:
                self._appl.drop_fields(f"PORT_TABLE:{name}", ("pfc_asym",))
        for prefix, hashes in (("BUFFER_POOL_TABLE:", pools), ("BUFFER_PROFILE_TABLE:", profiles),
                               ("BUFFER_PG_TABLE:", groups), ("BUFFER_QUEUE_TABLE:", queues),
                               (INTERFACES, interface_rows(config))):
            self._appl.replace(prefix, hashes)
        self._state.publish({"BUFFER_MAX_PARAM_TABLE|global": {"mmu_size": str(memory_bytes(self._profile))}})
        for prefix, hashes in (("BUFFER_POOL_TABLE", pools), ("BUFFER_PROFILE_TABLE", profiles)):
            shown = hashes if is_dynamic(config) else {}  # what the switch itself has come to
            self._state.replace(f"{prefix}|", {key.replace(":", "|", 1): row for key, row in shown.items()})

    def _write(self, groups: Collection[str], states: bool) -> None:
        """Poll these groups and publish the states, unless the databases are away."""
        if self._lost or self._applied is None:
            return
        config = self._applied.config
        if STATISTICS in groups:
            self._written = self._states_now(config).watchdog
        is_tick = TELEMETRY in groups
        groups = set(groups) - {STATISTICS, TELEMETRY}
        counters = self._counters_now(parts_of(groups)) if groups else None
        self._hooks.now_ps = self._network.now_ps
        seen = self._states_now(config) if states or self._hooks.faults else None
        if seen is not None and self._hooks.faults:
            self._run_protocols(seen, config)
        try:
            if is_tick:
                self._counters.begin_period()
            if counters is not None:
                self._counters.poll(groups, self._control_plane.added_to(counters), config)
                if parts := watermark_parts(groups):
                    self._network.clear_peaks(self._switch, parts)
            if states and seen is not None:
                self._publish_states(seen, config)
        except DatabaseError as error:
            self._lose(error)

    def _counters_now(self, parts: Collection[str]) -> SwitchCounters:
        """Counters since the last restart."""
        found = self._network.switch_counters(self._switch, parts)
        return found if self._counters_then is None else since(found, self._counters_then)

    def _states_now(self, config: SwitchConfig) -> SwitchStates:
        """States, with the watchdog's counters since the last restart."""
        found = self._network.switch_states(self._switch)
        if self._states_then is None:
            return found
        watched = {(name, queue) for name, port in config.ports.items() if port.watchdog is not None
                   for queue in port.watchdog_priorities}
        return states_since(found, self._states_then, watched)

    def _run_protocols(self, states: SwitchStates, config: SwitchConfig) -> None:
        """Control planes have talked up to now."""
        none: tuple[ControlProtocol, ...] = ()
        protocols = {name: self._hooks.ask(PortPlace(self._switch, name, port.speed_mbps), None, none,
                                           lambda fault, running: fault.protocols(running))
                     for name, port in config.ports.items()}
        self._control_plane.pass_time(self._network.now_ps, states.oper_up, protocols)

    def _publish_states(self, states: SwitchStates, config: SwitchConfig) -> None:
        """Nothing is written twice: a command that changes nothing there is the rule."""
        channels = self._applied.port_channels if self._applied is not None else {}
        self._log_storms(states)
        told = {} if config.big_red_switch else self._written  # its frames are counted when it ends
        states = dataclasses.replace(states, watchdog=written(states.watchdog, told))
        if self._counters.is_falsified or self._shown != (states, config, channels):
            self._counters.publish_watchdog(states, config)
            self._publish_ports(states, config)
            self._publish_storms(states)
            self._appl.replace(LAG, lag_rows(channels, states.oper_up))
            self._appl.replace(LAG_MEMBER, lag_member_rows(channels, states.oper_up))
            self._shown = states, config, channels

    def _publish_storms(self, states: SwitchStates) -> None:
        storms: dict[str, Hash] = {}
        for (port, queue), state in states.watchdog.items():
            if state.status == "stormed":
                storms.setdefault(f"PFC_WD_TABLE_INSTORM:{port}", {})[str(queue)] = "storm"
        self._appl.replace("PFC_WD_TABLE_INSTORM:", storms)

    def _publish_ports(self, states: SwitchStates, config: SwitchConfig) -> None:
        appl: dict[str, Hash] = {"PORT_TABLE:PortInitDone": {"lanes": "0"}}
        state: dict[str, Hash] = {}
        for name, port in config.ports.items():
            oper = "up" if states.oper_up.get(name) else "down"
            admin = "up" if port.admin_up else "down"
            hardware = self._profile.ports[name]
            self._flaps[name] += self._oper.setdefault(name, oper) != oper
            self._oper[name] = oper
            flaps = {"flap_count": str(self._flaps[name])} if self._flaps[name] else {}
            appl[f"PORT_TABLE:{name}"] = {
                "admin_status": admin, "oper_status": oper, "speed": str(port.speed_mbps), "mtu": str(port.mtu),
                "alias": hardware.alias, "lanes": hardware.lanes, "index": str(hardware.index), **flaps}
            state[f"PORT_TABLE|{name}"] = {
                "state": "ok", "netdev_oper_status": oper, "admin_status": admin, "mtu": str(port.mtu),
                "speed": str(port.speed_mbps), "supported_speeds": ",".join(map(str, hardware.speeds))}
            state[f"BUFFER_MAX_PARAM_TABLE|{name}"] = {
                "max_priority_groups": "8", "max_queues": str(self._profile.queues)}
        self._appl.publish(appl)
        self._state.publish(state)


def _is_watching(config: SwitchConfig) -> bool:
    """Whether the watchdog runs on some port."""
    return any(port.watchdog is not None for port in config.ports.values())
