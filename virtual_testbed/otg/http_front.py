"""OTG over HTTP, and the clock endpoint beside it: thin, everything is done by the service and the clock.

Requests are computed one at a time on a thread of their own, so that the event loop is never blocked. None waits for
simulated time, but for an advance of a clock that follows the wall clock.

How long a computation takes is a matter of the machine and of who else uses it. So that a client need not guess, the
clock says again and again that it gets on, with HTTP's interim response `100 Continue`: a client's time limit, which
begins anew with whatever it receives, is one for no progress.
"""
from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Protocol, TypeVar

from aiohttp import ClientConnectionResetError, HttpVersion11, web

from virtual_testbed.otg.errors import BAD_REQUEST, OtgError, internal_error
from virtual_testbed.otg.service import OtgService
from virtual_testbed.otg.simulation_clock import ClockError, SimulationClock

T = TypeVar("T")
LARGEST_BODY = 64 * 2**20
PROGRESS_S = 1.0
"""How often the clock says that a computation gets on."""
FOLLOW_S = 0.1
"""How often a clock that follows the wall clock is looked at."""
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
        progress: what changes while simulated time or its computation gets on; asked for from another thread.
    """

    def __init__(self, service: OtgService, clock: SimulationClock, backend: OperationBackend,
                 worker: Executor, progress: Callable[[], object]) -> None:
        self._service = service
        self._clock = clock
        self._backend = backend
        self._worker = worker
        self._progress = progress

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
            web.get("/clock", self._read_clock),
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

    async def _read_clock(self, request: web.Request) -> web.Response:
        return _answer(await self._telling_progress(request, self.compute(self._clock.read)))

    async def _advance(self, request: web.Request) -> web.Response:
        body = await request.read()
        return _answer(await self._telling_progress(request, self._advanced(body)))

    async def _advanced(self, body: bytes) -> dict[str, Any]:
        """Reads the clock when simulated time has got as far as it was asked to."""
        end_ns, reading = await self.compute(lambda: (self._clock.advance(_decode(body)), self._clock.read()))
        while reading["now_ns"] < end_ns:
            await asyncio.sleep(min(FOLLOW_S, (end_ns - reading["now_ns"]) / 1e9))
            reading = await self.compute(self._clock.read_awaited)
        return reading

    async def _telling_progress(self, request: web.Request, work: Coroutine[Any, Any, T]) -> T:
        """The result of some work; as long as it takes, the client receives an interim response whenever something has
        got on."""
        task = asyncio.create_task(work)
        try:
            seen = self._progress()
            while not (await asyncio.wait({task}, timeout=PROGRESS_S))[0]:
                before, seen = seen, self._progress()
                if seen != before and request.version >= HttpVersion11:
                    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    request.writer.output_size = 0  # as where aiohttp answers `Expect: 100-continue`
            return task.result()
        finally:
            task.cancel()


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
    except ClientConnectionResetError:  # the client has gone: nobody reads what is answered
        return web.Response()
    except ClockError as error:
        found = OtgError([str(error)], BAD_REQUEST)
    except web.HTTPException as error:
        found = OtgError([f"{request.method} {request.path}: {error.reason}"], error.status)
    except Exception as error:  # the client must learn of it, and the log keeps the details
        LOG.exception("%s %s failed", request.method, request.path)
        found = internal_error(f"{request.method} {request.path}: {type(error).__name__}: {error}")
    return web.json_response(found.body(), status=found.code)
