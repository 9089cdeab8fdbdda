"""Traffic generator fixtures under sonic-mgmt's names."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import snappi

from tests.common.devices.duthosts import DutHosts
from tests.common.devices.sonic import SonicHost
from tests.common.errors import LabError
from tests.common.pfc.lab.api_reason import api_reason
from tests.common.snappi_tests.client import make_snappi_fast, quiet_snappi
from tests.common.snappi_tests.config import whole_config
from tests.common.snappi_tests.port import PortFacts
from tests.common.standalone import lab_of
from tests.common.testbed import TestbedEntry

TRANSPORTS = ("http", "grpc", "ixnetwork")
API_TIMEOUT_S = 600  # of one request, beside whatever else the API server's machine does
LOG_LEVEL = logging.ERROR  # snappi warns at each start that versions are not compared


def api_transport(tbinfo: TestbedEntry) -> str:
    """How a testbed's API server is spoken to: its `tg_api_transport`, else what sonic-mgmt derives from the image's
    name.

    Raises:
        LabError: a transport that does not exist.
    """
    image = str(tbinfo.get("ptf_image_name", ""))
    transport = str(tbinfo.get("tg_api_transport") or ("grpc" if "docker-stc-api-server" in image else "ixnetwork"))
    if transport not in TRANSPORTS:
        raise LabError(
            f"testbed {tbinfo['conf-name']}: tg_api_transport is {transport!r}, it takes {', '.join(TRANSPORTS)}"
        )
    return transport


def api_server(tbinfo: TestbedEntry, duthost: SonicHost) -> tuple[str, str]:
    """Address and port of a testbed's API server.

    They are the entry's `tg_api_server`, or in the classic form its `ptf_ip` and the inventory's
    `snappi_api_server.rest_port`.

    Raises:
        LabError: neither says.
    """
    server = str(tbinfo.get("tg_api_server") or "")
    if not server:
        rest_port = duthost.inventory_variables().get("snappi_api_server", {}).get("rest_port", "")
        server = f"{tbinfo.get('ptf_ip') or ''}:{rest_port}"
    address, _, port = server.rpartition(":")
    if not address or not port.isdigit():
        raise LabError(
            f"testbed {tbinfo['conf-name']} names no API server of the traffic generators: tg_api_server"
            " (address:port), or ptf_ip with snappi_api_server.rest_port in the inventory's group_vars, found"
            f" {server!r}"
        )
    return address, port


def open_api(tbinfo: TestbedEntry, duthost: SonicHost) -> Any:
    """The snappi API object of a testbed; nothing is sent yet."""
    make_snappi_fast()
    quiet_snappi()
    (address, port), transport = api_server(tbinfo, duthost), api_transport(tbinfo)
    if transport == "ixnetwork":
        api = snappi.api(location=f"https://{address}:{port}", ext="ixnetwork", loglevel=LOG_LEVEL)
        account = duthost.inventory_variables().get("snappi_api_server", {})
        if account.get("user"):  # else the extension's own
            api._username = account["user"]
            api._password = account.get("password")
        return api
    if transport == "http":
        api = snappi.api(location=f"http://{address}:{port}", loglevel=LOG_LEVEL)
        session = api._transport._session
        session.request = functools.partial(session.request, timeout=API_TIMEOUT_S)  # snappi waits for ever
        return api
    api = snappi.api(location=f"{address}:{port}", transport=snappi.Transport.GRPC, loglevel=LOG_LEVEL)
    api.request_timeout = API_TIMEOUT_S
    return api


def check_api(tbinfo: TestbedEntry, duthost: SonicHost) -> None:
    """Asks a plain OTG API server for its version.

    Raises:
        LabError: it does not answer.
    """
    if api_transport(tbinfo) == "ixnetwork":
        return  # its extension connects to the chassis when a configuration is set
    api = open_api(tbinfo, duthost)
    try:
        api.get_version()
    except Exception as error:  # whatever the transport raises
        server = ":".join(api_server(tbinfo, duthost))
        raise LabError(
            f"testbed {tbinfo['conf-name']}: the traffic generator's API server {server} does not answer:"
            f" {api_reason(api, error)}"
        ) from error


@pytest.fixture(scope="module")
def snappi_api_serv_ip(tbinfo: TestbedEntry, duthost: SonicHost) -> str:
    """Address of the API server."""
    return api_server(tbinfo, duthost)[0]


@pytest.fixture(scope="module")
def snappi_api_serv_port(tbinfo: TestbedEntry, duthost: SonicHost) -> str:
    """Port of the API server."""
    return api_server(tbinfo, duthost)[1]


@pytest.fixture(scope="module")
def snappi_api(tbinfo: TestbedEntry, duthost: SonicHost) -> Iterator[Any]:
    """The snappi API object: plain OTG over HTTP or gRPC, or IxNetwork through its extension."""
    api = open_api(tbinfo, duthost)
    yield api
    if getattr(api, "assistant", None) is not None:
        api.assistant.Session.remove()


@pytest.fixture(scope="module")
def get_snappi_ports(request: pytest.FixtureRequest) -> list[PortFacts]:
    """Every port of the switches with a traffic generator behind it."""
    ports = lab_of(request.config).generator_ports
    duthosts: DutHosts = request.getfixturevalue("duthosts")
    return [{**port, "duthost": duthosts[port["peer_device"]]} for port in ports]


@pytest.fixture
def snappi_testbed_config(
    snappi_api: Any, get_snappi_ports: list[PortFacts], duthosts: DutHosts, rand_one_dut_hostname: str
) -> tuple[Any, list[Any]]:
    """An OTG configuration with all tester ports of one switch and a host behind each, and a description of each
    port."""
    ports = [port for port in get_snappi_ports if port["peer_device"] == rand_one_dut_hostname]
    return whole_config(snappi_api, ports, duthosts[rand_one_dut_hostname])
