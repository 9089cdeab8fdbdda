"""The PFC frames that switches counted over time."""

from __future__ import annotations

from tests.common.pfc.evidence.pfc_readings import PfcReadings


def table(direction, counts):
    heads = " ".join(f"PFC{number}" for number in range(8))
    names = f"Port {direction}"
    widths = [max(len(names), 12), *[9] * 8]
    line = "  ".join("-" * width for width in widths)
    rows = [names.rjust(widths[0]) + "  " + "  ".join(one.rjust(9) for one in heads.split()), line]
    rows += [port.rjust(widths[0]) + "  " + "  ".join(str(one).rjust(9) for one in values)
             for port, values in counts.items()]
    return "\n".join(rows)


def printed(rx, tx):
    nothing = [0] * 8
    received = table("Rx", {"Ethernet0": rx, "Ethernet4": nothing})
    return f"{received}\n\n{table('Tx', {'Ethernet0': nothing, 'Ethernet4': tx})}\n"


def read(readings, now_s, rx, tx=(0,) * 8):
    readings.read("dut", {"pfc": "show pfc counters", "x": "show version"}, {"pfc": printed(rx, tx), "x": "y"}, now_s)


def test_counters_are_since_before_the_measurement():
    readings = PfcReadings()
    readings.begin()
    read(readings, 1.0, [5] * 8)
    readings.begin()
    read(readings, 10.0, [5, 5, 5, 45, 5, 5, 5, 5], [0, 0, 7, 0, 0, 0, 0, 0])
    read(readings, 12.5, [5, 5, 5, 50, 5, 5, 5, 5], [0, 0, 7, 0, 0, 0, 0, 0])
    (found,) = readings.evidence(9.0)
    assert found == {"device": "dut", "at_s": [0.0, 1.0, 3.5], "rx": {"Ethernet0 priority 3": [0, 40, 45]},
                     "tx": {"Ethernet4 priority 2": [0, 7, 7]}}, "what each reading counted since the one before"


def test_what_did_not_move_or_cannot_be_read_is_left_out():
    readings = PfcReadings()
    readings.begin()
    read(readings, 1.0, [5] * 8)
    read(readings, 2.0, [5] * 8)
    assert readings.evidence(0.0) == [], "nothing moved"
    readings.read("dut", {"pfc": "show pfc counters"}, {"pfc": "Segmentation fault"}, 3.0)
    read(readings, 4.0, [6] * 8)
    (found,) = readings.evidence(0.0)
    assert found["at_s"] == [1.0, 2.0, 4.0] and len(found["rx"]) == 8, "a reading that is no table is none"


def test_the_first_reading_alone_says_nothing():
    readings = PfcReadings()
    readings.begin()
    read(readings, 1.0, [5] * 8)
    assert readings.evidence(0.0) == [], "there is nothing to compare it with"
