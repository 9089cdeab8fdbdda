"""Pictures that the page has without any script: elements of SVG. No text of a record reaches one unescaped."""
from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from .texts import shown


def element(name: str, *inside: str | Markup, **attributes: str | float) -> Markup:
    """An element; `cls` is its class, `_` in a name is `-`. Texts inside are escaped, markup is not."""
    pairs = (f' {"class" if key == "cls" else key.replace("_", "-")}="{escape(_value(value))}"'
             for key, value in attributes.items())
    body = Markup("").join(part if isinstance(part, Markup) else escape(shown(part)) for part in inside)
    return Markup(f"<{name}{''.join(pairs)}>{body}</{name}>")


def picture(width: float, height: float, label: str, parts: Iterable[Markup], kind: str) -> Markup:
    """A whole picture; `label` says in words what it shows."""
    return element("svg", *parts, cls=kind, viewBox=f"0 0 {_value(width)} {_value(height)}", width=width, height=height,
                   role="img", aria_label=shown(label))


def text(x: float, y: float, what: str, kind: str = "", anchor: str = "start") -> Markup:
    """A text that begins, ends or has its middle at `x`."""
    return element("text", what, x=x, y=y, text_anchor=anchor, **({"cls": kind} if kind else {}))


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
