"""Runs with evidence, and bundles taken apart and put together otherwise."""
from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_reporting.tests.samples import RUN, RUN_ID, parsed, started

CAPTURE = "evidence/0002-SENT-1/capture-1.pcap"
VERSIONS = "evidence/0001-session/versions-1.txt"


def make_run(folder: Path, *records: dict[str, Any], finish: bool = True, **fields: Any) -> Path:
    """Write the folder of a run, and store it."""
    for name, content in ((VERSIONS, b"snappi==1.62.0\n"), (CAPTURE, b"\xd4\xc3\xb2\xa1" + bytes(100_000))):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "junit.xml").write_text("<testsuites/>", encoding="utf-8")
    (folder / "deploy.log").write_text("PLAY RECAP\n", encoding="utf-8")
    writer = started(folder, run={**RUN, "software_version": "sonic-mgmt-pfc 0.1.0", **fields})
    writer.write(parsed(*[{**record, "run_id": fields.get("run_id", RUN_ID)} for record in records]))
    if finish:
        writer.finish()
    return folder


def contents(path: Path) -> dict[str, bytes]:
    """What a bundle has, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, change: Callable[[list[tuple[str, bytes]]], list[tuple[str, bytes]]]) -> None:
    """Make it the same zip file after `change` of its contents, a list of names and contents."""
    found = change(list(contents(path).items()))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in found:
            archive.writestr(name, content)
