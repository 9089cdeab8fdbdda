"""What `show` prints of ports, VLANs, services and the image (sonic-utilities `scripts/intfutil`, `show/vlan.py`,
`show/feature.py`, `main.py`).
"""
from __future__ import annotations

import datetime
import re
import subprocess

from virtual_testbed.sonic.commands.context import SwitchContext
from virtual_testbed.sonic.commands.snapshots import table
from virtual_testbed.sonic.databases import Config, natural, read_config, read_fields

_FEATURE_COLUMNS = {"state": "State", "auto_restart": "AutoRestart", "set_owner": "SetOwner"}
_STATUS = ["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC"]
_MODES = {"N/A": "N/A", "on": "enabled"}
"""Of negotiation, as `autoneg` of a port says it; whatever else it says is `disabled`."""
_NEGOTIATION = ["Interface", "Auto-Neg Mode", "Speed", "Adv Speeds", "Rmt Adv Speeds", "Type", "Adv Types", "Oper",
                "Admin"]


def interface_status(switch: SwitchContext, interface: str | None) -> None:
    """Print ports; of an unknown one none."""
    config: Config = {}
    for name in ("PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER", "VLAN_MEMBER"):
        config |= read_config(switch.config, name)
    ports = sorted(config.get("PORT", {}), key=natural)
    channels = _members(config)
    if interface is not None:
        ports = [port for port in ports if port == interface]
        channels = {name: members for name, members in channels.items() if name == interface}
    with switch.connect("APPL_DB") as appl:
        states = read_fields(appl, [f"PORT_TABLE:{port}" for port in ports], ["oper_status"])
        lags = read_fields(appl, [f"LAG_TABLE:{name}" for name in channels], ["oper_status", "admin_status"])
    rows = []
    for port, state in zip(ports, states):
        row = config["PORT"][port]
        rows.append([port, row.get("lanes", "N/A"), _speed(str(row.get("speed", "N/A"))), row.get("mtu", "N/A"),
                     row.get("fec", "N/A"), row.get("alias", "N/A"), _mode(config, port),
                     state.get("oper_status", "down"), row.get("admin_status", "down"), "N/A",
                     row.get("pfc_asym", "N/A")])
    for (name, members), state in zip(channels.items(), lags):
        speed = sum(int(config["PORT"].get(port, {}).get("speed", 0)) for port in members)
        rows.append([name, "N/A", _speed(str(speed)), config.get("PORTCHANNEL", {}).get(name, {}).get("mtu", "N/A"),
                     "N/A", "N/A", _mode(config, name), state.get("oper_status", "N/A"),
                     state.get("admin_status", "N/A"), "N/A", "N/A"])
    print(table(rows, _STATUS))


def negotiation_status(switch: SwitchContext, interface: str | None) -> None:
    """Print what ports are told to negotiate; of an unknown one nothing."""
    rows = read_config(switch.config, "PORT").get("PORT", {})
    ports = [port for port in sorted(rows, key=natural) if interface in (None, port)]
    with switch.connect("APPL_DB") as appl:
        states = read_fields(appl, [f"PORT_TABLE:{port}" for port in ports], ["oper_status"])
    shown = []
    for port, state in zip(ports, states):
        row = rows[port]
        mode = _MODES.get(str(row.get("autoneg", "N/A")), "disabled")
        shown.append([port, mode, _speed(str(row.get("speed", "N/A"))),
                      row.get("adv_speeds", "N/A"), "N/A", row.get("interface_type", "N/A"),
                      row.get("adv_interface_types", "N/A"), state.get("oper_status", "down"),
                      row.get("admin_status", "down")])
    print(table(shown, _NEGOTIATION))


def _members(config: Config) -> dict[str, list[str]]:
    """The PortChannels that have members, in natural order: only these have a row."""
    found: dict[str, list[str]] = {}
    for key in sorted(config.get("PORTCHANNEL_MEMBER", {}), key=natural):
        channel, _, port = key.partition("|")
        found.setdefault(channel, []).append(port)
    return found


def _speed(text: str) -> str:
    if not text.isdigit():
        return text
    return f"{text}M" if int(text) % 1000 else f"{int(text) // 1000}G"


def _mode(config: Config, port: str) -> str:
    for key in config.get("PORTCHANNEL_MEMBER", {}):
        channel, _, member = key.partition("|")
        if member == port:
            return channel
    member_of = any(key.endswith(f"|{port}") for key in config.get("VLAN_MEMBER", {}))
    return "trunk" if member_of else "routed"


def vlan_brief(switch: SwitchContext) -> None:
    """Print VLANs, their members and addresses."""
    from tabulate import tabulate
    config = switch.running()
    rows = []
    for name in sorted(config.get("VLAN", {}), key=natural):
        members = {key.partition("|")[2]: row.get("tagging_mode", "")
                   for key, row in config.get("VLAN_MEMBER", {}).items() if key.startswith(f"{name}|")}
        addresses = [key.partition("|")[2] for key in config.get("VLAN_INTERFACE", {}) if key.startswith(f"{name}|")]
        rows.append([name.removeprefix("Vlan"), "\n".join(addresses), "\n".join(sorted(members, key=natural)),
                     "\n".join(members[port] for port in sorted(members, key=natural)), "disabled", "disabled"])
    header = ["VLAN ID", "IP Address", "Ports", "Port Tagging", "Proxy ARP", "Static Anycast Gateway"]
    print(tabulate(rows, header, tablefmt="grid"))


def feature_status(switch: SwitchContext, name: str | None) -> None:
    """Print which services are enabled; CONFIG_DB alone knows them here.

    Raises:
        SystemExit: there is no such service.
    """
    from tabulate import tabulate
    features = switch.running().get("FEATURE", {})
    if name and name not in features:
        print(f"Can not find feature {name}")
        raise SystemExit(1)
    names = [name] if name else sorted(features, key=natural)
    shown = [field for field in _FEATURE_COLUMNS if any(field in features[one] for one in names)]
    rows = [[one, *(features[one].get(field, "") for field in shown)] for one in names]
    print(tabulate(rows, ["Feature", *(_FEATURE_COLUMNS[field] for field in shown)], disable_numparse=True))


def version(switch: SwitchContext, brief: bool) -> None:
    """Print image, hardware and time."""
    image = switch.image
    uptime = subprocess.run(["uptime"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"\nSONiC Software Version: SONiC.{image['build_version']}")
    print(f"SONiC OS Version: {image['sonic_os_version']}")
    print(f"Distribution: Debian {image['debian_version']}")
    print(f"Kernel: {image['kernel_version']}")
    print(f"Build commit: {image['commit_id']}")
    print(f"Build date: {image['build_date']}")
    print(f"Built by: {image['built_by']}")
    print(f"\nPlatform: {switch.profile.platform}")
    print(f"HwSKU: {switch.hwsku}")
    print(f"ASIC: {switch.asic_type}")
    print(f"ASIC Count: {_asics(switch)}")
    print(f"Serial Number: {switch.name}")
    print("Model Number: virtual")
    print("Hardware Revision: N/A")
    print(f"Uptime: {uptime}")
    print(f"Date: {datetime.datetime.now().strftime('%a %d %b %Y %X')}")
    if not brief:
        print("\nDocker images:\nREPOSITORY   TAG   IMAGE ID   SIZE")


def _asics(switch: SwitchContext) -> int:
    """How many ASICs the platform says that it has (`asic.conf`, sonic-buildimage `sonic_py_common/multi_asic.py`):
    one, whatever it says, is there.
    """
    path = switch.file(f"/usr/share/sonic/device/{switch.profile.platform}/asic.conf")
    found = re.findall(r"^num_asic=(\d+)$", path.read_text(encoding="utf-8"), re.I | re.M) if path.is_file() else []
    return int(found[0]) if found else 1
