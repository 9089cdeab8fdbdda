"""Every port of a switch, one after another or several at once. docs/testplan/sweep-all-ports.md"""

import pytest

from tests.common.pfc.sweep.port_sweep import PORT

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen")]


@pytest.mark.pfc_case(PORT)
def test_port(pfc_sweep, enum_dut_portname):
    """The port's lossless priorities are paused, its lossy ones are not disturbed (plan id SWEEP-1).

    Args:
        pfc_sweep: measures a port.
        enum_dut_portname: switch and port, `vtb-t0-01|Ethernet8`.
    """
    pfc_sweep(enum_dut_portname)
