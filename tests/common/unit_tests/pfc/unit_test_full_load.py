"""All ports under load at once, on the fake switch: which flows there are, what is read, what comes of a port that
cannot be measured."""

from collections import Counter
from types import SimpleNamespace

import pytest
from tabulate import tabulate

from tests.common.pfc.cases.flows import RESUMED
from tests.common.pfc.lab.dut import Dut
from tests.common.pfc.record.verdict import Status
from tests.common.pfc.sweep.cases import make_full_load
from tests.common.pfc.sweep.full_load import FullRun, data_percent
from tests.common.pfc.sweep.port_sweep import scenario
from tests.common.pfc.sweep.plan import Bench
from tests.common.pfc.sweep.watermarks import Pool
from tests.common.unit_tests.pfc.fakes import PORTS, FakeWorld
from tests.common.unit_tests.pfc.sweep_fakes import TX_OF, SweptHost, SweptLab
from tests.common.unit_tests.pfc.unit_test_watermarks import POOL

GROUPS = {str(number): str(number if number in (3, 4) else 0) for number in range(8)}
MEGABYTE = 1_000_000


class LoadedHost(SweptHost):
    """The command line, with watermarks: each kind is 0 in the first reading after it was cleared."""

    shown: str | int = MEGABYTE
    cleared = frozenset()

    def _answer(self, command):
        last = command.split()[-1]
        if command.endswith("_WATERMARK_BYTES"):  # whether COUNTERS_DB has it
            return str(self.shown) if isinstance(self.shown, int) else ""
        if "sonic-clear" in command:
            self.cleared |= {last}
            return ""
        if " watermark " in command:
            kind, shown = "UC" if "queue" in command else "PG", self.shown
            if last in self.cleared:
                shown = 0
                self.cleared -= {last}
            if "headroom" in command and isinstance(shown, int):
                shown = min(shown, 2080)
            headers = ["Port", *(f"{kind}{number}" for number in range(8))]
            table = tabulate([[port, *[shown] * 8] for port in PORTS], headers, tablefmt="simple")
            return f"Ingress shared pool occupancy per PG:\n{table}"
        return super()._answer(command)


class LoadedLab(SweptLab):
    """A switch with four ports that are loaded at once."""

    def __init__(self, **broken):
        super().__init__(**broken)
        self.host = LoadedHost(self)
        for world in self.worlds.values():
            world.held_frames //= 2
            config = world.config_db
            config["BUFFER_POOL"] |= POOL
            config["TC_TO_PRIORITY_GROUP_MAP"] = {"AZURE": GROUPS}
            config["FLEX_COUNTER_TABLE"] = {"PG_WATERMARK": {"FLEX_COUNTER_STATUS": "enable"}}
            for row in config["PORT_QOS_MAP"].values():
                row["tc_to_pg_map"] = "AZURE"

    def load(self):
        """Port -> what came of it."""
        plan = self.plan()
        load = make_full_load(plan, Bench(Dut(self.host), self.api, self.clock))
        load._patience = self.clock
        return {port: load.outcome(port) for port in plan.plans}


def causes(outcomes):
    """Every reason, once."""
    return list(dict.fromkeys(
        message for outcome in outcomes.values() for verdict in outcome.verdicts for message in verdict.messages))


def statuses(outcomes):
    """Port -> the statuses of its verdicts."""
    return {port: {verdict.status for verdict in outcome.verdicts} for port, outcome in outcomes.items()}


def test_every_port_sends_and_receives_in_one_configuration():
    lab = LoadedLab()
    outcomes = lab.load()
    assert set(statuses(outcomes)) == set(PORTS) and causes(outcomes) == [], causes(outcomes)
    assert lab.pushes[-1] == list(PORTS) and len(lab.pushes) == 3, f"configurations: {lab.pushes}"
    config = lab.api.configs[-1]
    ends = Counter((flow.tx_rx.port.tx_name.split()[1], flow.tx_rx.port.rx_names[0].split()[1],
                    type(flow.packet[0]).__name__) for flow in config.flows)
    expected = {(tx, rx, "FlowEthernet"): 2 * 7 for rx, tx in TX_OF.items()}  # in the storm, and without one
    assert ends == expected | {(rx, tx, "FlowPfcPause"): 2 for rx, tx in TX_OF.items()}, f"flows: {ends}"
    for tx in PORTS:
        loads = [flow.rate.percentage for flow in config.flows
                 if flow.tx_rx.port.tx_name.split()[1] == tx and flow.rate.choice == "percentage"
                 and not flow.name.startswith(RESUMED)]
        assert 98.99 < sum(loads) <= 99, f"{tx}: {sum(loads)} %"
    assert len({device.ethernets[0].mac for device in config.devices}) == len(PORTS), "a MAC address twice"


def test_whole_percent_are_left_for_pause_frames():
    lab = LoadedLab()
    plan = scenario(next(iter(lab.plan().plans.values())).subject.qos)
    for speed_mbps in (10_000, 100_000, 400_000, 800_000):
        assert data_percent(plan, speed_mbps) == 99, f"{speed_mbps} Mb/s"
        assert data_percent(plan, speed_mbps, 99) == 100, "a full line of 99 % has room for them"


def test_a_port_that_cannot_be_measured_is_tried_again_with_all_and_stops_none():
    lab = LoadedLab(Ethernet64=FakeWorld(dead_path=True))
    outcomes = lab.load()
    bad = {port for port, found in statuses(outcomes).items() if found != {Status.PASS}}
    assert bad == {"Ethernet64"}, causes(outcomes)
    assert statuses(outcomes)["Ethernet64"] == {Status.ERROR}, causes(outcomes)
    loaded = [ports for ports in lab.pushes if len(ports) == 3]
    assert len(loaded) == 2 and "first_try" in outcomes["Ethernet64"].evidence, f"configurations: {lab.pushes}"


def test_a_port_that_fails_only_when_all_are_loaded_again_has_failed():
    """Before its verdict is given away, though it was measured the first time."""
    lab = LoadedLab(Ethernet64=FakeWorld(dead_path=True))

    def leak_later(ports):
        """From the second load on."""
        if sum(len(pushed) == 3 for pushed in lab.pushes) == 2:
            lab.worlds["Ethernet0"].leaked = {3: 12}

    lab.on_push = leak_later
    outcomes = lab.load()
    assert Status.FAIL in statuses(outcomes)["Ethernet0"], statuses(outcomes)
    assert outcomes["Ethernet0"].evidence["first_try"] == "PASS", outcomes["Ethernet0"].evidence
    assert statuses(outcomes)["Ethernet4"] == {Status.PASS}, causes(outcomes)


def test_a_load_that_cannot_be_applied_is_an_error_of_every_port_after_two_tries():
    lab = LoadedLab()
    lab.on_push = lambda ports: setattr(lab, "refused", "Ethernet4" if len(ports) == 4 else "")
    outcomes = lab.load()
    assert set(map(frozenset, statuses(outcomes).values())) == {frozenset({Status.ERROR})}, causes(outcomes)
    assert sum(len(ports) == 4 for ports in lab.pushes) == 2, f"configurations: {lab.pushes}"


@pytest.mark.parametrize(("shown", "status", "reason"), [
    (0, Status.FAIL, "half of what was held there, got 0"),
    (11_000_000, Status.FAIL, "of shared bytes within the 10875072 bytes of ingress_lossless_pool, got 11000000"),
])
def test_watermarks_are_judged(shown, status, reason):
    lab = LoadedLab()
    lab.host.shown = shown
    outcomes = lab.load()
    assert all(status in found for found in statuses(outcomes).values()), causes(outcomes)
    assert any(reason in cause for cause in causes(outcomes)), causes(outcomes)


def test_a_switch_without_watermarks_has_a_verdict():
    """No document asks for them; the record says that they are missing."""
    lab = LoadedLab()
    lab.host.shown = "N/A"
    outcomes = lab.load()
    assert all(found == {Status.PASS} for found in statuses(outcomes).values()), causes(outcomes)
    checks = {check for outcome in outcomes.values() for verdict in outcome.verdicts for check in verdict.checks}
    missing = [check for check in checks if check.name == "watermark-counted"]
    assert missing and all(not check.required for check in missing), missing


@pytest.mark.parametrize(("shared", "own", "limit"), [
    (0, 331_136, (334_496, "Ethernet64")), (0, 0, (12_000_000, "pool")), (500_000, 331_136, (500_000, "pool")),
])
def test_the_most_headroom_that_a_group_may_have_had(shared, own, limit):
    """What the pool shares, else what the port's groups have and eight cells of 420 bytes, else the pool."""
    subject = SimpleNamespace(pair=SimpleNamespace(tx=SimpleNamespace(port="Ethernet64")))
    run = SimpleNamespace(pool=Pool("pool", 12_000_000, shared), own_headroom_bytes=own, subject=subject)
    assert FullRun.headroom_limit.fget(run) == limit, (shared, own)
