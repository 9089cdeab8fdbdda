"""Stand-alone fixtures under sonic-mgmt's names. In a sonic-mgmt tree its own conftest takes this file's place."""

from __future__ import annotations

import pytest

from tests.common.clone import keep_in_clone
from tests.common.devices.duthosts import DutHosts
from tests.common.errors import LabError
from tests.common.fixtures.conn_graph_facts import conn_graph_facts, fanout_graph_facts, fanout_graph_facts_multidut
from tests.common.snappi_tests.qos_fixtures import (
    all_prio_list,
    config_facts,
    disable_pfcwd,
    lossless_prio_list,
    lossy_prio_list,
    prio_dscp_map,
)
from tests.common.snappi_tests.snappi_fixtures import (
    get_snappi_ports,
    snappi_api,
    snappi_api_serv_ip,
    snappi_api_serv_port,
    snappi_testbed_config,
)
from tests.common.priorities import lossless_parameters, lossy_parameters, port_parameters
from tests.common.sonic_mgmt_options import add_options, deselect_other_topologies
from tests.common.standalone import lab_of

__all__ = [
    "all_prio_list",
    "config_facts",
    "conn_graph_facts",
    "disable_pfcwd",
    "fanout_graph_facts",
    "fanout_graph_facts_multidut",
    "get_snappi_ports",
    "lossless_prio_list",
    "lossy_prio_list",
    "prio_dscp_map",
    "snappi_api",
    "snappi_api_serv_ip",
    "snappi_api_serv_port",
    "snappi_testbed_config",
]

PARAMETERS = {
    "enum_one_dut_lossless_prio": lossless_parameters,
    "enum_one_dut_lossy_prio": lossy_parameters,
    "enum_dut_portname": port_parameters,
}


def pytest_configure():
    """Whatever a run writes is in the clone."""
    keep_in_clone()


def pytest_addoption(parser):
    """sonic-mgmt's options; `--inventory` and `--host-pattern` are pytest-ansible's own."""
    group = parser.getgroup("testbed")
    group.addoption("--testbed", action="store", default=None, help="name of the testbed")
    group.addoption(
        "--testbed_file", action="store", default=None, help="testbed file (default: ansible/testbed.yaml)"
    )
    add_options(parser)


def pytest_collection_modifyitems(config, items):
    """Leaves out the tests of other topologies than `--topology` names."""
    deselect_other_topologies(config, items)


def pytest_generate_tests(metafunc):
    """One item for each priority, as the switch's CONFIG_DB has them: `vtb-t0-01|3`, or for each port."""
    for name, parameters in PARAMETERS.items():
        if name in metafunc.fixturenames:
            try:
                metafunc.parametrize(name, parameters(metafunc.config))
            except LabError as error:
                pytest.exit(f"error: {error}", returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def tbinfo(request):
    """The testbed's entry."""
    return lab_of(request.config).tbinfo


@pytest.fixture(scope="session")
def duthosts(request) -> DutHosts:
    """The testbed's switches."""
    return lab_of(request.config).duthosts


@pytest.fixture(scope="session")
def duthost(duthosts):
    """The first switch."""
    return duthosts[0]


@pytest.fixture(scope="session")
def localhost(request):
    """This machine."""
    return lab_of(request.config).localhost


@pytest.fixture(scope="module")
def rand_one_dut_hostname(duthosts):
    """Name of one switch; the first, so that runs repeat."""
    return duthosts[0].hostname


@pytest.fixture(scope="module")
def rand_one_dut_front_end_hostname(rand_one_dut_hostname):
    """Name of one switch with front-panel ports."""
    return rand_one_dut_hostname


@pytest.fixture(scope="module")
def rand_one_tgen_dut_hostname(rand_one_dut_hostname):
    """Name of one switch with traffic generators."""
    return rand_one_dut_hostname
