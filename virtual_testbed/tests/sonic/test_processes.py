"""Requests that are cancelled while they start, as a server that ends does to them."""
import asyncio
import os
from pathlib import Path

import pytest

from virtual_testbed.sonic import processes
from virtual_testbed.tests.sonic.test_ssh import running, wait_until


class Channel:
    """A client that types nothing, reads nothing and stays."""

    def __init__(self, terminal):
        self.terminal = terminal
        self.channel = self.stdin = self.stdout = self.stderr = self
        self.wait_closed = asyncio.Event().wait

    async def read(self, size):
        await self.wait_closed()

    def get_terminal_type(self):
        return self.terminal

    def get_terminal_size(self):
        return (80, 24, 0, 0)


async def _cancel(turns, terminal, mark):
    """Cancel a request after so many turns of the loop, when its shell has started the command."""
    request = processes.ProcessSpec(["/bin/sh", "-c", f"/bin/sleep {mark}; true"], {}, Path("/"))
    task = asyncio.ensure_future(processes.serve(Channel(terminal), request))
    for _ in range(turns):
        await asyncio.sleep(0)
    wait_until(lambda: any(text.startswith("/bin/sleep") for text in running(mark)), "the command to start")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)


@pytest.mark.parametrize("terminal, mark", [(None, "86411"), ("xterm", "86412")])
@pytest.mark.parametrize("turns", range(2, 7))
def test_a_request_cancelled_while_it_starts_leaves_nothing(turns, terminal, mark):
    mark = f"{mark}.{os.getpid()}"
    asyncio.run(_cancel(turns, terminal, mark))
    wait_until(lambda: not running(mark), "the command to end")
