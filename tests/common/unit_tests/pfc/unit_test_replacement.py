"""Which switch is measured for a T1, and every reason why none can be."""

from dataclasses import replace

import pytest

from tests.common.pfc.lab.dut import SwitchState
from tests.common.pfc.replacement.choose import choose_device, device_facts, replacements_of
from tests.common.pfc.model.errors import QualificationError, SwitchUnreachable
from tests.common.pfc.model.ports import ConnectedPort

T1, T0, OTHER = "lab-t1", "lab-t0", "lab-t0-b"
HWSKU, PLATFORM, BUILD = "Arista-7060CX-32S-C32", "x86_64-arista_7060_cx32s", "SONiC.20260831.01"
PORTS = ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet40")
TESTBED = {"conf-name": "lab", "duts": [T1, T0, OTHER], "replacements": {T1: [T0]}}
LINKS = {T0: {port: {"peerdevice": "snappi-1"} for port in PORTS}}
UNREACHED = "lab-t1 is a T1 (LeafRouter), which pause frames of a traffic generator behind a T0 do not reach"


def make_state(name, role="ToRRouter", build=BUILD, hwsku=HWSKU, **changes):
    """A switch as it was read."""
    metadata = {"type": role, "hwsku": hwsku, "platform": PLATFORM, **changes}
    rows = {port: {"speed": "100000"} for port in PORTS} | {"Ethernet-BP0": {"role": "Int"}}
    return SwitchState(name, {"DEVICE_METADATA": {"localhost": metadata}, "PORT": rows}, {}, build, hwsku, "broadcom")


def make_states(**changed):
    """T1, its replacement and another T0; a keyword (t1, t0, other) replaces one."""
    return {
        T1: changed.get("t1", make_state(T1, "LeafRouter")),
        T0: changed.get("t0", make_state(T0)),
        OTHER: changed.get("other", make_state(OTHER)),
    }


def generator_ports(device=T0, ports=PORTS):
    """Ports with a traffic generator behind them."""
    return [ConnectedPort(device, port, "snappi-1", f"192.0.2.1/{at}", 100000) for at, port in enumerate(ports, 1)]


def choose(states=None, testbed=None, ports=None, device=T1, links=LINKS):
    """The choice, and the switches that were read for it."""
    states, read = states or make_states(), []

    def state_of(name):
        read.append(name)
        if isinstance(states[name], Exception):
            raise states[name]
        return states[name]

    ports = generator_ports() if ports is None else ports
    return choose_device(TESTBED if testbed is None else testbed, device, state_of, ports, links), read


def refusal(**arguments):
    """The sentence with which a choice is refused."""
    with pytest.raises(QualificationError) as caught:
        choose(**arguments)
    assert "\n" not in str(caught.value), "a refusal is one sentence"
    return str(caught.value)


def test_a_t1_is_measured_on_its_replacement():
    """A T0 of its model and build."""
    chosen, read = choose()
    assert chosen.device == T0, "the replacement stands for the T1"
    assert read == [T1, T0], "no other switch is asked"


@pytest.mark.parametrize("role", ["ToRRouter", "BackEndToRRouter", "SpineRouter", "not-provisioned", ""])
def test_any_other_switch_is_measured_itself(role):
    """Nothing else is read."""
    chosen, read = choose(make_states(t1=make_state(T1, role)), {**TESTBED, "replacements": {}})
    assert (chosen.device, read) == (T1, [T1]), "only a T1 is replaced"


def test_of_several_replacements_the_first_that_fits():
    """Also when an earlier one cannot be reached."""
    both = {**TESTBED, "replacements": {T1: [OTHER, T0]}}
    for other in (make_state(OTHER, build="SONiC.1"), SwitchUnreachable("lab-t0-b: no route to host")):
        chosen, read = choose(make_states(other=other), both)
        assert (chosen.device, read) == (T0, [T1, OTHER, T0]), "the second fits"


@pytest.mark.parametrize("value", [T0, [T0], (T0,)])
def test_forms_of_the_key(value):
    """One name may stand without a list."""
    assert replacements_of({"replacements": {T1: value}}, T1) == (T0,), "the same in each form"


@pytest.mark.parametrize(
    "t0, words",
    [
        (make_state(T0, "LeafRouter"), "lab-t0 is of type LeafRouter, no T0 (ToRRouter)"),
        (make_state(T0, ""), "lab-t0 is of no type, no T0 (ToRRouter)"),
        (make_state(T0, hwsku="Dell-Z9864f-O64"), f"lab-t0 has HwSku Dell-Z9864f-O64, not {HWSKU}"),
        (make_state(T0, platform="x86_64-other"), f"lab-t0 has platform x86_64-other, not {PLATFORM}"),
        (make_state(T0, build="SONiC.20251231.02"), f"lab-t0 has build SONiC.20251231.02, not {BUILD}"),
        (make_state(T0, build="unknown"), f"lab-t0 has build (none), not {BUILD}"),
        (SwitchUnreachable("lab-t0: no route to host"), "lab-t0: no route to host"),
    ],
)
def test_a_replacement_of_another_kind(t0, words):
    """What was found and what would be right stand in the sentence."""
    said = refusal(states=make_states(t0=t0))
    assert said == (
        f"{UNREACHED}, and none of its replacements fits: {words}; right would be a T0 with HwSku {HWSKU} and build "
        f"{BUILD}, and a traffic generator behind every port"
    ), "one sentence with all of it"


@pytest.mark.parametrize(
    "connected, links, words",
    [
        (PORTS[:3], {T0: {}}, "no traffic generator behind 1 of its 4 ports: Ethernet40 (no cable)"),
        (PORTS[1:], {T0: {"Ethernet0": {"peerdevice": T1}}}, "behind 1 of its 4 ports: Ethernet0 (leads to lab-t1)"),
        ((), {}, "of its 4 ports: Ethernet0 (no cable), Ethernet4 (no cable), Ethernet8 (no cable), 1 more"),
    ],
)
def test_a_port_without_a_generator(connected, links, words):
    """Ports are named in natural order; those inside a chassis do not count."""
    assert words in refusal(ports=generator_ports(ports=connected), links=links), "the ports are named"


def test_generators_on_another_switch_do_not_count():
    """A generator behind a port of the same name elsewhere."""
    assert "behind 4 of its 4 ports" in refusal(ports=generator_ports(OTHER)), "the other switch's ports"


def test_a_switch_without_ports():
    """Nothing is connected to nothing."""
    bare = make_state(T0)
    bare = replace(bare, config_db={**bare.config_db, "PORT": {}})
    assert "lab-t0 has no port in CONFIG_DB" in refusal(states=make_states(t0=bare)), "not taken for connected"


def test_all_that_do_not_fit_are_named():
    """In the order of the entry."""
    states = make_states(t0=make_state(T0, build="SONiC.1"), other=make_state(OTHER, hwsku="X"))
    said = refusal(states=states, testbed={**TESTBED, "replacements": {T1: [T0, OTHER]}})
    assert f"lab-t0 has build SONiC.1, not {BUILD}; lab-t0-b has HwSku X, not {HWSKU}; right" in said, "both"


@pytest.mark.parametrize(
    "replacements, words",
    [
        (None, "and testbed lab names no replacement for it: its entry takes `replacements: {lab-t1: [NAME]}`; right"),
        ({OTHER: [T0]}, "and testbed lab names no replacement for it"),
        ({T1: ["lab-t9"]}, "its replacement lab-t9 is not one of the switches of testbed lab (lab-t1, lab-t0, lab-t0-"),
        ([T0], "testbed lab: replacements is ['lab-t0'], it takes a dictionary of T1 and T0s, e.g. {lab-t1: [NAME"),
        ({T1: 7}, "testbed lab: replacements of lab-t1 is 7, it takes names of T0s"),
        ({T1: [7]}, "testbed lab: replacements of lab-t1 is [7], it takes names of T0s"),
    ],
)
def test_an_entry_that_names_none(replacements, words):
    """None, or one that does not exist."""
    assert words in refusal(testbed={**TESTBED, "replacements": replacements}), "the entry is named"


@pytest.mark.parametrize(
    "t1, words",
    [
        (make_state(T1, "LeafRouter", build="unknown"), "says no build that a replacement could be compared with"),
        (make_state(T1, "LeafRouter", hwsku="unknown"), "says no HwSku that a replacement could be compared with"),
        (
            make_state(T1, "not-provisioned"),
            "lab-t1 has a replacement in the testbed's entry (lab-t0) but is of type not-provisioned, no T1",
        ),
    ],
)
def test_a_t1_that_is_not_known(t1, words):
    """Two switches that say nothing are not alike, and a switch that nobody deployed is not measured as itself."""
    assert words in refusal(states=make_states(t1=t1, t0=make_state(T0, build="unknown"))), "refused before comparing"


def test_facts_of_a_switch():
    """From what was read of it."""
    facts = device_facts(make_state(T0))
    assert (facts.role, facts.hwsku, facts.platform, facts.build) == ("ToRRouter", HWSKU, PLATFORM, BUILD), "as read"
    assert facts.ports == PORTS, "front-panel ports in natural order"
