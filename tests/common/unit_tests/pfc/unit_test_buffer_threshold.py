"""Another threshold of the buffers, and another level of XON, are for the rows that priority groups have."""

from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.buffer_threshold import smaller_threshold
from tests.common.pfc.lab.configuration import NAME
from tests.common.pfc.model.errors import QualificationError
from tests.common.unit_tests.pfc.shell_switch import FOUND, ShellHost
from tests.common.unit_tests.pfc.unit_test_configuration import tables


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running and a few rows of other tables."""
    host = ShellHost.installed(tmp_path)
    host.configure(FOUND, **tables())
    return host


class AskedForProfile:
    """A switch with these groups in APPL_DB, all of one profile."""

    name = "dut"

    def __init__(self, *keys, xon_offset=None):
        """`keys`: `Ethernet0:3-4`."""
        profile = {"xoff": "165568", "dynamic_th": "-2"}
        profile |= {} if xon_offset is None else {"xon_offset": xon_offset}
        self.printed = "".join(f"BUFFER_PG_TABLE:{key} pg_lossless {profile}\n" for key in keys)
        self.asked = []

    def ask(self, commands):
        """What the one command prints."""
        self.asked += commands.values()
        return dict.fromkeys(commands, self.printed)


def groups_changed(switch, config_db, priorities=(3, 4)):
    """The rows of BUFFER_PG that get another threshold on Ethernet0."""
    subject = SimpleNamespace(pair=SimpleNamespace(tx=SimpleNamespace(port="Ethernet0")),
                              where=lambda port: f"dut {port}")
    rows = smaller_threshold(SimpleNamespace(dut=switch, subject=subject), config_db, priorities)
    assert rows["BUFFER_PROFILE"] == {NAME: {"xoff": "165568", "dynamic_th": "-4"}}, rows
    return set(rows["BUFFER_PG"])


@pytest.mark.parametrize(("in_config_db", "in_effect", "changed"), [
    (("Ethernet0|0", "Ethernet0|3-4", "Ethernet4|3-4"), ("Ethernet0:0", "Ethernet0:3-4"), {"Ethernet0|3-4"}),
    (("Ethernet0|3", "Ethernet0|4"), ("Ethernet0:3", "Ethernet0:4"), {"Ethernet0|3", "Ethernet0|4"}),
    (("Ethernet0|0-2", "Ethernet0|2-7"), ("Ethernet0:2-7",), {"Ethernet0|2-7"}),
    (("Ethernet0|0",), ("Ethernet0:0", "Ethernet0:3-4"), {"Ethernet0|3-4"}),
])
def test_another_threshold_is_for_the_rows_that_the_groups_have(in_config_db, in_effect, changed):
    """Those of CONFIG_DB, and of APPL_DB where it has none."""
    switch = AskedForProfile(*in_effect)
    found = groups_changed(switch, {"BUFFER_PG": dict.fromkeys(in_config_db, {})})
    assert found == changed, found
    assert any("'BUFFER_PG_TABLE:Ethernet0:" in command for command in switch.asked), switch.asked


def test_another_level_of_xon_is_so_many_times_the_headroom():
    """Where it has one; or half of the threshold, here a seventeenth of the buffer. Nothing else changes."""
    subject = SimpleNamespace(pair=SimpleNamespace(tx=SimpleNamespace(port="Ethernet0")),
                              where=lambda port: f"dut {port}")
    for xon_offset, size_bytes, expected in (
        ("2288", 1 << 30, str(4 * 165_568)), ("2288", 17_000_000, "500000"), ("", 1 << 30, ""),
    ):
        subject.buffer = SimpleNamespace(size_bytes=size_bytes)
        switch = AskedForProfile("Ethernet0:3-4", xon_offset=xon_offset)
        lab = SimpleNamespace(dut=switch, subject=subject)
        rows = smaller_threshold(lab, {"BUFFER_PG": {"Ethernet0|3-4": {}}}, (3,), xon_offsets=4)
        profile = {"xoff": "165568", "dynamic_th": "-4", "xon_offset": expected}
        assert rows["BUFFER_PROFILE"] == {NAME: profile}, rows


def test_another_threshold_is_not_for_other_ports_too():
    """A row that several ports share cannot be changed for one of them, and a second one beside it would be taken away
    with the group."""
    with pytest.raises(QualificationError, match="dut: BUFFER_PG.Ethernet0,Ethernet4.3-4 in CONFIG_DB cannot be"):
        groups_changed(AskedForProfile("Ethernet0,Ethernet4:3-4"), {"BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {}}})
