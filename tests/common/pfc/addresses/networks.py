"""Networks for ports that have none: those that are set aside for benchmarks, so that nothing else is there."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..model.errors import QualificationError
from ..model.ports import Interface
from ..model.qos import ConfigDb

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
INTERFACES = "INTERFACE"
"""The end of the names of all tables of CONFIG_DB whose keys have the switch's own addresses."""


@dataclass(frozen=True)
class BenchmarkRange:
    """A range that is set aside for benchmarks, and the length of the prefix of a link between two."""

    range: Network
    prefix_bits: int


RANGES = {
    4: BenchmarkRange(ipaddress.IPv4Network("198.18.0.0/15"), 31),  # RFC 2544, RFC 6890
    6: BenchmarkRange(ipaddress.IPv6Network("2001:2::/48"), 126),  # RFC 5180; SONiC's links have 126 too
}


def free_addresses(config_db: ConfigDb, ip_version: int, number: int) -> list[Interface]:
    """The switch's addresses on so many links of their own, each the first one of a network that overlaps none of the
    switch's; the same ones whenever the switch is configured alike.

    Raises:
        QualificationError: the switch leaves no such networks.
    """
    benchmark = RANGES[ip_version]
    found = list(islice(_free(benchmark, _networks(config_db)), number))
    if len(found) < number:
        raise QualificationError(
            f"{number} networks are needed in {benchmark.range}, which is for benchmarks (RFC 2544, RFC 5180), and the"
            f" switch leaves {len(found)}"
        )
    return found


def version_of(address: str) -> int:
    """The IP version of an address with its prefix; 0: it is none."""
    found = _interface(address)
    return 0 if found is None else found.version


def _free(benchmark: BenchmarkRange, taken: list[Network]) -> Iterator[Interface]:
    """The first address in each network of a range that overlaps none of those taken."""
    first = benchmark.range.network_address
    while first in benchmark.range:
        found = ipaddress.ip_interface(f"{first}/{benchmark.prefix_bits}")
        in_the_way = [other for other in taken if found.network.overlaps(other)]
        if not in_the_way:
            yield ipaddress.ip_interface(f"{next(iter(found.network.hosts()))}/{benchmark.prefix_bits}")
        first = min([found.network, *in_the_way], key=lambda network: network.prefixlen).broadcast_address + 1


def _networks(config_db: ConfigDb) -> list[Network]:
    """The networks of the switch's own addresses, on whatever they are."""
    keys = (key for table, rows in config_db.items() if table.endswith(INTERFACES) for key in rows if "|" in key)
    found = [_interface(key.rpartition("|")[2]) for key in keys]
    return [one.network for one in found if one is not None]


def _interface(address: str) -> Interface | None:
    try:
        return ipaddress.ip_interface(address)
    except ValueError:
        return None
