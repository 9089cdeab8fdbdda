"""A pause storm and the traffic in it: which are refused, what the storm's frames say, how loads are divided."""

import dataclasses
from fractions import Fraction

import pytest

from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.model.scenario import Scenario, Storm
from tests.common.pfc.model.traffic import PauseFrame, global_pause_frame, pfc_frame

ODD = PauseFrame((9,) * 8, enabled=(3, 9), operation_code=0x0102)


def storm(kind=Storm.LOSSLESS, tested=(3,), background=(0, 1, 4), **rest):
    """A scenario."""
    return Scenario(kind, tested, background, **rest)


@pytest.mark.parametrize(("change", "said"), [
    ({"tested": ()}, "a storm needs tested and background priorities, found [] and [0, 1, 4]"),
    ({"background": ()}, "a storm needs tested and background priorities, found [3] and []"),
    ({"tested": (4, 3, 1)}, "priorities [1, 4] are both tested and background"),
    ({"test_percent": 51}, "51 % of test and 50 % of background traffic are more than one port carries"),
    ({"test_percent": 0, "background_percent": 101}, "0 % of test and 101 % of background traffic are more than one"),
])
def test_what_cannot_be_measured_is_refused(change, said):
    with pytest.raises(QualificationError) as error:
        storm(**change)
    assert str(error.value).startswith(said), str(error.value)


def test_a_storm_needs_no_background_where_it_has_no_load():
    """Nor does a full line need a gap."""
    alone = storm(background=(), test_percent=100, background_percent=0)
    assert alone.share(3) == 100, alone.share(3)


@pytest.mark.parametrize(("scenario", "paused", "frame"), [
    (storm(), (3,), pfc_frame((3,), 65535)),
    (storm(tested=(3, 4), background=(0,), pause_quanta=8), (3, 4), pfc_frame((3, 4), 8)),
    (storm(Storm.LOSSY, tested=(0, 1), background=(3,)), (0, 1), pfc_frame((0, 1), 65535)),
    (storm(Storm.GLOBAL, pause_quanta=5), (), global_pause_frame(5)),
    (storm(frame=ODD), (3,), ODD),
    (storm(Storm.INVALID, frame=ODD), (), ODD),
])
def test_what_the_frames_of_a_storm_say(scenario, paused, frame):
    """Unless they are given they enable what is tested; bits beyond the eight priorities pause none, and frames that
    are none of PFC pause none whatever they enable."""
    assert scenario.paused == paused, scenario.paused
    assert scenario.pause_frame() == frame and list(scenario.pauses().values()) == [frame], scenario.pause_frame()


@pytest.mark.parametrize(("scenario", "moment", "holds"), [
    (storm(), "while priority 3 was paused", True),
    (storm(tested=(3, 4), background=(0,)), "while priorities 3, 4 were paused", True),
    (storm(Storm.LOSSY), "in a pause storm on priority 3", False),
    (storm(Storm.GLOBAL), "in a storm of 802.3x pause frames", False),
    (storm(Storm.INVALID, called="frames of another opcode"), "in a storm of frames of another opcode", False),
])
def test_what_a_storm_is_called_in_messages(scenario, moment, holds):
    """And whether it has to hold anything."""
    assert (scenario.moment, scenario.holds) == (moment, holds), scenario.moment


@pytest.mark.parametrize(("scenario", "shares"), [
    (storm(), {3: 50, 0: Fraction(50, 3), 1: Fraction(50, 3), 4: Fraction(50, 3)}),
    (storm(tested=(3, 4), background=(0,), test_percent=30, background_percent=70), {3: 15, 4: 15, 0: 70}),
    (storm(tested=(0, 1), background=(), parts={0: 1, 1: 63}, test_percent=64, background_percent=0), {0: 1, 1: 63}),
])
def test_loads_are_divided_and_never_more_than_asked_for(scenario, shares):
    """Among the tested priorities by their parts, among those of the background equally."""
    found = {priority: Fraction(scenario.share(priority)) for priority in shares}
    assert all(found[one] <= shares[one] < found[one] + Fraction(1, 10**12) for one in shares), found


@pytest.mark.parametrize(("speed_mbps", "change", "fps", "least"), [
    (100000, {}, 5960, 17881),
    (10000, {}, 596, 1788),
    (400000, {"storm_lead_s": 0, "data_s": 0.5}, 23842, 5960),
    (100000, {"pause_quanta": 1, "data_s": 1}, 390625000, 390625000),
    (100000, {"storm_refreshes": Fraction(1, 2)}, 1490, 17881),
])
def test_how_many_pause_frames_a_storm_has(speed_mbps, change, fps, least):
    """A second, and at least until the end of the data: fewer leave gaps, however often each pause is renewed."""
    scenario = dataclasses.replace(storm(), **change)
    found = scenario.storm_fps(speed_mbps), scenario.least_storm_frames(speed_mbps)
    assert found == (fps, least), found
