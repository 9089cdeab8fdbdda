"""Builds a wheel of databases and pages: what reads the records of a run in any environment, without this checkout.

Its package has a name that sonic-mgmt does not use, so it can be installed beside a sonic-mgmt tree. It holds the files
of `test_reporting/pfc`, and those of `tests/common/pfc/record` as its subpackage `record`, with their imports
rewritten. The same sources give the same bytes.
"""
from __future__ import annotations

import argparse
import ast
import base64
import configparser
import hashlib
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "sonic-mgmt-pfc-reports"
PACKAGE = "sonic_mgmt_pfc_reports"
SOURCES = {"test_reporting.pfc": PACKAGE, "tests.common.pfc.record": f"{PACKAGE}.record"}
"""Package here -> in the wheel."""
HERE_ONLY = ("tests", "test_reporting")
"""Packages that nothing in the wheel may import: sonic-mgmt has its own under these names."""
NEEDS = ("SQLAlchemy", "alembic", "Jinja2", "tabulate")
EXTRAS = ("kusto", "otlp", "postgresql")
SUFFIXES = (".py", ".typed", ".j2", ".css", ".js", ".json", ".kql")
BUILT, REFUSED = 0, 2
_TIME = (1980, 1, 1, 0, 0, 0)


class BuildError(Exception):
    """The wheel cannot be built; one sentence for the user."""


def build(folder: Path) -> Path:
    """Writes the wheel into a folder; returns its path.

    Raises:
        BuildError: a file would import what is not in the wheel.
    """
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    version = settings["metadata"]["version"]
    information = f"{PACKAGE}-{version}.dist-info"
    files = {**package_files(), **information_files(information, settings)}
    target = folder / f"{PACKAGE}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            _add(archive, name, data)
        _add(archive, f"{information}/RECORD", record_of(files, information))
    return target


def package_files() -> dict[str, bytes]:
    """What the package holds: file of the wheel -> its bytes."""
    found: dict[str, bytes] = {}
    for source, target in SOURCES.items():
        folder = ROOT / source.replace(".", "/")
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                name = f"{target.replace('.', '/')}/{path.relative_to(folder)}"
                found[name] = rewritten(name, path.read_bytes())
    return {f"{PACKAGE}/py.typed": b"", **found}


def rewritten(name: str, data: bytes) -> bytes:
    """A file with the names of packages as they are in the wheel.

    Raises:
        BuildError: it imports what is not there.
    """
    if not name.endswith(".py"):
        return data
    text = data.decode("utf-8")
    for source, target in SOURCES.items():
        text = re.sub(rf"\b{re.escape(source)}\b", target, text)
    for module in _imported(text):
        if module.partition(".")[0] in HERE_ONLY:
            raise BuildError(f"{name} imports {module}, which is not in the wheel: only {', '.join(SOURCES)} are")
    return text.encode("utf-8")


def _imported(text: str) -> Iterator[str]:
    """The modules that a source imports absolutely."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def information_files(folder: str, settings: configparser.ConfigParser) -> dict[str, bytes]:
    """What pip reads: metadata, the kind of wheel, the command, the licence."""
    needs = [f"Requires-Dist: {name}" for name in NEEDS]
    for extra in EXTRAS:
        wanted = settings["options.extras_require"][extra].split()
        needs += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {name}; extra == '{extra}'" for name in wanted)]
    metadata = ["Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {settings['metadata']['version']}",
                "Summary: Stores, compares and shows the verdicts of PFC qualifications",
                f"License: {settings['metadata']['license']}",
                f"Requires-Python: {settings['options']['python_requires']}", *needs]
    texts = {
        "METADATA": "\n".join(metadata) + "\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: build_reports\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": f"[console_scripts]\npfc-report = {PACKAGE}.cli:main\n",
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    return {f"{folder}/{name}": text.encode("utf-8") for name, text in texts.items()}


def record_of(files: Mapping[str, bytes], information: str) -> bytes:
    """The list of files with their digests, by which pip checks and removes them."""
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{information}/RECORD,,\n"]).encode("utf-8")


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; status 2 for a refusal."""
    parser = argparse.ArgumentParser(description="Builds a wheel of databases and pages.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="DIR",
                        help="folder to write it into (%(default)s)")
    try:
        print(build(parser.parse_args(arguments).output))
    except (BuildError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return BUILT


if __name__ == "__main__":
    sys.exit(main())
