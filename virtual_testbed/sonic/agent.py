"""What orchagent and syncd do: CONFIG_DB goes to the data plane, counters and states come back into the databases.

The engine owns the agent and calls it around each step of simulated time; the agent has no thread and no clock.
"""
from __future__ import annotations

import contextlib
import dataclasses
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol

from virtual_testbed.dataplane.configuration import SwitchConfig
from virtual_testbed.dataplane.counters import PortCounters, SwitchCounters
from virtual_testbed.dataplane.hooks import Fault, covers
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.agent_keys import BOOT_KEY
from virtual_testbed.sonic.counters import WATCHDOG_FIELDS, Hash, ObjectIds, counter_hashes, rate_hashes
from virtual_testbed.sonic.databases import Config
from virtual_testbed.sonic.factory import factory_config, switch_mac
from virtual_testbed.sonic.profile import load_profile
from virtual_testbed.sonic.resp import DatabaseError
from virtual_testbed.sonic.translate import Translation, translate

_log = logging.getLogger(__name__)

_PS_PER_SECOND = 10 ** 12
_EPHEMERAL = ("APPL_DB", "COUNTERS_DB", "PFC_WD_DB", "STATE_DB")


class Network(Protocol):
    """What an agent needs of `virtual_testbed.dataplane.network.Network`."""

    @property
    def now_ps(self) -> int:
        """Simulated time since the start, picoseconds."""

    def configure_switch(self, config: SwitchConfig) -> None:
        """Add a switch or change its configuration now."""

    def switch_counters(self, switch: str) -> SwitchCounters:
        """Everything that can be read of a switch now."""


class ChangeWatch:
    """Knows whether CONFIG_DB was written to, without a race.

    Redis answers a PING on the subscribed connection after the notifications of all earlier writes, so what was written
    before `seen` is called is seen by it.
    """

    def __init__(self, redis_socket: str) -> None:
        self._connection = databases.connect(redis_socket, "CONFIG_DB")
        self._connection.send([("PSUBSCRIBE", f"__keyspace@{databases.NUMBERS['CONFIG_DB']}__:*")])
        self._connection.read()

    def seen(self) -> bool:
        """True when something was written since the last call. Raises DatabaseError."""
        self._connection.send([("PING",)])
        changed = False
        while self._connection.read()[0] != "pong":
            changed = True
        return changed

    def close(self) -> None:
        """End the subscription."""
        self._connection.close()


class Publisher:
    """Writes hashes into one database, only the fields that changed since they were last written."""

    def __init__(self, redis_socket: str, database: str) -> None:
        self._connection = databases.connect(redis_socket, database)
        self._written: dict[str, Hash] = {}

    def publish(self, hashes: Mapping[str, Hash]) -> None:
        """Make the databases' hashes have these fields; other hashes and fields stay. Raises DatabaseError."""
        commands: list[tuple[str, ...]] = []
        for key, fields in hashes.items():
            before = self._written.get(key, {})
            changed = [text for name, value in fields.items() if before.get(name) != value for text in (name, value)]
            if changed:
                commands.append(("HSET", key, *changed))
        if commands:
            self._connection.transaction(commands)
        for key, fields in hashes.items():
            self._written[key] = {**self._written.get(key, {}), **fields}

    def drop_fields(self, key: str, names: Sequence[str]) -> None:
        """Remove fields of a hash that this publisher wrote."""
        known = self._written.get(key, {})
        present = [name for name in names if name in known]
        if present:
            self._connection.call("HDEL", key, *present)
            for name in present:
                del known[name]

    def drop(self, key: str) -> None:
        """Remove a hash that this publisher wrote."""
        if self._written.pop(key, None) is not None:
            self._connection.call("DEL", key)

    def keys(self, prefix: str) -> list[str]:
        """Keys written so far that begin with `prefix`."""
        return [key for key in self._written if key.startswith(prefix)]

    def replace(self, prefix: str, hashes: Mapping[str, Hash]) -> None:
        """Publish `hashes` and remove what else this publisher wrote below `prefix`."""
        for key in self.keys(prefix):
            if key not in hashes:
                self.drop(key)
            else:
                self.drop_fields(key, [name for name in self._written[key] if name not in hashes[key]])
        self.publish(hashes)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class SonicAgent:
    """One switch's link between its databases and the data plane."""

    def __init__(self, switch: str, redis_socket: str, hwsku: str, network: Network, faults: Sequence[Fault]) -> None:
        """Start: the switch gets its factory configuration if it has none, name maps and first counters are written.

        Args:
            switch: the switch's name in the data plane.
            redis_socket: its Redis.
            hwsku: its hardware.
            network: the data plane; must know the switch's links already.
            faults: all of the testbed; those about the agent are honoured.

        Raises:
            DatabaseError: Redis does not answer.
            ProfileError: unknown HwSKU.
        """
        self._switch, self._socket, self._network, self._faults = switch, redis_socket, network, tuple(faults)
        self._profile = load_profile(hwsku)
        self._ids = ObjectIds(self._profile)
        self._applied: Translation | None = None
        self._rated: tuple[int, Mapping[str, PortCounters]] | None = None
        self._lost = False
        self._connect()
        self.apply_configuration()
        self.publish_counters()

    def apply_configuration(self) -> bool:
        """Bring CONFIG_DB into effect if it was written to; True when the data plane was told something new.

        A Redis that is away is waited for by asking again at the next call.
        """
        try:
            if self._lost:
                self._connect()
            if not (self._watch.seen() or self._applied is None):
                return False
            return self._apply(databases.read_config(self._config))
        except DatabaseError as error:
            self._lose(error)
            return False

    def publish_counters(self) -> None:
        """Write counters, port states and storms as of the data plane's present instant."""
        if self._lost or self._applied is None:
            return
        counters = self._network.switch_counters(self._switch)
        try:
            self._publish(counters, self._applied.config)
        except DatabaseError as error:
            self._lose(error)

    def close(self) -> None:
        """Close all connections."""
        self._open.close()

    def _connect(self) -> None:
        """Connect and begin afresh, as after a start of the switch. Raises DatabaseError, nothing is open then."""
        with contextlib.ExitStack() as stack:
            self._watch = stack.enter_context(contextlib.closing(ChangeWatch(self._socket)))
            self._config = stack.enter_context(databases.connect(self._socket, "CONFIG_DB"))
            for database in _EPHEMERAL:
                with databases.connect(self._socket, database) as connection:
                    connection.call("FLUSHDB")
            self._appl, self._counters, self._state = (
                stack.enter_context(contextlib.closing(Publisher(self._socket, name)))
                for name in ("APPL_DB", "COUNTERS_DB", "STATE_DB"))
            if not databases.read_config(self._config):
                databases.write_config(self._config, factory_config(self._profile, self._switch), {})
            self._config.call("SET", "CONFIG_DB_INITIALIZED", "1")
            self._counters.publish(self._ids.maps())
            self._state.publish({BOOT_KEY: {"id": uuid.uuid4().hex}})
            self._open = stack.pop_all()
        self._applied, self._lost, self._rated = None, False, None

    def _lose(self, error: DatabaseError) -> None:
        if not self._lost:
            _log.warning("%s: %s", self._switch, error)
        self._lost = True
        self.close()

    def _apply(self, config: Config) -> bool:
        translation = translate(config, self._profile, self._switch, switch_mac(self._switch))
        old = self._applied
        translation = dataclasses.replace(translation, config=self._with_faults(translation.config))
        for problem in translation.problems:
            if old is None or problem not in old.problems:
                _log.warning("%s: %s", self._switch, problem)
        self._applied = translation
        self._publish_configuration(config, translation)
        if old is not None and old.config == translation.config:
            return False
        self._network.configure_switch(translation.config)
        return True

    def _with_faults(self, config: SwitchConfig) -> SwitchConfig:
        """A watchdog whose removal a fault swallows stays as it was."""
        if self._applied is None:
            return config
        ports = dict(config.ports)
        kept = False
        for name, port in ports.items():
            old = self._applied.config.ports[name].watchdog
            if old is not None and port.watchdog is None and not self._removal_reaches(name):
                ports[name] = dataclasses.replace(port, watchdog=old)
                kept = True
        return dataclasses.replace(config, ports=ports) if kept else config

    def _removal_reaches(self, port: str) -> bool:
        reaches = True
        for fault in self._faults:
            if covers(fault.scope, (self._switch, port), None):
                reaches = fault.watchdog_removal_reaches_hardware(reaches)
        return reaches

    def _publish_configuration(self, config: Config, translation: Translation) -> None:
        pools = {f"BUFFER_POOL_TABLE:{name}": databases.hash_from_row(row)
                 for name, row in config.get("BUFFER_POOL", {}).items()}
        rows = {**config.get("BUFFER_PROFILE", {}), **translation.buffer_profiles}
        profiles = {f"BUFFER_PROFILE_TABLE:{name}": databases.hash_from_row(row) for name, row in rows.items()}
        groups = {f"BUFFER_PG_TABLE:{key}": {"profile": profile} for key, profile in translation.buffer_pg.items()}
        for prefix, hashes in (("BUFFER_POOL_TABLE:", pools), ("BUFFER_PROFILE_TABLE:", profiles),
                               ("BUFFER_PG_TABLE:", groups)):
            self._appl.replace(prefix, hashes)

    def _publish(self, counters: SwitchCounters, config: SwitchConfig) -> None:
        hashes = counter_hashes(self._ids, counters, config)
        self._counters.publish(hashes)
        for port, queue in self._ids.queues():
            if (port, queue) not in counters.watchdog:
                self._counters.drop_fields(f"COUNTERS:{self._ids.queue(port, queue)}", WATCHDOG_FIELDS)
        self._publish_rates(counters)
        self._publish_ports(counters, config)
        storms: dict[str, Hash] = {}
        for (port, queue), state in counters.watchdog.items():
            if state.status == "stormed":
                storms.setdefault(f"PFC_WD_TABLE_INSTORM:{port}", {})[str(queue)] = "storm"
        self._appl.replace("PFC_WD_TABLE_INSTORM:", storms)

    def _publish_rates(self, counters: SwitchCounters) -> None:
        """Over at least one simulated second."""
        now = self._network.now_ps
        if self._rated is None or now < self._rated[0]:
            self._rated = (now, counters.ports)
        elapsed = now - self._rated[0]
        if elapsed >= _PS_PER_SECOND:
            self._counters.publish(rate_hashes(self._ids, self._rated[1], counters.ports, elapsed / _PS_PER_SECOND))
            self._rated = (now, counters.ports)

    def _publish_ports(self, counters: SwitchCounters, config: SwitchConfig) -> None:
        appl: dict[str, Hash] = {"PORT_TABLE:PortInitDone": {"lanes": "0"}}
        state: dict[str, Hash] = {}
        for name, port in config.ports.items():
            found = counters.ports.get(name)
            oper = "up" if found is not None and found.oper_up else "down"
            admin = "up" if port.admin_up else "down"
            hardware = self._profile.ports[name]
            appl[f"PORT_TABLE:{name}"] = {
                "admin_status": admin, "oper_status": oper, "speed": str(port.speed_mbps), "mtu": str(port.mtu),
                "alias": hardware.alias, "lanes": hardware.lanes, "index": str(hardware.index)}
            state[f"PORT_TABLE|{name}"] = {
                "state": "ok", "netdev_oper_status": oper, "admin_status": admin, "mtu": str(port.mtu),
                "speed": str(port.speed_mbps)}
        self._appl.publish(appl)
        self._state.publish(state)
