"""Draws docs/images/terminal.svg: what `make qualify QUICK=1` printed, line by line as in a terminal.

The picture moves where the viewer plays SVG's animations (browsers, GitHub), and shows everything where it does not.
Waiting is shortened. `python scripts/draw_terminal.py LOG` draws it from what a run printed.
"""
from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from markupsafe import escape

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "terminal.svg"
COMMAND = "make qualify QUICK=1"
COLUMNS = 96
CHARACTER = 7.25
LINE = 17
MARGIN = 16
HEAD = 30
"""Of the picture: characters a line, and units for a character, a line, the margin and the bar on top."""
TOOK = re.compile(r"\s(\d+) s\b")
SLOWEST_S = 1.6
LINE_S = 0.12
END_S = 6.0
"""How long a line is waited for at most and at least, and how long the last picture stands."""
CLONE = re.compile(r"(?:(?<=sqlite:///)|(?<!\S))/\S*/(?=results/)")
"""The folder of whoever ran it, before the folder of results."""
LEFT_OUT = re.compile(r"^(note: |make: )")
COLOURS = ((re.compile(r"\bPASS\b"), "#7fd3a0"), (re.compile(r"\bFAIL\b"), "#ff8a80"),
           (re.compile(r"\bERROR\b"), "#ffd866"))


def shown_lines(log: str) -> list[str]:
    """The lines that are drawn: notes are left out, and what is longer than a line of the terminal is cut."""
    lines = [line.rstrip() for line in log.splitlines() if line.strip() and not LEFT_OUT.match(line)]
    lines = [CLONE.sub("", line) for line in lines]
    return [line if len(line) <= COLUMNS else f"{line[:COLUMNS - 1]}…" for line in lines]


def times(lines: Sequence[str]) -> list[float]:
    """When each line appears, seconds; a family of test cases says how long it took."""
    now = 0.8
    found = []
    for line in lines:
        took = TOOK.search(line)
        now += min(SLOWEST_S, max(LINE_S, int(took[1]) / 20)) if took and "after" not in line else LINE_S
        found.append(now)
    return found


def draw(log: str) -> str:
    """The picture as SVG."""
    lines = shown_lines(log)
    moments = times(lines)
    lasts = moments[-1] + END_S
    height = HEAD + 2 * MARGIN + LINE * (len(lines) + 1)
    width = round(2 * MARGIN + COLUMNS * CHARACTER)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" role="img" aria-label="{escape(COMMAND)} in a terminal">',
             f'<rect width="{width}" height="{height}" rx="7" fill="#14181c"/>',
             *(f'<circle cx="{18 + 18 * place}" cy="15" r="5" fill="#3a424b"/>' for place in range(3)),
             '<g font-family="ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="12" fill="#e6e9ec">',
             _line(f"$ {COMMAND}", 0, 0, lasts)]
    parts += [_line(line, number, moment, lasts)
              for number, (line, moment) in enumerate(zip(lines, moments, strict=True), 1)]
    return "\n".join([*parts, "</g></svg>"]) + "\n"


def _line(text: str, number: int, moment: float, lasts: float) -> str:
    y = HEAD + MARGIN + LINE * number
    share = moment / lasts
    moves = (f'<animate attributeName="opacity" values="0;0;1;1" keyTimes="0;{share:.4f};{share:.4f};1" '
             f'dur="{lasts:.1f}s" repeatCount="indefinite" calcMode="discrete"/>') if moment else ""
    return f'<text x="{MARGIN}" y="{y}">{_coloured(text)}{moves}</text>'


def _coloured(text: str) -> str:
    found = str(escape(text.replace(" ", "\u00a0")))  # SVG draws other spaces that follow one another as one
    for pattern, colour in COLOURS:
        found = pattern.sub(rf'<tspan fill="{colour}">\g<0></tspan>', found)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw it; a log that cannot be read is one sentence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, help=f"what `{COMMAND}` printed")
    parser.add_argument("--output", type=Path, default=IMAGE, metavar="FILE", help="default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        options.output.write_text(draw(options.log.read_text(encoding="utf-8")), encoding="utf-8")
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
