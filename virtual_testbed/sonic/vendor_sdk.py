"""What the SDKs of three vendors know of the aging of held frames, kept in ASIC_DB, where the agent finds it.

NVIDIA Spectrum discards frames that wait longer than its lifetimes say (SLL of the switch, HLL of each port, in
microseconds), Broadcom DNX and Cisco 8000 empty a virtual output queue that gets no credits. Each can be told to let
frames wait: sonic-mgmt `packets_aging.py`, `_set_credit_watchdog` and `copy_set_voq_watchdog_script_cisco_8000`.
"""
from __future__ import annotations

from collections.abc import Iterable

from virtual_testbed.sonic.databases import read_hash
from virtual_testbed.sonic.profile import Profile
from virtual_testbed.sonic.resp import Connection

SDK = "VIRTUAL_SDK"
"""The hash of what a real switch has in its SDK only."""
REFUSES = "refuses"
VOQ_WATCHDOG = "voq_watchdog_enabled"
SWITCH_LIFETIME = "sll"
PORT_LIFETIME = "hll:"
FILE = "file:"
DEFAULT_SWITCH_US = 0x418937
DEFAULT_PORT_US = 0x83127
DEFAULT_PORT_STALL = 7
WITHOUT_END = (1 << 64) - 1, (1 << 32) - 1
"""Lifetimes of the switch and of a port by which nothing ages."""
SWITCH = "ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:oid:0x21000000000000"
CREDIT_WATCHDOG = "SAI_SWITCH_ATTR_CREDIT_WD"


def log_ports(profile: Profile) -> list[int]:
    """The numbers by which NVIDIA's SDK knows the ports."""
    return [0x10001 + (port.index << 8) for port in profile.ports.values()]


def is_aging_off(connection: Connection, ports: Iterable[int]) -> bool:
    """Whether the switch was told to let frames wait. Raises DatabaseError."""
    sdk = read_hash(connection, SDK)
    switch_us, port_us = WITHOUT_END
    of_ports = {sdk.get(f"{PORT_LIFETIME}{port}", "0").split()[0] for port in ports}
    is_endless = sdk.get(SWITCH_LIFETIME) == str(switch_us) and of_ports == {str(port_us)}
    has_no_watchdog = read_hash(connection, SWITCH).get(CREDIT_WATCHDOG) == "false"
    return is_endless or has_no_watchdog or sdk.get(VOQ_WATCHDOG) == "False"
