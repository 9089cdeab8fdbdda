"""Which ports of a testbed have a verdict: read from the folder of its run while that grows."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.common.pfc.model.ports import natural
from tests.common.pfc.record.verdict import Status, combine

DevicePort = tuple[str, str]  # device, port
NO_VERDICT = "no verdict: the run ended before it was measured"


class VerdictTally:
    """The verdicts of a run so far. A line counts once it is whole; of several of one verdict the last one counts."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet.

        Args:
            folder: of the run, with its `records.jsonl` and `run.json`; it need not be there.
        """
        self._records = folder / "records.jsonl"
        self._run = folder / "run.json"
        self._offset = 0
        self._run_written = 0
        self._expected: dict[DevicePort, set[str]] = {}
        self._verdicts: dict[DevicePort, dict[tuple[Any, ...], tuple[Status, str]]] = {}
        self._old: dict[DevicePort, str] = {}
        self.faults: list[str] = []
        """What is broken on purpose in the testbed, as the run says it."""
        self.problem = ""

    def read(self) -> list[DevicePort]:
        """Takes in what is new. `problem` then says what could not be read, this time; a broken line is met every time.

        Returns:
            Ports that have all their verdicts now and had not, or another verdict than before.
        """
        before = {place: self.verdict(place) for place in self.places if self.is_done(place)}
        touched: dict[DevicePort, None] = {}
        try:
            self._read_run()
            for place in self._read_records():
                touched[place] = None
            self.problem = ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.problem = f"{self._records.parent}: what the run wrote cannot be read: {error!r}"
        return [place for place in touched if self.is_done(place) and before.get(place) is not self.verdict(place)]

    def forget_errors(self) -> None:
        """The run goes on: what was ERROR is going to be measured again."""
        for place, verdicts in self._verdicts.items():
            errors = [key for key, (status, _) in verdicts.items() if status is Status.ERROR]
            for key in errors:
                self._old[place] = verdicts.pop(key)[1]

    @property
    def places(self) -> list[DevicePort]:
        """Every port that the run is about, in natural order."""
        return sorted({*self._expected, *self._verdicts}, key=lambda place: (natural(place[0]), natural(place[1])))

    @property
    def done(self) -> list[DevicePort]:
        """Those that have all their verdicts."""
        return [place for place in self.places if self.is_done(place)]

    def is_done(self, place: DevicePort) -> bool:
        """Whether each of a port's metrics has a verdict."""
        metrics = {str(key[-1]) for key in self._verdicts.get(place, {})}
        return bool(metrics) and metrics >= self._expected.get(place, set())

    def verdict(self, place: DevicePort) -> Status:
        """A port's verdict; one that has not all of them is ERROR, unless it failed already."""
        found = [status for status, _ in self._verdicts.get(place, {}).values()]
        return combine(found if self.is_done(place) else [*found, Status.ERROR])

    def cause(self, place: DevicePort) -> str:
        """Why a port is not PASS, in a sentence; empty: it is."""
        verdict = self.verdict(place)
        causes = [cause for status, cause in self._verdicts.get(place, {}).values() if status is verdict and cause]
        if causes or verdict is Status.PASS:
            return causes[0] if causes else ""
        return self._old.get(place, NO_VERDICT)

    def count(self, status: Status) -> int:
        """Ports with a verdict, of those that have all of theirs."""
        return sum(self.verdict(place) is status for place in self.done)

    def _read_run(self) -> None:
        """What the run is about; it is written anew, as a whole, when that changes."""
        try:
            with self._run.open(encoding="utf-8") as file:
                written = os.fstat(file.fileno()).st_mtime_ns  # of what a network file system has now
                if written == self._run_written:
                    return
                run = json.load(file)
        except FileNotFoundError:
            return
        expected: dict[DevicePort, set[str]] = {}
        for device, port, metric in run["expected"]:
            expected.setdefault((device, port), set()).add(metric)
        self._run_written = written
        self._expected = expected
        self.faults = run.get("faults", [])

    def _read_records(self) -> Iterator[DevicePort]:
        """The ports of new records."""
        try:
            with self._records.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[:data.rfind(b"\n") + 1]
        for line in whole.splitlines(keepends=True):
            yield self._take(json.loads(line))
            self._offset += len(line)

    def _take(self, record: Mapping[str, Any]) -> DevicePort:
        place = str(record["device_id"]), str(record["port_id"])
        key = record["plan_id"], record["priority"], record["metric_name"]
        self._verdicts.setdefault(place, {})[key] = Status(record["status"]), str(record["cause"] or "")
        return place
