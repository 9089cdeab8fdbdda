"""One file with all that a run's verdicts rest on, to be given away: what is in it, and whether it still is.

A bundle is a zip file with one folder: the run's files as they are, a summary, versions, and `SHA256SUMS` over all of
it, in the form that `sha256sum --check` reads. The same run gives the same bytes.
"""
from __future__ import annotations

import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO

from tests.common.pfc.record.errors import RecordError
from tests.common.pfc.record.record_file import RECORDS_FILE
from tests.common.pfc.record.records import Record
from tests.common.pfc.record.run import RUN_FILE, TELEMETRY, Run
from tests.common.pfc.record.run_reading import read_run

from .bundle_texts import Contents, read_contents, read_lines, summary, versions
from .errors import FileError
from .names import folder_name
from .signature import sign, signer_of
from .sync import run_folders

SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
SUMMARY = "SUMMARY.txt"
VERSIONS = "VERSIONS.txt"
BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a bundle, the earliest that zip files know: when it was packed says nothing."""
BLOCK = 2**20
MOST_SUMS = 64 * 2**20
"""Bytes of a `SHA256SUMS` that is read: half a million files, where a run has some thousand."""
DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, ValueError)
"""What `zipfile` raises for files that are no zip files, not whole, encrypted, or packed in ways it does not know."""
SUMS_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


@dataclass(frozen=True)
class Bundle:
    """A bundle that was made.

    Attributes:
        path: where it is.
        files: how many it has, `SHA256SUMS` not among them.
        sha256: of the whole file. Whoever gets that in another way knows that nobody else made the bundle.
        problems: what is not in it that should be.
    """

    path: Path
    files: int
    sha256: str
    problems: tuple[str, ...]


def run_folder(results: Path, run_id: str) -> Path | None:
    """The folder of a run below `results`; None: there is none. What was reported of a run as its final metrics has a
    folder too, which is the run's only where there is no other."""
    likely = results / folder_name(run_id)
    runs = [(folder, _run_of(folder)) for folder in (likely, *run_folders(results))]
    own = [(folder, run) for folder, run in runs if run is not None and run.run_id == run_id]
    own.sort(key=lambda one: one[1].origin == TELEMETRY)
    if own:
        return own[0][0]
    return likely if likely.is_dir() and runs[0][1] is None else None


def make(folder: Path, path: Path, overwrite: bool = False, key: Path | None = None) -> Bundle:
    """Pack the folder of a run.

    Args:
        folder: the run's.
        path: the bundle.
        overwrite: also where there is something of that name.
        key: signs the list of digests, and with it all that it lists; None: it is not signed.

    Raises:
        FileError: it is there already, or cannot be written or signed.
    """
    if path.exists() and not overwrite:
        raise FileError(f"{path} is there already; --overwrite replaces it, --output names another one")
    contents = read_contents(folder)
    files, left_out = _files(folder, path)
    missing = [f"{name} is not in the run's folder, though records name it"
               for name in contents.evidence if name not in files]
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            problems = _pack(archive, folder, files, contents, (*left_out, *missing), key)
        digest = _digest(new.open("rb"))
        new.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written from {folder}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            new.unlink()
    return Bundle(path, len(files) + 2, digest, problems)


def check(path: Path, signers: Path | None = None) -> tuple[list[str], str]:
    """Compare a bundle with its `SHA256SUMS`, and that with its signature.

    Args:
        path: the bundle.
        signers: those who may have signed it, as `signature.signer_of` takes them; None: who did is not looked at.

    Returns:
        Each file that is changed, missing, not listed, there or listed twice, a link, or of a name that leads
        elsewhere, and why the signature is none; none: all is as it was packed. Then who signed it; empty: not known.

    Raises:
        FileError: it is no bundle, or cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _compare(path, archive, signers)
    except DAMAGED as error:
        raise FileError(f"{path} is no bundle: {error}") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from error


def _run_of(folder: Path) -> Run | None:
    """The run whose folder it is; None: nothing there says."""
    try:
        return read_run(folder, (one for one in read_lines(folder) if isinstance(one, Record)))
    except (RecordError, OSError):
        return None


def _files(folder: Path, output: Path) -> tuple[list[str], list[str]]:
    """The names of the run's files, in their order, and why others are left out: what is no file of its own, what has a
    name that the list of digests cannot hold. Files that begin with a dot are on their way to another name."""
    names = []
    left_out = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name.startswith(".") or (path.is_dir() and not path.is_symlink()) or _is_same(path, output):
            continue
        if path.is_symlink() or not path.is_file():
            left_out.append(f"{name} is left out: it is a link, or no file")
        elif not name.isprintable() or "\\" in name or name in (SUMS, SIGNATURE, SUMMARY, VERSIONS):
            left_out.append(f"{name!r} is left out: a bundle has no place for that name")
        else:
            names.append(name)
    return names, left_out


def _is_same(path: Path, output: Path) -> bool:
    """Whether a file in the folder is the bundle, however either is named: an older one, which is to be replaced."""
    return not path.is_symlink() and output.exists() and path.samefile(output)


def _pack(
    archive: zipfile.ZipFile, folder: Path, names: list[str], contents: Contents, lacks: tuple[str, ...],
    key: Path | None,
) -> tuple[str, ...]:
    """Pack the files, then what they say, so that the summary knows what changed meanwhile; returns all problems."""
    top = folder_name(folder.absolute().name)
    sums = []
    sizes = dict[str, int]()
    for name in names:
        entry = _entry(f"{top}/{name}")
        with (folder / name).open("rb") as file, archive.open(entry, "w", force_zip64=True) as packed:
            sums.append(f"{_digest(file, packed)}  {name}\n")
        sizes[name] = entry.file_size
    grown = [f"{name} is another one than the summary is of: the run was still being written"
             for name in (RUN_FILE, RECORDS_FILE) if name in sizes and sizes[name] != contents.sizes.get(name)]
    contents = replace(contents, problems=(*contents.problems, *grown))
    problems = (*contents.problems, *lacks)
    for name, text in {SUMMARY: summary(contents, problems), VERSIONS: versions(contents, names)}.items():
        archive.writestr(_entry(f"{top}/{name}"), text)
        sums.append(f"{sha256(text.encode()).hexdigest()}  {name}\n")
    archive.writestr(_entry(f"{top}/{SUMS}"), "".join(sums))
    if key is not None:
        archive.writestr(_entry(f"{top}/{SIGNATURE}"), sign("".join(sums).encode(), key))
    return problems


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, BEGINNING)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _digest(file: IO[bytes], copy: IO[bytes] | None = None) -> str:
    """Of a file, which is copied meanwhile, so that both are of the same bytes; it is closed."""
    digest = sha256()
    with file:
        while block := file.read(BLOCK):
            digest.update(block)
            if copy is not None:
                copy.write(block)
    return digest.hexdigest()


def _compare(path: Path, archive: zipfile.ZipFile, signers: Path | None) -> tuple[list[str], str]:
    lists = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith(f"/{SUMS}")]
    if len(lists) != 1:
        raise FileError(f"{path} is no bundle: it has {len(lists) or 'no'} {SUMS} in a folder, expected one")
    top = lists[0].removesuffix(SUMS)
    times = Counter(archive.namelist())
    problems = [f"{name} is there {number} times" for name, number in times.items() if number > 1]
    problems += [f"{name} has a name that leads elsewhere" for name in times if not _is_safe(name, top)]
    problems += [f"{entry.filename} is a link, or no file" for entry in archive.infolist() if not _is_file(entry)]
    pairs = _sums(path, archive, lists[0])
    problems += [f"{name} is listed twice in {SUMS}" for name, number in Counter(name for name, _ in pairs).items()
                 if number > 1]
    listed = dict(pairs)
    for name, digest in listed.items():
        if top + name not in times:
            problems.append(f"{name} is missing")
        elif _digest_in(archive, top + name) != digest:
            problems.append(f"{name} is changed")
    known = {top + name for name in (*listed, SUMS, SIGNATURE)}
    problems += [f"{name} is not listed in {SUMS}" for name in times if name not in known]
    signer, refusal = _signer(archive, top, signers) if signers is not None else ("", "")
    return [*([refusal] if refusal else []), *problems], signer


def _signer(archive: zipfile.ZipFile, top: str, signers: Path) -> tuple[str, str]:
    """Who signed a bundle, or why it does not count as signed."""
    try:
        signature = archive.read(top + SIGNATURE)
    except KeyError:
        return "", "it is not signed"
    except DAMAGED as error:
        return "", f"its signature cannot be read: {error}"
    try:
        return signer_of(archive.read(top + SUMS), signature, signers), ""
    except FileError as error:
        return "", str(error)


def _is_safe(name: str, top: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.startswith(top) and "\\" not in name and not any(part in ("..", "/") for part in parts)


def _is_file(entry: zipfile.ZipInfo) -> bool:
    """Whether it would be a file after unpacking: some programs make links of entries that say that they are one."""
    return stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)


def _sums(path: Path, archive: zipfile.ZipFile, name: str) -> list[tuple[str, str]]:
    """Name and digest of each file that a bundle lists.

    Raises:
        FileError: the list cannot be read, or is larger than any run needs.
    """
    try:
        with archive.open(name) as file:
            text = file.read(MOST_SUMS + 1)
        if len(text) > MOST_SUMS:
            raise FileError(f"{path}: {SUMS} is larger than {MOST_SUMS} bytes, so nothing is compared")
        return list(_listed(text))
    except DAMAGED as error:
        raise FileError(f"{path}: {SUMS} cannot be read, so nothing can be compared: {error}") from error


def _listed(text: bytes) -> Iterator[tuple[str, str]]:
    """Name and digest of each line.

    Raises:
        ValueError: a line is none of that form.
    """
    for number, line in enumerate(text.decode("utf-8").splitlines(), 1):
        found = SUMS_LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} is no digest and name")
        yield found[2], found[1]


def _digest_in(archive: zipfile.ZipFile, name: str) -> str:
    """Of a file in a bundle; empty where it cannot be read, which no digest is."""
    try:
        return _digest(archive.open(name))
    except DAMAGED:
        return ""
