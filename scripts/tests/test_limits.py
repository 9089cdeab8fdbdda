"""The table of docs/testplan/README.md that says how small a defect each limit sees, against the limits of the code."""
import re

import pytest

from scripts.campaign.entries import ROOT
from tests.common.pfc.cases.congestion import EXACT_SENDER_PART, SENDER_PART, SHARE_FRAMES, SHARE_TOLERANCE
from tests.common.pfc.cases.group_room import BORDER_CELLS, MOST_CELL_BYTES, UNIT_CELLS
from tests.common.pfc.cases.headroom import FRAME_BYTES
from tests.common.pfc.cases.sent_pauses import REFRESHES_EXACT_S, XON_EARLIER_NS
from tests.common.pfc.cases.switch_counters import OWN_FRAMES, own_frames
from tests.common.pfc.cases.timing import COURSES, EDGE_FRAMES, PAUSE_LENGTH
from tests.common.pfc.cases.watchdog.timers import EDGE_PERCENT, LATE_MS
from tests.common.pfc.model.arithmetic import MAX_QUANTA, line_rate_fps, pause_seconds
from tests.common.pfc.model.response_time import response_seconds
from tests.common.pfc.model.tolerances import EXACT, HARDWARE

SPEED = 100_000
FRAME_US = float(10**6 / line_rate_fps(1024, SPEED))
RESPONSE_US = float(response_seconds(SPEED) * 10**6)
PAUSE_US = float(pause_seconds(MAX_QUANTA, SPEED) * 10**6)


def rows() -> dict[str, tuple[str, str, str]]:
    """Check -> what is seen on an exact clock, on hardware, and from what that follows."""
    text = (ROOT / "docs/testplan/README.md").read_text(encoding="utf-8")
    table = text.split("\n## How small a defect each limit sees\n")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "`" in line[:4]]
    return {name: (row[1], row[2], row[3]) for row in cells for name in re.findall(r"`([a-z-]+)`", row[0])}


@pytest.mark.parametrize(("check", "exact", "hardware"), [
    ("every-pause-counted", f"{EXACT.count_tolerance_percent + 1} pause", f"{HARDWARE.count_tolerance_percent} %"),
    ("throughput", "2 frames", f"{HARDWARE.load_tolerance_percent} %"),
    ("stopped-in-time", f"{RESPONSE_US:.2f} us that the standard allows", "1 s"),
    ("paused-long-enough", f"{RESPONSE_US + FRAME_US + EDGE_FRAMES * FRAME_US / 6:.1f} us of each pause", "1 %"),
    ("resumed", f"{(EDGE_FRAMES + 0.2) * FRAME_US * 4:.1f} us", "a second"),
    ("sender-resumed", f"{PAUSE_US / 4:.0f} us", "not made"),
    ("headroom-full", f"1 cell (208 bytes) too few, 3 where the cell does not show; {UNIT_CELLS} too many",
     f"{FRAME_BYTES + MOST_CELL_BYTES} bytes too few, {UNIT_CELLS * MOST_CELL_BYTES} too many"),
    ("xoff-threshold", f"{BORDER_CELLS + 1} cells early, of one priority of several 3; {UNIT_CELLS + 1} late",
     "not made"),
    ("share-by-weight", f"{SHARE_FRAMES + 1} frames", f"{SHARE_TOLERANCE:.0%}".replace("%", " %")),
    ("share-of-sender", f"{float(100 * EXACT_SENDER_PART):g} %", f"{float(100 * SENDER_PART):g} %"),
    ("no-xon-in-storm", f"{XON_EARLIER_NS // 1000} us", "not made"),
    ("drained-alone", f"{1000 * REFRESHES_EXACT_S / 2:g} ms", "not made"),
    ("detection-time", f"{PAUSE_US / 1000:.2f} ms", f"{LATE_MS} ms"),
    ("drops-counted", "1 frame", f"{EDGE_PERCENT} %, and fewer by what is sent in {LATE_MS} ms of each storm"),
    ("queue-agrees", f"{own_frames(True) + 1} frame", f"{OWN_FRAMES + 1} frames"),
    ("counter-explained", "1 frame", f"{OWN_FRAMES + 1} a minute"),
])
def test_the_table_says_what_the_code_has(check: str, exact: str, hardware: str) -> None:
    found = rows()[check]
    assert exact in found[0] and hardware in found[1], found


def test_each_of_them_is_a_check_of_some_page() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/testplan").glob("*-*.md"))
    others = {"counter-explained", "load-applied", "storm-arrived"}  # of every case; and never FAIL, as the third
    assert {name for name in rows() if f"| `{name}` |" not in pages} == others


def test_lengths_are_compared_where_they_differ_most() -> None:
    windows = COURSES[PAUSE_LENGTH]((3,)).windows
    lengths = [float(window.pauses.held(3, SPEED).seconds) * 1e6 for window in (windows[0], windows[-1])]
    frame_us = FRAME_US / 0.9
    edges = sum(EDGE_FRAMES / window.pauses.count for window in (windows[0], windows[-1]))
    unsure = (2 + edges) * frame_us / (lengths[0] - lengths[1])
    for times in (1, 2):
        assert f"{times * unsure:.2%}".replace("%", " %") in rows()["length-to-scale"][0], unsure
