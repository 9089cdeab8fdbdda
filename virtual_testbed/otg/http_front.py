"""OTG over HTTP, and the clock endpoint beside it: thin, everything is done by the service and the clock.

Requests are computed one at a time on a thread of their own, so that the event loop is never blocked; no request waits
for simulated time.
"""
from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

from aiohttp import web

from virtual_testbed.clock import ClockError, SimulationClock
from virtual_testbed.otg.errors import BAD_REQUEST, OtgError, internal_error
from virtual_testbed.otg.service import OtgService

T = TypeVar("T")
LARGEST_BODY = 64 * 2**20
LOG = logging.getLogger(__name__)


class OperationBackend(Protocol):
    """Runs the operations: syncs the clock before each, and writes the switches' databases after a change."""

    def perform(self, operation: Callable[[], T], changes: bool) -> T:
        """Runs an operation; raises OtgError also for failures that happened since the last one."""


class HttpFront:
    """Routes, decoding and encoding.

    Args:
        service: the OTG operations.
        clock: the testbed's clock.
        backend: what runs operations.
        worker: an executor of one thread, on which they run.
    """

    def __init__(self, service: OtgService, clock: SimulationClock, backend: OperationBackend,
                 worker: Executor) -> None:
        self._service = service
        self._clock = clock
        self._backend = backend
        self._worker = worker

    def application(self) -> web.Application:
        """The aiohttp application."""
        service = self._service
        app = web.Application(client_max_size=LARGEST_BODY, middlewares=[_errors])
        app.add_routes([
            web.post("/config", self._with_body(service.set_config, changes=True)),
            web.get("/config", self._without_body(service.get_config)),
            web.patch("/config", self._with_body(service.update_config, changes=True)),
            web.patch("/config/append", self._with_body(service.append_config, changes=True)),
            web.patch("/config/delete", self._with_body(service.delete_config, changes=True)),
            web.post("/control/state", self._with_body(service.set_control_state, changes=True)),
            web.post("/control/action", self._with_body(service.set_control_action)),
            web.post("/monitor/metrics", self._with_body(service.get_metrics)),
            web.post("/monitor/states", self._with_body(service.get_states)),
            web.post("/monitor/capture", self._with_body(service.get_capture)),
            web.get("/capabilities/version", self._without_body(service.get_version)),
            web.get("/clock", self._without_body(self._clock.read)),
            web.post("/clock/advance", self._advance),
        ])
        return app

    async def compute(self, operation: Callable[[], T], changes: bool = False) -> T:
        """Runs an operation on the worker thread, after those that came before it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._backend.perform, operation, changes)

    def _with_body(self, operation: Callable[[Any], Any],
                   changes: bool = False) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            body = await request.read()
            return _answer(await self.compute(lambda: operation(_decode(body)), changes))
        return handle

    def _without_body(self, operation: Callable[[], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            return _answer(await self.compute(operation))
        return handle

    async def _advance(self, request: web.Request) -> web.Response:
        body = await request.read()
        return _answer(await self.compute(lambda: self._clock.advance(_decode(body))))


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise OtgError([f"request: the body is not JSON: {error}"]) from None


def _answer(result: Any) -> web.Response:
    if isinstance(result, bytes):
        return web.Response(body=result, content_type="application/octet-stream")
    return web.json_response(result)


@web.middleware
async def _errors(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
                  ) -> web.StreamResponse:
    """Every failure is an OTG `Error` body: also a wrong path, a wrong method, and a fault of the server's own."""
    try:
        return await handler(request)
    except OtgError as error:
        found = error
    except ClockError as error:
        found = OtgError([str(error)], BAD_REQUEST)
    except web.HTTPException as error:
        found = OtgError([f"{request.method} {request.path}: {error.reason}"], error.status)
    except Exception as error:  # the client must learn of it, and the log keeps the details
        LOG.exception("%s %s failed", request.method, request.path)
        found = internal_error(f"{request.method} {request.path}: {type(error).__name__}: {error}")
    return web.json_response(found.body(), status=found.code)
