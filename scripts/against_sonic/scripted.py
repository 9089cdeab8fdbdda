"""SONiC's watchdog scripts as the decider of a switch that has a Redis and nothing else."""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from virtual_testbed.dataplane.model.configuration import SwitchConfig
from virtual_testbed.dataplane.model.hooks import Hooks
from virtual_testbed.sonic import databases
from virtual_testbed.sonic.counters import ObjectIds
from virtual_testbed.sonic.counters_db import CountersDb
from virtual_testbed.sonic.profile import Port, load_profile
from virtual_testbed.sonic.publisher import Publisher
from virtual_testbed.sonic.watchdog_scripts import Script, ScriptDecider

QUEUES = 8
_HWSKU = "Arista-7060CX-32S-C32"


@contextlib.contextmanager
def scripted(config: SwitchConfig, ports: Iterable[str], socket: str,
             scripts: Sequence[Script]) -> Iterator[ScriptDecider]:
    """What decides for a switch with these ports, on a Redis that is emptied.

    Raises:
        DatabaseError: Redis does not answer, or a script is no Lua.
    """
    ids = _ids(ports)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(databases.connect(socket, "COUNTERS_DB"))
        database.call("FLUSHALL")
        publisher = stack.enter_context(contextlib.closing(Publisher(socket, "COUNTERS_DB")))
        counters = CountersDb(config.name, publisher, ids, Hooks([]))
        counters.publish_maps(ids.maps())
        queues = {ids.queue(*queue): queue for queue in ids.queues()}
        yield stack.enter_context(contextlib.closing(ScriptDecider(
            config.name, socket, scripts, queues, lambda polled, now_ps: counters.publish_polled(
                polled, config, now_ps))))


def _ids(ports: Iterable[str]) -> ObjectIds:
    """Of a switch with these ports."""
    profile = load_profile(_HWSKU)
    some = next(iter(profile.ports.values()))
    named: dict[str, Port] = {name: replace(some, name=name) for name in ports}
    return ObjectIds(replace(profile, ports=named, unicast_queues=QUEUES, multicast_queues=0))
