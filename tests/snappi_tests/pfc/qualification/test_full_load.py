"""All ports of a switch at once, each both sending and receiving. docs/testplan/sweep-all-ports.md"""

import pytest

from tests.common.pfc.sweep.full_load import ALL_PORTS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_case(ALL_PORTS)
def test_full_load(pfc_sweep, enum_dut_portname):
    """Storms on all ports, then all data on all ports: what the port received, held and let go (plan id SWEEP-2). All
    ports are loaded when the first of them is asked for; each has its own verdict.

    Args:
        pfc_sweep: loads all ports, once, and judges one.
        enum_dut_portname: switch and port, `vtb-t0-01|Ethernet8`.
    """
    pfc_sweep(enum_dut_portname)
