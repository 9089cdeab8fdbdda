"""What is drawn of a timeline."""
from __future__ import annotations

import pytest

from tests.common.pfc.record.parsing import parse_moment
from test_reporting.pfc.html_report.texts import counted, duration, ranges, shown, size
from test_reporting.pfc.html_report.timeline import plots, rates
from test_reporting.tests.html_samples import timeline


def test_a_row_for_each_class_and_counter():
    (plot,) = plots({"timeline": timeline(50)})
    test, background, depth, received, sent = plot["rows"]
    assert test == {"label": "priority 3 (test)", "kind": "rate", "rx": [1000, 0, 100, 900], "tx": [1000, 20, 20, 960],
                    "most": 1000, "in_storm": 100}
    assert (background["rx"], background["tx"], background["in_storm"]) == ([200] * 4, None, 200)
    assert received == {"label": "Ethernet0 priority 3: PFC received", "kind": "count", "at": [0, 1.25, 2.0],
                        "counts": [0, 600, 900], "most": 900}
    assert (sent["label"], sent["counts"]) == ("Ethernet4 priority 3: PFC sent", [0, 20, 20])
    assert (depth["label"], depth["counts"], depth["most"]) == (
        "priority 3 (test): in the switch, or lost", [0, 0, 10, 0, 0], 10)
    assert plot["storms"] == [{"label": "PFC on priority 3", "priorities": [3], "begin": 0.5, "end": 1.5}]
    assert plot["times"] == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_a_storm_between_two_readings_has_no_rate():
    short = {**timeline(), "storms": [{"label": "x", "begin_s": 0.6, "end_s": 0.9}]}
    assert [row["in_storm"] for row in plots({"timeline": short})[0]["rows"][:2]] == [None, None]


def test_a_rate_needs_time_and_a_counter_that_grows():
    assert rates([0, 1, 1, 2], [0, 5, 6, 3]) == [5.0, None, None]


def test_each_measurement_of_a_record_has_its_plot():
    found = plots({"pause_lossless": {"timeline": timeline()}, "flows": {"a": 1}, "timeline": timeline()})
    assert [plot["title"] for plot in found] == ["pause_lossless", ""]
    assert plots({"flows": {}}) == []


@pytest.mark.parametrize("change, says", [
    ({"readings_s": [0]}, "two or more times"), ({"readings_s": None}, "readings_s must be a list of numbers"),
    ({"readings_s": [0, 2, 1, 3, 4]}, "ascending"), ({"frames_rx": {"a": [1]}}, "frames_rx['a'] has 1 entries"),
    ({"frames_rx": [1]}, "frames_rx must be an object"), ({"frames_tx": {"a": ["x"] * 5}}, "must be a list of numbers"),
    ({"storms": [{"begin_s": 1}]}, "begin_s and end_s"), ({"storms": [{"begin_s": 2, "end_s": 1}]}, "ends before"),
    ({"storms": {"a": 1}}, "storms must be a list"), ({"storms": [1]}, "storms must hold objects"),
    ({"pfc_counters": {"a": 1}}, "pfc_counters must be a list"), ({"pfc_counters": [1]}, "must hold objects"),
    ({"pfc_counters": [{"at_s": [0, 1], "rx": {"a": [1]}}]}, "rx['a'] has 1 entries, the readings are 2"),
    ({"pfc_counters": [{"at_s": [1, 0]}]}, "at_s of pfc_counters must be in ascending order"),
    ({"readings_s": [0, 5e-324, 1, 2, 3]}, "too close to each other"),
    ({"frames_rx": {"a": [0, 0, 0, 0, 10**400]}}, "frames_rx['a'] has a number beyond 2**64"),
    ({"readings_s": [0, 1, 2, 3, float("inf")]}, "readings_s has a number beyond 2**64")])
def test_one_that_cannot_be_drawn_says_why(change, says):
    (plot,) = plots({"timeline": {**timeline(), **change}})
    assert plot["problem"].startswith("the timeline cannot be drawn: ") and says in plot["problem"]
    assert plots({"timeline": 3})[0]["problem"].endswith("it is no JSON object")


def test_texts():
    assert shown("a\nb\u202e\0\xa0\u05d0") == "a\nb\\u202e\\x00\\xa0\u05d0"
    assert [counted(1, "port"), counted(2000, "test case"), counted(2, "switch")] == [
        "1 port", "2,000 test cases", "2 switches"]
    assert ranges([5, 0, 2, 1]) == "0-2, 5" and ranges([3, 4]) == "3, 4" and ranges([]) == ""
    assert size(312_400) == "312 kB" and size(4_100_000) == "4.1 MB"
    begin = parse_moment("2026-01-31T13:00:00Z")
    assert duration(begin, parse_moment("2026-01-31T14:02:03Z")) == "1 h 2 min 3 s" and duration(begin, begin) == "0 s"
