"""Texts as the page shows them. Markup is Jinja's business, which escapes all; this is about what escaping leaves."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from markupsafe import Markup

NEAR = 3
MORE = re.compile(r"(?: \(and \d+ more\))+$")
LONG = 300
"""Characters of a text that gets a box of its own to scroll in."""


def shown(text: str) -> str:
    """A text without what cannot be seen: control characters and changes of writing direction become escapes."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode("ascii")
                   for sign in text)


def finalized(value: Any) -> Any:
    """What Jinja does with each value that it writes: nothing is shown as it came."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return "" if value is None else value
    return shown(value)


def long(value: Any) -> Markup:
    """The attribute of an element that holds a text: a long one scrolls in a box of its own."""
    return Markup(' class="long"' if isinstance(value, str) and len(value) > LONG else "")


def shown_json(text: str | None) -> str:
    """A value that is stored as JSON, as it is shown: a text as it is, all else as JSON."""
    value = None if text is None else json.loads(text)
    return "" if value is None else value if isinstance(value, str) else str(text)


def first_cause(cause: str | None) -> str:
    """A cause without the counts of others that it was joined with on its way up: the page counts them itself."""
    return MORE.sub("", cause or "")


def listed(words: Iterable[str]) -> str:
    """Words as a sentence has them: "3", "3 and 4", "3, 4 and 5"."""
    found = list(words)
    return f"{', '.join(found[:-1])} and {found[-1]}" if found[1:] else "".join(found)


def counted(number: int, thing: str) -> str:
    """A number with its noun: "1 port", "2 ports", "2 switches"."""
    plural = f"{thing}es" if thing.endswith(("s", "ch")) else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


def jack(port: str) -> str:
    """What stands at a port of a front panel: its number, `124` of `Ethernet124`; without one the beginning of it."""
    found = re.search(r"\d+$", port)
    return found[0][-5:] if found else port[:4]


def moment(value: datetime | None) -> str:
    """A time in UTC to the second."""
    return "" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC"


def duration(begin: datetime, end: datetime | None) -> str:
    """The time between two moments: "1 h 2 min 3 s"."""
    if end is None:
        return ""
    minutes, seconds = divmod(max(0, round((end - begin).total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, neighbours drawn together: "0-2, 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}{'-' if len(run) >= NEAR else ', '}{run[-1]}"
                     for run in runs)


def size(number: int) -> str:
    """A number of bytes: "312 kB", "4.1 MB"."""
    return f"{number / 1e6:.1f} MB" if number >= 1_000_000 else f"{max(1, round(number / 1000))} kB"
