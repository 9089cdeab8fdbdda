"""Fixtures of the data plane's tests."""
from __future__ import annotations

import pytest

from virtual_testbed.dataplane.compiled import Compiled


@pytest.fixture
def plain(monkeypatch):
    """The data plane as it is where numba is not installed."""
    monkeypatch.setattr(Compiled, "stepper", lambda self: None)
