"""Makes a running virtual testbed a lab of a sonic-mgmt checkout: `python -m virtual_testbed.sonic_mgmt.checkout`.

sonic-mgmt reads its labs from files of the checkout. All of these are new files, but for the list of labs, which gets
one line more, as for every lab. A switch has one traffic generator there, its first: of several sonic-mgmt's
`get_peer_snappi_chassis` takes any, and its older tests a port that may be on another. Facts that sonic-mgmt keeps of
an earlier run (`tests/_cache`) are removed: ports and addresses are new each time. Nothing is written on the switches:
`minigraph_facts` of sonic-mgmt reads `/etc/sonic/minigraph.xml` there, which `make upstream` writes.
"""
from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from virtual_testbed.sonic_mgmt.ptf_host import with_host
from virtual_testbed.supervision.endpoints import Endpoints, OtgPort, read_endpoints

GENERATOR_NAMES = ("snappi", "ixia", "stc")
"""Of which the name of a generator has one: how sonic-mgmt knows it."""
LOSSLESS = (3, 4)
LOSSY = (0, 1, 2, 5, 6)
"""The priorities that the deployment configures, for which sonic-mgmt's test_pretest.py would ask the switches."""

PAUSE_DELAYS = {"0": True, "1023": True}
"""After how many quanta a generator heeds a pause in sonic-mgmt's tests of headroom, and whether a switch holds what
comes until then: what test_pretest.py has for the two platforms that it knows; a virtual switch holds that too."""


class NoIxNetwork(Exception):
    """A testbed that has no API of IxNetwork; `str()` is one sentence."""


def write_lab(checkout: Path, folder: Path, ixnetwork: bool = False, ptf_port: int | None = None) -> list[Path]:
    """Writes the lab files of a running testbed; those of an earlier run are replaced.

    Args:
        checkout: a sonic-mgmt checkout.
        folder: the testbed's, `<state>/<testbed>`.
        ixnetwork: whether sonic-mgmt speaks to IxNetwork's API, not OTG over gRPC.
        ptf_port: of the SSH server of a host in the place of the PTF container (`ptf_host`); None: there is none.
    Returns:
        The files, relative to the checkout.
    Raises:
        NoIxNetwork: it is to, and the testbed was brought up without.
    """
    found = read_endpoints(folder)
    entry = entry_of(found)
    name = name_there(found)
    spoken_to = over_ixnetwork(entry) if ixnetwork else over_grpc(entry, found)
    spoken_to["conf-name" if "conf-name" in entry else "name"] = name
    lab = Path(entry["lab_folder"])
    group = entry["inv_name"]
    copies = {found.inventory: f"ansible/{group}",
              lab / f"files/sonic_{group}_devices.csv": f"ansible/files/sonic_{group}_devices.csv",
              lab / f"vars/topo_{entry['topo']}.yml": f"ansible/vars/topo_{entry['topo']}.yml"}
    for source, target in copies.items():
        shutil.copyfile(source, checkout / target)
    if ptf_port is not None:
        spoken_to = with_ptf(spoken_to, found)
        inventory = checkout / f"ansible/{group}"
        inventory.write_text(with_host(inventory.read_text(encoding="utf-8"), found, ptf_name(found), ptf_port),
                             encoding="utf-8")
    links = one_generator((lab / f"files/sonic_{group}_links.csv").read_text(encoding="utf-8"))
    ports = [port for port in found.otg_ports
             if any(row.startswith(f"{port.switch},{port.switch_port},") for row in links.splitlines())]
    add_group(checkout / "ansible/files/graph_groups.yml", group)
    texts = {f"ansible/files/sonic_{group}_links.csv": links,
             f"ansible/{name}.yaml": yaml.safe_dump([spoken_to], sort_keys=False),
             f"tests/priority/{name}-lossless.json": priorities(name, found.switches, LOSSLESS),
             f"tests/priority/{name}-lossy.json": priorities(name, found.switches, LOSSY),
             f"tests/priority/{name}-all.json": priorities(name, found.switches, tuple(sorted(LOSSLESS + LOSSY))),
             f"tests/pfc_headroom_test_params/{name}.json": pause_delays(name, found.switches),
             f"tests/metadata/{name}.json": interfaces(name, ports),
             f"tests/metadata/snappi_tests/{name}.json": interfaces(name, ports)}
    for path, text in texts.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text, encoding="utf-8")
    for zone in (name, *found.switches):
        shutil.rmtree(checkout / "tests/_cache" / zone, ignore_errors=True)
    return [Path(path) for path in (*copies.values(), *texts)]


def entry_of(found: Endpoints) -> dict[str, Any]:
    """The entry of a running testbed."""
    entry: dict[str, Any] = yaml.safe_load(found.testbed_file.read_text(encoding="utf-8"))[0]
    return entry


def name_there(found: Endpoints) -> str:
    """The testbed's name in a checkout: sonic-mgmt's tests may have one for it (`sonic_mgmt_name`), else its own."""
    return str(entry_of(found).get("sonic_mgmt_name") or found.name)


def add_group(file: Path, group: str) -> None:
    """One more lab in sonic-mgmt's list."""
    text = file.read_text(encoding="utf-8")
    if group not in yaml.safe_load(text):
        indent = " " * (len(text.splitlines()[-1]) - len(text.splitlines()[-1].lstrip()))
        file.write_text(text.rstrip("\n") + f"\n{indent}- {group}\n", encoding="utf-8")


def one_generator(links: str) -> str:
    """A links file without the cables to any but a switch's first generator. `links`: rows `switch,port,device,...`."""
    first: dict[str, str] = {}
    kept = []
    for line in links.splitlines():
        switch, _, device = [*line.split(","), "", ""][:3]
        is_generator = any(part in device.lower() for part in GENERATOR_NAMES)
        if not is_generator or first.setdefault(switch, device) == device:
            kept.append(line)
    return "\n".join(kept) + "\n"


def over_grpc(entry: dict[str, Any], found: Endpoints) -> dict[str, Any]:
    """The testbed's entry, with the image name at which sonic-mgmt takes plain OTG over gRPC, not IxNetwork. Where
    simulated time passes by sonic-mgmt's own waits and calls too, nobody's windows end at the instant that was meant.
    """
    return {**entry, "clock_exact": False, "ptf_image_name": "docker-stc-api-server", "tg_api_server": found.otg_grpc}


def over_ixnetwork(entry: dict[str, Any]) -> dict[str, Any]:
    """The testbed's entry with the image name of sonic-mgmt's labs that have IxNetwork; its API server is there."""
    if entry.get("tg_api_transport") != "ixnetwork":
        raise NoIxNetwork(f"testbed {entry.get('conf-name') or entry.get('name')} was brought up without --ixnetwork")
    return {**entry, "clock_exact": False, "ptf_image_name": "docker-keysight-api-server"}


def ptf_name(found: Endpoints) -> str:
    """The name of the host in the place of the PTF container."""
    return f"{found.name}-ptf"


def with_ptf(entry: dict[str, Any], found: Endpoints) -> dict[str, Any]:
    """The testbed's entry with an image name at which sonic-mgmt takes the lab for one that has a PTF container."""
    return {**entry, "ptf_image_name": "docker-ptf", "ptf": ptf_name(found)}


def priorities(name: str, switches: Iterable[str], numbers: tuple[int, ...]) -> str:
    """What test_pretest.py writes of the switches' priorities. `name`: of the testbed."""
    return json.dumps({name: {switch: list(numbers) for switch in switches}}, indent=4)


def pause_delays(name: str, switches: Iterable[str]) -> str:
    """What test_pretest.py writes for the tests of headroom, where it knows the platform. `name`: of the testbed."""
    return json.dumps({name: {switch: PAUSE_DELAYS for switch in switches}}, indent=4)


def interfaces(name: str, ports: Sequence[OtgPort]) -> str:
    """What test_pretest.py writes of the ports that a generator is connected to. `name`: of the testbed."""
    switches: dict[str, Any] = {}
    for port in ports:
        switch = switches.setdefault(port.switch, {"asic_to_interface": {"null": []}, "intf_status": {}})
        switch["asic_to_interface"]["null"].append(port.switch_port)
        switch["intf_status"][port.switch_port] = {"name": port.switch_port, "admin_state": "up", "oper_state": "up",
                                                   "speed": f"{port.speed_mbps // 1000}G"}
    return json.dumps({name: switches}, indent=4)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="checkout", description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("checkout", type=Path, help="a checkout of sonic-mgmt")
    parser.add_argument("folder", type=Path, help="the running testbed's folder, .virtual_testbed/NAME")
    parser.add_argument("--ixnetwork", action="store_true", help="speak to IxNetwork's API, not OTG over gRPC")
    arguments = parser.parse_args()
    try:
        written = write_lab(arguments.checkout, arguments.folder, arguments.ixnetwork)
    except NoIxNetwork as error:
        parser.error(str(error))
    for file in written:
        print(file)


if __name__ == "__main__":
    main()
