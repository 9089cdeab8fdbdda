"""What a priority group takes before XOFF, and what that says of a switch's cell, against sums made by hand."""

from fractions import Fraction

import pytest

from tests.common.pfc.cases.group_room import BORDER_CELLS, GroupRoom, cell_bytes, off_cells

ROOM = GroupRoom(1248, 0, 10_875_072)
XOFF = 165_568


@pytest.mark.parametrize(("dynamic_th", "groups", "shared"), [
    (0, 1, 5_437_536), (0, 2, 3_625_024), (1, 1, 7_250_048), (-2, 2, Fraction(10_875_072, 6)),
])
def test_a_group_takes_its_part_of_what_is_free(dynamic_th, groups, shared):
    """With a = 1 a half of the pool, or a third where another one takes as much; with a = 2 two thirds; with a quarter
    and another one a sixth."""
    found = GroupRoom(1248, dynamic_th, 10_875_072).before_xoff(groups, 18_230, XOFF)
    assert found == 1248 + shared, f"got {float(found)}"


@pytest.mark.parametrize("cell", [80, 96, 144, 208, 254, 256, 384, 420])
def test_the_cell_is_what_divides_the_watermark_and_explains_the_frames(cell):
    """A headroom that is not a whole number of cells, and a few cells more or less before XOFF, change nothing."""
    before = ROOM.before_xoff(2, 0, 0)
    for off in range(-40, 41):
        for used in (XOFF // cell * cell, (XOFF // cell - 3) * cell):
            frames = int(before / cell) + off + used // cell
            assert cell_bytes(frames, used, before) == cell, (off, used)


def test_without_headroom_the_mean_is_the_cell():
    """Nothing divides 0; and where frames take nothing like a cell there is no telling."""
    before = ROOM.before_xoff(1, 0, 0)
    assert cell_bytes(int(before / 208), 0, before) == 208, "the mean"
    assert cell_bytes(0, 0, before) is None and cell_bytes(100, 0, before) is None, "no cell is so large"


@pytest.mark.parametrize(("groups", "frames"), [(1, 31_490), (2, 21_261)])
def test_what_the_data_plane_takes_is_what_follows(groups, frames):
    """Frames of 64 bytes that the virtual switch took of a pool of 12,766,208 bytes in cells of 208, headroom among
    them: no cell is off."""
    before = GroupRoom(1248, 0, 12_766_208, 4_194_112).before_xoff(groups, frames, XOFF)
    assert cell_bytes(frames, XOFF, before) == 208, "the cell"
    assert abs(frames - (before + XOFF) / 208) < BORDER_CELLS, float((before + XOFF) / 208)


@pytest.mark.parametrize("off", [0, -4, 4])
def test_shared_headroom_may_be_part_of_the_pool(off):
    """A pool of 113,620,296 bytes, 50,653,696 of them headroom: 84,132 frames in cells of 254 were taken by each of two
    priorities of the virtual Z9664f. A few cells more or less are off whichever it is."""
    room = GroupRoom(9144, 0, 113_620_296, 50_653_696)
    frames = 84_132 + off
    before = room.before_xoff(2, frames, 371_348)
    assert before == 9144 + Fraction(62_966_600, 3), f"got {float(before)}"
    assert cell_bytes(frames, 371_348, before) == 254, "the cell"
    assert (abs(off_cells(frames, 371_348, before)) <= BORDER_CELLS) is (off == 0), float(off)
