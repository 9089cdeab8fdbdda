"""The example of docs/otg.md does what the page says."""
from __future__ import annotations

import re
from pathlib import Path

import requests

PAGE = Path(__file__).parents[3] / "docs" / "otg.md"


def test_the_example_pauses_priority_3(server):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    assert "http://127.0.0.1:8080" in code
    found = {}
    exec(code.replace("http://127.0.0.1:8080", server.url), found)
    found["api"]._transport._session.close()
    requests.post(f"{server.url}/clock/advance", json={"nanoseconds": 10**9}, timeout=60).raise_for_status()
    counters = server.agents[0].network.switch_counters("vtb-t0-01").ports["Ethernet0"]
    assert counters.pfc_rx[3] > 5900
    assert sum(counters.pfc_rx) == counters.pfc_rx[3]
