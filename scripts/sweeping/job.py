"""A job: the testbeds that one command sweeps and its options, kept in the job's folder so that it can be resumed."""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from scripts.testbeds import Refusal, reason, shown
from tests.common.clone import RESULTS, ROOT

SCHEMA = 1
JOB_FILE = "job.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
LONGEST_NAME = 80  # of a job: with a testbed's name it still is a run id that the report takes, and a folder's name


@dataclass(frozen=True)
class Job:
    """The options of a sweep command.

    Attributes:
        job_id: joins the runs of all its testbeds.
        results: folder of results; the job's own is in it.
        testbeds: names, sorted.
        testbed_file: where their entries are.
        hardware: those that are no virtual testbeds: not every machine reaches them.
        concurrency: ports measured at once, a number or `max`.
        ports: ports to sweep, with commas between them; empty: all.
        faults: of the virtual testbeds.
        ip_version: of the data.
        deploy: whether hardware is deployed too.
        same_generator: whether data may enter by a port on the port under test's own traffic generator.
        ports_only: whether the stress after the sweep is left out.
        both: whether each port is measured in a wave and alone.
        change_config: whether ports may be given addresses for the sweep, on hardware; virtual ones always may.
    """

    job_id: str
    results: str
    testbeds: tuple[str, ...]
    testbed_file: str
    hardware: tuple[str, ...] = ()
    concurrency: str = "1"
    ports: str = ""
    faults: tuple[str, ...] = ()
    ip_version: str = "4"
    deploy: bool = False
    same_generator: bool = False
    ports_only: bool = False
    both: bool = False
    change_config: bool = False

    @property
    def folder(self) -> Path:
        """The job's folder: one in it for each testbed."""
        return Path(self.results) / self.job_id

    @property
    def path(self) -> Path:
        """The file that says what the job is."""
        return self.folder / JOB_FILE

    def folder_of(self, testbed: str) -> Path:
        """Records and logs of a testbed."""
        return self.folder / testbed

    def run_id_of(self, testbed: str) -> str:
        """The run on a testbed."""
        return f"{self.job_id}-{testbed}"


def check_name(name: str, what: str) -> str:
    """Returns a name that becomes part of a path.

    Raises:
        Refusal: it cannot.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise Refusal(f"{what} {name!r} cannot be a folder's name: expected up to {LONGEST_NAME} letters, digits and"
                      " any of _.- after the first")
    return name


def create(job: Job) -> None:
    """Makes the job's folder and writes what it is, durably.

    Raises:
        Refusal: there is such a job already, or the folder cannot be written.
    """
    document = {"schema": SCHEMA, **asdict(job)}
    del document["results"]  # the folder may be moved
    if Path(job.testbed_file).is_relative_to(ROOT):  # another machine may have its clone elsewhere
        document["testbed_file"] = str(Path(job.testbed_file).relative_to(ROOT))
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        file = job.path.open("x", encoding="utf-8")
    except OSError as error:
        if job.path.is_file():
            raise Refusal(f"job '{job.job_id}' is there already ({shown(job.path)}): `{resume_command(job)}` goes"
                          " on with it, another --job begins anew") from None
        raise _unwritable(job, error) from error
    try:
        with file:
            file.write(json.dumps(document, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):  # half a file would be in the way of the next try
            job.path.unlink()
        raise _unwritable(job, error) from error


def resume_command(job: Job) -> str:
    """What a user types to go on with a job."""
    results = [] if Path(job.results) == RESULTS else ["--results", job.results]
    program = str(Path(sys.executable).with_name("pfc-sweep"))
    return shlex.join([shown(Path(program)), *results, "--resume", job.job_id])


def _unwritable(job: Job, error: OSError) -> Refusal:
    where = shown(Path(error.filename or job.folder))
    return Refusal(f"results folder {where} cannot be written: {error.strerror or error}")


def load(results: Path, job_id: str) -> Job:
    """The job that an earlier command began.

    Raises:
        Refusal: there is none, or its file is not one of this version.
    """
    path = results / check_name(job_id, "job") / JOB_FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _job(document, results)
    except FileNotFoundError:
        raise Refusal(f"nothing to resume: {shown(path)} is not there; {_there_are(results)}") from None
    except OSError as error:
        raise Refusal(f"job '{job_id}' cannot be read: {reason(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(f"{shown(path)} is not a job file of this version: {error!r}") from error


@contextlib.contextmanager
def held(job: Job) -> Iterator[None]:
    """No other command runs the same job on this machine meanwhile.

    Raises:
        Refusal: one does, or its file cannot be read.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(job.path.open("r+b"))  # NFS locks a file for one only where that may write it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(f"job '{job.job_id}' is being run by another pfc-sweep; wait for its end") from None
        except OSError as error:
            raise Refusal(f"job '{job.job_id}' cannot be held: {reason(error)}") from error
        yield


def _job(document: Any, results: Path) -> Job:
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']!r}, expected {SCHEMA}")
    known = {field.name: document[field.name] for field in fields(Job) if field.name in document}
    several = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    testbed_file = str(ROOT / document["testbed_file"])
    return Job(**{**known, **several, "results": str(results), "testbed_file": testbed_file})


def _there_are(results: Path) -> str:
    """Which jobs can be resumed."""
    jobs = sorted(path.parent.name for path in results.glob(f"*/{JOB_FILE}"))
    return f"{shown(results)} has {'the jobs ' + ', '.join(jobs[-5:]) if jobs else 'no job'}"
