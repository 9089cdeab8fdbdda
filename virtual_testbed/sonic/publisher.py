"""Writing one database of a switch: only what changed."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.counters import Hash


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

    def publish_highest(self, hashes: Mapping[str, Hash]) -> None:
        """Make fields of the database's hashes, which others may have set back, at least these numbers. Raises
        DatabaseError.
        """
        rows = [(key, fields) for key, fields in hashes.items() if fields]
        replies = self._connection.batch([("HMGET", key, *fields) for key, fields in rows])
        commands: list[tuple[str, ...]] = []
        for (key, fields), found in zip(rows, replies, strict=True):
            higher = [text for (name, value), old in zip(fields.items(), found) if old is None or int(value) > int(old)
                      for text in (name, value)]
            if higher:
                commands.append(("HSET", key, *higher))
        if commands:
            self._connection.transaction(commands)

    def overwrite(self, hashes: Mapping[str, Hash]) -> None:
        """Set fields of hashes that are not this publisher's alone (`publish_highest`). Raises DatabaseError."""
        if hashes:
            self._connection.transaction([
                ("HSET", key, *(text for pair in fields.items() for text in pair)) for key, fields in hashes.items()])

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

    def hashes(self, prefix: str, names: Iterable[str]) -> dict[str, Hash]:
        """What this publisher has written of hashes: the end of the key -> fields."""
        return {name: dict(self._written.get(prefix + name, {})) for name in names}

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
