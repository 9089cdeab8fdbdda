"""What a page of the plan says of hardware: without what holds only where time is exact, on a virtual testbed."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

WIDTH = 120
SIMULATED = re.compile(r"exact clock|virtual (testbed|switch)|`vtb-")
ASIDE = re.compile(r" ?\((?:on|by) an exact clock[^()]*(?:\([^()]*\)[^()]*)*\)")
ALONE = "**Simulated**"
"""What a paragraph begins with that is about nothing else."""
ITEM = re.compile(r"(?:- |\d+\. |\| |\* )")
SENTENCE = re.compile(r"(?<=[.:;]) (?=[A-Z`*])")


def of_hardware(text: str) -> str:
    """A text in Markdown without rows, columns, sentences and remarks in brackets about simulations."""
    return "\n".join(line for block in _blocks(text.splitlines()) for line in _kept(block))


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Tables, list items and paragraphs; an empty line is a block of its own."""
    block: list[str] = []
    for line in lines:
        goes_on = block and line and (line[0] == block[0][0] == "|" or not ITEM.match(line) and block[0][0] != "|")
        if block and not goes_on:
            yield block
            block = []
        if line:
            block.append(line)
        else:
            yield [line]
    if block:
        yield block


def _kept(block: list[str]) -> list[str]:
    if not SIMULATED.search(" ".join(block)):
        return block
    if block[0].startswith(ALONE):
        return []
    return list(_rows(block)) if block[0].startswith("|") else _sentences(block)


def _rows(table: list[str]) -> Iterator[str]:
    """The rows that hold on hardware, without the columns whose head is about simulations."""
    rows = [ASIDE.sub("", row) for row in table]
    heads = rows[0].strip("|").split("|")
    kept = [place for place, head in enumerate(heads) if not SIMULATED.search(head)]
    for row in rows:
        cells = row.strip("|").split("|")
        shown = f"|{'|'.join(cells[place] for place in kept)}|" if len(kept) < len(heads) else row
        if not SIMULATED.search(shown):
            yield shown


def _sentences(block: list[str]) -> list[str]:
    """The sentences of a paragraph or an item that hold on hardware, wrapped anew; empty: none does."""
    start = ITEM.match(block[0])
    indent = " " * len(start[0]) if start else ""
    said = ASIDE.sub("", " ".join(line.strip() for line in block))
    kept = [one for one in SENTENCE.split(said) if not SIMULATED.search(one)]
    return wrap(" ".join(kept), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
