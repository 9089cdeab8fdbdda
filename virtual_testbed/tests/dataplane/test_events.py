"""The order in which things happen."""
from __future__ import annotations

from virtual_testbed.dataplane.model.events import FRAME_SENT, EventLoop


def test_traffic_between_a_cancelled_timer_and_the_next_comes_first():
    loop, seen = EventLoop(), []

    def gone(now_ps):
        seen.append(now_ps)
    loop.at(10, gone)
    loop.at(20, seen.append)
    loop.push_traffic((5, FRAME_SENT, 0, lambda now_ps: loop.cancel(gone)))
    loop.push_traffic((15, FRAME_SENT, 0, seen.append))
    loop.run(30)
    assert seen == [15, 20]
