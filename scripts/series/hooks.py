"""What sonic-mgmt's own `.pre-commit-config.yaml` runs, and on which files.

pre-commit fetches its hooks with git. Here the same programs come from the package index, in the versions that the
configuration names, and a hook that is not known here is said to be skipped.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CONFIGURATION = ".pre-commit-config.yaml"
PACKAGE_OF = {
    "https://github.com/pre-commit/pre-commit-hooks": "pre-commit-hooks",
    "https://github.com/PyCQA/flake8": "flake8",
}
"""Repository of hooks -> the package that has them."""
PYTHON, YAML = (".py",), (".yaml", ".yml")


@dataclass(frozen=True)
class HookProgram:
    """What a hook runs: a program of its package, on files of these suffixes (none: on any)."""

    name: str
    suffixes: tuple[str, ...] = ()


PROGRAMS = {
    "trailing-whitespace": HookProgram("trailing-whitespace-fixer"),
    "end-of-file-fixer": HookProgram("end-of-file-fixer"),
    "check-yaml": HookProgram("check-yaml", YAML),
    "check-added-large-files": HookProgram("check-added-large-files"),
    "check-ast": HookProgram("check-ast", PYTHON),
    "flake8": HookProgram("flake8", PYTHON),
}
"""Hook -> its program."""


@dataclass(frozen=True)
class Hook:
    """A hook of the configuration.

    Attributes:
        hook_id, name: as the configuration has them.
        package: what has it, `flake8==7.1.1`; empty: nothing on the package index.
        args: for its program.
        files, exclude: regular expressions of the paths that it is for; empty: all, none.
    """

    hook_id: str
    name: str
    package: str
    args: tuple[str, ...]
    files: str
    exclude: str

    @property
    def program(self) -> HookProgram | None:
        """What it runs; None: that is not known here."""
        return PROGRAMS.get(self.hook_id) if self.package else None

    def for_files(self, files: Iterable[Path]) -> list[Path]:
        """Those of some files that it looks at."""
        suffixes = self.program.suffixes if self.program else ()
        return [file for file in files
                if re.search(self.files, str(file)) and not (self.exclude and re.search(self.exclude, str(file)))
                and (not suffixes or file.suffix in suffixes)]


def read_hooks(tree: Path) -> list[Hook]:
    """The hooks of a checkout's configuration; none where it has no such file."""
    path = tree / CONFIGURATION
    return list(_hooks(yaml.safe_load(path.read_text(encoding="utf-8")))) if path.is_file() else []


def _hooks(document: dict[str, Any]) -> Iterator[Hook]:
    everywhere = document.get("exclude", "")
    for repository in document["repos"]:
        package = PACKAGE_OF.get(repository["repo"], "")
        version = str(repository.get("rev", "")).removeprefix("v")
        for hook in repository["hooks"]:
            excluded = "|".join(f"(?:{one})" for one in (everywhere, hook.get("exclude", "")) if one)
            yield Hook(hook["id"], hook.get("name", hook["id"]), f"{package}=={version}" if package else "",
                       tuple(hook.get("args", ())), hook.get("files", ""), excluded)


def packages_of(hooks: Iterable[Hook]) -> list[str]:
    """The packages that the hooks are in, and what sonic-mgmt's other checks import."""
    return [*dict.fromkeys(hook.package for hook in hooks if hook.package), "natsort"]
