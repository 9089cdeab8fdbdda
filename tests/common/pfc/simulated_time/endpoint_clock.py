"""The clock of a virtual testbed, over its HTTP endpoint."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from ..model.errors import QualificationError

LARGEST_STEP_NS = 3600 * 10**9


class EndpointClock:
    """A virtual testbed's clock. One that stands still is advanced by exactly the time that `sleep` is asked for; one
    that follows real time is waited for until it has got as far, also where a busy machine makes it fall behind."""

    def __init__(self, url: str, timeout_s: float = 120.0, alone: bool = True) -> None:
        """Asks which of the two kinds it is. `url` is in the testbed's entry; for `timeout_s` of real time the testbed
        may make no progress: while it does, it says so (HTTP's `100 Continue`). `alone`: nobody else moves it; else,
        behind generators that take their time to start, it is not exact."""
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._known_s: float | None = None
        # The endpoint is on loopback: a proxy that the environment names must not see the request.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.exact = self._request(self._url)["mode"] == "virtual" and alone

    def now(self) -> float:
        """Simulated seconds."""
        self._known_s = int(self._request(self._url)["now_ns"]) / 1e9
        return self._known_s

    def moment(self) -> float:
        """Simulated seconds; where nobody else moves them, asked for once and then counted."""
        return self.now() if self._known_s is None or not self.exact else self._known_s

    def sleep(self, seconds: float) -> None:
        """Advances simulated time; returns when the testbed has computed it."""
        whole_ns = -(-round(seconds * 1e12) // 1000)  # of picoseconds, rounded up: what ends then has ended
        left_ns = max(whole_ns, 1 if seconds > 0 else 0)  # a poller's last step may be less than 1 ps
        while left_ns > 0:
            step_ns = min(left_ns, LARGEST_STEP_NS)
            self._request(f"{self._url}/advance", {"nanoseconds": step_ns})
            left_ns -= step_ns
        if self._known_s is not None:
            self._known_s += seconds

    def _request(self, url: str, body: dict[str, int] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace").strip()
            reason = "; ".join(json.loads(said)["errors"]) if said.startswith('{"code"') else said
            raise QualificationError(f"not the switch, the virtual testbed refused ({url}): {reason}") from error
        except TimeoutError as error:
            raise QualificationError(
                "the virtual testbed was too slow, or hangs: not a verdict on the switch: its simulation made no"
                f" progress in {self._timeout_s:g} s"
                f" ({url}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs)"
            ) from error
        except OSError as error:
            raise QualificationError(f"the testbed's clock {url} cannot be reached: {error}") from error
