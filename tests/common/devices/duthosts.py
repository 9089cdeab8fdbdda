"""The switches of a testbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.common.devices.sonic import SonicHost


class DutHosts:
    """List-like: by index, or by hostname."""

    def __init__(self, hosts: Sequence[SonicHost]) -> None:
        """`hosts` in the order of the testbed entry."""
        self.nodes = list(hosts)
        self.frontend_nodes = self.nodes
        self.supervisor_nodes: list[SonicHost] = []

    def __getitem__(self, key: int | str) -> SonicHost:
        """The switch at a place, or of a name.

        Raises:
            KeyError: no switch has that name.
        """
        if isinstance(key, int):
            return self.nodes[key]
        for node in self.nodes:
            if node.hostname == key:
                return node
        raise KeyError(f"no switch {key} in this testbed, which has {', '.join(node.hostname for node in self.nodes)}")

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[SonicHost]:
        return iter(self.nodes)
