"""A cable between two interfaces in a network namespace, and the command on it."""
from __future__ import annotations

import json

import pytest

from pfctest.tests.namespace import WHY_NOT, namespace, way


class Bench:
    """`pfctest` on `near`, and what comes out at `far`."""

    def __init__(self, place, receiver, server):
        self.place, self.receiver, self._server = place, receiver, server

    def run(self, *options):
        """(exit status, stdout, stderr, frames received since the last run) of `pfctest`."""
        self.receiver.frames()
        self._server.stdin.write(json.dumps(list(map(str, options))) + "\n")
        self._server.stdin.flush()
        return (*json.loads(self._server.stdout.readline()), self.receiver.data())

    def start(self, *options):
        """A process of `pfctest` that has begun to send."""
        self.receiver.frames()
        process = self.place.start(*self.place.python("pfctest", *options))
        self.receiver.take(5)
        return process

    def storm(self, *options):
        """(exit status, what it printed as JSON, frames received) of `pfctest --json`."""
        status, stdout, stderr, frames = self.run(*options, "--json")
        assert stdout, stderr
        return status, json.loads(stdout), frames

    def mac(self, name="near"):
        """Address of an interface."""
        return json.loads(self.place.run("ip", "-j", "link", "show", "dev", name).stdout)[0]["address"]


@pytest.fixture(scope="session")
def bench():
    """A cable from `near` to `far` in a namespace of its own, received at `far`."""
    if way() is None:
        pytest.skip(WHY_NOT)
    with namespace() as place:
        place.add_cable(("near", "far"))
        with place.receiving("far") as receiver, place.start(*place.python("pfctest.tests.serve")) as server:
            yield Bench(place, receiver, server)
            server.kill()
