"""What chains of flows add to the core."""

from __future__ import annotations

from ..lab.generator import Generator
from ..lab.option import Option
from ..model.tolerances import Tolerances
from .sending import ChainBuilder, ChainGenerator


class StormChainOption(Option):
    """A storm may be needed for longer than one flow of the testbed lasts."""

    builder = ChainBuilder

    def generator_class(self, tolerances: Tolerances) -> type[Generator] | None:
        """What starts a storm's next flow beside the one before, where generators do that."""
        return ChainGenerator if tolerances.starts_beside else None


OPTION = StormChainOption()
