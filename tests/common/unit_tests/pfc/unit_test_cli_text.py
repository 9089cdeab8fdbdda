"""Parsers against output recorded from SONiC's commands."""

import pytest

from tests.common.pfc.lab import cli_text as sonic_text
from tests.common.pfc.model.counters import changed
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.ports import PortState

PFC = """\
Last cached time was 2026-11-20 13:00:00
  Port Rx    PFC0    PFC1    PFC2       PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ---------  ------  ------  ------  ------
Ethernet0   1,200     201     202  1,234,567     204     205     206     207
Ethernet4       0       0       0          0       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       1       2       3       4       5       6       7
Ethernet4       0       0       0       0       0       0       0       0
"""
QUEUES = """\
For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0               0                0            0             0
Ethernet0    UC3          12,345       12,641,280            0             0
Ethernet0    UC9             N/A              N/A          N/A           N/A
Ethernet0    MC0             N/A              N/A          N/A           N/A
"""
STATUS = """\
  Interface        Lanes    Speed    MTU    FEC        Alias    Vlan    Oper    Admin             Type    Asym PFC
-----------  -----------  -------  -----  -----  -----------  ------  ------  -------  ---------------  ----------
  Ethernet0  65,66,67,68     100G   9100     rs  Ethernet1/1   trunk      up       up  QSFP28 or later         N/A
  Ethernet4  69,70,71,72      40G   9100    N/A  Ethernet2/1  routed    down       up              N/A         N/A
  Ethernet8  73,74,75,76      N/A   9100    N/A  Ethernet3/1  routed    down     down              N/A         N/A
"""
WATCHDOG = """\
      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3      stormed                      12/11       100/300       100/300              0/200              0/200
"""
NO_STORMS = """\
  QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-------  --------  -------------------------  ------------  ------------  -----------------  -----------------
"""


def test_pfc_counters():
    """Both tables, thousands separators, and the line of a cleared counter."""
    received, sent = sonic_text.pfc_counters(PFC, "Rx"), sonic_text.pfc_counters(PFC, "Tx")
    assert received["Ethernet0"] == (1200, 201, 202, 1234567, 204, 205, 206, 207), received
    assert sent["Ethernet0"] == (0, 1, 2, 3, 4, 5, 6, 7), sent
    assert list(received) == ["Ethernet0", "Ethernet4"], list(received)


def test_ports_without_pfc_counters_are_left_out():
    """Management and backplane ports; those that are asked for are missed by name."""
    received = sonic_text.pfc_counters(PFC.replace("1,200", "  N/A"), "Rx")
    assert list(received) == ["Ethernet4"], list(received)
    with pytest.raises(QualificationError, match="printed no row for Ethernet0, or N/A in it"):
        changed(received, received, "Ethernet0")


@pytest.mark.parametrize(
    "text, sentence",
    [
        (PFC.replace("1,200", "  ???"), "the switch printed '???' where a counter belongs"),
        ("Traceback ...", "`show pfc counters` printed no table with a column `Port Rx`: 'Traceback ...'"),
        ("Port Rx    PFC0\n---------  ----\n",
         "printed no port, as on a switch that restarts, with a column `Port Rx`: 'Port Rx    PFC0'"),
    ],
)
def test_unreadable_pfc_counters_are_refused(text, sentence):
    """Never taken for 0."""
    with pytest.raises(QualificationError) as error:
        sonic_text.pfc_counters(text, "Rx")
    assert sentence in str(error.value), str(error.value)


def test_a_column_that_is_missing_is_no_number():
    """Of an image that prints other columns: the port is missed by name, a queue's storms are refused."""
    assert sonic_text.pfc_counters(PFC.replace("PFC3", "PFCX"), "Rx") == {}, "no port has all eight"
    with pytest.raises(QualificationError, match="`pfcwd show stats` has no column STATUS: 'QUEUE"):
        sonic_text.watchdog_rows(WATCHDOG.replace("STATUS", "STATES"))


def test_queue_packets():
    """Unicast queues only; a queue that is not counted is absent."""
    found = sonic_text.queue_packets(QUEUES, "Ethernet0")
    assert found == {0: 0, 3: 12345}, found
    with pytest.raises(QualificationError, match="no counted unicast queue"):
        sonic_text.queue_packets(QUEUES, "Ethernet4")


def test_interface_states():
    """Columns by their place, so that a type with spaces does no harm; no speed is 0."""
    states = sonic_text.interface_states(STATUS)
    assert states == {
        "Ethernet0": PortState(True, True, 100000),
        "Ethernet4": PortState(False, True, 40000),
        "Ethernet8": PortState(False, False, 0),
    }, states


def test_watchdog_rows():
    """A queue's storms; a switch that never stormed prints no row."""
    row = sonic_text.WatchdogRow(
        "stormed", 12, 11, tx_ok=100, tx_dropped=300, rx_ok=100, rx_dropped=300, last=(0, 200, 0, 200)
    )
    assert sonic_text.watchdog_rows(WATCHDOG) == {"Ethernet0:3": row}, WATCHDOG
    assert sonic_text.watchdog_rows(NO_STORMS) == {}, NO_STORMS
    assert sonic_text.watchdog_rows("") == {}, "an empty answer has no rows"
    with pytest.raises(QualificationError, match="^`pfcwd show stats` has no column TX LAST OK/DROP: 'QUEUE"):
        sonic_text.watchdog_rows(WATCHDOG.replace("TX LAST", "TX NEXT"))
    not_polled = "^the switch printed 'N/A' where a counter belongs: its counters are not being polled$"
    for text, sentence in (("N/A  ", not_polled), ("1?/11", "^the switch printed '1[?]' where a counter belongs$")):
        with pytest.raises(QualificationError, match=sentence):
            sonic_text.watchdog_rows(WATCHDOG.replace("12/11", text))


def test_version_fields():
    """`Name: value` lines."""
    fields = sonic_text.version_fields("\nSONiC Software Version: SONiC.20260831.01\nASIC: broadcom\nASIC Count: 1\n")
    assert (fields["SONiC Software Version"], fields["ASIC"]) == ("SONiC.20260831.01", "broadcom"), fields
