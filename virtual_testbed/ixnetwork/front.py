"""IxNetwork's REST API over HTTP: a route for everything, answered by the session on the testbed's worker thread."""
from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web

from virtual_testbed.ixnetwork.session import Answer, IxNetworkSession

T = TypeVar("T")
LARGEST_BODY = 256 * 2**20
SERVER = "Jetty"  # what an API server on Linux calls itself
NO_CONTENT = 204
LOG = logging.getLogger(__name__)


class IxNetworkFront:
    """Decoding and encoding.

    Args:
        session: what answers.
        compute: runs an operation on the worker thread; with True the switches' databases are written afterwards.
    """

    def __init__(self, session: IxNetworkSession,
                 compute: Callable[[Callable[[], Answer], bool], Awaitable[Answer]]) -> None:
        self._session = session
        self._compute = compute

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=LARGEST_BODY)
        app.add_routes([web.route("*", "/{path:.*}", self._handle)])
        return app

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        verb = request.path.rpartition("/")[2].lower()
        changes = "/operations/" in request.path and verb not in ("select", "importconfig", "getvalues")
        try:
            answer = await self._compute(lambda: self._session.request(
                request.method.upper(), request.path, request.query_string, _decode(body)), changes)
        except Exception as error:  # the client must learn of it, and the log keeps the details
            LOG.exception("%s %s failed", request.method, request.path)
            answer = Answer(500, {"errors": [{"code": "500", "detail": f"{type(error).__name__}: {error}"}]})
        return _encode(answer)


def _decode(body: bytes) -> Any:
    return json.loads(body) if body else None


def _encode(answer: Answer) -> web.Response:
    if answer.status == NO_CONTENT:
        return web.Response(status=NO_CONTENT, headers={"Server": SERVER})
    is_file = isinstance(answer.content, bytes)
    return web.Response(
        status=answer.status, body=answer.content if is_file else json.dumps(answer.content).encode(),
        headers={"Content-Type": "application/octet-stream" if is_file else "application/json", "Server": SERVER})
