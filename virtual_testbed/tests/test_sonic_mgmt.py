"""sonic-mgmt's own tests on a virtual testbed: the lab files, and what stands in for others."""
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from virtual_testbed.sonic_mgmt import checkout as lab
from virtual_testbed.sonic_mgmt import plain_otg, ptf_host
from virtual_testbed.sonic_mgmt.library import wait_for
from virtual_testbed.supervision.endpoints import Endpoints, OtgPort

GROUPS = "---\n  - lab\n  - snappi-sonic\n"
LINKS = """StartDevice,StartPort,EndDevice,EndPort
dut,Ethernet0,another,Ethernet0
dut,Ethernet4,snappi-b,Card1/Port1
dut,Ethernet8,snappi-b,Card1/Port2
dut,Ethernet12,snappi-a,Card1/Port1
another,Ethernet4,snappi-a,Card1/Port2
"""


@pytest.fixture(name="endpoints")
def fixture_endpoints(tmp_path: Path) -> Endpoints:
    """A testbed of one switch with two generator ports, and its files."""
    entry = {"conf-name": "vtb-x", "inv_name": "vtb", "topo": "tgen-x", "lab_folder": str(tmp_path / "lab"),
             "ptf_image_name": "docker-ptf-snappi", "tg_api_server": "127.0.0.1:1"}
    files = {"lab/files/sonic_vtb_devices.csv": "devices\n", "lab/files/sonic_vtb_links.csv": LINKS,
             "lab/vars/topo_tgen-x.yml": "topology: {}\n", "state/vtb": "[sonic]\n",
             "state/testbed.yaml": yaml.safe_dump([entry]), "sm/ansible/files/graph_groups.yml": GROUPS,
             "sm/ansible/vars/none": "", "sm/tests/conftest.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    ports = tuple(OtgPort(f"127.1.0.1;1;{number}", "dut", f"Ethernet{4 * number}", 100_000) for number in (1, 2, 3))
    return Endpoints("vtb-x", "http://127.0.0.1:1", "127.0.0.1:2", "realtime", "http://127.0.0.1:1/clock",
                     tmp_path / "state/testbed.yaml", tmp_path / "state/vtb", tmp_path / "none",
                     {"dut": SimpleNamespace()}, ports)


def test_a_testbed_becomes_a_lab_of_the_checkout(endpoints: Endpoints, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "read_endpoints", lambda folder: endpoints)
    kept = [tmp_path / "sm/tests/_cache" / zone for zone in ("vtb-x", "dut", "other")]
    for zone in kept:
        zone.mkdir(parents=True)
    for _ in range(2):  # the second time replaces
        written = lab.write_lab(tmp_path / "sm", tmp_path / "state")
    assert all((tmp_path / "sm" / name).is_file() for name in written) and len(written) == 11
    assert [zone.exists() for zone in kept] == [False, False, True]
    assert (tmp_path / "sm/ansible/files/graph_groups.yml").read_text() == GROUPS + "  - vtb\n"
    entry = yaml.safe_load((tmp_path / "sm/ansible/vtb-x.yaml").read_text())[0]
    assert (entry["ptf_image_name"], entry["tg_api_server"]) == ("docker-stc-api-server", "127.0.0.1:2")
    assert entry["clock_exact"] is False, "sonic-mgmt waits and calls, and time passes by that too"
    lossless = json.loads((tmp_path / "sm/tests/priority/vtb-x-lossless.json").read_text())
    assert lossless == {"vtb-x": {"dut": [3, 4]}}
    metadata = json.loads((tmp_path / "sm/tests/metadata/snappi_tests/vtb-x.json").read_text())["vtb-x"]["dut"]
    assert metadata["asic_to_interface"] == {"null": ["Ethernet4", "Ethernet8"]}
    assert metadata["intf_status"]["Ethernet8"] == {"name": "Ethernet8", "admin_state": "up", "oper_state": "up",
                                                    "speed": "100G"}
    more = json.loads((tmp_path / "sm/tests/metadata/vtb-x.json").read_text())["vtb-x"]
    assert more == {"dut": metadata}, "by which sonic-mgmt draws a port that is up"
    assert json.loads((tmp_path / "sm/tests/priority/vtb-x-all.json").read_text()) == {"vtb-x": {"dut": [*range(7)]}}
    delays = json.loads((tmp_path / "sm/tests/pfc_headroom_test_params/vtb-x.json").read_text())
    assert delays == {"vtb-x": {"dut": {"0": True, "1023": True}}}


def test_through_ixnetwork_the_api_server_is_the_testbeds(endpoints: Endpoints, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "read_endpoints", lambda folder: endpoints)
    with pytest.raises(lab.NoIxNetwork, match="testbed vtb-x was brought up without --ixnetwork"):
        lab.write_lab(tmp_path / "sm", tmp_path / "state", ixnetwork=True)
    assert not (tmp_path / "sm/ansible/vtb-x.yaml").exists(), "nothing is written"
    entry = yaml.safe_load(endpoints.testbed_file.read_text(encoding="utf-8"))[0]
    endpoints.testbed_file.write_text(yaml.safe_dump([{**entry, "tg_api_transport": "ixnetwork"}]), encoding="utf-8")
    lab.write_lab(tmp_path / "sm", tmp_path / "state", ixnetwork=True)
    written = yaml.safe_load((tmp_path / "sm/ansible/vtb-x.yaml").read_text())[0]
    assert "docker-stc-api-server" not in written["ptf_image_name"], "by which sonic-mgmt would take OTG"
    assert (written["tg_api_server"], written["clock_exact"]) == ("127.0.0.1:1", False)


@pytest.mark.parametrize("after", ["", "\n[more]\nx ansible_host=192.0.2.3\n"])
def test_a_lab_has_a_host_in_the_place_of_the_ptf_container(endpoints: Endpoints, tmp_path: Path, after: str,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    access = SimpleNamespace(ssh_host="127.0.0.1", user="admin", key_file=tmp_path / "key")
    endpoints = replace(endpoints, switches={"dut": access})
    monkeypatch.setattr(lab, "read_endpoints", lambda folder: endpoints)
    endpoints.inventory.write_text("[sonic]\ndut\n\n[ptf]\nvtb-x-ptf ansible_host=127.0.0.1\n" + after)
    lab.write_lab(tmp_path / "sm", tmp_path / "state", ptf_port=4711)
    entry = yaml.safe_load((tmp_path / "sm/ansible/vtb-x.yaml").read_text())[0]
    assert (entry["ptf_image_name"], entry["ptf"]) == ("docker-ptf", "vtb-x-ptf")
    written = (tmp_path / "sm/ansible/vtb").read_text()
    assert written.startswith("[sonic]\ndut\n\n[ptf]\nvtb-x-ptf ansible_host=127.0.0.1 ansible_port=4711 ")
    assert written.endswith(after or "python3\n") and f"={tmp_path / 'key'} " in written
    assert written.count("vtb-x-ptf") == 1, "port 22 of the machine is nobody's to change"
    settings = json.loads(ptf_host.write_settings(tmp_path / "ptf", endpoints, "vtb-x-ptf").read_text())
    assert settings["authorized_keys"] == f"{tmp_path / 'key'}.pub" and "hwsku" not in settings
    assert (Path(settings["programs"]) / "supervisorctl").is_file()


def test_every_switch_has_priorities() -> None:
    assert json.loads(lab.priorities("vtb-x", ["dut1", "dut2"], lab.LOSSLESS)) == {
        "vtb-x": {"dut1": [3, 4], "dut2": [3, 4]}}, "as test_pretest.py writes of both"


@pytest.mark.parametrize("key", ["conf-name", "name"])
def test_a_testbed_has_the_name_there_that_their_tests_have_for_it(endpoints: Endpoints, tmp_path: Path, key: str,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "read_endpoints", lambda folder: endpoints)
    assert lab.name_there(endpoints) == "vtb-x", "its own"
    entry = yaml.safe_load(endpoints.testbed_file.read_text(encoding="utf-8"))[0]
    del entry["conf-name"]
    endpoints.testbed_file.write_text(yaml.safe_dump([{**entry, key: "vtb-x", "sonic_mgmt_name": "theirs"}]))
    assert lab.name_there(endpoints) == "theirs"
    written = lab.write_lab(tmp_path / "sm", tmp_path / "state")
    assert not any("vtb-x" in str(name) for name in written)
    there = yaml.safe_load((tmp_path / "sm/ansible/theirs.yaml").read_text())[0]
    assert there[key] == "theirs" and {"conf-name", "name"} & set(there) == {key}
    assert list(json.loads((tmp_path / "sm/tests/metadata/theirs.json").read_text())) == ["theirs"]
    assert list(json.loads((tmp_path / "sm/tests/priority/theirs-all.json").read_text())) == ["theirs"]


def test_a_switch_has_one_generator() -> None:
    assert lab.one_generator(LINKS) == LINKS.replace("dut,Ethernet12,snappi-a,Card1/Port1\n", "")


@pytest.fixture(name="server")
def fixture_server() -> Iterator[socket.socket]:
    """A socket that takes connections and says who it is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
                    connection.close()
        threading.Thread(target=answer, daemon=True).start()
        yield server
        server.shutdown(socket.SHUT_RDWR)


def test_a_port_is_open_when_it_says_what_is_expected(server: socket.socket) -> None:
    port = server.getsockname()[1]
    assert wait_for.is_open("127.0.0.1", port, r"OpenSSH_[\w\.]+ Debian"), "sonic-mgmt's pattern"
    assert wait_for.is_open("127.0.0.1", port, "") and not wait_for.is_open("127.0.0.1", port, "Ubuntu")
    with socket.create_server(("127.0.0.1", 0)) as other:
        closed = other.getsockname()[1]
    assert not wait_for.is_open("127.0.0.1", closed, ""), "nobody listens"


def test_rates_are_those_of_otg_and_other_views_are_empty() -> None:
    flow = SimpleNamespace(name="f", frames_tx_rate=1e6, frames_rx_rate=0.5e6, bytes_tx=1024, frames_tx=1,
                           bytes_rx=10240, frames_rx=10)
    request = SimpleNamespace(flow=SimpleNamespace())
    api = SimpleNamespace(metrics_request=lambda: request,
                          get_metrics=lambda asked: SimpleNamespace(flow_metrics=[flow] if asked is request else []))
    rows = plain_otg.FlowView(api, plain_otg.FLOWS).Rows
    assert [(row["Traffic Item"], row["Tx Rate (Mbps)"], row["Rx Rate (Mbps)"]) for row in rows] == [
        ("f", "8192", "4096")]
    assert plain_otg.FlowView(api, "Port Statistics").Rows == []
    assert plain_otg.rate_mbps(1.0, 0, 0) == 0
