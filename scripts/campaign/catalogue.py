"""The catalogue: every built-in fault with the test cases that must see it, and what must be said of it."""

from __future__ import annotations

from scripts.campaign.entries import ALL, CATALOGUE, FREE, HELD, PORT, CampaignEntry, Declaration
from tests.common.pfc.record.verdict import LOSSLESS, LOSSY, Status

Priorities = frozenset[int]
IN_ERROR = (Status.ERROR,)
BOTH = f"{LOSSLESS} {LOSSY}"


def at_rx(
    name: str, cases: str, priorities: Priorities, metrics: str, says: str, options: str = "",
    verdicts: tuple[Status, ...] = (Status.FAIL,), unseen: str = "",
) -> CampaignEntry:
    """A fault of the port under test, and named there: where pauses arrive, and data leaves.

    Args:
        name: of the built-in fault.
        cases: plan ids of the test cases, in the plan's order; none: by stages.
        priorities, metrics, says, verdicts: as of `Declaration`; metrics in one text.
        options: of its specification, `priority=3`.
        unseen: as of `CampaignEntry`.
    """
    declared = Declaration("rx", priorities, tuple(metrics.split()), says, verdicts)
    return _entry("rx", name, cases, declared, options, unseen)


def at_tx(
    name: str, cases: str, priorities: Priorities, metrics: str, says: str, options: str = "", named: str = "tx",
    verdicts: tuple[Status, ...] = (Status.FAIL,), unseen: str = "",
) -> CampaignEntry:
    """A fault of the port that data comes in on; `named`: the role of the port that has to be named."""
    declared = Declaration(named, priorities, tuple(metrics.split()), says, verdicts)
    return _entry("tx", name, cases, declared, options, unseen)


def _entry(role: str, name: str, cases: str, declared: Declaration, options: str, unseen: str) -> CampaignEntry:
    specification = f"{name}@{{{role}}}{',' if options else ''}{options}"
    return CampaignEntry(CATALOGUE, name, (specification,), declared, tuple(cases.split()), unseen)


FAULTS: tuple[CampaignEntry, ...] = (
    at_rx("watchdog-stop-ignored", "PFC-1 PFC-2", HELD, LOSSLESS,
          "the watchdog goes on although it was stopped", verdicts=IN_ERROR),
    at_rx("counters-frozen", "PFC-1 PFC-2 PFC-3", PORT, BOTH, "the counters of {rx} stand still", "from=120s"),
    at_rx("pause-ignored", "PFC-1 PFC-2 FRAME-1 COUNT-3 TIME-2 TIME-6 CLASS-2 WD-1", HELD, LOSSLESS,
          "pauses of .* stop nothing"),
    at_rx("lossy-queue-paused", "PFC-1 PFC-2 PFC-3 FRAME-1", frozenset({1}), LOSSY,
          "a pause also stops priority 1,.*0, 2, 5, 6 starve behind it"),
    at_rx("pause-leaks", "PFC-1 PFC-2 COUNT-3", HELD, LOSSLESS,
          "some frames of .* leave although their queue is paused"),
    at_rx("slow-response", "PFC-1 TIME-5", HELD, LOSSLESS, "pauses of .* act too late"),
    at_rx("pause-short", "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-1 CLASS-2 CLASS-3", HELD, LOSSLESS,
          "pauses of .* hold for less than their time"),
    at_rx("pause-long", "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-1 CLASS-2", HELD, LOSSLESS,
          "pauses of .* hold for longer than their time"),
    at_rx("times-swapped", "PFC-1 TIME-1 TIME-2 TIME-6 CLASS-1 CLASS-2", HELD, LOSSLESS,
          "pauses of .* last for each other's time"),
    at_rx("times-rounded", "PFC-1 TIME-7 CLASS-1 CLASS-2", HELD, LOSSLESS,
          "pauses of .* hold for less than their time"),
    at_rx("zero-quanta-ignored", "PFC-1 TIME-1 TIME-2 TIME-6 CLASS-2", HELD, LOSSLESS,
          "a pause time of 0 does not let .* go on"),
    at_rx("zero-source-ignored", "PFC-1 FRAME-1 FRAME-2", HELD, LOSSLESS,
          "from 00:00:00:00:00:00 are neither counted nor obeyed"),
    at_rx("empty-vector-honoured", "PFC-1 FRAME-4 FRAME-5 FRAME-6 COUNT-2", ALL, BOTH,
          "enable no priority are obeyed or counted"),
    at_rx("global-pause-honoured", "PFC-1 PFC-4", ALL, BOTH, "802.3x pause frames are taken for PFC"),
    at_rx("unknown-opcode-honoured", "PFC-1 FRAME-7", HELD, LOSSLESS,
          "control frames of another operation code are obeyed"),
    at_rx("any-destination-honoured", "PFC-1 FRAME-8", HELD, LOSSLESS,
          "PFC frames to another destination are obeyed"),
    at_rx("pfc-not-counted", "PFC-1 PFC-3 COUNT-1", ALL, BOTH, "pauses of .* act, but are not counted"),
    at_rx("pfc-miscounted", "PFC-1 PFC-2 PFC-3 COUNT-1", ALL, BOTH,
          "pauses of .* are counted for .*, which they are not for"),
    at_rx("pfc-counted-as-data", "PFC-1 COUNT-1 COUNT-3", PORT, LOSSLESS, "pauses are counted as data"),
    at_rx("pfc-counted-as-drop", "PFC-1 COUNT-1 COUNT-3", PORT, LOSSLESS, "pauses are counted as drops"),
    at_rx("pfc-forwarded", "PFC-1 PFC-3 FRAME-8", ALL, BOTH, "pause frames are forwarded to other ports"),
    at_rx("lossless-dropped", "PFC-1 PFC-4 FRAME-1 SENT-1 LOAD-1 COUNT-3 M2O-2", HELD, LOSSLESS,
          "frames of .* are lost on their way out, also without", "one_in=4"),
    at_rx("lossy-dropped", "PFC-1 PFC-3 FRAME-1 LOAD-1 COUNT-3 M2O-1", FREE, LOSSY,
          "frames of .* are lost on their way out, also without", "one_in=4"),
    at_rx("frames-copied", "PFC-1 LOAD-1 COUNT-3", ALL, BOTH,
          "more frames of .* arrive than are sent", "one_in=5000"),
    at_rx("counters-negative", "PFC-1 PFC-2", HELD, LOSSLESS, "counter of .* lacks .* only, as if it began below 0"),
    at_rx("weights-ignored", "M2O-3", ALL, LOSSLESS, "the line is not shared by the queues' weights"),
    at_rx("weights-forgotten", "FLAP-5", ALL, BOTH, "the line is not shared by the queues' weights"),
    at_rx("pfc-lost-with-watchdog", "WD-16", HELD, LOSSLESS,
          "pauses of .* stop nothing any more once the watchdog was stopped in a storm"),
    at_rx("weights-reset", "M2O-7", FREE, LOSSY, "the line is not shared by the queues' weights"),
    at_rx("weights-kept", "M2O-7", FREE, LOSSY, "the line is not shared by the queues' weights"),
    at_tx("headroom-reclaimed", "FLAP-5", HELD, LOSSLESS,
          "no pause is sent for .* any more once the port was shut down and started"),
    at_tx("headroom-divided", "LSET-7", ALL, LOSSLESS, "headroom is too small"),
    at_tx("headroom-missing", "PFC-1 COUNT-3 M2O-1 HEAD-1 HEAD-3", HELD, LOSSLESS,
          "pauses are sent for .*, but frames that come in after"),
    at_tx("xoff-not-sent", "PFC-1 PFC-2 SENT-1 COUNT-3 M2O-1 HEAD-1", HELD, LOSSLESS,
          "no pause is sent for .*, and its sender is not held"),
    at_tx("xoff-one-priority-only", "PFC-2 SENT-2", HELD, LOSSLESS, "only the lowest priority of a group is paused",
          unseen="no two priorities share a group with SONiC's maps, so it does nothing"),
    at_tx("xoff-wrong-priority", "PFC-1 PFC-2 SENT-1 M2O-1 HEAD-2", frozenset({0}), LOSSY,
          "pauses are sent for priority {priority} too while others are congested"),
    at_tx("xon-late", "SENT-1 SENT-2 SENT-3", HELD, LOSSLESS, "the end of congestion is told to senders of .* later"),
    at_tx("xon-not-sent", "PFC-1 TIME-5 SENT-1", HELD, LOSSLESS, "the end of congestion is not told to senders"),
    at_tx("refresh-missing", "PFC-1 SENT-1", HELD, LOSSLESS, "the pause sent for .* is not repeated in time"),
    at_tx("pfc-unasked", "TIME-4 LOAD-1", frozenset({0}), LOSSY,
          "pauses of priority {priority} are sent although nothing is congested", "priority=0,period_ms=700"),
    at_tx("zero-source-sent", "PFC-1 SENT-1", PORT, LOSSLESS, "pause frames have a wrong source .*00:00:00:00:00:00"),
    at_tx("malformed-pfc-sent", "PFC-1 SENT-1", PORT, LOSSLESS, "pause frames that are sent end too early"),
    at_rx("watchdog-blind", "WD-1 WD-2 WD-3 WD-5", HELD, LOSSLESS, "the watchdog does not detect the pause storm"),
    at_rx("watchdog-false-alarm", "WD-4", HELD, LOSSLESS, "the watchdog detects a storm on .* where there is none"),
    at_rx("watchdog-late", "WD-1 WD-5", HELD, LOSSLESS, "the watchdog detects storms on .* later than it is told to"),
    at_rx("watchdog-leaks", "WD-1 WD-2", HELD, LOSSLESS, "the watchdog detects the storm, but does not drop"),
    at_rx("watchdog-wide", "WD-1 WD-2", ALL, BOTH, "the watchdog's action also hits"),
    at_rx("watchdog-never-restores", "WD-1 WD-2 WD-5", HELD, LOSSLESS,
          "the watchdog does not restore .* after the storm"),
    at_rx("watchdog-uncounted", "WD-1 WD-2", HELD, LOSSLESS, "the watchdog acts, but does not count it for"),
    at_rx("pfc-removal-ignored", "LSET-1 LSET-5", ALL, LOSSY,
          "stop .*, which the configuration took out of pfc_enable"),
    at_rx("drops-uncounted", "M2O-2", PORT, LOSSY, "dropped frames are not counted"),
    at_rx("pause-outlives-flap", "PFC-1 FLAP-2 FLAP-3", HELD, LOSSLESS,
          "a pause of .* outlives the link's going down"),
    at_rx("resume-all", "PFC-1 CLASS-1 CLASS-2 CLASS-3", HELD, LOSSLESS,
          "a pause time of 0 for one priority ends the pauses of all"),
    at_rx("pause-replaces", "PFC-1 CLASS-1 CLASS-2 CLASS-3", HELD, LOSSLESS,
          "a PFC frame ends the pauses of .* that it does not enable"),
    at_rx("refresh-ignored", "PFC-1 TIME-1 TIME-2 TIME-3 TIME-6 CLASS-2", HELD, LOSSLESS,
          "a further pause of .* is ignored while the first lasts"),
    at_rx("shorter-ignored", "PFC-1 TIME-1 TIME-6 CLASS-2", HELD, LOSSLESS,
          "a shorter pause of .* does not shorten the one before"),
    at_rx("one-time-for-all", "PFC-1 TIME-6 CLASS-1 CLASS-2", HELD, LOSSLESS,
          "paused for one time, not each for its own"),
    at_rx("pause-acts-elsewhere", "PFC-1 PFC-2", HELD, LOSSLESS,
          "arrives at {rx} also holds .* at {beside}", "on={beside}"),
    at_rx("pfc-counted-elsewhere", "PFC-1 COUNT-1", HELD, LOSSLESS,
          "pauses that arrive there are counted at {beside} too", "on={beside}"),
    at_rx("pause-ignored-after-link-up", "PFC-1 FLAP-2 FLAP-4", HELD, LOSSLESS,
          "link has come up pauses of .* stop nothing"),
    at_rx("size-dropped", "PFC-1 SIZE-1 SIZE-2 SIZE-4", ALL, BOTH,
          "frames of the sizes of SIZE-1 are lost, others are not", "max=200"),
    at_tx("misclassified", "PFC-1", frozenset({3}), BOTH,
          "priority 3 that come in on {tx} leave {rx} by queue UC0", "dscp=3,to=0", named="rx", verdicts=IN_ERROR),
    at_tx("xoff-elsewhere", "PFC-1 PFC-2", HELD, LOSSLESS,
          "pauses of .* that hold .* are sent out of {beside} too", "on={beside}"),
    at_tx("xoff-from-lossy", "PFC-1 M2O-2 COUNT-3", frozenset({0}), LOSSY,
          "priority {priority} is paused when lossy frames are dropped"),
    at_rx("watchdog-action-missing", "WD-1 WD-2 WD-3", HELD, LOSSLESS,
          "the watchdog detects the storm, but does nothing about"),
    at_rx("watchdog-restores-late", "WD-1 WD-5", HELD, LOSSLESS, "the watchdog restores .* later than it is told to"),
    at_rx("watchdog-undo-missing", "WD-1 WD-2", HELD, LOSSLESS, "counts .* as restored, but goes on acting on it"),
    at_rx("watchdog-second-storm-missed", "WD-1 WD-5 WD-8 WD-10", HELD, LOSSLESS,
          "detects no further storm on .* after the first"),
    at_rx("drops-counted-as-sent", "PFC-1 M2O-2", FREE, LOSSY, "dropped frames are counted as sent"),
    at_rx("sent-counted-as-received", "PFC-1 COUNT-1 COUNT-3", PORT, LOSSLESS,
          "frames that leave are counted as received"),
    at_rx("counters-of-another", "PFC-1", PORT, BOTH,
          "the counters of {rx} are those of {beside}", "of={beside}", verdicts=IN_ERROR),
    at_rx("queue-miscounted", "PFC-1", PORT, BOTH,
          "each queue of .* shows the counters of the queue before it", verdicts=IN_ERROR),
    at_rx("bytes-miscounted", "COUNT-3", ALL, BOTH, "the bytes of .* are not counted as many as its frames have"),
    at_rx("octets-miscounted", "COUNT-3", PORT, LOSSLESS, "the bytes that {rx} counts are not those of its frames"),
    at_rx("drop-bytes-miscounted", "M2O-2", FREE, LOSSY,
          "the bytes of .* that are dropped are not those of its frames"),
    at_rx("queue-watermarks-miscounted", "HEAD-3", HELD, LOSSLESS, "the watermarks of the queues of .* do not show"),
    at_rx("counters-wrap", "PFC-1", PORT, BOTH,
          "begin anew when they have reached what 32 bits can count", verdicts=IN_ERROR),
    at_rx("counters-late", "PFC-1 PFC-2 PFC-3", PORT, BOTH, "the counters of {rx} are late", "from=60s"),
    at_rx("held-frames-aged", "PFC-1 PFC-2 SENT-1 COUNT-3 M2O-1", HELD, LOSSLESS,
          "frames of .* that are held for long are dropped"),
    at_rx("aging-stays-on", "PFC-1 PFC-2", HELD, LOSSLESS, "frames of .* that are held for long are dropped",
          unseen="it drops no frame, and this switch has no vendor's command that it could keep from acting"),
    at_rx("pause-late", "PFC-1 TIME-5", HELD, LOSSLESS, "pauses of .* act too late", "ns=1200"),
    at_rx("counted-short", "PFC-1", HELD, LOSSLESS, "the receive counter of .* is not the number of pauses sent"),
    at_tx("headroom-short", "HEAD-1 HEAD-3", HELD, LOSSLESS, "pauses are sent for .*, but frames that come in after"),
    at_tx("xoff-early", "HEAD-3", HELD, LOSSLESS, "the first pause for .* is sent at another fill than the buffer"),
    at_rx("storm-never-arrives", "PFC-1 PFC-4 FRAME-4", PORT, BOTH,
          "nothing shows that pauses arrive there", verdicts=IN_ERROR),
    at_rx("control-uncounted", "PFC-1 PFC-4 FRAME-7", PORT, BOTH,
          "nothing shows that pauses arrive there", verdicts=IN_ERROR),
    at_rx("finished-flows-stay-started", "PFC-1 LOAD-1", PORT, BOTH, "the traffic generator",
          unseen="no switch is at fault, and the suite starts no flow twice that has finished by itself"),
    at_tx("maps-unbound", "PFC-1 PFC-2", ALL, BOTH, "that come in on {tx} leave {rx} by queue UC0", named="rx",
          verdicts=IN_ERROR),
    at_tx("map-entry-wrong", "PFC-1 PFC-2 M2O-1 HEAD-1", frozenset({4}), LOSSLESS,
          "no pause is sent for priority 4, and its sender is not held", "priority=4,to=0"),
    at_tx("maps-kept", "PFC-1 LSET-1 TAG-1", ALL, BOTH,
          "leave by other queues than their own where the switch is configured", named="rx"),
    at_tx("lossless-groups-missing", "PFC-1 PFC-2 COUNT-3 M2O-1 HEAD-1", HELD, LOSSLESS,
          "no pause is sent for .*, and its sender is not held"),
    at_tx("buffer-change-lost", "HEAD-3 HEAD-4", HELD, LOSSLESS, "the first pause for .* is sent at another fill than"),
    at_rx("egress-limited", "PFC-1 PFC-2 COUNT-3 M2O-1 M2O-6", HELD, LOSSLESS,
          "frames of .* are dropped where they leave"),
    at_rx("watchdog-action-kept", "WD-1 WD-3 WD-11", HELD, LOSSLESS,
          "the watchdog detects the storm, but does not drop"),
    at_rx("watchdog-set-kept", "WD-1 LSET-1", ALL, LOSSLESS, "the watchdog does not detect the pause storm",
          unseen="SONiC does so: what the watchdog watches is settled when it is started (sonic-swss#842, open)"),
    at_rx("watchdog-any-pause", "WD-1 WD-4", HELD, LOSSLESS, "the watchdog detects a storm on .* where there is none"),
    at_rx("watchdog-restores-in-storm", "WD-1 WD-2 WD-5", HELD, LOSSLESS,
          "the watchdog restores .* while the storm goes on"),
    at_rx("watchdog-hits-another", "WD-1 WD-3", HELD, LOSSLESS, "the watchdog's action hits .* instead of",
          "priority=3,to=4"),
    at_rx("watchdog-drops-counted-as-sent", "WD-1 WD-5", HELD, LOSSLESS,
          "counts frames of .* that it drops as passed"),
    at_rx("drops-counted-twice", "M2O-2 COUNT-3", PORT, LOSSY, "frames that are dropped are counted more than once"),
    at_tx("watermarks-frozen", "PFC-1 COUNT-3 HEAD-3", HELD, LOSSLESS, "the watermarks of .* stand still"),
    at_rx("watchdog-one-port-only", "WD-1 WD-6", HELD, LOSSLESS,
          "the watchdog does not detect a storm on .* while another"),
)
