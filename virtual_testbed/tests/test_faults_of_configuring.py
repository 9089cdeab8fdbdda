"""What of a port's configuration a broken switch lets take effect."""
from __future__ import annotations

from dataclasses import replace

import pytest

from virtual_testbed.dataplane.model.configuration import SchedulerConfig, WatchdogConfig
from virtual_testbed.faults import parse_fault
from virtual_testbed.faults.specification import FaultError
from virtual_testbed.tests.dataplane.testbeds import IDENTITY, LOSSLESS, switch_config

PORT = switch_config(1).ports["Ethernet0"]
ZERO = dict.fromkeys(range(8), 0)


def effect(spec, config=PORT, before=None):
    """What takes effect."""
    return parse_fault(spec).takes_effect(before, config)


def test_maps_unbound():
    assert effect("maps-unbound") == replace(PORT, dscp_to_tc=dict.fromkeys(range(64), 0))
    assert effect("maps-unbound@*,map=queue") == replace(PORT, tc_to_queue=ZERO)
    assert effect("maps-unbound@*,map=group") == replace(PORT, tc_to_pg=ZERO)
    assert effect("maps-unbound@*,map=all") == replace(
        PORT, dscp_to_tc=dict.fromkeys(range(64), 0), tc_to_queue=ZERO, tc_to_pg=ZERO, pfc_priorities=frozenset())


def test_map_entry_wrong():
    assert effect("map-entry-wrong@*,priority=4,to=0") == replace(PORT, tc_to_pg={**PORT.tc_to_pg, 4: 0})
    assert effect("map-entry-wrong@*,priority=4,to=1,map=queue") == replace(PORT, tc_to_queue={**IDENTITY, 4: 1})
    assert effect("map-entry-wrong@*,priority=4,to=1,map=pfc") == replace(PORT, pfc_to_queue={**IDENTITY, 4: 1})


@pytest.mark.parametrize("spec", [
    "map-entry-wrong", "map-entry-wrong@*,to=0", "map-entry-wrong@*,priority=4", "map-entry-wrong@*,priority=4,to=8",
    "map-entry-wrong@*,priority=4,to=0,map=dscp", "maps-unbound@*,map=pfc"])
def test_options_that_mean_nothing_are_refused(spec):
    with pytest.raises(FaultError, match="^fault "):
        parse_fault(spec)


def test_maps_kept():
    changed = replace(PORT, dscp_to_tc={**PORT.dscp_to_tc, 3: 0}, tc_to_pg=ZERO, dot1p_to_tc=IDENTITY,
                      pfc_priorities=frozenset({3}))
    assert effect("maps-kept", changed) == changed, "the switch starts"
    without = replace(PORT, dscp_to_tc=dict.fromkeys(range(64), 0))
    assert effect("maps-kept", PORT, without) == PORT, "there was none before"
    assert effect("maps-kept", changed, PORT) == replace(PORT, pfc_priorities=frozenset({3}))


def test_lossless_groups_missing():
    lossy = PORT.priority_groups[0]
    found = effect("lossless-groups-missing").priority_groups
    assert found == {0: lossy, 3: lossy, 4: lossy} and lossy.xoff == 0
    assert effect("lossless-groups-missing@*,priority=4").priority_groups == {0: lossy, 3: LOSSLESS, 4: lossy}
    bare = replace(PORT, priority_groups={3: LOSSLESS, 4: LOSSLESS})
    assert effect("lossless-groups-missing", bare).priority_groups == {}


def test_buffer_change_lost():
    smaller = replace(LOSSLESS, dynamic_th=-5)
    changed = replace(PORT, priority_groups={**PORT.priority_groups, 3: smaller, 4: smaller})
    assert effect("buffer-change-lost", changed) == changed, "the switch starts"
    assert effect("buffer-change-lost", changed, PORT) == PORT
    assert effect("buffer-change-lost@*,priority=4", changed, PORT).priority_groups[3] == smaller
    gone = replace(PORT, priority_groups={0: PORT.priority_groups[0]})
    assert effect("buffer-change-lost", gone, PORT) == gone, "a group that is no more"
    assert effect("buffer-change-lost", PORT, gone) == PORT, "a group that is new"


def test_headroom_divided():
    groups = {number: replace(LOSSLESS, xoff=700) for number in (2, 3, 4)}
    three = replace(PORT, priority_groups={0: PORT.priority_groups[0], **groups})
    divided = effect("headroom-divided", three).priority_groups
    assert [divided[number].xoff for number in (2, 3, 4)] == [466, 466, 466] and divided[0] == PORT.priority_groups[0]
    assert effect("headroom-divided@*,groups=3", three) == three
    assert effect("headroom-divided", PORT) == PORT, "it has two"


def test_weights_forgotten():
    fault = parse_fault("weights-forgotten")
    down, other = replace(PORT, admin_up=False), replace(PORT, name="another")
    assert fault.takes_effect(None, down) == down and fault.takes_effect(down, PORT) == PORT, "it came up"
    for before, after in (PORT, down), (down, PORT), (PORT, PORT):
        assert {scheduler.type for scheduler in fault.takes_effect(before, after).schedulers.values()} == {"STRICT"}
    assert fault.takes_effect(other, other) == other, "it was not shut down"


def test_maps_forgotten():
    tagged = replace(PORT, dot1p_to_tc=IDENTITY)
    down = replace(tagged, admin_up=False)
    for options, left in (
        ("", {"dscp_to_tc": dict.fromkeys(PORT.dscp_to_tc, 0)}),
        ("@*,map=tag", {"dot1p_to_tc": ZERO}),
    ):
        fault = parse_fault(f"maps-forgotten{options}")
        assert fault.takes_effect(None, tagged) == tagged, "it was not shut down"
        assert fault.takes_effect(tagged, down) == replace(down, **left)
        assert fault.takes_effect(down, tagged) == replace(tagged, **left)
    assert fault.takes_effect(tagged, PORT) == PORT, "it trusts no tag"


def test_weights_reset():
    fault = parse_fault("weights-reset")
    other = replace(PORT, schedulers={**PORT.schedulers, 0: SchedulerConfig("DWRR", 7)})
    assert fault.takes_effect(None, PORT) == PORT and fault.takes_effect(PORT, PORT) == PORT, "nothing changed"
    for config in (other, replace(other, admin_up=False)):
        found = fault.takes_effect(PORT, config).schedulers
        assert found.pop(0).weight == 7 and {scheduler.weight for scheduler in found.values()} == {1}
    back = fault.takes_effect(other, PORT).schedulers
    assert back[0] == PORT.schedulers[0] and back[3].weight == 1, "only the one that changed is as configured"


def test_weights_kept():
    other = replace(PORT, schedulers={**PORT.schedulers, 0: SchedulerConfig("DWRR", 7)})
    assert effect("weights-kept", other, PORT) == PORT and effect("weights-kept", other) == other
    assert effect("weights-kept", other, replace(PORT, schedulers={})) == other, "it had none"


def test_headroom_reclaimed():
    down = replace(PORT, admin_up=False)
    every, one = parse_fault("headroom-reclaimed"), parse_fault("headroom-reclaimed@*,priority=4")
    usual = PORT.priority_groups[0]
    for fault, left in (every, {3: usual, 4: usual}), (one, {3: PORT.priority_groups[3], 4: usual}):
        assert fault.takes_effect(None, PORT) == PORT, "it was not shut down"
        for before, after in (PORT, down), (down, PORT):
            groups = fault.takes_effect(before, after).priority_groups
            assert groups == {**PORT.priority_groups, **left}


def test_headroom_reclaimed_a_little_each_time():
    down = replace(PORT, admin_up=False)
    fault = parse_fault("headroom-reclaimed@*,priority=4,bytes=416")
    due = PORT.priority_groups[4].xoff
    for before, after, less in (None, PORT, 0), (PORT, down, 416), (down, PORT, 416), (PORT, down, 832):
        groups = fault.takes_effect(before, after).priority_groups
        assert groups == {**PORT.priority_groups, 4: replace(PORT.priority_groups[4], xoff=due - less)}


def test_xon_late():
    other = replace(PORT, priority_groups={**PORT.priority_groups, 3: replace(PORT.priority_groups[3], dynamic_th=-3)})
    at_once = effect("xon-late@*,priority=3").priority_groups
    assert at_once == {**PORT.priority_groups, 3: replace(PORT.priority_groups[3], xon=0, xon_offset=0)}
    fault = parse_fault("xon-late@*,once_changed=yes")
    assert fault.takes_effect(None, PORT) == PORT, "nothing was changed"
    for before, after in (PORT, other), (other, PORT):
        found = fault.takes_effect(before, after).priority_groups
        assert (found[3].xon, found[3].xon_offset) == (0, 0), "its profile was changed once"
        assert found[3].dynamic_th == after.priority_groups[3].dynamic_th
        assert {**found, 3: None} == {**PORT.priority_groups, 3: None}, "the others' were not"


def test_xon_early():
    groups = effect("xon-early@*,priority=3").priority_groups
    assert groups == {**PORT.priority_groups, 3: replace(PORT.priority_groups[3], xon_offset=1)}


def test_egress_limited():
    limited = effect("egress-limited@*,bytes=4160,priority=3").queues
    assert limited[3].static_th == 4160 and limited[3].dynamic_th is None and limited[3].size == 0
    assert {queue: limited[queue] for queue in limited if queue != 3} == {
        queue: PORT.queues[queue] for queue in PORT.queues if queue != 3}


def test_what_a_watchdog_that_runs_keeps():
    forwarding, dropping = WatchdogConfig("forward", 200, 200), WatchdogConfig("drop", 400, 200)
    before = replace(PORT, watchdog=forwarding)
    after = replace(PORT, watchdog=dropping, watchdog_priorities=frozenset({2}))
    assert effect("watchdog-action-kept", after, before).watchdog == WatchdogConfig("forward", 400, 200)
    assert effect("watchdog-set-kept", after, before).watchdog_priorities == frozenset({3, 4})
    for name in ("watchdog-action-kept", "watchdog-set-kept"):
        assert effect(name, after) == after and effect(name, after, PORT) == after, "it was started"
        assert effect(name, PORT, before) == PORT, "it was stopped"
