"""What a run changes on a switch, and the file on that switch from which any later run can put it back.

Before the first change the tables found are written to `.pfc_qualification/state_found.json` in the login's home
directory (commands start there). The file goes away when the state is back. A run that finds one was preceded by a
run that died: the file, not what the switch has now, is the state to put back, however many runs have died since.
"""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .dut import Host, checked, parse_config_db, run_batch
from .errors import QualificationError, SwitchUnreachable
from .polling import Clock, WallClock, wait_for

logger = logging.getLogger(__name__)

FOLDER = ".pfc_qualification"
STATE_FILE = f"{FOLDER}/state_found.json"
READ_CONFIG = "sonic-cfggen -d --print-data"
SCHEMA = 1
RETURN_DEADLINE_S = 20.0  # an SSH server that is started again is back sooner; a switch that boots is not waited for
Table = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class StateFound:
    """The watchdog's configuration before the first run, and which run wrote it down."""

    watchdog: Table
    run_id: str

    def text(self) -> str:
        """The file's contents."""
        return json.dumps({"schema": SCHEMA, "run_id": self.run_id, "tables": {"PFC_WD": self.watchdog}})


class Journal:
    """Stops the watchdog of one switch and puts it back as it was before the first run."""

    def __init__(self, host: Host, run_id: str, clock: Clock | None = None) -> None:
        """`run_id` names this run in the file; `clock` is waited on for a switch that went away (None: real time)."""
        self._host = host
        self._run_id = run_id
        self._clock = clock or WallClock()

    @contextmanager
    def watchdog_stopped(self) -> Iterator[StateFound]:
        """The watchdog is stopped inside the `with` block, and put back however the block ends.

        Yields:
            The state that is going to be put back: that of the switch, or what a dead run left written down.

        Raises:
            QualificationError: the file cannot be read or written (then nothing was changed), or a step failed.
        """
        found = self._look()
        self._keep(found)
        try:
            checked(self._host, "stop", run_batch(self._host, {"stop": f"test -s {STATE_FILE} && pfcwd stop"}))
            yield found
        finally:
            self._put_back(found)

    def restore(self, found: StateFound) -> None:
        """Puts the watchdog back, looks whether it is, and only then removes the file.

        Raises:
            QualificationError: the switch did not take the configuration; the file stays for the next run.
        """
        rows = shlex.quote(json.dumps({"PFC_WD": found.watchdog}))
        load = (
            f"file={FOLDER}/restore.$$.json; mkdir -p {FOLDER} && printf '%s\\n' {rows} > $file && "
            "config load $file -y; status=$?; rm -f $file; exit $status"
        )
        outputs = run_batch(
            self._host,
            {
                "stop": "pfcwd stop",
                "load": load if found.watchdog else "true",
                "config": READ_CONFIG,
            },
        )
        checked(self._host, "stop", outputs)
        checked(self._host, "load", outputs)
        now = parse_config_db(self._host, checked(self._host, "config", outputs)).get("PFC_WD", {})
        if dict(now) != dict(found.watchdog):
            differing = sorted(key for key in {*now, *found.watchdog} if now.get(key) != found.watchdog.get(key))
            raise QualificationError(
                f"{self._host.hostname}: the watchdog's configuration is not as it was found (PFC_WD|"
                f"{differing[0]} differs); {STATE_FILE} on the switch has the state found"
            )
        checked(
            self._host, "forget", run_batch(self._host, {"forget": f"rm -f {STATE_FILE} && rmdir {FOLDER} || true"})
        )

    def _put_back(self, found: StateFound) -> None:
        """Restores; a switch that does not answer gets some time to come back."""
        lost: list[SwitchUnreachable] = []

        def restored() -> bool:
            try:
                self.restore(found)
            except SwitchUnreachable as error:
                lost.append(error)
                return False
            return True

        if not wait_for(restored, RETURN_DEADLINE_S, self._clock, 2.0):
            raise QualificationError(
                f"{lost[-1]}; the watchdog is not put back yet, the next run does that from {STATE_FILE} on the switch"
            )

    def _look(self) -> StateFound:
        """The state to put back. The file is read before the configuration: a run that ends in between removes its file
        only when the configuration is back."""
        read = f"test ! -e {STATE_FILE} || cat {STATE_FILE}"
        outputs = run_batch(self._host, {"left": read, "config": READ_CONFIG})
        left = self._parse(checked(self._host, "left", outputs))
        if left is None:
            config_db = parse_config_db(self._host, checked(self._host, "config", outputs))
            return StateFound(config_db.get("PFC_WD", {}), self._run_id)
        logger.warning(
            "%s: run %s ended without putting the watchdog back; the state that it found is what this run puts back",
            self._host.hostname,
            left.run_id,
        )
        return left

    def _keep(self, found: StateFound) -> None:
        """Writes `found` down, unless a dead run left a file."""
        write = (
            f"umask 077; mkdir -p {FOLDER} && printf '%s\\n' {shlex.quote(found.text())} > {STATE_FILE}.new && "
            f"sync {STATE_FILE}.new && mv {STATE_FILE}.new {STATE_FILE}"
        )
        checked(self._host, "keep", run_batch(self._host, {"keep": f"test -s {STATE_FILE} || {{ {write}; }}"}))

    def _parse(self, text: str) -> StateFound | None:
        if not text.strip():
            return None
        try:
            content = json.loads(text)
            rows = content["tables"]["PFC_WD"]
            if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
                raise ValueError("PFC_WD is no table")
            return StateFound(rows, str(content["run_id"]))
        except (ValueError, KeyError, TypeError) as error:
            raise QualificationError(
                f"{self._host.hostname}: {STATE_FILE} on the switch cannot be read ({type(error).__name__}: {error});"
                " look at it, put the watchdog back by hand and remove it"
            ) from error
