"""Which ports a sweep is about, and what joins its runs."""

import json
from types import SimpleNamespace

import pytest

from tests.common.pfc.cases.pauses import SINGLE_LOSSLESS
from tests.common.pfc.model.errors import QualificationError
from tests.common.pfc.sweep.port_sweep import PORT
from tests.common.unit_tests.pfc.fakes import DEVICE
from tests.snappi_tests.pfc.qualification.files.delivery import Delivering
from tests.snappi_tests.pfc.qualification.files.session import PORT_PARAMETER, Session
from tests.snappi_tests.pfc.qualification.files.sweep import other_ports, ports_of


class Item:
    """A collected pytest item."""

    def __init__(self, case, **parameters):
        self.case = case
        self.callspec = SimpleNamespace(params=parameters)

    def get_closest_marker(self, name):
        """The marker with the test case."""
        return SimpleNamespace(args=(self.case,)) if name == "pfc_case" and self.case else None


SWEPT = [Item(PORT, **{PORT_PARAMETER: f"{DEVICE}|{port}"}) for port in ("Ethernet0", "Ethernet8", "Ethernet80")]
OTHERS = [Item(PORT), Item(SINGLE_LOSSLESS, pfc_target=f"{DEVICE}|3"), Item(None)]


def test_items_about_other_ports_are_left_out():
    """Those that are about no port stay."""
    items = [*SWEPT, *OTHERS]
    assert ports_of(items) == ["Ethernet0", "Ethernet8", "Ethernet80"], f"ports: {ports_of(items)}"
    left = other_ports(items, "Ethernet0, Ethernet80")
    assert left == [SWEPT[1]], f"left out: {left}"
    assert not other_ports(items, None), "without the option every port is swept"


@pytest.mark.parametrize(
    ("items", "option", "sentence"),
    [
        (SWEPT, "Ethernet0,Ethernet9",
         "--pfc-ports: 'Ethernet9' is no port of the sweep; it has Ethernet0, Ethernet8, Ethernet80"),
        (SWEPT, "", "--pfc-ports: '' is no port of the sweep; it has Ethernet0, Ethernet8, Ethernet80"),
        (OTHERS, "Ethernet0", "--pfc-ports: 'Ethernet0' is no port of the sweep; it has none"),
    ],
)
def test_a_port_that_is_not_swept_is_refused(items, option, sentence):
    """In one sentence with those that there are."""
    with pytest.raises(QualificationError) as caught:
        other_ports(items, option)
    assert str(caught.value) == sentence, f"expected {sentence!r}, got {caught.value}"


@pytest.mark.parametrize(("job_id", "kept"), [("job-7", "job-7"), (None, "")])
def test_the_run_is_of_the_job(tmp_path, job_id, kept):
    """Of none where none is named."""
    ours = Session("run-1", str(tmp_path), job_id)
    ours.ask([Delivering(ours, {}.get, None, "sqlalchemy")], [])
    ours.begin([], "vtb-t0")
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert run["job_id"] == kept, run
