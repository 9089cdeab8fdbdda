"""Which queues and priority groups of a port the rows of CONFIG_DB are for."""

from __future__ import annotations

from .qos import ConfigDb


def numbers_by_key(config_db: ConfigDb, table: str, port: str) -> dict[str, range]:
    """The keys of a table's rows that are for a port -> the numbers that each covers, none where it has another form.

    Args:
        config_db: of the switch.
        table: QUEUE, BUFFER_QUEUE or BUFFER_PG, with keys like `Ethernet0|3` and `Ethernet0,Ethernet4|3-4`; where
            queues are virtual output queues also `host|Asic0|Ethernet0|3-4`.
        port: a port of the switch's own.
    """
    own = config_db.get("DEVICE_METADATA", {}).get("localhost", {}).get("hostname")
    found = {}
    for key in config_db.get(table, {}):
        place, _, numbers = key.rpartition("|")
        host, _, rest = place.partition("|")
        ports = rest.rpartition("|")[2] if rest else place
        if port in ports.split(",") and (not rest or host == own):
            found[key] = numbers_in(numbers)
    return found


def numbers_in(text: str) -> range:
    """What `3` or `3-4` covers; nothing where a text has another form."""
    first, _, last = text.partition("-")
    is_known = first.isdigit() and (last or first).isdigit()
    return range(int(first), int(last or first) + 1) if is_known else range(0)
