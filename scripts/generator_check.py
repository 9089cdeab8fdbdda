"""Asks a testbed's traffic generator what no data sheet says: what a second start does, how old its statistics are,
what becomes of a capture ... It takes minutes, with light traffic and one short storm on one port pair.

Prints each answer and what follows from it, and writes them to `results/generator-check-TESTBED.json`. What the suite
does not find out by itself is printed as lines for the testbed's entry.
Exit status: 0 when everything was answered, 1 when not, 3 for a refusal.
"""
from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.command import exit_status_of  # noqa: E402  (the path comes first)
from scripts.lab_command import NOT_PASS, PASS, find_testbed, run_in_lab  # noqa: E402
from scripts.testbeds import TESTBED_FILE, CommandParser, environment  # noqa: E402
from tests.common.clone import RESULTS  # noqa: E402
from tests.common.pfc.cases.storm_sequence import pause_storm  # noqa: E402
from tests.common.pfc.lab.dut import Dut  # noqa: E402
from tests.common.pfc.lab.generator import Generator  # noqa: E402
from tests.common.pfc.lab.generator_ports import capturing, end_capture, start_capture  # noqa: E402
from tests.common.pfc.lab.lab import Lab  # noqa: E402
from tests.common.pfc.lab.option import adapted, open_clock  # noqa: E402
from tests.common.pfc.lab.planning import open_lab  # noqa: E402
from tests.common.pfc.lab.restore import SwitchRestorer  # noqa: E402
from tests.common.pfc.model.errors import QualificationError  # noqa: E402
from tests.common.pfc.model.traffic import FlowPlan, Role  # noqa: E402
from tests.common.pfc.record.records import new_run_id  # noqa: E402
from tests.common.snappi_tests.snappi_fixtures import open_api  # noqa: E402
from tests.common.standalone import StandaloneLab  # noqa: E402

FRAMES = 1000
FRAME_BYTES = 1024
SMALLEST_BYTES = 64
LIGHT_PERCENT = 1.0
LASTING_S = 20
"""Of flows that must still be sent when something is asked: starts and statistics may take seconds."""


@dataclass(frozen=True)
class Reply:
    """What a generator does.

    Attributes:
        question: what was asked.
        answer: what was seen; or why it could not be.
        so: what follows from it for a qualification.
        entry: what belongs into the testbed's `pfc_conditions`; empty: nothing.
        answered: whether it could be seen.
    """

    question: str
    answer: str
    so: str
    entry: str = ""
    answered: bool = True


Question = Callable[[Lab], Reply]


def _flow(lab: Lab, name: str, frames: int | None = None, size: int = FRAME_BYTES) -> FlowPlan:
    """Light data of the first priority that anything reaches."""
    seconds = None if frames else LASTING_S
    priority = lab.subject.qos.reachable[0]
    name = lab.builder.flow_name(name)
    return FlowPlan(name, Role.CLEAN, priority, size, LIGHT_PERCENT, seconds=seconds, frames=frames)


@contextmanager
def configured(lab: Lab, flows: Sequence[FlowPlan], captured: str = "") -> Iterator[Generator]:
    """The generator with these flows, and the port that is captured; in the end nothing is sent."""
    traffic = lab.builder.build(flows)
    lab.generator.push(capturing(traffic, [captured]) if captured else traffic)
    try:
        yield lab.generator
    finally:
        lab.generator.stop()


def how_late(lab: Lab) -> Reply:
    """How long it takes to start and to stop, and how old statistics are; the questions after this one allow for it."""
    flow = _flow(lab, "Timing Flow")
    with configured(lab, [flow]) as generator:
        timing = generator.learn_timing(flow.name)
    seen = (f"{timing.start_s:.1f} s to start, {timing.stop_s:.1f} s to stop,"
            f" statistics up to {timing.refresh_s:.1f} s old")
    return Reply("How late is it?", seen, "the preflight of each run measures this, and waits so long")


def second_start(lab: Lab) -> Reply:
    """Whether a flow can be started beside another one that runs."""
    first = _flow(lab, "First")
    second = _flow(lab, "Second", FRAMES)
    with configured(lab, [first, second]) as generator:
        generator.start([first.name])
        generator.start([second.name])
        lab.clock.sleep(1.0)
        stats = generator.stats([first.name, second.name])
    sent = stats[second.name].frames_tx
    goes_on = stats[first.name].transmitting
    answer = "is sent" if sent else "is not sent"
    rest = "the first one goes on" if goes_on else "the first one ends"
    so = "where it is not so, the entry has to say it: then flows between other ports end before a case's next phase," \
        " and cases that start a flow in running traffic are ERROR by name"
    entry = "" if sent and goes_on else "starts_beside: false"
    return Reply("Does a flow start beside one that runs?", f"it {answer}; {rest}", so, entry)


def start_again(lab: Lab) -> Reply:
    """What a second start of a flow does that has sent all; whether it was sent says the switch's queue."""
    flow = _flow(lab, "Again", FRAMES)
    counted = []
    left = []
    with configured(lab, [flow]) as generator:
        for _ in range(2):
            generator.start([flow.name])
            generator.run_out([flow.name], 1.0)
            counted.append(generator.stats([flow.name])[flow.name].frames_tx)
            lab.clock.sleep(lab.delays.queue_s)
            left.append(lab.dut.counters([lab.port]).queues[lab.port][flow.priority or 0])
    sent = "sent again" if left[1] - left[0] >= FRAMES else "not sent, and nobody says so"
    counts = "counts go on" if counted[1] > counted[0] else "counts begin at 0, or stay"
    return Reply("What does a second start of a flow do?", f"{sent}; {counts}",
                 "the suite starts no flow twice but where docs/testplan says so")


def in_a_storm(lab: Lab) -> Reply:
    """What is said of a flow that PFC holds, and of the storm."""
    priority = lab.subject.qos.lossless[0]
    data = FlowPlan(lab.builder.flow_name("Held"), Role.TEST, priority, FRAME_BYTES, 50.0, seconds=LASTING_S)
    storm = pause_storm(lab, (priority,), LASTING_S)
    with configured(lab, [storm, data]) as generator:
        generator.start([storm.name, data.name])
        lab.clock.sleep(3.0)
        stats = generator.stats([storm.name, data.name])
        states = generator.api.item_states() if hasattr(generator.api, "item_states") else {}
    said = {flow.plan.name: "transmitting" if flow.transmitting else "stopped" for flow in stats.values()}
    own = f"; IxNetwork: storm {states[storm.name]}, held flow {states[data.name]}" if states else ""
    answer = f"storm {said[storm.name]}, held flow {said[data.name]}{own}"
    return Reply("What is said of flows in a storm?", answer, "the suite looks at counts, not at a held flow's state")


def capture_kept(lab: Lab) -> Reply:
    """Whether a capture is there after it was stopped, and whether its frames have their FCS."""
    from scapy.utils import PcapReader  # takes half a second

    from tests.common.pfc.lab.capture_file import read_capture, without_fcs

    port_name = lab.builder.port_name(lab.port)
    flow = _flow(lab, "Captured", FRAMES)
    with configured(lab, [flow], port_name) as generator:
        start_capture(generator, [port_name])
        generator.start([flow.name])
        generator.run_out([flow.name], 1.0)
        data = end_capture(generator, port_name)
    frames = read_capture(data).frames
    with PcapReader(io.BytesIO(data)) as reader:  # type: ignore[arg-type]  # scapy's annotation knows file names only
        first = next((bytes(packet.original) for packet in reader), b"")
    fcs = "with FCS" if len(without_fcs(first)) < len(first) else "without FCS"
    answer = f"{frames} frames of {FRAMES}, {fcs}" if frames else "nothing"
    return Reply("What does a capture hold once it was stopped?", answer, "SENT needs it", answered=frames > 0)


def smallest_frame(lab: Lab) -> Reply:
    """Whether frames of 64 bytes are sent and counted."""
    flow = _flow(lab, "Small", FRAMES, SMALLEST_BYTES)
    with configured(lab, [flow]) as generator:
        generator.start([flow.name])
        generator.run_out([flow.name], 1.0)
        stats = generator.stats([flow.name])[flow.name]
    answer = f"{stats.frames_tx} sent and {stats.frames_rx} received of {FRAMES}"
    return Reply("Are frames of 64 bytes sent and counted?", answer, "SIZE-1 needs it")


def pfc_queues(lab: Lab) -> Reply:
    """How many queues PFC can hold on its ports."""
    question = "How many queues can PFC hold?"
    if not hasattr(lab.generator.api, "ports"):
        return Reply(question, "OTG does not say", "pfc_queues: 4 in pfc_conditions, where the data sheet says four")
    with configured(lab, [_flow(lab, "Ports", FRAMES)]) as generator:
        ports = generator.api.ports()
    kinds = ", ".join(sorted({f"{port.card}: {port.pfc_queues or 'not said'}" for port in ports}))
    least = min((port.pfc_queues for port in ports if port.pfc_queues), default=8)
    return Reply(question, kinds, "with 4 the lossless priorities share queues with others",
                 f"pfc_queues: {least}" if least < 8 else "")


QUESTIONS: Sequence[Question] = (
    how_late, second_start, start_again, in_a_storm, capture_kept, smallest_frame, pfc_queues,
)


def ask(lab: Lab) -> Iterator[Reply]:
    """Each question; one that cannot be answered keeps no other from being asked."""
    for question in QUESTIONS:
        try:
            yield question(lab)
        except QualificationError as error:
            text = str(question.__doc__).splitlines()[0]
            yield Reply(text, str(error), "cases that need it are ERROR with this sentence", answered=False)


def check(lab: StandaloneLab, testbed: str, results: Path) -> int:
    """Asks the generator of a testbed; the switch is reserved meanwhile. Returns the exit status.

    Args:
        lab: the testbed's.
        testbed: its name.
        results: folder of the file with the answers.
    """
    plan = lab.port_plan
    clock = open_clock(lab.tbinfo)
    host = lab.host(plan.state.device)
    with SwitchRestorer(host, new_run_id(), clock).watchdog_stopped() as reservation:
        api = adapted(open_api(lab.tbinfo, lab.duthosts[0]), clock)
        answers = list(ask(open_lab(plan, Dut(host, (), reservation), api, clock)))
    print(tabulate([[one.question, one.answer, one.so] for one in answers], ["question", "answer", "so"],
                   maxcolwidths=[36, 50, 50]))
    entries = [one.entry for one in answers if one.entry]
    if entries:
        print(f"for the testbed's entry: pfc_conditions: {{{', '.join(entries)}, reason: generator-check}}")
    path = results / f"generator-check-{testbed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(one) for one in answers], indent=1), encoding="utf-8")
    print(f"answers: {path}")
    return PASS if all(one.answered for one in answers) else NOT_PASS


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line.

    Raises:
        Refusal: it cannot be understood.
    """
    parser = CommandParser(description=__doc__, allow_abbrev=False,
                           formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("testbed", metavar="TESTBED", help="testbed whose generator is asked")
    parser.add_argument("--testbed-file", default=str(TESTBED_FILE), metavar="FILE",
                        help="testbed file (default: ansible/testbed.yaml)")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR",
                        help="folder of the file with the answers (default: results)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: one sentence and status 3 for a refusal, no traceback."""
    return exit_status_of(lambda: check_generator(parse(arguments)))


def check_generator(options: argparse.Namespace) -> int:
    """The command.

    Raises:
        Refusal: the testbed is not there.
    """
    results = options.results.resolve()
    environment(results)
    testbed = find_testbed(options.testbed, Path(options.testbed_file).resolve(), None, "bring it up first with"
                           f" `virtual-testbed up {options.testbed}`")
    return run_in_lab(testbed, lambda lab: check(lab, options.testbed, results))


if __name__ == "__main__":
    sys.exit(main())
