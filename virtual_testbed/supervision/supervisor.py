"""The supervisor of one virtual testbed: a daemon that starts its children, starts the dead again, and ends them all.

`python -m virtual_testbed.supervision.supervisor PLAN.json` detaches itself and prints one JSON line: `{"ready": true}`
when all is up, or `{"ready": false, "error": sentence}`. It ends on SIGTERM, with the process it was brought up for if
one was named, and when the testbed has failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from virtual_testbed.process import end_run, this_process
from virtual_testbed.supervision.child import Child, ChildError
from virtual_testbed.supervision.plan import USER, LaunchPlan
from virtual_testbed.supervision.render import CONTROL_PATHS, LOOPBACK, render_all
from virtual_testbed.supervision.state import TestbedFolder, clean_up, read_json, remove_run_folder, write_json

_LOG = logging.getLogger("supervisor")
_KEPT_EVENTS = 50


class Supervisor:
    """Runs a plan. Everything happens in one thread, in the event loop."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._folder = TestbedFolder(Path(plan.folder))
        self._children = {spec.name: Child(spec, self._folder.log(spec.name), plan.run_folder, plan.policy)
                          for spec in plan.children}
        self._events: list[dict[str, str]] = []
        self._end = asyncio.Event()
        self._status = "starting"
        self._failure: str | None = None

    async def run(self) -> str | None:
        """Bring the testbed up and keep it up until asked to end.

        Returns:
            None when it ended because it was asked to, else why it did not come up.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end.set)
        if self._plan.owner_pid is not None:
            self._end_with(self._plan.owner_pid)
        try:
            started = await self._bring_up()
        except ChildError as error:
            self._event(str(error))
            await self._stop_children()
            return str(error)
        if started:
            self._status = "up"
            self._publish()
            self._event("all is up")
            answer({"ready": True})
            await self._watch_all()
        await self._stop_children()
        return None if started else f"testbed {self._plan.testbed} was taken down while it was being started"

    def _end_with(self, owner_pid: int) -> None:
        """End when that process ends: its pidfd becomes readable then (`pidfd_open(2)`)."""
        def owner_ended() -> None:
            loop.remove_reader(handle)
            os.close(handle)
            self._event(f"process {owner_pid}, which the testbed was brought up for, has ended")
            self._end.set()

        loop = asyncio.get_running_loop()
        try:
            handle = os.pidfd_open(owner_pid)
        except ProcessLookupError:
            self._end.set()
            return
        loop.add_reader(handle, owner_ended)

    @property
    def failure(self) -> str | None:
        """Why the testbed failed after it was up; None while it did not."""
        return self._failure

    async def _bring_up(self) -> bool:
        """Start all children by stages; False when it was asked to end meanwhile."""
        bring_up = asyncio.create_task(self._start_stages())
        end = asyncio.create_task(self._end.wait())
        await asyncio.wait({bring_up, end}, return_when=asyncio.FIRST_COMPLETED)
        for task in (bring_up, end):
            if not task.done():
                task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await bring_up
        return not self._end.is_set()

    async def _start_stages(self) -> None:
        """One stage after the other; the first child that does not become ready ends it."""
        for stage in sorted({child.spec.stage for child in self._children.values()}):
            async with asyncio.TaskGroup() as group:
                starts = [group.create_task(_outcome(child)) for child in self._of_stage(stage)]
            for start in starts:
                error = start.result()
                if error is not None:
                    raise error
        self._render()

    def _of_stage(self, stage: int) -> list[Child]:
        """The children that start together."""
        return [child for child in self._children.values() if child.spec.stage == stage]

    async def _watch_all(self) -> None:
        """Start the dead again until it is asked to end, or the testbed has failed."""
        watchers = [asyncio.create_task(self._watch(child)) for child in self._children.values()]
        end = asyncio.create_task(self._end.wait())
        await asyncio.wait({*watchers, end}, return_when=asyncio.FIRST_COMPLETED)
        for task in (*watchers, end):
            task.cancel()
        results = await asyncio.gather(*watchers, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):  # a mistake in here must not look like an orderly end
                self._fail(f"the supervisor failed: {type(result).__name__}: {result}")
                _LOG.error("supervisor", exc_info=result)

    async def _watch(self, child: Child) -> None:
        """Wait for one child's deaths. Returns when the testbed has failed."""
        quick = 0
        while True:
            how = await child.wait()
            quick = quick + 1 if child.age_s < self._plan.policy.quick_s else 0
            self._report_death(child, how)
            if quick > self._plan.policy.quick_deaths:
                self._fail(f"{child.spec.name} died {quick} times in a row, each within "
                           f"{self._plan.policy.quick_s:g} s of its start; the last time: {child.last_death}")
                return
            await asyncio.sleep(self._plan.policy.backoff_s(quick) if quick else 0)
            for name in child.spec.requires:
                await self._children[name].up.wait()
            await self._start_again(child)

    def _report_death(self, child: Child, how: str) -> None:
        """A crash is never silent."""
        last_line = child.last_line()
        child.last_death = f"{how}, last line of its log: {last_line}" if last_line else f"{how}, its log is empty"
        self._event(f"{child.spec.name} died: {child.last_death}")

    async def _start_again(self, child: Child) -> None:
        """Start a child that has ended; one that does not become ready has died again."""
        child.restarts += 1
        try:
            await child.start()
        except ChildError as error:
            self._event(str(error))
            return
        self._event(f"{child.spec.name} is up again (start {child.restarts + 1})")

    def _fail(self, sentence: str) -> None:
        """The testbed has failed: it ends, and says why in runtime.json."""
        self._failure = sentence
        self._status = "failed"
        self._event(f"testbed {self._plan.testbed} has failed: {sentence}")

    async def _stop_children(self) -> None:
        """End all children, the last stage first."""
        await self._stop_control_masters()
        for stage in sorted({child.spec.stage for child in self._children.values()}, reverse=True):
            await asyncio.gather(*(child.stop() for child in self._of_stage(stage)))

    async def _stop_control_masters(self) -> None:
        """Clients' shared ssh connections end with the testbed; one that does not is cut when its server ends."""
        sockets = Path(self._plan.run_folder, CONTROL_PATHS)
        if not sockets.is_dir():
            return
        for path in sorted(sockets.iterdir()):
            with contextlib.suppress(OSError, TimeoutError):
                process = await asyncio.create_subprocess_exec(
                    "ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={path}", LOOPBACK,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                await asyncio.wait_for(process.wait(), self._plan.policy.stop_s)

    def _event(self, sentence: str) -> None:
        """Log something that happened; clients find it in runtime.json too."""
        _LOG.info("%s", sentence)
        self._events.append({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": sentence})
        del self._events[:-_KEPT_EVENTS]
        if self._status != "starting":
            self._publish()

    def _ssh_ports(self) -> dict[str, int]:
        """SSH port of each switch."""
        return {switch.name: int(self._children[f"{switch.name}.ssh"].ready["ssh_port"])
                for switch in self._plan.switches}

    def _render(self) -> None:
        """The files for clients."""
        render_all(self._plan, self._children["engine"].ready, self._ssh_ports())

    def _publish(self) -> None:
        """Write runtime.json."""
        write_json(self._folder.runtime, self._runtime())

    def _runtime(self) -> dict[str, Any]:
        """What runs where and how it is: the content of runtime.json."""
        plan = self._plan
        folder = self._folder
        engine = self._children["engine"].ready
        views = {name: self._children[f"{name}.ssh"].ready for name in self._ssh_ports()}
        return {
            "testbed": plan.testbed, "status": self._status, "failure": self._failure,
            "supervisor": asdict(this_process()),
            "clock": {"mode": plan.clock, "url": engine["clock_url"]},
            "otg": {"url": engine["otg_url"], "grpc": engine["otg_grpc"], "ixnetwork": engine.get("ixnetwork_url")},
            "testbed_file": str(folder.testbed_file), "inventory": str(folder.path / plan.inv_name),
            "root_view": _worst_view(view["root_view"] for view in views.values()),
            "switches": {switch.name: {
                "ssh_host": LOOPBACK, "ssh_port": views[switch.name]["ssh_port"], "user": USER,
                "key_file": str(folder.ssh / "id_ed25519"), "known_hosts": str(folder.ssh / "known_hosts"),
                "redis_socket": switch.redis_socket, "root_view": views[switch.name]["root_view"],
                "root_view_reason": views[switch.name].get("root_view_reason", ""),
            } for switch in plan.switches},
            "faults": list(plan.faults), "wires": dict(plan.wires), "owner_pid": plan.owner_pid,
            "swss": plan.swss,
            "children": {name: {"status": "up" if child.up.is_set() else "down", "pid": child.pid,
                                "restarts": child.restarts, "last_death": child.last_death}
                         for name, child in self._children.items()},
            "events": list(self._events),
        }


async def _outcome(child: Child) -> ChildError | None:
    """Start a child; an error is a result here, so that the others of its stage are waited for."""
    try:
        await child.start()
    except ChildError as error:
        return error
    return None


def _worst_view(views: Iterable[str]) -> str:
    """`namespace` only when every switch has its own root view."""
    return "namespace" if all(view == "namespace" for view in views) else "environment"


def answer(message: dict[str, Any]) -> None:
    """Tell whoever started the supervisor, who may be gone, and close stdout."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())  # so that the reader sees the end of it
    os.close(nowhere)


def detach() -> None:
    """Leave the process that started us: a session of our own, and nobody's child."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")


def main(plan_file: str) -> int:
    """Run the plan of a file."""
    plan = LaunchPlan.from_json(read_json(Path(plan_file)))
    folder = TestbedFolder(Path(plan.folder))
    write_json(folder.run, {**read_json(folder.run), "supervisor": asdict(this_process())})
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.INFO)
    not_started: str | None = f"its supervisor failed, see {folder.log('supervisor')}"
    failure: str | None = None
    try:
        not_started, failure = asyncio.run(_supervise(plan))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # an impatient `down` must not cut this short
        end_run(plan.run_folder)
        remove_run_folder(Path(plan.run_folder))  # also when someone removed the state folder, with all that is in it
        clean_up(folder, keep_runtime=failure is not None)  # `status` finds the reason there
        if not_started:
            answer({"ready": False, "error": not_started})
    return 1 if not_started or failure else 0


async def _supervise(plan: LaunchPlan) -> tuple[str | None, str | None]:
    """Run the supervisor: why the testbed did not come up, and why it failed when it was."""
    supervisor = Supervisor(plan)
    return await supervisor.run(), supervisor.failure


if __name__ == "__main__":
    detach()
    sys.exit(main(sys.argv[1]))
