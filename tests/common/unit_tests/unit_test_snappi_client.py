import inspect

import snappi

from tests.common.snappi_tests.client import has_choice

OBJECT = snappi.snappi.OpenApiObject
AS_SNAPPI_SEES_IT = OBJECT._has_choice  # before a test of this process makes it fast


def test_choices_are_those_that_snappi_sees() -> None:
    """Of every class of snappi, for each of its properties."""
    kinds = [kind for _, kind in inspect.getmembers(snappi.snappi, inspect.isclass) if issubclass(kind, OBJECT)]
    choices = 0
    for thing in (kind() for kind in kinds if kind is not OBJECT):
        for name in (*thing._TYPES, "no_such_property"):
            found = has_choice(thing, name)
            assert found == AS_SNAPPI_SEES_IT(thing, name), f"{type(thing).__name__}.{name}: found {found}"
            choices += found
    assert choices > 1000, f"expected more than a thousand choices in snappi's classes, found {choices}"
