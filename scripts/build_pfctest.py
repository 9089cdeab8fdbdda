"""Builds `build/pfctest.pyz`: the generator as one file that runs with any Python 3.8 or newer and nothing else.

The same sources give the same bytes.
"""
from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "pfctest.pyz"
SHEBANG = b"#!/usr/bin/env python3\n"
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o755


def sources() -> list[Path]:
    """The modules of the generator, without their tests."""
    return sorted((ROOT / "pfctest").glob("*.py"))


def build(target: Path) -> None:
    """Write the file, executable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            main = (ROOT / "pfctest" / "__main__.py").read_bytes()
            _add(archive, "__main__.py", main)
            for path in sources():
                _add(archive, f"pfctest/{path.name}", path.read_bytes())
    target.chmod(_MODE)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Build pfctest as one file.")
    parser.add_argument("--output", type=Path, default=TARGET, help="where to write it (%(default)s)")
    target = parser.parse_args(arguments).output
    build(target)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
