"""What several built-in faults share."""
from __future__ import annotations

from collections.abc import Mapping

from virtual_testbed.dataplane.model.hooks import Fault, Scope


class NumberedFault(Fault):
    """A fault whose options are whole numbers from 1 on.

    Attributes:
        defaults: the value of each option when it is not given.

    Raises:
        ValueError: an option is no such number.
    """

    defaults: Mapping[str, int] = {}

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        for key, value in options.items():
            if not (value.isascii() and value.isdigit()) or not int(value):
                raise ValueError(f"'{value}' is no value for {key}: expected a whole number from 1 on")

    def number(self, key: str) -> int:
        """The value of an option."""
        return int(self.values.get(key, self.defaults[key]))


def concerns(fault: Fault, priority: int) -> bool:
    """True when a priority lies in the fault's scope."""
    return fault.scope.priority in (None, priority)
