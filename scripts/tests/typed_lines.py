"""What a reader of README.md, CONTRIBUTING.md and docs/ can type: the lines of their blocks of code.

A block without a language holds lines for a shell. In one with prompts (`$ `) the other lines are what is printed; what
stands behind another prompt (`admin@vtb-t0-01:~$ `) is typed into the command before it. A block of anything else says
what it is: `python`, `sql` (for the database of results), `synopsis` (how a command is called), `text` (drawings, what
is printed), `yaml` and so on.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
SHELL = ""
PYTHON = "python"
SYNOPSIS = "synopsis"
SQL = "sql"
OTHERS = ("text", "yaml", "ini", "csv")
FENCE = re.compile(r"\s*```(\w*)$")
PROMPT = "$ "
INNER_PROMPT = re.compile(r"\S+@\S+\$ ")
COMMENT = re.compile(r"\s+#\s.*$")
SETS_THE_SCENE = re.compile(r"(cd|export)\s|\w+='[^']*'$")
"""Lines that those behind them in the same block need; nothing is tried of them alone."""


@dataclass(frozen=True)
class Block:
    """A block of code: where it begins, its language, its lines."""

    page: str
    number: int
    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Typed:
    """Something to type.

    Attributes:
        page, number: where it stands.
        text: the line, with those that continue it, without prompt and comment; of a Python block all of it.
        scene: the lines before it in its block that it needs.
        inside: what is typed into it.
        shown: what is printed, as the page shows it.
        language: `SHELL`, `PYTHON` or `SYNOPSIS`.
    """

    page: str
    number: int
    text: str
    scene: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    language: str = SHELL

    @property
    def first(self) -> str:
        """Its first line: what it is called."""
        return self.text.splitlines()[0]

    @property
    def where(self) -> str:
        """`README.md:67`."""
        return f"{self.page}:{self.number}"


def blocks(page: str, text: str) -> Iterator[Block]:
    """Yields the blocks of code of a page's text; one that is indented has the language `indented`."""
    before, fence, inside = "", None, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if fence is not None and found:
            yield Block(page, fence[0], fence[1], tuple(inside))
            fence, inside = None, []
        elif fence is not None:
            inside.append(line)
        elif found:
            fence = (number, found[1])
        elif line.startswith("    ") and not before.strip():
            yield Block(page, number, "indented", (line,))
        before = line


def typed(block: Block) -> Iterator[Typed]:
    """Yields what can be typed of a block."""
    if block.language == PYTHON:
        yield Typed(block.page, block.number + 1, "\n".join(block.lines), language=PYTHON)
    elif block.language == SYNOPSIS:
        for number, line in joined(block, re.compile(r" ?\\?\n {4,}")):
            yield Typed(block.page, number, line, language=SYNOPSIS)
    elif block.language == SQL:
        yield Typed(block.page, block.number + 1, f'sqlite3 results/pfc.db "{" ".join(block.lines)}"')
    elif block.language == SHELL:
        has_prompts = any(line.startswith(PROMPT) for line in block.lines)
        yield from _transcript(block) if has_prompts else _commands(block)


def joined(block: Block, continues: re.Pattern[str]) -> list[tuple[int, str]]:
    """The lines of a block with their numbers, each with those that continue it."""
    lines, number = list[tuple[int, str]](), block.number + 1
    text = "\n".join(block.lines)
    for whole in continues.sub(lambda found: "\0" * found[0].count("\n"), text).split("\n"):
        lines.append((number, " ".join(part.strip() for part in whole.split("\0"))))
        number += 1 + whole.count("\0")
    return lines


def _commands(block: Block) -> Iterator[Typed]:
    scene: tuple[str, ...] = ()
    for number, line in joined(block, re.compile(r"\\\n *")):
        command = COMMENT.sub("", line)
        if SETS_THE_SCENE.match(command):
            scene += (command,)
        elif command.strip():
            yield Typed(block.page, number, command, scene)


def _transcript(block: Block) -> Iterator[Typed]:
    starts = [place for place, line in enumerate(block.lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        below = block.lines[start + 1:end]
        inside = tuple(INNER_PROMPT.sub("", line) for line in below if INNER_PROMPT.match(line))
        shown = tuple(line for line in below if not INNER_PROMPT.match(line) and line != "...")
        command = COMMENT.sub("", block.lines[start].removeprefix(PROMPT))
        yield Typed(block.page, block.number + 1 + start, command, (), inside, shown)


def all_blocks() -> Iterator[Block]:
    """The blocks of all pages."""
    for path in PAGES:
        yield from blocks(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def all_typed() -> list[Typed]:
    """What can be typed of all pages, the same thing once: where it stands first."""
    found = dict[tuple[str, ...], Typed]()
    for block in all_blocks():
        for one in typed(block):
            found.setdefault((one.text, *one.scene, *one.inside), one)
    return list(found.values())
