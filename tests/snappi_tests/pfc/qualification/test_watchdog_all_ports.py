"""The watchdog on all ports of a switch, storms on all of them. docs/testplan/sweep-all-ports.md"""

import pytest

from tests.common.pfc.sweep.watchdog_all_ports import WATCHDOG_ALL_PORTS

pytestmark = [pytest.mark.topology("tgen", "multidut-tgen"), pytest.mark.disable_loganalyzer]


@pytest.mark.pfc_case(WATCHDOG_ALL_PORTS)
def test_watchdog_of_all_ports(pfc_sweep, enum_dut_portname):
    """Each port's storm is detected, its lossless queues drop, and they work again when the storms are over (plan id
    SWEEP-3). All ports have their storms when the first of them is asked for; each has its own verdict.

    Args:
        pfc_sweep: measures all ports, once, and judges one.
        enum_dut_portname: switch and port, `vtb-t0-01|Ethernet8`.
    """
    pfc_sweep(enum_dut_portname)
