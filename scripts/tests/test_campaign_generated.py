"""What is drawn for a campaign: it can be injected, and is the same for a seed however much is drawn."""
import re

from scripts.campaign.catalogue import FAULTS
from scripts.campaign.entries import ROLES
from scripts.campaign.generated import DrawnFault, drawn, entry_of_faults, generate, simpler
from scripts.campaign.groups import port_groups
from scripts.campaign.kinds import KINDS, NOT_DRAWN
from scripts.campaign.shrinking import shrink
from tests.common.pfc.record.verdict import Status
from virtual_testbed.faults import BUILT_IN, parse_fault

MANY = 2000


def test_every_fault_and_every_option_is_drawn_or_said_not_to_be():
    options = {kind.name: set() for kind in KINDS}
    for kind in KINDS:
        options[kind.name] |= {knob.name for form in kind.forms for knob in form}
    assert {*options} | {*NOT_DRAWN} == {*BUILT_IN}, "each fault is drawn or not, with a reason"
    assert not {*options} & {*NOT_DRAWN}
    lacking = {name: left for name, found in options.items() if (left := set(BUILT_IN[name].options) - found)}
    assert not lacking, "these options are never drawn"


def test_the_catalogue_has_every_fault_once():
    names = [entry.name for entry in FAULTS]
    of_no_port = {"chatter", "switch-reboots"}  # healthy; `test_restart_in_a_run.py`
    assert sorted(names) == sorted({*BUILT_IN} - of_no_port), "each built-in fault that breaks a port"


def test_what_is_drawn_can_be_injected_and_is_caught_somewhere():
    roles = port_groups()[0].roles
    for entry in generate("any", MANY):
        for fault in entry.at(roles):
            parse_fault(fault)
            assert not re.search(r"[{}]", fault), fault


def test_drops_of_another_port_are_drawn_where_there_are_some():
    """The port under test drops frames in M2O-2; its bystander, whose drops it could show, never does."""
    found = {fault for entry in generate("any", MANY) for fault in entry.faults if "only=drops" in fault}
    assert {fault.split("@")[1] for fault in found if fault.startswith("counters-of-another")} == {
        "{beside},of={rx},only=drops"}, found


def test_nothing_is_drawn_that_is_below_the_suite_s_own_limits():
    """docs/testplan/README.md, "How small a defect each limit sees": that it is not seen is no news."""
    least = {"pause-late": ("ns", 1000), "xoff-early": ("bytes", 3 * 208), "headroom-short": ("bytes", 2 * 208)}
    for number in range(1, MANY):
        for fault in drawn("any", number):
            if fault.kind.name in least:
                option, smallest = least[fault.kind.name]
                assert int(fault.options[option]) >= smallest, fault.specification
            if fault.kind.name == "times-rounded":
                assert int(fault.options["bits"]) <= 8, fault.specification


def test_counters_that_stop_may_do_so_before_anything_was_measured():
    """Then the preflight is ERROR; later what they do not count is FAIL."""
    counters = kind("counters-frozen")
    assert set(counters.declaration({"from": "15s"}).verdicts) == {Status.FAIL, Status.ERROR}
    assert counters.declaration({}).verdicts == (Status.ERROR,)


def test_the_same_is_drawn_however_many_are():
    assert generate("one", 20) == generate("one", 40)[:20]
    assert generate("one", 20) != generate("another", 20)


def test_what_is_simpler_is_never_what_it_was_made_of_and_comes_to_an_end():
    for number in range(1, 200):
        faults = drawn("any", number)
        for _ in range(40):
            found = list(simpler(faults))
            assert faults not in found
            if not found:
                break
            assert entry_of_faults("x", found[0]).faults != entry_of_faults("x", faults).faults
            faults = found[0]
        else:
            raise AssertionError("it does not come to an end")


def kind(name):
    """A fault that can be drawn."""
    return next(one for one in KINDS if one.name == name)


def late(ns, **options):
    """A pause that acts late."""
    made = kind("pause-late")
    return DrawnFault(made, made.forms[0], {"ns": str(ns), **options})


def test_an_escape_is_shrunk_to_the_simplest_that_still_escapes():
    """Here: whatever acts at most 700 ns late."""
    def escapes(faults):
        return all(int(fault.options.get("ns", 10**6)) <= 700 for fault in faults)

    leak = DrawnFault(kind("pause-leaks"), (), {})
    found = shrink("1", (late(100), late(50, **{"from": "3s"})), escapes, 40)
    assert found.is_simplest and found.caught, found
    [one] = found.faults
    assert "from" not in one and 500 < int(one.split("ns=")[1]) <= 700, found
    assert shrink("1", (late(100), leak), escapes, 0).faults == (late(100).specification, leak.specification)
    assert not shrink("1", (late(100), late(50)), escapes, 1).is_simplest, "it was not tried to the end"


def test_what_may_be_broken_of_a_group_is_nobody_elses():
    groups = port_groups()
    assert len(groups) == 5
    for group in groups:
        assert {*group.roles} == {*ROLES} and {*group.roles.values()} <= group.names
        others = {name for other in groups if other is not group for name in other.names}
        assert {port for role, port in group.roles.items() if role != "opposite"}.isdisjoint(others)
        assert group.roles["opposite"] in others
