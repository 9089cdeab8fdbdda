"""Configuration that a switch makes by itself: the factory's, and SONiC's default QoS and buffer tables.

Facts: sonic-buildimage `init_cfg.json.j2` (FEATURE, FLEX_COUNTER_TABLE, DEVICE_METADATA), preset `t1` of sonic-cfggen
(all ports admin up, MTU 9100), `minigraph.py` (MGMT_PORT), `qos_config.j2` and `buffers_config.j2`. SONiC's YANG models
want the port and the gateway of a management address.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from virtual_testbed.sonic.databases import Config, Row, natural
from virtual_testbed.sonic.dynamic_buffers import MODEL, is_dynamic
from virtual_testbed.sonic.profile import Profile

LOSSLESS = ("3", "4")
_DSCP_EXCEPTIONS = {3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}
_TC_TO_PG = {"0": "0", "1": "0", "2": "0", "3": "3", "4": "4", "5": "0", "6": "0", "7": "7"}
_IDENTITY = {str(number): str(number) for number in range(8)}
_FEATURES = ("bgp", "database", "lldp", "pmon", "snmp", "swss", "syncd", "teamd")
_POLLED = ("PORT", "QUEUE", "PFCWD", "PG_WATERMARK", "PG_DROP", "QUEUE_WATERMARK", "BUFFER_POOL_WATERMARK")
_TOPOLOGY_OF_TYPE = {"ToRRouter": "t0", "BackEndToRRouter": "t0", "LeafRouter": "t1", "BackEndLeafRouter": "t1"}
_CABLE_OF_ROLES = {("ToRRouter", "Server"): "5m", ("LeafRouter", "ToRRouter"): "40m",
                   ("SpineRouter", "LeafRouter"): "300m"}
TEMPLATES = {"traditional": "buffers.json.j2", "dynamic": "buffers_dynamic.json.j2", "": "qos.json.j2"}
"""The files of a HwSKU that the QoS and buffer tables are made with: those for buffers by buffer model, and that for
QoS."""
BUFFERS = ("BUFFER_", "CABLE_LENGTH", "DEFAULT_LOSSLESS")
"""How the tables begin that those for buffers make."""
QOS_TABLES = ("TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_QUEUE_MAP", "DSCP_TO_TC_MAP", "SCHEDULER",
              "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP", "WRED_PROFILE", "QUEUE", "CABLE_LENGTH",
              "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
              "BUFFER_PORT_EGRESS_PROFILE_LIST", "DSCP_TO_FC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_DSCP_MAP",
              "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN")


def switch_mac(name: str) -> str:
    """A switch's own address: locally administered, and the same whenever the switch is started."""
    digest = hashlib.sha256(name.encode()).digest()
    return ":".join(f"{octet:02x}" for octet in (0x02, *digest[:5]))


def factory_config(profile: Profile, name: str, mac: str | None = None) -> Config:
    """What a switch has that was never deployed."""
    return {
        "DEVICE_METADATA": {"localhost": {
            "buffer_model": "traditional", "default_bgp_status": "up", "default_pfcwd_status": "enable",
            "hostname": name, "hwsku": profile.hwsku, "mac": mac or switch_mac(name), "platform": profile.platform,
            "timezone": "UTC",
            "type": "not-provisioned"}},
        "FEATURE": {feature: _feature(feature) for feature in _FEATURES},
        "FLEX_COUNTER_TABLE": {group: {"FLEX_COUNTER_STATUS": "enable"} for group in _POLLED},
        "MGMT_INTERFACE": {"eth0|127.0.0.1/8": {"gwaddr": "127.0.0.254"}},
        "MGMT_PORT": {"eth0": {"admin_status": "up", "alias": "eth0"}},
        "PORT": {port.name: {"admin_status": "up", "alias": port.alias, "index": str(port.index), "lanes": port.lanes,
                             "mtu": "9100", "pfc_asym": "off", "speed": str(port.speed)}
                 for port in profile.ports.values()},
        "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
    }


def initial_config(profile: Profile, name: str) -> Config:
    """`/etc/sonic/init_cfg.json`: what a minigraph leaves open."""
    whole = factory_config(profile, name)
    named = ("hostname", "hwsku", "mac", "platform", "type")
    metadata = {field: text for field, text in whole["DEVICE_METADATA"]["localhost"].items() if field not in named}
    return {"DEVICE_METADATA": {"localhost": metadata},
            **{table: whole[table] for table in ("FEATURE", "FLEX_COUNTER_TABLE", "VERSIONS")}}


def _feature(name: str) -> Row:
    state = "always_enabled" if name == "database" else "enabled"
    return {"auto_restart": state, "has_global_scope": "True", "has_per_asic_scope": "False", "state": state}


def of_model(config: Config, model: str) -> Config:
    """A configuration with this buffer model; empty: with its own."""
    found = config.get("DEVICE_METADATA", {}).get("localhost", {})
    return {**config, "DEVICE_METADATA": {"localhost": {**found, MODEL: model}}} if model else config


def qos_tables(config: Config, profile: Profile) -> Config:
    """SONiC's default QoS and buffer tables for this configuration (`config qos reload`)."""
    metadata = config.get("DEVICE_METADATA", {}).get("localhost", {})
    topology = profile.topologies[_TOPOLOGY_OF_TYPE.get(metadata.get("type", ""), profile.default_topology)]
    active = active_ports(config)
    tables = {
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": dict(_TC_TO_PG)},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": dict(_IDENTITY)},
        "TC_TO_QUEUE_MAP": {"AZURE": dict(_IDENTITY)},
        "DSCP_TO_TC_MAP": {"AZURE": {str(dscp): str(_DSCP_EXCEPTIONS.get(dscp, 1)) for dscp in range(64)}},
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}},
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}, **{port: _port_qos_map(profile) for port in active}},
        "WRED_PROFILE": {"AZURE_LOSSLESS": dict(profile.wred_profile)},
        "QUEUE": {f"{port}|{queue}": _queue(queue) for port in active for queue in range(7)},
        "CABLE_LENGTH": {"AZURE": {port: _cable(config, port, topology["default_cable"])
                                   for port in sorted(config.get("PORT", {}), key=natural)}},
        **_buffer_tables(topology, active),
    }
    if is_dynamic(config):
        tables |= _left_to_the_switch(tables, active)
    if profile.asic_type in ("mellanox", "barefoot"):
        tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {"AZURE": {priority: priority for priority in LOSSLESS}}
    return tables


def active_ports(config: Config) -> list[str]:
    """Ports that the templates configure: those with a neighbour, or all when no neighbour is known."""
    ports = config.get("DEVICE_NEIGHBOR") or config.get("PORT", {})
    return sorted(ports, key=natural)


def _port_qos_map(profile: Profile) -> Row:
    row = {"dscp_to_tc_map": "AZURE", "pfc_enable": ",".join(LOSSLESS), "pfc_to_queue_map": "AZURE",
           "pfcwd_sw_enable": ",".join(LOSSLESS), "tc_to_pg_map": "AZURE", "tc_to_queue_map": "AZURE"}
    return {**row, "pfc_to_pg_map": "AZURE"} if profile.asic_type in ("mellanox", "barefoot") else row


def _queue(queue: int) -> Row:
    if str(queue) in LOSSLESS:
        return {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
    return {"scheduler": "scheduler.0"}


def _cable(config: Config, port: str, default: str) -> str:
    """Length by the roles of both ends; a T0's VLAN members have servers behind them."""
    role = str(config.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", ""))
    neighbor = config.get("DEVICE_NEIGHBOR", {}).get(port, {}).get("name", "")
    other = config.get("DEVICE_NEIGHBOR_METADATA", {}).get(neighbor, {}).get("type", "")
    if not other and any(key.endswith(f"|{port}") for key in config.get("VLAN_MEMBER", {})):
        other = "Server"
    return _CABLE_OF_ROLES.get((role, other)) or _CABLE_OF_ROLES.get((other, role)) or default


def _buffer_tables(topology: Mapping[str, Config], ports: Iterable[str]) -> Config:
    ports = list(ports)
    queues = {"3-4": "egress_lossless_profile", "0-2": "egress_lossy_profile", "5-6": "egress_lossy_profile"}
    return {
        "BUFFER_POOL": {name: dict(row) for name, row in topology["BUFFER_POOL"].items()},
        "BUFFER_PROFILE": {name: dict(row) for name, row in topology["BUFFER_PROFILE"].items()},
        "BUFFER_PG": {f"{port}|0": {"profile": "ingress_lossy_profile"} for port in ports},
        "BUFFER_QUEUE": {f"{port}|{queue}": {"profile": profile}
                         for port in ports for queue, profile in queues.items()},
    }


def _left_to_the_switch(tables: Config, ports: Iterable[str]) -> Config:
    """Buffer tables of the dynamic model (`buffers_config.j2` with `dynamic_mode`): no pool but that of lossless egress
    has a size, and lossless groups no profile.
    """
    pools = {name: row if name == "egress_lossless_pool" else {
                 field: value for field, value in row.items() if field not in ("size", "xoff")}
             for name, row in tables["BUFFER_POOL"].items()}
    lossless = {f"{port}|{LOSSLESS[0]}-{LOSSLESS[-1]}": {"profile": "NULL"} for port in ports}
    return {"BUFFER_POOL": pools, "BUFFER_PG": {**tables["BUFFER_PG"], **lossless},
            "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}}}
