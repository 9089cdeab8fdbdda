"""The command `pfctest`."""
from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from pfctest import options, report, storm, workers
from pfctest.frame import FrameError
from pfctest.interface import InterfaceError
from pfctest.options import EXIT_REFUSED, OptionError, StormRequest
from pfctest.pcap import write
from pfctest.sender import SendError

EXIT_OPEN = 1
EXIT_INTERRUPTED = 128 + signal.SIGINT
"""As a shell says it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 0, 1 when a storm was open for too long, 2 when nothing or not all was sent.

    SIGINT while nothing is sent gives 130; it ends what is being sent in good order, and the status is another one.
    """
    try:
        return _run(options.read(arguments))
    except (OptionError, FrameError, InterfaceError, SendError) as error:
        return _end_with(str(error))
    except OSError as error:
        return _end_with(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        _end_with("interrupted by SIGINT")
        return EXIT_INTERRUPTED


def _run(request: StormRequest) -> int:
    plan = storm.plan(request)
    if request.pcap is not None:
        kinds = [*plan.frames, *(plan.releases if request.is_timed else ())]
        write(request.pcap, dict.fromkeys(kinds), time.time_ns())
    if request.dry_run:
        found = report.planned(request, plan)
        _print(request, found, report.text_of_plan(found))
        return 0
    storm_report = workers.run(request, plan)
    found = report.achieved(request, plan, storm_report)
    _print(request, found, report.text_of_report(found))
    return _end_with(storm_report.failure) if storm_report.failure else _judge(request, storm_report)


def _judge(request: StormRequest, storm_report: storm.StormReport) -> int:
    """0, or 1 when a storm did not keep the queue shut; one that was not measured did not, unless it was cut short."""
    if not request.is_timed or not request.frame_spec.shortest_quanta:
        return 0
    if storm_report.gaps.sends < 2 or storm_report.gaps.open_share is None:
        if storm_report.counts.refused:
            return _end_with("the storm cannot be judged, as in no two sends every interface took its frame: "
                             + report.taken(storm_report.counts.by_interface))
        if storm_report.ended_by in signal.Signals.__members__:
            return 0
        return _end_with("the storm is too short to be judged: fewer than two frames were sent")
    return EXIT_OPEN if storm_report.gaps.open_share > request.max_open else 0


def _print(request: StormRequest, found: dict[str, Any], text: str) -> None:
    print(json.dumps(found) if request.as_json else text)


def _end_with(sentence: str) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return EXIT_REFUSED
