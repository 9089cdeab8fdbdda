"""The examples of the documentation do what the pages say."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).parents[3]
LOCATION = re.compile(r"location=(\"http://127.0.0.1:8080\"|json.load\(.*?\)\[\"otg\"\]\[\"url\"\])")


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/otg.md"])
def test_the_example_pauses_priority_3(server, page):
    code = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[1]
    code, places = LOCATION.subn(f"location={server.url!r}", code)
    assert places == 1
    found = {}
    exec(code, found)
    found["api"]._transport._session.close()
    requests.post(f"{server.url}/clock/advance", json={"nanoseconds": 10**9}, timeout=60).raise_for_status()
    counters = server.agents[0].network.switch_counters("vtb-t0-01").ports["Ethernet0"]
    assert counters.pfc_rx[3] > 5900
    assert sum(counters.pfc_rx) == counters.pfc_rx[3]
