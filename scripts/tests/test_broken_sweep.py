"""SWEEP-1 on a broken switch: a virtual testbed with faults on three scattered ports, swept port by port and in waves;
later on it is broken in other ways, until every check has failed somewhere."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from scripts.tests import broken as switches
from scripts.campaign.entries import ROOT
from scripts.tests.broken import Bench, Case, case
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.sweep.port_sweep import PORT

PAGE = ROOT / "docs/testplan/sweep-all-ports.md"
ONLY_ON_THE_FAKE_SWITCH = {"resumed-rate"}  # no hook slows a switch down after a storm: unit_test_sweep.py shows it
HEALTHY = ("Ethernet4", "Ethernet36", "Ethernet72")  # two of them send and receive through a broken port's link
LATER_S = 3600
BY_ROOM = {"held-within-buffer", "back-pressure", "held-frames-drained", "background-unaffected"}

SLOW = pytest.mark.slow("ports of broken switches, each alone and in waves: half a minute")

# Seven flows share the line, so each priority has 1/7 of it for 5 s; one frame a second comes out of a leaking queue.
DEAF, WIDE, LEAKING = THREE = (
    case("pause-ignored@Ethernet8", "FAIL PASS", "blocked-while-paused held-within-buffer back-pressure",
         "Ethernet8 priority 3: expected 0 frames received while paused, got 8552272", PORT),
    case("lossy-queue-paused@Ethernet52", "PASS FAIL", "background-unaffected",
         "Ethernet52 priority 1: expected all ... frames received while priorities 3, 4 were paused, got 0", PORT),
    case("pause-leaks@Ethernet100", "FAIL PASS", "blocked-while-paused",
         "Ethernet100 priority 4: expected 0 frames received while paused, got 8", PORT),
)
# Broken when the three have been seen alone. A port of the upper half is the tx port of one of the lower.
LATER = [
    case(f"{fault},from={LATER_S}s", verdicts, checks, message, PORT)
    for fault, verdicts, checks, message in (
        ("lossless-dropped@Ethernet16,one_in=4", "FAIL PASS", "clean-flow held-frames-drained resumed",
         "Ethernet16 priority 3: expected all 1000 frames received without any storm, got 750"),
        ("lossy-dropped@Ethernet20,one_in=4", "PASS FAIL", "clean-flow background-unaffected resumed",
         "Ethernet20 priority 0: expected all 1000 frames received without any storm, got 750"),
        ("pfc-miscounted@Ethernet24", "FAIL FAIL", "pause-counted every-pause-counted no-other-pause-counted",
         "Ethernet24 priority 5: expected 0 PFC frames in the receive counter, got "),
        ("pfc-forwarded@Ethernet28", "FAIL PASS", "pause-not-forwarded",
         "Ethernet28 priorities 3, 4: expected 0 pause frames forwarded to Ethernet92, got "),
        ("xoff-not-sent@Ethernet96", "FAIL PASS", "back-pressure held-within-buffer held-frames-drained",
         "Ethernet96 priority 3: expected more than 0 PFC frames sent out of Ethernet96 to hold the sender, got 0"),
        ("headroom-short@Ethernet112,bytes=82784", "FAIL PASS", "held-frames-drained",
         "Ethernet112 priority 3: expected all ... frames received once the storm had stopped, got "),
        ("xoff-wrong-priority@Ethernet104", "PASS FAIL", "no-other-back-pressure",
         "Ethernet104 priority 0: expected 0 PFC frames sent out of Ethernet104, got "),
    )
]
OF_TX_PORTS = {"Ethernet96": "Ethernet32", "Ethernet104": "Ethernet40", "Ethernet112": "Ethernet48"}


def under_test(broken: Case) -> str:
    """The port whose verdict a fault is about."""
    port = broken.fault.split("@")[1].split(",")[0]
    return OF_TX_PORTS.get(port, port)


def test_every_check_is_failed_by_some_switch() -> None:
    failed = {check for broken in (*THREE, *LATER) for check in broken.checks}
    assert failed | ONLY_ON_THE_FAKE_SWITCH == switches.documented_checks(PAGE, PORT.plan_id)


def test_every_fault_that_the_documentation_calls_caught_is_here() -> None:
    assert {broken.name for broken in THREE} == switches.documented_faults("SWEEP")


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults, of which three are there from the start."""
    with switches.broken_bench(tmp_path_factory.mktemp("sweep"), [one.fault for one in (*THREE, *LATER)]) as bench:
        yield bench


@pytest.fixture(name="one_by_one", scope="module")
def fixture_one_by_one(bench: Bench) -> Mapping[str, Outcome]:
    """Some ports, one after another: those that are broken among them."""
    return bench.sweep(1, {*HEALTHY, *map(under_test, THREE)})


@pytest.fixture(name="in_waves", scope="module")
def fixture_in_waves(bench: Bench, one_by_one: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """All ports, in two waves; after the others, so that both are measured before the later faults begin."""
    return bench.sweep(None)


@pytest.fixture(name="later", scope="module")
def fixture_later(bench: Bench, in_waves: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """The ports of the later faults, one after another."""
    bench.clock.sleep(LATER_S - bench.clock.now())
    return bench.sweep(1, set(map(under_test, LATER)))


def failed(outcomes: Mapping[str, Outcome]) -> set[str]:
    """The ports that are not PASS."""
    return {port for port, outcome in outcomes.items()
            if any(verdict.status is not Status.PASS for verdict in outcome.verdicts)}


@SLOW
@pytest.mark.parametrize("broken", THREE, ids=lambda broken: broken.name)
def test_a_broken_port_fails_in_both_modes(
    broken: Case, one_by_one: Mapping[str, Outcome], in_waves: Mapping[str, Outcome]
) -> None:
    switches.compare(one_by_one[under_test(broken)], broken)
    switches.compare(in_waves[under_test(broken)], broken)


@SLOW
def test_the_other_ports_pass_in_both_modes(
    one_by_one: Mapping[str, Outcome], in_waves: Mapping[str, Outcome]
) -> None:
    ports = {f"Ethernet{4 * number}" for number in range(32)}
    broken = set(map(under_test, THREE))
    documented = switches.documented_checks(PAGE, PORT.plan_id)
    assert set(in_waves) == ports and failed(in_waves) == broken == failed(one_by_one)
    for outcomes in (one_by_one, in_waves):
        for port in {*outcomes} - broken:
            switches.passed_as_documented(outcomes[port], documented)


def told(outcome: Outcome) -> dict[tuple[str, str], tuple[Status, int | str]]:
    """Check and place -> its status and figure; without the figures of what depends on the room in the buffer, which
    the ports of a wave share."""
    return {(check.name, check.where): (check.status, "" if check.name in BY_ROOM else check.seen)
            for verdict in outcome.verdicts for check in verdict.checks}


@SLOW
def test_both_modes_say_the_same(one_by_one: Mapping[str, Outcome], in_waves: Mapping[str, Outcome]) -> None:
    for port, alone in one_by_one.items():
        assert told(alone) == told(in_waves[port]), port
        wave = range(16) if int(port[8:]) < 64 else range(16, 32)
        assert alone.evidence["ports_at_once"] == [port]
        assert in_waves[port].evidence["ports_at_once"] == [f"Ethernet{4 * number}" for number in wave]


@SLOW
def test_what_a_wave_holds_together_stays_below_the_pool(in_waves: Mapping[str, Outcome]) -> None:
    """And its shared headroom, which all of them fill; each port is told what the others held."""
    evidence = [in_waves[f"Ethernet{4 * number}"].evidence for number in range(32)]
    for wave in (evidence[:16], evidence[16:]):
        for each in wave:
            assert 0 < each["held_bytes_on_other_ports"] < each["shared_buffer_bytes"] == 15982720 + 4194112, each
            assert each["reaction_quanta"] > 9000, each


@SLOW
@pytest.mark.parametrize("broken", LATER, ids=lambda broken: broken.name)
def test_every_other_fault_is_caught_and_nothing_else(broken: Case, later: Mapping[str, Outcome]) -> None:
    switches.compare(later[under_test(broken)], broken)
