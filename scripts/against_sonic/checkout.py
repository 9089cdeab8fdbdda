"""A checkout of one of SONiC's repositories."""
from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

NO_GIT = "no git"
"""In the place of a commit."""
CHANGED = ", changed since"
"""Behind a commit whose files are not as they were."""


class CheckoutError(Exception):
    """A folder that is no such checkout; `str()` is one sentence."""


@dataclass(frozen=True)
class Checkout:
    """A repository by its name, and where it is."""

    repository: str
    folder: Path

    def commit(self) -> str:
        """Hash and date of what is checked out, and whether files were changed since; `no git` outside of one."""
        def ask(*words: str) -> str:
            asked = subprocess.run(
                ["git", "-C", str(self.folder), *words], capture_output=True, text=True, check=False)
            return asked.stdout.strip() if asked.returncode == 0 else ""
        found = ask("log", "-1", "--format=%H of %cs")
        changed = ask("diff", "--name-only", "--diff-filter=M", "HEAD") if found else ""
        return (found or NO_GIT) + (CHANGED if changed else "")


def checkout(repository: str, folder: str, landmark: str) -> Checkout:
    """The checkout in a folder.

    Args:
        repository: its name, `sonic-swss`.
        folder: where it should be.
        landmark: a file or folder that it has.

    Raises:
        CheckoutError: it has not.
    """
    path = Path(folder).expanduser().resolve()
    if not (path / landmark).exists():
        raise CheckoutError(f"{path} has no {landmark}: expected a checkout of {repository}")
    return Checkout(repository, path)
