"""What chains of flows add to the core."""

from __future__ import annotations

from ..lab.option import Option
from .sending import ChainBuilder, ChainGenerator


class StormChainOption(Option):
    """A storm may be needed for longer than one flow of the testbed lasts."""

    builder = ChainBuilder
    generator = ChainGenerator


OPTION = StormChainOption()
