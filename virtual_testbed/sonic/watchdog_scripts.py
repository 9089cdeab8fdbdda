"""SONiC's own scripts decide what the watchdog of a switch does.

On a switch syncd polls the counters of watched queues, then runs orchagent's two scripts in Redis (sonic-swss
`orchagent/pfc_detect_<platform>.lua`, `pfc_restore.lua`; sonic-sairedis `FlexCounter.cpp`): KEYS are the queues' object
ids, ARGV the number of COUNTERS_DB, the table and the interval in milliseconds. What they find they publish in
`PFC_WD_ACTION`, where orchagent acts upon it. Here the same happens at each poll, with the scripts of a checkout, in
the switch's Redis. Of Redis' commands one answers otherwise than there: TIME says what time it is on the testbed.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from virtual_testbed.dataplane.model.units import PS_PER_US
from virtual_testbed.dataplane.model.watchdog_decider import RESTORE, STORM, Decision, PolledQueue
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.resp import DatabaseError

CHANNEL = "PFC_WD_ACTION"
_TABLE = "COUNTERS"
_FOLDER = "orchagent"
_OWN_RESTORE = ("cisco-8000",)
"""Platforms with a restoration script of their own (sonic-swss `pfcwdsworch.cpp`)."""
_SIMULATED_TIME = (
    "local redis = setmetatable({call = function(command, ...) "
    "if string.upper(command) ~= 'TIME' then return redis.call(command, ...) end "
    "local us = ARGV[#ARGV] "
    "return {string.sub(us, 1, -7), string.sub(us, -6)} end}, {__index = redis}) ")
"""Put before a script, on its first line: TIME is the last of ARGV, microseconds of at least seven digits."""
_EPOCH_US = 10**15
"""Redis' clock at the start of a testbed: some day in 2001, so that seconds always have ten digits."""
_log = logging.getLogger(__name__)


class ScriptError(Exception):
    """A checkout without the scripts of a platform; `str()` is one sentence."""


@dataclass(frozen=True)
class Script:
    """A script of the watchdog: its file's name and text."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """By which Redis knows it on a switch; syncd runs a group's scripts in this order."""
        return hashlib.sha1(self.text.encode()).hexdigest()


def read_scripts(checkout: Path, asic_type: str) -> tuple[Script, ...]:
    """The scripts of a platform in a checkout of sonic-swss, in the order in which syncd runs them.

    Raises:
        ScriptError: one of them is not there.
    """
    own = f"_{asic_type}" if asic_type in _OWN_RESTORE else ""
    scripts = [_read(checkout / _FOLDER / name) for name in (f"pfc_detect_{asic_type}.lua", f"pfc_restore{own}.lua")]
    return tuple(sorted(scripts, key=lambda script: script.digest))


def _read(path: Path) -> Script:
    try:
        return Script(path.name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ScriptError(f"{path}: {reason}: expected a checkout of sonic-swss, with the watchdog's scripts in "
                          f"{_FOLDER}/") from None


Publish = Callable[[Sequence[PolledQueue], int], None]


class ScriptDecider:
    """Decides as the scripts do.

    Args:
        switch: its name, for the log.
        redis_socket: its Redis.
        scripts: in the order in which they run.
        queues: all of the switch by their object id.
        publish: writes what a poll has read, as of an instant in picoseconds; may raise DatabaseError.

    Raises:
        DatabaseError: Redis does not answer, or a script is no Lua.
    """

    def __init__(self, switch: str, redis_socket: str, scripts: Sequence[Script],
                 queues: Mapping[str, tuple[str, int]], publish: Publish) -> None:
        self._switch = switch
        self._scripts = tuple(scripts)
        self._publish = publish
        self._queues = queues
        self._ids = {queue: oid for oid, queue in queues.items()}
        self._complaints: set[str] = set()
        self._is_closed = False
        with contextlib.ExitStack() as stack:
            self._counters, self._events = (
                stack.enter_context(databases.connect(redis_socket, "COUNTERS_DB")) for _ in range(2))
            self._loaded = [self._load(script) for script in self._scripts]
            self._events.call("SUBSCRIBE", CHANNEL)
            self._open = stack.pop_all()

    def _load(self, script: Script) -> str:
        try:
            return str(self._counters.call("SCRIPT", "LOAD", _SIMULATED_TIME + script.text))
        except DatabaseError as error:
            raise DatabaseError(f"{script.name} cannot be loaded: {error}") from error

    def decide(self, polled: Sequence[PolledQueue], poll_ms: int, now_ps: int) -> Sequence[Decision]:
        """See `virtual_testbed.dataplane.model.watchdog_decider.Decider`. Whatever was published in the channel since
        the last poll counts, whoever has published it. A Redis that does not answer decides nothing.
        """
        if self._is_closed:
            return []
        keys = sorted(self._ids[queue.key] for queue in polled)
        try:
            self._publish(polled, now_ps)
            for script, digest in zip(self._scripts, self._loaded):
                self._run(script, digest, keys, poll_ms, now_ps)
            return self._events_so_far()
        except DatabaseError as error:
            self._complain(f"the watchdog's scripts were not run: {error}")
            return []

    def _run(self, script: Script, digest: str, keys: Sequence[str], poll_ms: int, now_ps: int) -> None:
        """Run a script as syncd does, which goes on when it fails."""
        number = databases.NUMBERS["COUNTERS_DB"]
        time_us = _EPOCH_US + now_ps // PS_PER_US
        self._counters.send([("EVALSHA", digest, len(keys), *keys, number, _TABLE, poll_ms, time_us)])
        try:
            self._counters.read()
        except DatabaseError as error:
            if not str(error).startswith("ERR"):
                raise
            self._complain(f"{script.name} failed: {error}")

    def _events_so_far(self) -> list[Decision]:
        """What is in the channel: Redis answers PING after all that was published before."""
        self._events.send([("PING",)])
        found = []
        while (message := self._events.read())[0] != "pong":
            decision = self._understood(str(message[-1]))
            if decision is not None:
                found.append(decision)
        return found

    def _understood(self, text: str) -> Decision | None:
        """A notification, `["oid:0x...","storm",...]`; orchagent reports one that it does not know and goes on."""
        try:
            oid, event = json.loads(text)[:2]
            port, queue = self._queues[oid]
        except (ValueError, KeyError, TypeError):
            self._complain(f"notification of no queue in {CHANNEL}: {text}")
            return None
        if event not in (STORM, RESTORE):
            self._complain(f"unknown event in {CHANNEL}: {text}")
            return None
        return Decision(port, queue, event)

    def _complain(self, sentence: str) -> None:
        """Log a sentence once."""
        if sentence not in self._complaints:
            self._complaints.add(sentence)
            _log.warning("%s: %s", self._switch, sentence)

    def close(self) -> None:
        """Close the connections; from now on nothing is decided."""
        self._is_closed = True
        self._open.close()
