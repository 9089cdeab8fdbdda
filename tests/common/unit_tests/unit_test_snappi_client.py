import inspect

import snappi

from tests.common.snappi_tests.client import UNDER_REVIEW, has_choice, quiet_snappi

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


def test_what_is_set_on_purpose_is_not_warned_of(capsys, monkeypatch):
    """Snappi warns of it whenever a configuration is written."""
    monkeypatch.setattr(snappi.Layer1, "_STATUS", {name: f"{name} is under_review" for name in (*UNDER_REVIEW, "mtu")})
    for is_quiet in (False, True):
        if is_quiet:
            quiet_snappi()
        layer1 = snappi.Layer1(name="L1", port_names=["p1"])
        layer1.ieee_media_defaults = False
        layer1.auto_negotiate = False
        layer1.mtu = 9000
        layer1.serialize()
        warned = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
        assert set(warned) == ({"mtu"} if is_quiet else {*UNDER_REVIEW, "mtu"}), warned
