"""The museum: bugs that real switches had, as the trackers of sonic-net's repositories have them, each as the fault of
a virtual switch that behaves like it. docs/museum.md tells them, with what of them a run of the suite sees."""

from __future__ import annotations

from scripts.campaign.entries import ALL, BOTH, FREE, HELD, PORT, Declaration, FieldBug
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status

IN_ERROR = (Status.FAIL, Status.ERROR)
BUILDIMAGE = "sonic-buildimage"
SWSS = "sonic-swss"
MGMT = "sonic-mgmt"
SONIC = "SONiC"
ZERO = frozenset({0})
ONE = frozenset({1})
THREE = frozenset({3})
FOUR = frozenset({4})


def seen_at_rx(priorities: frozenset[int], says: str, metrics: tuple[str, ...] = (LOSSLESS,)) -> Declaration:
    """What must be said of the port under test."""
    return Declaration("rx", priorities, metrics, says)


def seen_at_tx(priorities: frozenset[int], says: str, metrics: tuple[str, ...] = (LOSSLESS,)) -> Declaration:
    """What must be said of the port that data comes in on."""
    return Declaration("tx", priorities, metrics, says)


WATCHDOG = (
    FieldBug.of(
        BUILDIMAGE, 8483,
        "On a Z9332 the watchdog did not act on a pause storm; the switch went on pausing the sender instead.",
        ("watchdog-blind@{rx}",), seen_at_rx(HELD, "the watchdog does not detect the pause storm"), ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 9432,
        "Storms began on two ports one after the other; the second one was seen only once the first had ended.",
        ("watchdog-one-port-only@{rx}",),
        seen_at_rx(HELD, "the watchdog does not detect a storm on .* while another"), ("WD-6",)),
    FieldBug.of(
        BUILDIMAGE, 29203,
        "With all lossless priorities of a port in storm the watchdog restored and detected them again and again,"
        " because pauses are not counted where it has switched PFC off.",
        ("watchdog-restores-in-storm@{rx},all=yes",),
        seen_at_rx(HELD, "the watchdog restores .* while the storm goes on"), ("WD-2",)),
    FieldBug.of(
        BUILDIMAGE, 5898, "After a storm was over and counted as restored, frames of that queue went on being dropped.",
        ("watchdog-undo-missing@{rx},only=dropping",), seen_at_rx(HELD, "counts .* as restored, but goes on acting"),
        ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 8181, "A queue was in storm with action drop, and frames got through all the same.",
        ("watchdog-leaks@{rx}",), seen_at_rx(HELD, "detects the storm, but does not drop"), ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 21552, "In a storm with action drop what came in on the port was forwarded, on some ports.",
        ("watchdog-leaks@{rx},only=received",), seen_at_rx(HELD, "detects the storm, but does not drop"), ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 26359, "A watchdog that was changed from forward to drop while it ran went on forwarding.",
        ("watchdog-action-kept@{rx}",), seen_at_rx(HELD, "detects the storm, but does not drop"), ("WD-1", "WD-11")),
    FieldBug.of(
        BUILDIMAGE, 23444, "A storm was detected with action drop; the switch paused the sender instead of dropping.",
        ("watchdog-action-missing@{rx}",), seen_at_rx(HELD, "detects the storm, but does nothing about"), ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 17446, "The action drop did not drop IPv6 frames.",
        ("watchdog-leaks@{rx}",), seen_at_rx(HELD, "detects the storm, but does not drop"), ("WD-1",), ip_version=6),
    FieldBug.of(
        SWSS, 702, "The action forward switched PFC off for the other lossless priorities, not for the one in storm.",
        ("watchdog-hits-another@{rx},priority=3,to=4",),
        seen_at_rx(HELD, "the watchdog detects the storm, but does nothing about"), ("WD-3",)),
    FieldBug.of(
        SWSS, 842, "PFC was enabled for another priority while the watchdog ran: it did not watch that one.",
        ("watchdog-set-kept@{rx}",), seen_at_rx(ALL, "the watchdog"), ("WD-1", "LSET-1")),
    FieldBug.of(
        SWSS, 1586, "Pause times were converted by the port's speed: when the link flapped a storm was detected.",
        ("watchdog-false-alarm@{rx}",), seen_at_rx(HELD, "detects a storm on .* where there is none"), ("FLAP-1",)),
    FieldBug.of(
        SWSS, 3036, "A pause at the end of an interval between two polls was enough for a storm.",
        ("watchdog-any-pause@{rx}",), seen_at_rx(HELD, "detects a storm on .* where there is none"), ("WD-4",)),
    FieldBug.of(
        BUILDIMAGE, 3964, "Storms were detected, and queues restored, later than the configured times.",
        ("watchdog-late@{rx},factor=2", "watchdog-restores-late@{rx},factor=2"),
        seen_at_rx(HELD, "the watchdog (detects storms on|restores) .* later than it is told to"), ("WD-5",)),
    FieldBug.of(
        BUILDIMAGE, 29705, "On a busy switch polls came late, taken for punctual ones: queues were restored too late.",
        ("watchdog-restores-late@{rx},factor=3",), seen_at_rx(HELD, "restores .* later than it is told to"), ("WD-5",)),
    FieldBug.of(
        SWSS, 4581, "A storm's frames turned into frames of pause time 0; the queue stayed in storm.",
        ("watchdog-never-restores@{rx}",), seen_at_rx(HELD, "the watchdog does not restore"), ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 19067, "Frames that the watchdog dropped just before it restored a queue were not counted.",
        ("counted-short@{rx},of=watchdog-drops",), seen_at_rx(HELD, "the watchdog acts, but does not count it"),
        ("WD-5",)),
    FieldBug.of(
        BUILDIMAGE, 5821, "The watchdog's total of dropped frames was wrong.",
        ("watchdog-uncounted@{rx},only=frames",), seen_at_rx(HELD, "the watchdog acts, but does not count it"),
        ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 29663, "What came in on a port in storm was dropped; the statistics of received drops stayed 0.",
        ("watchdog-uncounted@{rx},only=received",), seen_at_rx(HELD, "the watchdog acts, but does not count it"),
        ("WD-1",)),
    FieldBug.of(
        BUILDIMAGE, 17434, "Frames that the watchdog dropped were in its statistics as frames that passed.",
        ("watchdog-drops-counted-as-sent@{rx}",), seen_at_rx(HELD, "counts frames of .* that it drops as passed"),
        ("WD-1",)),
)
PAUSES_RECEIVED = (
    FieldBug.of(
        BUILDIMAGE, 23441, "Pauses of a lossy priority stopped a lossy queue.",
        ("lossy-queue-paused@{rx}",), seen_at_rx(ONE, "a pause also stops priority 1", (LOSSY,)), ("PFC-3",)),
    FieldBug.of(
        BUILDIMAGE, 5540, "PFC frames that the port took were not counted as received.",
        ("pfc-not-counted@{rx}",), seen_at_rx(ALL, "act, but are not counted", BOTH), ("PFC-1",)),
    FieldBug.of(
        MGMT, 4702, "Pauses of one priority were counted for another one, too.",
        ("pfc-miscounted@{rx}",), seen_at_rx(ALL, "are counted for .*, which they are not for", BOTH), ("PFC-1",)),
    FieldBug.of(
        MGMT, 8239, "Some versions did not count PFC frames whose source address was all zero.",
        ("zero-source-ignored@{rx}",), seen_at_rx(HELD, "from 00:00:00:00:00:00 are neither counted nor obeyed"),
        ("FRAME-1",)),
    FieldBug.of(
        MGMT, 6638, "PFC frames that are counted as data.",
        ("pfc-counted-as-data@{rx}",), seen_at_rx(PORT, "pauses are counted as data"), ("COUNT-1",)),
    FieldBug.of(
        MGMT, 6733, "PFC frames that enable no priority are counted and obeyed.",
        ("empty-vector-honoured@{rx}",), seen_at_rx(ALL, "enable no priority are obeyed or counted", BOTH),
        ("FRAME-5",)),
    FieldBug.of(
        MGMT, 6223, "A pause that takes effect later than the standard's response time.",
        ("slow-response@{rx}",), seen_at_rx(HELD, "act too late"), ("TIME-5",)),
    FieldBug.of(
        MGMT, 9843, "A pause that does not last for the time that its frame asks for.",
        ("pause-short@{rx}",), seen_at_rx(HELD, "hold for less than their time"), ("TIME-2",)),
    FieldBug.of(
        BUILDIMAGE, 19648, "Now and then a few lossless frames were lost in a pause storm.",
        ("lossless-dropped@{rx},one_in=5000",), seen_at_rx(HELD, "lost|dropped"), ("PFC-1", "COUNT-3")),
)
PAUSES_SENT = (
    FieldBug.of(
        BUILDIMAGE, 25675, "A congested port that encrypts its links (MACsec) sent no pause.",
        ("xoff-not-sent@{tx}",), seen_at_tx(HELD, "no pause is sent for"), ("PFC-1",)),
    FieldBug.of(
        BUILDIMAGE, 17886, "With one lossless priority congested the switch paused the other one too.",
        ("xoff-wrong-priority@{tx},priority=3,also=4",), seen_at_tx(HELD, "pauses are sent for .* too while others"),
        ("PFC-1",)),
    FieldBug.of(
        BUILDIMAGE, 20590, "A port with too much traffic paused lossy priority 0 too.",
        ("xoff-wrong-priority@{tx}",), seen_at_tx(ZERO, "pauses are sent for .* too while others", (LOSSY,)),
        ("M2O-1",)),
    FieldBug.of(
        MGMT, 20075, "Two lossless priorities were congested alike, and only one of them was paused.",
        ("xoff-not-sent@{tx},priority=4",), seen_at_tx(FOUR, "no pause is sent for"), ("M2O-1",)),
    FieldBug.of(
        BUILDIMAGE, 9430, "After a storm the switch sent pauses of its own although nothing was congested.",
        ("pfc-unasked@{tx},priority=3,period_ms=700",),
        seen_at_tx(THREE, "sent although nothing is congested|sent out of .* where nothing is congested"), ("LOAD-1",)),
    FieldBug.of(
        MGMT, 14203, "The pause threshold in the hardware was a little lower than the configured one.",
        ("xoff-early@{tx}",), seen_at_tx(HELD, "sent at another fill than"), ("HEAD-3",)),
    FieldBug.of(
        MGMT, 20422, "The headroom for 400 Gb/s and 50 m was too small: a few lossless frames were lost.",
        ("headroom-short@{tx}",), seen_at_tx(HELD, "frames that come in after them are lost"), ("HEAD-3",)),
    FieldBug.of(
        MGMT, 14005, "Lossless frames were dropped before the headroom was full.",
        ("headroom-short@{tx},bytes=83200",), seen_at_tx(HELD, "lost|dropped although there is room"), ("HEAD-1",)),
    FieldBug.of(
        SONIC, 480, "Lossless groups had a headroom of 0: frames that came in after the pause were dropped.",
        ("headroom-missing@{tx}",), seen_at_tx(HELD, "frames that come in after them are lost"), ("COUNT-3", "M2O-1")),
    FieldBug.of(
        MGMT, 17149, "Lossless frames were dropped where they leave, by a limit of their queue.",
        ("egress-limited@{rx}",), seen_at_rx(HELD, "dropped where they leave"),
        ("PFC-1", "COUNT-3", "M2O-1")),
)
CONFIGURATION = (
    FieldBug.of(
        MGMT, 6602, "A port that joined a LAG lost its DSCP map: its frames were of traffic class 0.",
        ("maps-unbound@{tx}",),
        Declaration("rx", ALL, BOTH, "leave {rx} by queue UC0", IN_ERROR), ("PFC-1",)),
    FieldBug.of(
        SWSS, 3234, "After a breakout the QoS configuration of a port came before the port, and was lost.",
        ("maps-unbound@{tx},map=all",),
        Declaration("rx", ALL, BOTH, "leave {rx} by queue UC0", IN_ERROR), ("PFC-1",)),
    FieldBug.of(
        BUILDIMAGE, 27310, "DSCP 4 was traffic class 0 in the hardware, 4 in the configuration.",
        ("misclassified@{tx},dscp=4,to=0",),
        Declaration("rx", FOUR, BOTH, "leave .* by queue UC0", IN_ERROR), ("PFC-1",)),
    FieldBug.of(
        BUILDIMAGE, 28832, "The hardware's map led lossy traffic classes to another priority group than configured.",
        ("map-entry-wrong@{tx},priority=1,to=7",), seen_at_tx(ONE, "priority group", (LOSSY,)),
        ("PFC-1", "M2O-2", "HEAD-3", "LOAD-2")),
    FieldBug.of(
        BUILDIMAGE, 29487, "QoS maps that were removed from the configuration stayed in the hardware.",
        ("maps-kept@{rx}", "maps-kept@{tx}"), Declaration("rx", ALL, BOTH, "leave by other queues than their own"),
        ("LSET-1", "TAG-1")),
    FieldBug.of(
        BUILDIMAGE, 23354, "After a breakout the lossless groups of the new ports had the profile of lossy ones.",
        ("lossless-groups-missing@{tx}",), seen_at_tx(HELD, "no pause is sent for"), ("PFC-1",)),
    FieldBug.of(
        SWSS, 1467, "A buffer profile that was changed did not reach the priority group.",
        ("buffer-change-lost@{tx}",), seen_at_tx(HELD, "sent at another fill than"), ("WD-8", "HEAD-4")),
    FieldBug.of(
        SWSS, 1055, "A priority that was taken out of pfc_enable stayed lossless.",
        ("pfc-removal-ignored@{rx}",), seen_at_rx(ALL, "which the configuration took out of pfc_enable", (LOSSY,)),
        ("LSET-1",)),
)
COUNTERS = (
    FieldBug.of(
        BUILDIMAGE, 5206, "PFC and queue counters were negative after a clear.",
        ("counters-negative@{rx}",), seen_at_rx(HELD, "as if it began below 0"), ("PFC-1", "PFC-2")),
    FieldBug.of(
        BUILDIMAGE, 28840, "Frames that were dropped on their way out were not in the counter of drops.",
        ("drops-uncounted@{rx}",), seen_at_rx(PORT, "dropped frames are not counted", BOTH), ("M2O-2",)),
    FieldBug.of(
        BUILDIMAGE, 21007, "The queue's counter of sent frames had the dropped ones in it too.",
        ("drops-counted-as-sent@{rx},too=yes",), seen_at_rx(FREE, "dropped frames are counted as sent, too", BOTH),
        ("M2O-2",)),
    FieldBug.of(
        BUILDIMAGE, 19730, "Members of a port channel showed the drops of a congestion twice.",
        ("drops-counted-twice@{rx}",), seen_at_rx(PORT, "dropped are counted more than once", BOTH), ("M2O-2",)),
    FieldBug.of(
        BUILDIMAGE, 24745, "A port without traffic showed the drops of another port as its own.",
        ("counters-of-another@{beside},of={rx},only=drops",),
        Declaration("beside", PORT, BOTH, "drops of another port are counted at {beside}"), ("M2O-2",)),
    FieldBug.of(
        MGMT, 3736, "After a fast reboot no counter was polled any more: all of them stood still.",
        ("counters-frozen@{rx}",), Declaration("rx", PORT, BOTH, "stand still", IN_ERROR), ("PFC-1",)),
    FieldBug.of(
        SWSS, 2494, "Watermarks were polled only where the counters of queues were, too: they stood still.",
        ("watermarks-frozen@{tx}",), seen_at_tx(HELD, "the watermarks of .* stand still"), ("PFC-1", "HEAD-3")),
)
MUSEUM: tuple[FieldBug, ...] = (*WATCHDOG, *PAUSES_RECEIVED, *PAUSES_SENT, *CONFIGURATION, *COUNTERS)
