"""A priority that was made lossless gets a priority group, or that is told."""

from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.reconfigured import wait_for_groups
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, Clock, ShellHost
from tests.common.unit_tests.pfc.unit_test_configuration import tables


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running and a few rows of other tables."""
    host = ShellHost.installed(tmp_path)
    host.configure(FOUND, **tables())
    return host


class Asked:
    """A switch whose APPL_DB has some priority groups."""

    def __init__(self, *keys):
        """`keys`: `Ethernet0:3-4`."""
        self.text = "\n".join(f"BUFFER_PG_TABLE:{key}" for key in keys)

    def ask(self, commands):
        """What the one command prints."""
        return dict.fromkeys(commands, self.text)

    def where(self, priority, port):
        """As `PortUnderTest` has it."""
        return f"dut {port} priority {priority}"


def test_a_priority_that_gets_no_group_is_told():
    """A switch that has no headroom for so many."""
    switch, clock = Asked("Ethernet0:0", "Ethernet0:2-4", "Ethernet4:2"), Clock()
    lab = SimpleNamespace(dut=switch, clock=clock, subject=switch)
    wait_for_groups(lab, {("Ethernet0", 3), ("Ethernet4", 2)})
    assert clock.time == 0, "they were there"
    with pytest.raises(QualificationError) as error:
        wait_for_groups(lab, {("Ethernet0", 3), ("Ethernet4", 3)})
    assert str(error.value) == (
        "dut Ethernet4 priority 3: PORT_QOS_MAP|Ethernet4 pfc_enable has it, but 20 s later the switch has no priority"
        " group for it (BUFFER_PG_TABLE in APPL_DB)"
    ), str(error.value)
