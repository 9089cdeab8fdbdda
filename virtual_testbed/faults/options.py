"""What several built-in faults share."""
from __future__ import annotations

from collections.abc import Mapping

from virtual_testbed.dataplane.model.hooks import Fault, Scope


class NumberedFault(Fault):
    """A fault whose options are whole numbers, but for those that are words.

    Attributes:
        defaults: the value of each number when it is not given.
        least: the smallest value.
        words: the options that are no numbers.

    Raises:
        ValueError: an option is no such number.
    """

    defaults: Mapping[str, int] = {}
    least = 1
    words: tuple[str, ...] = ()

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        for key, value in options.items():
            if key in self.words:
                continue
            if not (value.isascii() and value.isdigit()) or int(value) < self.least:
                raise ValueError(f"'{value}' is no value for {key}: expected a whole number from {self.least} on")

    def number(self, key: str) -> int:
        """The value of an option."""
        return int(self.values.get(key, self.defaults[key]))


class FaultAtAnother(Fault):
    """A fault by which something happens at the port `on`, another one of the switch: also there, or with `only=yes`
    not at the port named.

    Raises:
        ValueError: `on` is missing, or the port itself; `only` is something else.
    """

    options: tuple[str, ...] = ("on", "only")
    port_options = ("on",)

    def __init__(self, scope: Scope = Scope(), **options: str) -> None:
        super().__init__(scope, **options)
        self.on = options.get("on", "")
        self.is_only = choice(options, "only", "yes", "no") == "yes"
        if not self.on:
            raise ValueError("it needs the option on: expected another port of the switch, such as on=Ethernet8")
        if self.on == scope.port:
            raise ValueError(f"on={self.on} is the port itself: expected another one of the switch")


def choice(options: Mapping[str, str], key: str, *words: str) -> str:
    """The value of an option that is one of these words; empty: it was not given.

    Raises:
        ValueError: it is another word.
    """
    value = options.get(key, "")
    if value not in ("", *words):
        raise ValueError(f"'{value}' is no value for {key}: expected {', '.join(words[:-1])} or {words[-1]}")
    return value


def concerns(fault: Fault, priority: int) -> bool:
    """True when a priority lies in the fault's scope."""
    return fault.scope.priority in (None, priority)
