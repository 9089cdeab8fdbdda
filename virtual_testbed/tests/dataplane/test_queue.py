"""A long queue whose runs of frames came packed is the queue that it would be with all of them unpacked."""
from __future__ import annotations

from array import array
from random import Random

import pytest

from virtual_testbed.dataplane.model.buffer import UNPACKED_AT_ONCE, EgressQueue
from virtual_testbed.dataplane.model.runs import PackedRuns

KINDS = ["a", "b", "c"]


def random_runs(random, number):
    """So many runs as (kind, frames), neighbours of different kinds."""
    found = [(random.choice(KINDS), random.randint(1, 3))]
    while len(found) < number:
        found.append((random.choice([kind for kind in KINDS if kind != found[-1][0]]), random.randint(1, 3)))
    return found[:number]


def packed(runs):
    """The same runs packed, among kinds that do not occur."""
    kinds = ["none", *KINDS]
    return PackedRuns(kinds, array("q", [kinds.index(kind) for kind, _ in runs]), array("q", [n for _, n in runs]))


def filled(content):
    """A queue with that content."""
    queue = EgressQueue(3)
    queue.fill(content)
    return queue


@pytest.mark.parametrize("runs", [0, 1, 2, UNPACKED_AT_ONCE, UNPACKED_AT_ONCE + 1, UNPACKED_AT_ONCE + 2,
                                  2 * UNPACKED_AT_ONCE + 1, 5 * UNPACKED_AT_ONCE])
def test_frames_come_and_go_in_a_packed_queue_as_in_any(runs):
    random = Random(runs)
    content = random_runs(random, runs) if runs else []
    queue = filled(packed(content))
    other = filled(content)
    for step in range(4000):
        if random.random() < (0.3 if step % 1000 < 500 else 0.6) or not other.frames:
            kind = random.choice(KINDS)
            queue.push(kind)
            other.push(kind)
        else:
            assert queue.head() == other.head()
            assert queue.pop() == other.pop(), f"frame taken in step {step}"
        assert (queue.frames, queue.runs()) == (other.frames, other.runs()), f"step {step}"
        if step % 100 == 0:
            assert queue.content() == other.content(), f"step {step}"
    while other.frames:
        assert queue.pop() == other.pop()
    assert (queue.content(), queue.runs(), queue.frames) == ([], 0, 0)


def test_what_is_filled_anew_or_emptied_forgets_what_was_packed():
    content = random_runs(Random(1), 3 * UNPACKED_AT_ONCE)
    queue = filled(packed(content))
    queue.push("a")
    queue.fill([("b", 2)])
    assert (queue.content(), queue.frames) == ([("b", 2)], 2)
    queue = filled(packed(content))
    queue.empty()
    queue.push("c")
    assert (queue.content(), queue.frames) == ([("c", 1)], 1)


def test_the_last_packed_run_takes_further_frames_of_its_kind():
    content = random_runs(Random(2), 3 * UNPACKED_AT_ONCE)
    queue = filled(packed(content))
    queue.push(content[-1][0])
    assert queue.content() == [*content[:-1], (content[-1][0], content[-1][1] + 1)]


def test_what_a_queue_was_filled_with_stays_as_it_is():
    content = packed(random_runs(Random(3), 3 * UNPACKED_AT_ONCE))
    before = list(content)
    queue = filled(content)
    while queue.frames:
        queue.pop()
    assert list(content) == before
