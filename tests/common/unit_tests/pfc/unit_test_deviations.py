"""What a switch says of its ASIC, by which deviations are told."""

import pytest

from tests.common.pfc.lab.dut import Dut
from tests.common.unit_tests.pfc.fakes import FakeHost, FakeWorld


@pytest.mark.parametrize("traits, asic", [
    ("dlr: recovery:", "broadcom"),
    ('dlr:None recovery:"HARDWARE"', "broadcom recovery:hardware"),
    ("dlr:true recovery:\n", "broadcom dlr:true"),
    ("broadcom-dnx\ndlr:false recovery:hardware\n", "broadcom broadcom-dnx dlr:false recovery:hardware"),
])
def test_what_else_an_asic_says_of_itself_is_in_its_name(traits, asic):
    """In STATE_DB, where orchagent writes what it can do, and in the files of its platform."""
    assert Dut(FakeHost(FakeWorld(traits=traits))).state().asic == asic, "part of what is known of the ASIC"
