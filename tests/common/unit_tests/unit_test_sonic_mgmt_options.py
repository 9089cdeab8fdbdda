"""`--topology`, which leaves out the tests of other topologies."""

from types import SimpleNamespace

import pytest

from tests.common.sonic_mgmt_options import deselect_other_topologies


class Item:
    """A collected test, marked for topologies or not at all."""

    def __init__(self, *topologies):
        self._topologies = topologies

    def get_closest_marker(self, name):
        """The marker `topology`."""
        return SimpleNamespace(args=self._topologies) if name == "topology" and self._topologies else None


TGEN = Item("tgen", "multidut-tgen")
T0 = Item("t0")
UNMARKED = Item()


def config(named):
    """pytest's configuration with `--topology`, and the items that are deselected."""
    left = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left.extend(items))
    return SimpleNamespace(getoption=lambda name: named, hook=hook), left


@pytest.mark.parametrize(
    ("named", "kept"),
    [(None, [TGEN, T0, UNMARKED]), ("tgen", [TGEN]), ("t0, multidut-tgen", [TGEN, T0]), ("any,t0", [T0])],
)
def test_tests_of_other_topologies_are_left_out(named, kept):
    """So are those that are marked for none, as in sonic-mgmt."""
    items = [TGEN, T0, UNMARKED]
    configured, left = config(named)
    deselect_other_topologies(configured, items)
    assert items == kept, f"kept {items}"
    assert set(left) == {TGEN, T0, UNMARKED} - set(kept), f"deselected {left}"


def test_a_topology_of_no_test_is_refused():
    """With those that there are."""
    with pytest.raises(pytest.UsageError) as caught:
        deselect_other_topologies(config("t1")[0], [TGEN, T0])
    expected = "--topology: no test is marked for 't1'; there are tests for multidut-tgen, t0, tgen"
    assert str(caught.value) == expected, f"got {caught.value}"
