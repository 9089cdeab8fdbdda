"""Traffic generators through their OTG API: what is waited for, counted from where, and said of what they refuse."""

import logging

import pytest
import snappi

from tests.common.pfc.lab.generator import NEIGHBOR_DEADLINE_S, STOP_GRACE_S, Counted, Generator, Traffic
from tests.common.pfc.lab.observer import RunObserver
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.traffic import FlowPlan, Role, pfc_frame
from tests.common.unit_tests.pfc.shell_switch import Clock

STORM = FlowPlan("Pause Storm", Role.STORM, None, 64, fps=5960, pause=pfc_frame((3,), 65535))
TEST = FlowPlan("Test Flow", Role.TEST, 3, 1024, percent=50.0, seconds=5)
AGAIN = FlowPlan("Test Flow Again", Role.TEST, 3, 1024, percent=50.0, seconds=5, phase="resumed")
LIGHT = FlowPlan("Light Flow", Role.BYSTANDER, 0, 1024, percent=1.0)
FLOWS = {flow.name: flow for flow in (STORM, TEST, AGAIN)}


class InexactClock(Clock):
    """As a wall clock."""

    exact = False


class ScriptedApi(snappi.Api):
    """snappi's own objects, and answers that a test sets.

    Attributes:
        counts: flow -> frames sent, frames received, what is said of its transmission; counts may be None.
        resolved_at: ethernet -> when on the clock its gateway is known.
        on_stop: flow -> its counts once it was told to stop.
        refuses: methods that refuse, with what they raise.
        asked: what was asked for, in its order.
    """

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.counts = {name: (0, 0, "stopped") for name in FLOWS}
        self.resolved_at = {}
        self.on_stop = {}
        self.refuses = {}
        self.asked = []

    def _ask(self, method, *what):
        self.asked.append((method, *what))
        if method in self.refuses:
            raise self.refuses[method]

    def set_config(self, payload):
        self._ask("config")

    def set_control_state(self, payload):
        if payload.choice == "protocol":
            return self._ask("protocols")
        transmit = payload.traffic.flow_transmit
        self._ask(transmit.state, *(transmit.flow_names or ()))
        if transmit.state == "stop":
            self.counts.update(self.on_stop)

    def get_metrics(self, payload):
        self._ask("metrics", *payload.flow.flow_names)
        answer = snappi.MetricsResponse()
        answer.choice = "flow_metrics"
        for name in payload.flow.flow_names:
            if name in self.counts:
                sent, received, said = self.counts[name]
                metric = answer.flow_metrics.metric(name=name, transmit=said)[-1]
                for counter, value in (("frames_tx", sent), ("frames_rx", received)):
                    if value is not None:
                        setattr(metric, counter, value)
        return answer

    def get_states(self, payload):
        self._ask(payload.choice)
        answer = snappi.StatesResponse()
        answer.choice = payload.choice
        for name, at in self.resolved_at.items():
            row = getattr(answer, payload.choice).add(ethernet_name=name)
            if self.clock.now() >= at:
                row.link_layer_address = "02:00:00:00:00:01"
        return answer


class Onlooker(RunObserver):
    """Keeps what it was told of flows."""

    def __init__(self):
        self.told = []

    def traffic_pushed(self, flows, config, now_s):
        self.told.append(("pushed", *(flow.name for flow in flows)))

    def flows_started(self, flows, now_s):
        self.told.append(("started", *(flow.name for flow in flows)))

    def flows_stopped(self, names, now_s):
        self.told.append(("stopped", *names))

    def statistics_read(self, stats, now_s):
        self.told.append(("read", *stats))


def traffic_of(api, hosts=(), beside=()):
    """A configuration of the flows, with an ethernet for each host: a name and an IP version."""
    config = api.config()
    for name in [*FLOWS, *(flow.name for flow in beside)]:
        config.flows.flow(name=name)
    for name, version in hosts:
        ethernet = config.devices.device(name=f"Host {name}")[-1].ethernets.ethernet(name=name)[-1]
        addresses = ethernet.ipv4_addresses if version == 4 else ethernet.ipv6_addresses
        addresses.add(name=f"IP of {name}")
    return Traffic(config, FLOWS, {flow.name: flow for flow in beside})


def pushed(clock=None, counts=None, flows=None, **rest):
    """A generator that has the flows, and its API; `counts`: what was counted before."""
    api = ScriptedApi(clock or Clock())
    api.counts.update(counts or {})
    generator = Generator(api, api.clock, **rest)
    traffic = traffic_of(api)
    generator.push(Traffic(traffic.config, {**FLOWS, **(flows or {})}))
    api.asked.clear()
    return generator, api


def refusal(function, *arguments):
    """The sentence with which something is refused."""
    with pytest.raises(QualificationError) as error:
        function(*arguments)
    return str(error.value)


def counted(generator, flow=TEST):
    """Frames sent and received of a flow."""
    found = generator.stats([flow.name])[flow.name]
    return found.frames_tx, found.frames_rx


def test_flows_are_chosen_by_phase_and_role():
    traffic = traffic_of(ScriptedApi(Clock()))
    found = [traffic.names(), traffic.names(Role.TEST), traffic.names(Role.STORM, Role.TEST),
             traffic.names(phase="resumed"), traffic.names(Role.STORM, phase="resumed")]
    assert found == [[STORM.name, TEST.name], [TEST.name], [STORM.name, TEST.name], [AGAIN.name], []], found


@pytest.mark.parametrize(("hosts", "resolved_at", "ended_at", "kinds"), [
    ((), {}, 0.0, set()),
    ((("A", 4), ("B", 4)), {"A": 0.0, "B": 3.0}, 3.0, {"ipv4_neighbors"}),
    ((("A", 6),), {"A": 0.0}, 0.0, {"ipv6_neighbors"}),
    ((("A", 4), ("B", 6)), {"A": 60.0, "B": 0.0}, 60.0, {"ipv4_neighbors", "ipv6_neighbors"}),
])
def test_every_host_resolves_its_gateway_before_anything_is_sent(hosts, resolved_at, ended_at, kinds):
    """As soon as all have; only what a host has is asked for."""
    api = ScriptedApi(Clock())
    api.resolved_at = resolved_at
    Generator(api, api.clock).push(traffic_of(api, hosts))
    assert api.clock.now() == ended_at, api.clock.now()
    assert {one[0] for one in api.asked if "neighbors" in one[0]} == kinds, api.asked
    assert [one[0] for one in api.asked][:2] == ["config", "protocols"], api.asked


@pytest.mark.parametrize(("resolved_at", "left"), [({}, "A, B"), ({"B": 0.0, "A": 99.0}, "A")])
def test_a_host_that_finds_no_gateway_is_refused(resolved_at, left):
    """Frames of such a host would go nowhere. It is named."""
    api = ScriptedApi(Clock())
    api.resolved_at = resolved_at
    said = refusal(Generator(api, api.clock).push, traffic_of(api, (("A", 4), ("B", 4))))
    assert said == ("after 60 s not every tester host has resolved its gateway's address:"
                    f" not {left}"), said
    assert api.clock.now() == NEIGHBOR_DEADLINE_S, api.clock.now()


def test_frames_are_counted_from_where_the_counters_stood():
    """Some generators do not clear them for a new configuration; where they do at the start, all is of it."""
    generator, api = pushed(counts={TEST.name: (1000, 900, "stopped")})
    for now, expected in (((1000, 900), (0, 0)), ((1500, 1300), (500, 400)), ((70, 60), (70, 60))):
        api.counts[TEST.name] = (*now, "started")
        assert counted(generator) == expected, f"{now}: {counted(generator)}"


@pytest.mark.parametrize(("now", "since"), [
    ((10, 10), (0, 0)), ((15, 12), (5, 2)), ((9, 10), (9, 10)), ((10, 9), (10, 9)), ((0, 0), (0, 0)),
])
def test_counts_since_an_earlier_one(now, since):
    """One that fell was cleared in between; then the other was too."""
    found = Counted(True, *now).since(Counted(False, 10, 10))
    assert found == Counted(True, *since), found
    assert Counted(True, *now).since(None) == Counted(True, *now), "there was none before"


def test_a_generator_without_statistics_before_the_first_start(caplog):
    """Counts from 0 on, and says so."""
    api = ScriptedApi(Clock())
    api.refuses["metrics"] = RuntimeError("no statistics view")
    generator = Generator(api, api.clock)
    with caplog.at_level(logging.WARNING):
        generator.push(traffic_of(api))
    [said] = caplog.messages
    assert "counted from 0 on" in said and "no statistics view" in said, said
    api.refuses.clear()
    api.counts[TEST.name] = (5, 4, "stopped")
    assert counted(generator) == (5, 4), counted(generator)


@pytest.mark.parametrize("counts", [None, (None, 5, "started"), (5, None, "started")])
def test_a_flow_without_a_count_is_named(counts):
    """Never taken for one that sent nothing."""
    generator, api = pushed()
    api.counts.pop(TEST.name)
    if counts:
        api.counts[TEST.name] = counts
    said = refusal(generator.stats, [STORM.name, TEST.name])
    assert said == "the traffic generator reports no statistics for flow Test Flow", said


def test_no_flows_are_not_asked_for():
    """No names would mean all of them to the API server."""
    generator, api = pushed()
    assert generator.stats([]) == {} and api.asked == [], api.asked


def test_flows_beside_a_case_begin_with_its_first_ones():
    """Once, and with each new configuration again; observers are told of all of them."""
    api = ScriptedApi(Clock())
    seen = Onlooker()
    generator = Generator(api, api.clock, [seen])
    for _ in range(2):
        generator.push(traffic_of(api, beside=[LIGHT]))
        api.asked.clear()
        generator.start([STORM.name])
        generator.start([TEST.name])
        assert api.asked == [("start", STORM.name, LIGHT.name), ("start", TEST.name)], api.asked
    started = [told for told in seen.told if told[0] == "started"]
    assert started == [("started", STORM.name, LIGHT.name), ("started", TEST.name)] * 2, started
    assert seen.told[0] == ("pushed", STORM.name, TEST.name, AGAIN.name), seen.told


def test_all_flows_are_stopped_where_none_is_named():
    seen = Onlooker()
    generator, api = pushed(observers=[seen])
    generator.stop()
    assert api.asked == [("stop",)] and seen.told[-1] == ("stopped",), (api.asked, seen.told)


@pytest.mark.parametrize(("limit_s", "said", "gap"), [
    (60, "started", ""), (60, "stopped", "Pause Storm not transmitting when it was stopped"), (0, "stopped", ""),
])
def test_a_storm_that_had_ended_before_it_was_stopped_has_a_gap(limit_s, said, gap):
    """Only one that ends by itself can; also what is read after that says so."""
    storm = FlowPlan(STORM.name, Role.STORM, None, 64, fps=5960, pause=STORM.pause, limit_s=limit_s)
    generator, api = pushed(flows={STORM.name: storm})
    api.counts[STORM.name] = (9, 0, said)
    api.on_stop = {STORM.name: (9, 0, "stopped")}
    generator.stop([STORM.name])
    found = generator.stats([STORM.name])[STORM.name]
    assert (found.gap, found.transmitting) == (gap, False), found
    generator.push(traffic_of(api))
    assert generator.stats([STORM.name])[STORM.name].gap == "", "of a new configuration nothing is known yet"


@pytest.mark.parametrize(("clock", "stops"), [(Clock, []), (InexactClock, [("stop", TEST.name)])])
def test_flows_that_run_out_are_stopped_all_the_same_on_hardware(clock, stops):
    """One that PFC holds is reported as stopped there, and goes on once it is released."""
    generator, api = pushed(clock())
    generator.run_out([TEST.name], 5.0)
    assert [one for one in api.asked if one[0] == "stop"] == stops, api.asked
    assert api.clock.now() == 5.0, api.clock.now()


def test_flows_that_do_not_run_out_are_stopped(caplog):
    """After a time of grace, and it is logged; what ends then is no error."""
    generator, api = pushed()
    api.counts[TEST.name] = (5, 5, "started")
    api.on_stop = {TEST.name: (6, 6, "stopped")}
    generator.run_out([TEST.name], 5.0)
    assert api.clock.now() == 5.0 + STOP_GRACE_S, api.clock.now()
    said = "flows still transmitting 10 s after their end, stopping them: Test Flow"
    assert any(said in message for message in caplog.messages), caplog.messages


def test_flows_that_sent_nothing_count_as_stopped(caplog):
    """Some generators say for ever of one that PFC held from its first frame on that it is started."""
    generator, api = pushed()
    api.counts[TEST.name] = (0, 0, "started")
    generator.run_out([TEST.name], 5.0)
    said = "flows that have sent nothing count as stopped, as they were told to: Test Flow"
    assert any(said in message for message in caplog.messages), caplog.messages


def test_flows_that_go_on_although_they_were_stopped_are_named():
    """Those alone that sent something."""
    generator, api = pushed()
    api.counts.update({STORM.name: (0, 0, "started"), TEST.name: (5, 5, "started"), AGAIN.name: (5, 5, "stopped")})
    said = refusal(generator.run_out, [STORM.name, TEST.name, AGAIN.name], 1.0)
    assert said == "the traffic generator did not stop Test Flow", said


@pytest.mark.parametrize("method", ["config", "protocols", "start", "stop", "metrics"])
def test_what_an_api_server_refuses_is_one_sentence(method):
    """Whatever it was asked, and whatever snappi raises; that a configuration was sent observers know all the same."""
    seen = Onlooker()
    generator, api = pushed(observers=[seen])
    api.refuses[method] = RuntimeError("port 1\n is not   licensed")
    calls = {"config": (generator.push, traffic_of(api)), "protocols": (generator.push, traffic_of(api)),
             "start": (generator.start, [TEST.name]), "stop": (generator.stop, [TEST.name]),
             "metrics": (generator.stats, [TEST.name])}
    seen.told.clear()
    said = refusal(*calls[method])
    assert said == "the traffic generator's API server: port 1 is not licensed", said
    assert bool(seen.told) == (method in ("config", "protocols", "start")), seen.told


def test_who_looks_on_later_is_told_first():
    """With those that were there before."""
    told = []

    class Named(RunObserver):
        """Says its name."""

        def __init__(self, name):
            self.name = name

        def statistics_read(self, stats, now_s):
            told.append(self.name)

    generator, _ = pushed(observers=[Named("early")])
    generator.observed_by(Named("late"))
    generator.stats([TEST.name])
    assert told == ["late", "early"], told
    generator.counted([TEST.name])
    assert len(told) == 2, "nobody is told of what is only counted"
