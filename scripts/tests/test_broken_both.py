"""Switches that are broken in one mode only: when several ports are measured at once, or when one is alone. And what a
port does at another one in a wave: the counters say at which."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from scripts.campaign.broken_testbed import SWITCH
from scripts.tests.broken import Bench, broken_bench
from tests.common.pfc.accounting.auditor import BookAuditor
from tests.common.pfc.record.case import Outcome
from tests.common.pfc.record.verdict import Status

COMPANY = ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12", "Ethernet16")
WITH_ALL = "Ethernet0, Ethernet8, Ethernet12, Ethernet16"
FAULTS = (
    "pfc-counted-elsewhere@Ethernet0,on=Ethernet4",  # which counts twice as many, while both are measured
    "pfc-counted-elsewhere@Ethernet8,on=Ethernet12,only=yes",  # a crossed pair: equal storms on both look right
    "pfc-counted-elsewhere@Ethernet12,on=Ethernet8,only=yes",
    "pause-acts-elsewhere@Ethernet20,on=Ethernet88,priority=3",  # the tx port of Ethernet24
    "pfc-counted-elsewhere@Ethernet32,on=Ethernet52",  # a port that no other one uses in these waves
    "xoff-elsewhere@Ethernet104,on=Ethernet44,priority=4",  # the tx port of Ethernet40: out of Ethernet44 too
    "pfc-forwarded@Ethernet48,to=Ethernet60",
)
ELSEWHERE = ("Ethernet20", "Ethernet24", "Ethernet28"), ("Ethernet32", "Ethernet36"), ("Ethernet40", "Ethernet44"), (
    "Ethernet48", "Ethernet56")

pytestmark = pytest.mark.slow("sweeps of a broken switch, in waves and port by port")


@pytest.fixture(name="bench", scope="module")
def fixture_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """For a testbed with all these faults."""
    with broken_bench(tmp_path_factory.mktemp("both"), FAULTS) as bench:
        yield bench


@pytest.fixture(name="both", scope="module")
def fixture_both(bench: Bench) -> Mapping[str, Outcome]:
    """Five ports, measured at once and alone."""
    return bench.sweep(None, COMPANY, [BookAuditor()], both=True)


def reasons(outcome: Outcome) -> list[str]:
    """Everything that speaks against a port, once."""
    return list(dict.fromkeys(message for verdict in outcome.verdicts for message in verdict.messages))


def verdicts(outcome: Outcome) -> list[str]:
    """Lossless and lossy."""
    return [verdict.status.value for verdict in outcome.verdicts]


def test_what_shows_in_company_only(both: Mapping[str, Outcome]) -> None:
    """Alone the port passes."""
    found = reasons(both["Ethernet4"])
    begin = f"only in a wave with {WITH_ALL}: {SWITCH} Ethernet4 priority 3: expected "
    assert verdicts(both["Ethernet4"]) == ["FAIL", "PASS"] and any(one.startswith(begin) for one in found), found
    assert all(one.startswith("only in a wave with ") for one in found), found


@pytest.mark.parametrize("port", ["Ethernet0", "Ethernet8", "Ethernet12"])
def test_what_shows_alone_only(both: Mapping[str, Outcome], port: str) -> None:
    """Two ports that count for each other; and one whose frames another one counts that has a storm itself."""
    found = reasons(both[port])
    assert verdicts(both[port]) == ["FAIL", "PASS"] and all(one.startswith("only alone: ") for one in found), found
    said = "Ethernet4 priority 3: expected 0 more in PFC3 Rx" if port == "Ethernet0" else (
        f"{port} priority 3: expected more than 0 PFC frames")
    assert any(said in one for one in found) and both[port].evidence["measured"] == "alone", found


def test_what_is_healthy_passes_in_both(both: Mapping[str, Outcome]) -> None:
    assert verdicts(both["Ethernet16"]) == ["PASS", "PASS"], reasons(both["Ethernet16"])


@pytest.mark.parametrize(("wave", "failing", "said"), [
    (ELSEWHERE[0], "Ethernet24", "Ethernet24 priority 3: expected 0 more in PFC3 Tx, as nothing may hold frames from"),
    (ELSEWHERE[1], "Ethernet32", "Ethernet52 priority 3: expected 0 more in PFC3 Rx, as nothing that was sent counts"),
    (ELSEWHERE[2], "Ethernet44", "Ethernet44 priority 4: expected 0 more in PFC4 Tx, as nothing that was sent counts"),
    (ELSEWHERE[3], "Ethernet48", "Ethernet60: expected 0 more in TX_OK, as nothing that was sent counts"),
], ids=["pause", "count", "xoff", "forwarded"])
def test_what_a_port_of_a_wave_does_elsewhere(
    bench: Bench, wave: tuple[str, ...], failing: str, said: str
) -> None:
    """The port whose counters moved fails, if the wave has it, and else the one of which it shows alone. What a pause
    does to a tx port, by which nothing else leaves, needs traffic the other way."""
    outcomes = bench.sweep(None, wave, [BookAuditor()], other_way=wave is ELSEWHERE[0])
    failed = {port for port, one in outcomes.items() if any(v.status is not Status.PASS for v in one.verdicts)}
    assert failing in failed and any(said in one for one in reasons(outcomes[failing])), reasons(outcomes[failing])
    assert failed == {failing}, [reasons(outcomes[port]) for port in failed]
