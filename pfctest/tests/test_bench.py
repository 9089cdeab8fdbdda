"""The benchmarks measure what they say, on a cable."""
from __future__ import annotations

import shutil

import pytest

from pfctest.tests import bench
from pfctest.tests.namespace import WHY_NOT, way


@pytest.mark.skipif(way() is None, reason=WHY_NOT)
def test_every_figure_is_there(monkeypatch):
    small = {"RUNS": 1, "WARM_S": 0.3, "COUNT_S": 0.1, "STORM_S": 0.1, "MANY": 3, "SPEEDS": {"100g": 100_000}}
    for name, value in small.items():
        monkeypatch.setattr(bench, name, value)
    found = {figure.name: figure for figure in bench.figures()}
    peers = ["python_loop", *filter(shutil.which, ("trafgen", "mausezahn", "tcpreplay"))]
    shares = ["100g", *(["100g.at_receiver"] if bench.is_root() else []), "100g.machine",
              "100g.send_and_sleep", "3x100g"]
    assert list(found) == ["pfctest.max_fps", *(f"pfctest.max_fps_over_{peer}" for peer in peers),
                           *(f"pfctest.open_share.{share}" for share in shares), "pfctest.load_average"]
    assert found["pfctest.max_fps"].value > 1000
    assert all(0 <= found[f"pfctest.open_share.{share}"].value <= 1 for share in shares)
    if bench.is_root():
        seen, said = (found[f"pfctest.open_share.100g{where}"].value for where in (".at_receiver", ""))
        assert seen <= 1.05 * said, "what the sender says is the upper bound, of a slightly longer time"


def test_a_share_is_reckoned_as_the_generator_does():
    assert bench._share([(0, 10), (335_539, 335_539), (2 * 335_539, 3 * 335_539)], 100_000) == pytest.approx(0.5)


def test_nothing_is_measured_where_nothing_can_be(monkeypatch, capsys):
    monkeypatch.setattr(bench, "way", lambda: None)
    assert list(bench.figures()) == [] and WHY_NOT in capsys.readouterr().err
