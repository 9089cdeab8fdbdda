"""What a simulated switch is told: immutable values, already free of SONiC's table syntax.

The SONiC side (`virtual_testbed.sonic.agent`) translates CONFIG_DB into these; the data plane knows nothing of Redis.
Sizes are bytes, speeds Mb/s, times milliseconds where SONiC's own tables use them. Meaning and defaults are those of
sonic-buildimage `qos_config.j2` and `buffers_config.j2`, sonic-swss `pfcwdorch.cpp`.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PRIORITIES = range(8)


@dataclass(frozen=True)
class PoolConfig:
    """A `BUFFER_POOL` row: `size` bytes shared by all users of the pool, `xoff` bytes of shared headroom beside it."""

    size: int
    xoff: int = 0


@dataclass(frozen=True)
class BufferProfile:
    """A `BUFFER_PROFILE` row as one priority group or queue uses it.

    `size` is reserved, the shared limit is `2**dynamic_th` times the free shared bytes of the pool (or `static_th`
    bytes), `xoff` is the headroom above it; XON at or below `max(xon, limit - xon_offset)`, without an offset at or
    below `xon`. A profile is lossless when `xoff` > 0.
    """

    pool: str
    size: int = 0
    dynamic_th: int | None = None
    static_th: int | None = None
    xoff: int = 0
    xon: int = 0
    xon_offset: int = 0


@dataclass(frozen=True)
class SchedulerConfig:
    """A `SCHEDULER` row: `DWRR` with a weight, or `STRICT`."""

    type: str = "DWRR"
    weight: int = 1


@dataclass(frozen=True)
class WatchdogConfig:
    """A `PFC_WD|<port>` row. `restoration_ms` None: a storm is never restored by time. `keeps_history`: of pauses."""

    action: str
    detection_ms: int
    restoration_ms: int | None
    keeps_history: bool = False


@dataclass(frozen=True)
class SwitchPortConfig:
    """One front-panel port. Maps are total: every DSCP 0..63, every traffic class and PFC priority 0..7.

    With a `dot1p_to_tc` map (VLAN tag priorities 0..7) the port trusts the tag instead of the DSCP. `response_ps` is
    the time from a pause frame's last bit to its effect.
    """

    name: str
    speed_mbps: int
    admin_up: bool
    pfc_priorities: frozenset[int]
    watchdog_priorities: frozenset[int]
    dscp_to_tc: Mapping[int, int]
    tc_to_queue: Mapping[int, int]
    tc_to_pg: Mapping[int, int]
    pfc_to_queue: Mapping[int, int]
    priority_groups: Mapping[int, BufferProfile] = field(default_factory=dict)
    queues: Mapping[int, BufferProfile] = field(default_factory=dict)
    schedulers: Mapping[int, SchedulerConfig] = field(default_factory=dict)
    watchdog: WatchdogConfig | None = None
    mtu: int = 9100
    dot1p_to_tc: Mapping[int, int] = field(default_factory=dict)
    response_ps: int = 0


@dataclass(frozen=True)
class VlanConfig:
    """A VLAN: member port names and the switch's own addresses in it as `address/prefix`."""

    vlan_id: int
    members: frozenset[str]
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class SwitchConfig:
    """All of one switch. `asic_type` chooses the watchdog personality (`broadcom`, `mellanox`, other: generic).
    `watchdog_poll_ms`: 0, the watchdog is not polled. `aging_off`: the vendor's means against frames that are held for
    long was switched off.
    """

    name: str
    mac: str
    asic_type: str
    cell_bytes: int
    ports: Mapping[str, SwitchPortConfig]
    pools: Mapping[str, PoolConfig]
    vlans: tuple[VlanConfig, ...] = ()
    port_addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    watchdog_poll_ms: int = 100
    big_red_switch: bool = False
    aging_off: bool = False
