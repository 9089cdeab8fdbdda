"""What a priority group takes before XOFF, and what that says of a switch's cell, against sums made by hand."""

from fractions import Fraction

import pytest

from tests.common.pfc.cases.group_room import BORDER_CELLS, GroupRoom, cell_bytes

ROOM = GroupRoom(1248, 0, 10_875_072)
XOFF = 165_568


@pytest.mark.parametrize(("dynamic_th", "groups", "shared"), [
    (0, 1, 5_437_536), (0, 2, 3_625_024), (1, 1, 7_250_048), (-2, 2, Fraction(10_875_072, 6)),
])
def test_a_group_takes_its_part_of_what_is_free(dynamic_th, groups, shared):
    """With a = 1 a half of the pool, or a third where another one takes as much; with a = 2 two thirds; with a quarter
    and another one a sixth."""
    found = GroupRoom(1248, dynamic_th, 10_875_072).before_xoff(groups)
    assert found == 1248 + shared, f"got {float(found)}"


@pytest.mark.parametrize("cell", [80, 96, 144, 208, 254, 256, 384])
def test_the_cell_is_what_divides_the_watermark_and_explains_the_frames(cell):
    """A headroom that is not a whole number of cells, and a few cells more or less before XOFF, change nothing."""
    before = ROOM.before_xoff(2)
    for off in range(-40, 41):
        for used in (XOFF // cell * cell, (XOFF // cell - 3) * cell):
            frames = int(before / cell) + off + used // cell
            assert cell_bytes(frames, used, before) == cell, (off, used)


def test_without_headroom_the_mean_is_the_cell():
    """Nothing divides 0; and where frames take nothing like a cell there is no telling."""
    before = ROOM.before_xoff(1)
    assert cell_bytes(int(before / 208), 0, before) == 208, "the mean"
    assert cell_bytes(0, 0, before) is None and cell_bytes(100, 0, before) is None, "no cell is so large"


@pytest.mark.parametrize(("groups", "frames"), [(1, 31_490), (2, 21_261)])
def test_what_the_data_plane_takes_is_what_follows(groups, frames):
    """Frames of 64 bytes that the virtual switch took of a pool of 12,766,208 bytes in cells of 208, headroom among
    them: no cell is off."""
    before = GroupRoom(1248, 0, 12_766_208).before_xoff(groups)
    assert cell_bytes(frames, XOFF, before) == 208, "the cell"
    assert abs(frames - (before + XOFF) / 208) < BORDER_CELLS, float((before + XOFF) / 208)
