"""The time left of a sweep: ports one after another, and in waves whose verdicts come together."""
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from scripts.sweeping.eta import Eta, News
from scripts.sweeping.job import Job
from scripts.sweeping.progress import Progress, time_left
from scripts.sweeping.watch import TestbedRun

PORTS = [f"Ethernet{4 * number}" for number in range(32)]


def seconds_left(one_by_one: bool, news: Mapping[float, int], now: float) -> float:
    """Of 32 ports, measured from 10 s on."""
    eta = Eta(one_by_one)
    eta.measuring = 10.0
    for moment, ports in news.items():
        eta.take(News(moment, ports))
    return eta.seconds_left(32 - max(news.values(), default=0), now)


@pytest.mark.parametrize(("one_by_one", "news", "now", "expected"), [
    (True, {}, 100, 0),
    (True, {50: 1}, 50, 0),
    (True, {50: 1, 60: 2}, 60, 300),
    (True, {50: 1, 60: 2}, 64, 296),
    (True, {50: 1, 60: 2, 74: 3}, 74, 348),
    (True, {50: 1, 60: 2}, 400, 0),
    (True, {42: 2, 74: 4}, 74, 448),
    (False, {610: 16}, 610, 600),
    (False, {610: 16}, 910, 300),
    (False, {610: 16}, 1300, 0),
    (False, {610: 3, 611: 16}, 611, 601),
    (True, {610: 3, 611: 16}, 611, 601),
    (False, {610: 1}, 610, 0),
    (False, {610: 1, 611: 16}, 611, 601),
    (False, {610: 16, 1210: 19}, 1210, 1200 / 19 * 13),
    (False, {610: 16, 1210: 32}, 1210, 0),
])
def test_the_rate_is_that_of_the_ports_and_holds_until_the_next_news(
        one_by_one: bool, news: Mapping[float, int], now: float, expected: float) -> None:
    """What comes before the first of single ports does not count; ports of a wave do not come from one another."""
    assert seconds_left(one_by_one, news, now) == pytest.approx(expected)


@pytest.mark.parametrize(("seconds", "text"), [
    (0, ""), (0.4, ""), (30, "about 30 s left"), (600, "about 10 min left"), (37800, "about 10.5 h left"),
])
def test_the_time_left_is_said_in_words(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


class Clock:
    """Stands in for the module `time` where a run looks at it."""

    now = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.now


def standings(job: Job, looks: Sequence[tuple[float, int]], clock: Clock) -> list[str]:
    """What is said at each look of a run that was started at 0 s, and of which so many ports have a verdict then."""
    run = TestbedRun(job, job.testbeds[0])
    run.start()
    folder = job.folder_of(run.testbed)
    folder.mkdir(parents=True)
    expected = [["switch", port, "metric"] for port in PORTS]
    (folder / "run.json").write_text(json.dumps({"expected": expected}), encoding="utf-8")
    said = []
    for now, ports in looks:
        clock.now = now
        (folder / "testbed_run.log").write_text("== sweep\n" if now > 10 else "== deployment\n", encoding="utf-8")
        fields = {"device_id": "switch", "plan_id": "SWEEP-1", "priority": None, "metric_name": "metric",
                  "status": "PASS", "cause": None}
        (folder / "records.jsonl").write_text(
            "".join(json.dumps({**fields, "port_id": port}) + "\n" for port in PORTS[:ports]), encoding="utf-8")
        run.look()
        said.append(Progress([run], io.StringIO(), None, clock.monotonic).standing(run).partition("ERROR")[2])
    return said


@pytest.mark.parametrize(("concurrency", "looks", "expected"), [
    ("max", [(5, 0), (11, 0), (611, 16), (612, 16), (911, 16), (1210, 16), (1300, 16)],
     ["", "", ", about 10 min left", ", about 10 min left", ", about 5 min left", ", about 1 s left", ""]),
    ("1", [(5, 0), (11, 0), (50, 1), (60, 2), (64, 2)],
     ["", "", "", ", about 5 min left", ", about 5 min left"]),
    ("max", [(610, 16)], [", about 10 min left"]),
])
def test_a_part_knows_when_measuring_began_and_its_last_news(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: str, looks: Sequence[tuple[float, int]],
        expected: Sequence[str]) -> None:
    job = Job("night", str(tmp_path), ("vtb-a",), "/lab/testbed.yaml", concurrency=concurrency)
    clock = Clock()
    monkeypatch.setattr("scripts.sweeping.watch.time", clock)
    assert standings(job, looks, clock) == list(expected)
