"""What is recorded of a storm that a host sends."""

from tests.common.pfc.evidence.recorder import EvidenceRecorder
from tests.common.pfc.host_pauses.pauses import HostPauses
from tests.common.pfc.lab.generator import Generator, Traffic
from tests.common.pfc.model.traffic import FlowStats
from tests.common.unit_tests.pfc.fakes import FakeApi, FakeClock, FakeWorld
from tests.common.unit_tests.pfc.unit_test_timeline import STORM


class Source:
    """A host that pauses come from."""

    def start(self, flow):
        """A storm begins."""

    def stop(self, flows):
        """Storms end."""

    def statistics(self, flow):
        """What it knows."""
        return FlowStats(flow, True, 0, 0)


def test_a_storm_that_a_host_sends_is_one_as_well():
    """Whoever sends it."""
    world = FakeWorld()
    watch = FakeClock(world)
    recorder = EvidenceRecorder()
    driver = HostPauses(Source(), "fanout-01 Ethernet48").driver(Generator)
    generator = driver(FakeApi(world), watch, [recorder])
    generator.push(Traffic(FakeApi(world).config(), {STORM.name: STORM}))
    generator.start([STORM.name])
    watch.sleep(2)
    generator.stats([STORM.name])
    watch.sleep(1)
    generator.stop([STORM.name])
    found = recorder.evidence()["timeline"]
    assert found["storms"] == [{"label": "PFC on priority 3", "priorities": [3], "begin_s": 0, "end_s": 3}], found
    assert found["readings_s"] == [0, 2] and found["frames_rx"] == {}, found
