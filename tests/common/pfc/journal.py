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
from .errors import QualificationError
from .qos import ConfigDb

logger = logging.getLogger(__name__)

FOLDER = ".pfc_qualification"
STATE_FILE = f"{FOLDER}/state_found.json"
READ_STATE = f"cat {STATE_FILE} 2>/dev/null || true"
SCHEMA = 1
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

    def __init__(self, host: Host, run_id: str) -> None:
        """`run_id` names this run in the file."""
        self._host = host
        self._run_id = run_id

    @contextmanager
    def watchdog_stopped(self, config_db: ConfigDb) -> Iterator[StateFound]:
        """The watchdog is stopped inside the `with` block, and put back however the block ends.

        Args:
            config_db: the switch's configuration now.

        Yields:
            The state that is going to be put back: that of the switch, or what a dead run left written down.

        Raises:
            QualificationError: the file cannot be written (then nothing was changed), or a step failed.
        """
        found = None
        try:
            found = self._stop(StateFound(config_db.get("PFC_WD", {}), self._run_id))
            yield found
        finally:
            found = found or self._left_behind()
            if found is not None:
                self.restore(found)

    def restore(self, found: StateFound) -> None:
        """Puts the watchdog back, looks whether it is, and only then removes the file.

        Raises:
            QualificationError: the switch did not take the configuration; the file stays for the next run.
        """
        rows = shlex.quote(json.dumps({"PFC_WD": found.watchdog}))
        load = (
            f"printf '%s\\n' {rows} > {FOLDER}/restore.json && config load {FOLDER}/restore.json -y; status=$?; "
            f"rm -f {FOLDER}/restore.json; exit $status"
        )
        outputs = run_batch(
            self._host,
            {
                "stop": "pfcwd stop",
                "load": load if found.watchdog else "true",
                "config": "sonic-cfggen -d --print-data",
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

    def _stop(self, current: StateFound) -> StateFound:
        """Writes `current` down, unless a dead run left a file, and stops the watchdog only when there is one."""
        write = (
            f"umask 077; mkdir -p {FOLDER} && printf '%s\\n' {shlex.quote(current.text())} > {STATE_FILE}.new && "
            f"sync {STATE_FILE}.new && mv {STATE_FILE}.new {STATE_FILE}"
        )
        outputs = run_batch(
            self._host,
            {
                "left": READ_STATE,
                "keep": f"test -s {STATE_FILE} || {{ {write}; }}",
                "stop": f"test -s {STATE_FILE} && pfcwd stop",
            },
        )
        checked(self._host, "keep", outputs)
        checked(self._host, "stop", outputs)
        left = self._parse(outputs["left"].text)
        if left is not None:
            logger.warning(
                "%s: run %s ended without putting the watchdog back; the state that it found is what this run puts"
                " back",
                self._host.hostname,
                left.run_id,
            )
        return left or current

    def _left_behind(self) -> StateFound | None:
        return self._parse(run_batch(self._host, {"left": READ_STATE})["left"].text)

    def _parse(self, text: str) -> StateFound | None:
        if not text.strip():
            return None
        try:
            content = json.loads(text)
            return StateFound(content["tables"]["PFC_WD"], str(content["run_id"]))
        except (ValueError, KeyError, TypeError) as error:
            raise QualificationError(
                f"{self._host.hostname}: {STATE_FILE} on the switch cannot be read ({error}); look at it, put the"
                " watchdog back by hand and remove it"
            ) from error
