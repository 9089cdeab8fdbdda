"""A switch: its ports, pools and watchdog."""
from __future__ import annotations

from virtual_testbed.dataplane.model.buffer import UNLIMITED_BYTES, BufferPool
from virtual_testbed.dataplane.model.configuration import BufferProfile, PoolConfig, SwitchConfig
from virtual_testbed.dataplane.model.events import EventLoop
from virtual_testbed.dataplane.model.hooks import Hooks
from virtual_testbed.dataplane.model.port import Path, SwitchPort
from virtual_testbed.dataplane.model.watchdog import SwitchWatchdog
from virtual_testbed.dataplane.model.watchdog_port import WatchedSwitchPort


class ConfigurationError(ValueError):
    """A configuration that the data plane cannot take; `str()` is one sentence."""


class Switch:
    """One switch: ports, pools, watchdog."""

    def __init__(self, config: SwitchConfig, loop: EventLoop, hooks: Hooks, first_index: int) -> None:
        self.name = config.name
        self.config = config
        self.loop = loop
        self.hooks = hooks
        self.pools = {name: BufferPool(pool) for name, pool in config.pools.items()}
        self.ports = {name: SwitchPort(self, port, first_index + place)
                      for place, (name, port) in enumerate(config.ports.items())}
        self.watchdog = SwitchWatchdog({name: WatchedSwitchPort(port) for name, port in self.ports.items()}, loop)

    @property
    def paths(self) -> list[Path]:
        """The kinds of frames that come through it now."""
        return [path for port in self.ports.values() for path in port.paths]

    def pool_of(self, profile: BufferProfile | None, user: str) -> tuple[BufferProfile | None, BufferPool]:
        """The pool a profile names (an unlimited one of its own without a profile).

        Raises:
            ConfigurationError: the pool does not exist.
        """
        if profile is None:
            return None, BufferPool(PoolConfig(UNLIMITED_BYTES))
        if profile.pool not in self.pools:
            raise ConfigurationError(f"{self.name} {user}: buffer pool '{profile.pool}' does not exist: "
                                     f"expected one of {', '.join(sorted(self.pools)) or 'none configured'}")
        return profile, self.pools[profile.pool]

    def configure(self, config: SwitchConfig, now_ps: int) -> None:
        """Take a configuration at `now_ps`, traffic running or not.

        Raises:
            ConfigurationError: the set of ports differs, or a profile names a pool that does not exist.
        """
        if set(config.ports) != set(self.ports):
            raise ConfigurationError(f"switch {self.name}: its ports cannot change while it runs")
        self.config = config
        for name, pool in config.pools.items():
            if name in self.pools:
                self.pools[name].configure(pool)
            else:
                self.pools[name] = BufferPool(pool)
        for name, port in self.ports.items():
            port.configure(config.ports[name], now_ps)
        self.watchdog.configure(config, now_ps)
