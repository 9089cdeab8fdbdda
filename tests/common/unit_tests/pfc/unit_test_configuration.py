"""Rows of CONFIG_DB that a scenario changes: which they are, and that they come back. The scripts run in a
real shell, against stand-ins for SONiC's commands."""


import pytest

from tests.common.pfc.lab.configuration import FOLLOW_S, NAME, RowRestorer, as_found, lossless_set, trusting_tags
from tests.common.pfc.lab.priority_groups import POLL_S
from tests.common.pfc.lab.restore import SwitchRestorer
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.qos import read_port_qos
from tests.common.unit_tests.pfc.shell_switch import CONFIG, FOUND, Clock, ShellHost

LOSSLESS_QUEUE = {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}
LOSSY_QUEUE = {"scheduler": "scheduler.0"}
LOSSY_GROUP = {"profile": "ingress_lossy_profile"}
LOSSLESS_GROUP = {"profile": "pg_lossless_100000_5m_profile"}
IDENTITY = {str(number): str(number) for number in range(8)}
MAPS = {
    "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE",
    "pfc_enable": "3,4",
}
ROWS = {  # two rows changed, one added, one removed, and one that loses a field
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "2", "dot1p_to_tc_map": "AZURE"}},
    "BUFFER_QUEUE": {"Ethernet0|0-2": None, "Ethernet0|2": {"profile": "egress_lossless_profile"}},
}


def tables(ports=("Ethernet0", "Ethernet4"), **changes):
    """CONFIG_DB as SONiC's templates make it."""
    made = {
        "DSCP_TO_TC_MAP": {"AZURE": {str(dscp): str({3: 3, 4: 4, 5: 2, 8: 0, 46: 5, 48: 6}.get(dscp, 1))
                                     for dscp in range(64)}},
        "TC_TO_QUEUE_MAP": {"AZURE": IDENTITY},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": IDENTITY},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {**dict.fromkeys("012567", "0"), "3": "3", "4": "4"}},
        "PORT_QOS_MAP": {port: dict(MAPS) for port in ports},
        "BUFFER_PG": {f"{port}|0": {"profile": "ingress_lossy_profile"} for port in ports},
        "BUFFER_QUEUE": {
            f"{port}|{queues}": {"profile": f"egress_{kind}_profile"}
            for port in ports for queues, kind in (("0-2", "lossy"), ("3-4", "lossless"), ("5-6", "lossy"))
        },
        "QUEUE": {f"{port}|{queue}": LOSSLESS_QUEUE if queue in (3, 4) else LOSSY_QUEUE
                  for port in ports for queue in range(7)},
    }
    return {**made, **changes}


def after(config_db, priorities):
    """CONFIG_DB of a switch whose lossless set was changed."""
    return as_found(config_db, lossless_set(config_db, "dut", ("Ethernet0", "Ethernet4"), priorities))


@pytest.fixture
def switch(tmp_path):
    """A switch with its watchdog running and a few rows of other tables."""
    host = ShellHost.installed(tmp_path)
    host.configure(FOUND, **tables())
    return host


def changed(switch, rows=ROWS, clock=None):
    """The rows in effect, as a `with` block, on a switch that this run has."""
    restorer = SwitchRestorer(switch, "run-1", Clock())
    waiting = clock or Clock()
    return restorer, (lambda held: RowRestorer(switch, held).configured(switch.config_db(), rows, waiting))


@pytest.mark.parametrize("priorities", [(2,), (0, 1, 2), tuple(range(7)), tuple(range(8))])
def test_what_is_lossless_has_all_that_the_templates_give_it(priorities):
    """PFC, a priority group of its own, its queue's rows; the lossy ones share a group with the lossy profile."""
    config_db = after(tables(), priorities)
    for port in ("Ethernet0", "Ethernet4"):
        qos = read_port_qos(config_db, "dut", port)
        assert qos.lossless == priorities and qos.reachable == tuple(range(8)), qos
        groups = config_db["TC_TO_PRIORITY_GROUP_MAP"][config_db["PORT_QOS_MAP"][port]["tc_to_pg_map"]]
        queues = {key.split("|")[1]: row for key, row in config_db["QUEUE"].items() if key.startswith(f"{port}|")}
        lossy = {groups[str(number)] for number in range(8) if number not in priorities}
        assert {number: groups[str(number)] for number in priorities} == {one: str(one) for one in priorities}, groups
        assert len(lossy) == (len(priorities) < 8) and not lossy & set(map(str, priorities)), groups
        assert {int(queue) for queue, row in queues.items() if row == LOSSLESS_QUEUE} == set(priorities), queues
        owned = {key for key in config_db["BUFFER_PG"] if key.startswith(f"{port}|")}
        assert owned == {f"{port}|{number}" for number in lossy}, "lossless groups are derived by the switch"


def test_neighbouring_queues_of_one_role_stay_one_row():
    """What keeps its profile is not touched."""
    rows = lossless_set(tables(), "dut", ("Ethernet0", "Ethernet4"), (2,))["BUFFER_QUEUE"]
    assert "Ethernet0|5-6" not in rows and rows["Ethernet0|0-2"] is None, rows
    assert rows["Ethernet0|2"] == {"profile": "egress_lossless_profile"}, rows
    assert rows["Ethernet0|3-4"] is None and rows["Ethernet0|4"] == {"profile": "egress_lossy_profile"}, rows


def test_rows_of_virtual_output_queues_are_changed_under_their_own_keys():
    """A switch that has them names host and ASIC before the port."""
    made = tables()
    for table in ("BUFFER_QUEUE", "QUEUE"):
        made[table] = {f"dut|Asic0|{key}": row for key, row in made[table].items()}
    made["DEVICE_METADATA"] = {"localhost": {"hostname": "dut"}}
    rows = lossless_set(made, "dut", ("Ethernet0", "Ethernet4"), (2,))["BUFFER_QUEUE"]
    assert rows["dut|Asic0|Ethernet0|2"] == {"profile": "egress_lossless_profile"}, rows
    assert rows["dut|Asic0|Ethernet0|0-2"] is None and all(key.startswith("dut|Asic0|") for key in rows), rows


def test_lossless_groups_that_the_configuration_has_are_moved():
    """With the profile that the switch has for this speed and cable."""
    group = LOSSLESS_GROUP
    found = {f"{port}|{key}": row for port in ("Ethernet0", "Ethernet4")
             for key, row in (("0", LOSSY_GROUP), ("3-4", group))}
    config_db = after(tables(BUFFER_PG=found), (0, 3))
    owned = {key: row for key, row in config_db["BUFFER_PG"].items() if key.startswith("Ethernet0|")}
    assert {key for key, row in owned.items() if row == group} == {"Ethernet0|0", "Ethernet0|3"}, owned
    assert owned["Ethernet0|1"] == LOSSY_GROUP, owned


@pytest.mark.parametrize(("priorities", "expected"), [
    (range(7), {"0": None, "3-4": None, "0-6": LOSSLESS_GROUP, "7": LOSSY_GROUP}),
    ((3, 4, 5), {"3-4": None, "3-5": LOSSLESS_GROUP}),
    ((2,), {"3-4": None, "2": LOSSLESS_GROUP, "3": LOSSY_GROUP, "4": LOSSY_GROUP}),
])
def test_lossless_groups_have_the_rows_that_buffermgrd_makes(priorities, expected):
    """It adds them where they are not there, and leaves them: what the suite does not know of would not go again, and
    taking it away would take the profile from what another row says of these groups."""
    found = {f"Ethernet0|{key}": row for key, row in (("0", LOSSY_GROUP), ("3-4", LOSSLESS_GROUP))}
    rows = lossless_set(tables(BUFFER_PG=found), "dut", ("Ethernet0",), tuple(priorities))["BUFFER_PG"]
    assert rows == {f"Ethernet0|{key}": row for key, row in expected.items()}, rows


@pytest.mark.parametrize(("priorities", "expected"), [
    ((3, 4), {}), ((3, 4, 5), {"5": LOSSLESS_GROUP}), ((2, 3, 4), {"2": LOSSLESS_GROUP})])
def test_a_group_keeps_the_profile_that_it_has_of_its_own(priorities, expected):
    """Its neighbour's may have another headroom."""
    own = {"profile": "with_more_headroom"}
    found = {f"Ethernet0|{key}": row for key, row in (("0", LOSSY_GROUP), ("3", LOSSLESS_GROUP), ("4", own))}
    config_db = as_found(made := tables(BUFFER_PG=found), lossless_set(made, "dut", ("Ethernet0",), priorities))
    groups = {key.partition("|")[2]: row for key, row in config_db["BUFFER_PG"].items()}
    assert groups["4"] == own and (groups.get("3") or groups["2-3"]) == LOSSLESS_GROUP, groups


def test_a_row_for_one_group_counts_before_one_that_was_left_behind():
    """The lossy group keeps its lossy profile."""
    left = {f"Ethernet0|{key}": row for key, row in
            (("0", LOSSY_GROUP), ("0-6", LOSSLESS_GROUP), ("3-4", LOSSLESS_GROUP))}
    rows = lossless_set(tables(BUFFER_PG=left), "dut", ("Ethernet0",), (5,))["BUFFER_PG"]
    assert rows["Ethernet0|0-6"] is None and rows["Ethernet0|5"] == LOSSLESS_GROUP, rows
    assert rows["Ethernet0|3"] == LOSSY_GROUP, rows


def test_a_priority_that_no_dscp_reached_gets_its_class_selector():
    """The other values keep their priorities."""
    found, made = tables()["DSCP_TO_TC_MAP"]["AZURE"], after(tables(), (2,))["DSCP_TO_TC_MAP"][NAME]
    assert {dscp: made[dscp] for dscp in made if made[dscp] != found[dscp]} == {"56": "7"}, made


def test_a_row_for_several_ports_is_refused():
    """It cannot be changed for two of them."""
    config_db = tables(QUEUE={"Ethernet0,Ethernet4,Ethernet8|3-4": LOSSLESS_QUEUE})
    with pytest.raises(QualificationError) as error:
        after(config_db, (2,))
    assert str(error.value) == (
        "dut: QUEUE|Ethernet0,Ethernet4,Ethernet8|3-4 in CONFIG_DB cannot be changed for Ethernet0 alone; such a row"
        " has a key like Ethernet0|3 or Ethernet0|3-4"
    ), str(error.value)


@pytest.mark.parametrize(
    ("style", "expected"), [("AZURE", NAME), ("[DSCP_TO_TC_MAP|AZURE]", f"[DOT1P_TO_TC_MAP|{NAME}]")]
)
def test_a_port_that_trusts_the_tag_has_no_dscp_map(style, expected):
    """Older images write references with the table. No tag's number is that of its class."""
    config_db = tables(PORT_QOS_MAP={"Ethernet0": {**MAPS, "dscp_to_tc_map": style}})
    rows = trusting_tags(config_db, "dut", ("Ethernet0",))
    row = rows["PORT_QOS_MAP"]["Ethernet0"]
    assert "dscp_to_tc_map" not in row and row["dot1p_to_tc_map"] == expected, row
    below = {str(tag): str((tag + 7) % 8) for tag in range(8)}
    assert rows["DOT1P_TO_TC_MAP"] == {NAME: below}, rows


def test_rows_are_as_wanted_inside_and_as_found_afterwards(switch):
    """Changed, added, removed rows and fields."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with restorer.watchdog_stopped() as reservation:
        with configured(reservation):
            now = switch.config_db()
            assert now["PORT_QOS_MAP"]["Ethernet0"] == ROWS["PORT_QOS_MAP"]["Ethernet0"], now["PORT_QOS_MAP"]
            assert "Ethernet0|0-2" not in now["BUFFER_QUEUE"] and "Ethernet0|2" in now["BUFFER_QUEUE"], now
        now = switch.config_db()
        assert {**now, "PFC_WD": FOUND} == before, now
    assert switch.config_db() == before, switch.config_db()
    assert not (switch.home / ".pfc_qualification").exists(), "the file is still there"


LATE = 3
POLLS_S = LATE * POLL_S


def test_groups_of_other_lossless_priorities_are_waited_for_on_the_way_in_and_back(switch):
    """Also where a group that becomes lossless has a row already, whose key stays: 0 is the group of what is lossy."""
    clock = Clock()
    rows = lossless_set(switch.config_db(), "dut", ("Ethernet0", "Ethernet4"), (0, 1))
    restorer, configured = changed(switch, rows, clock)
    with restorer.watchdog_stopped() as reservation:
        switch.late(LATE)
        with configured(reservation):
            assert clock.time == 2 * FOLLOW_S + POLLS_S, f"on the way in: {clock.time} s"
            switch.late(LATE)
            clock.time = 0.0
        assert clock.time == 2 * FOLLOW_S + POLLS_S, f"on the way back: {clock.time} s"


def test_another_threshold_is_waited_for_on_the_way_in_and_back(switch):
    """Its row has the same key all the time."""
    clock = Clock()
    rows = {"BUFFER_PROFILE": {NAME: {"dynamic_th": "-4"}}, "BUFFER_PG": {"Ethernet0|0": {"profile": NAME}}}
    restorer, configured = changed(switch, rows, clock)
    with restorer.watchdog_stopped() as reservation:
        switch.late(LATE)
        with configured(reservation):
            assert clock.time == FOLLOW_S + POLLS_S, f"on the way in: {clock.time} s"
            switch.late(LATE)
            clock.time = 0.0
        assert clock.time == FOLLOW_S + POLLS_S, f"on the way back: {clock.time} s"


def test_a_switch_whose_groups_do_not_follow_is_not_measured(switch):
    """It is told by the group; the rows come back, and so does the watchdog."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with restorer.watchdog_stopped() as reservation:
        switch.late(1000)
        with pytest.raises(QualificationError) as error, configured(reservation):
            pytest.fail("the block must not run")
        assert str(error.value) == (
            "vtb-t0-01 Ethernet0 priority group 2: expected a profile that is derived in APPL_DB (BUFFER_PG_TABLE)"
            " 20 s after CONFIG_DB was changed, got none"
        ), str(error.value)
    assert switch.config_db() == before, switch.config_db()


def test_the_watchdog_comes_back_on_a_switch_that_does_not_follow_what_is_put_back(switch):
    """After that the run has to end."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with pytest.raises(QualificationError, match="Ethernet0 priority group 3: expected a profile that is derived"):
        with restorer.watchdog_stopped() as reservation, configured(reservation):
            switch.late(1000)
    assert switch.config_db() == before, switch.config_db()


def test_rows_come_back_when_the_block_breaks(switch):
    """And the failure is told."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with pytest.raises(RuntimeError, match="broke"), restorer.watchdog_stopped() as held, configured(held):
        raise RuntimeError("broke")
    assert switch.config_db() == before, switch.config_db()


def test_a_switch_that_does_not_take_a_row_is_told(switch):
    """By its key; what did not come back at once does at the run's end."""
    before, (restorer, configured) = switch.config_db(), changed(switch)
    with restorer.watchdog_stopped() as reservation:
        switch.command("config", "")
        with pytest.raises(QualificationError) as error, configured(reservation):
            pytest.fail("the block must not run")
        said = str(error.value)
        assert "|Ethernet0" in said and "in CONFIG_DB is not what was written" in said, said
        switch.command("config", CONFIG)
    assert switch.config_db() == before, switch.config_db()
