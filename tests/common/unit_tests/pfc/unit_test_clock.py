"""Which clock a testbed is waited for on."""

import pytest

from tests.common.pfc.lab import option
from tests.common.pfc.lab.clock import WallClock
from tests.common.pfc.lab.option import open_clock
from tests.common.pfc.model.errors import QualificationError


def test_hardware_is_waited_for_on_the_wall_clock():
    """No endpoint."""
    assert isinstance(open_clock({"conf-name": "lab"}), WallClock), "expected the wall clock"


@pytest.mark.parametrize("key", ["clock", "realtime_clock"])
def test_a_clock_that_nothing_here_reads_is_refused(monkeypatch, key):
    """By the wall clock such a testbed would be measured wrongly."""
    monkeypatch.setattr(option, "options", lambda: ())
    with pytest.raises(QualificationError, match="^testbed lab has a clock of its own, which nothing here reads"):
        open_clock({"conf-name": "lab", key: "http://127.0.0.1:1/clock"})
