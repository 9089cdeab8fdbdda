"""`portstat`: frames, errors and drops by port (sonic-utilities `scripts/portstat`, `utilities_common/portstat.py`)."""
from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from dataclasses import dataclass

from virtual_testbed.sonic.commands import period
from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.commands.snapshots import NOT_AVAILABLE, Snapshots, difference, table
from virtual_testbed.sonic.databases import read_fields, read_hashes

_COUNTERS = {
    "RX_OK": ("SAI_PORT_STAT_IF_IN_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS"),
    "RX_ERR": ("SAI_PORT_STAT_IF_IN_ERRORS",), "RX_DRP": ("SAI_PORT_STAT_IF_IN_DISCARDS",),
    "RX_OVR": ("SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS",),
    "TX_OK": ("SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS"),
    "TX_ERR": ("SAI_PORT_STAT_IF_OUT_ERRORS",), "TX_DRP": ("SAI_PORT_STAT_IF_OUT_DISCARDS",),
    "TX_OVR": ("SAI_PORT_STAT_ETHER_TX_OVERSIZE_PKTS",),
    "TRIM": ("SAI_PORT_STAT_TRIM_PACKETS",), "TRIM_TX": ("SAI_PORT_STAT_TX_TRIM_PACKETS",),
    "TRIM_DRP": ("SAI_PORT_STAT_DROPPED_TRIM_PACKETS",),
    "TRIM_PKTS": ("SAI_PORT_STAT_TRIM_PACKETS",), "TRIM_TX_PKTS": ("SAI_PORT_STAT_TX_TRIM_PACKETS",),
    "TRIM_DRP_PKTS": ("SAI_PORT_STAT_DROPPED_TRIM_PACKETS",),
    "FEC_CORR": ("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES",),
    "FEC_UNCORR": ("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",),
    "FEC_SYMBOL_ERR": ("SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS",),
    **{f"BIN{number}": (f"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S{number}",) for number in range(16)},
    "RX_BYTES": ("SAI_PORT_STAT_IF_IN_OCTETS",), "TX_BYTES": ("SAI_PORT_STAT_IF_OUT_OCTETS",),
}
STANDARD = ["RX_OK", "RX_BPS", "RX_UTIL", "RX_ERR", "RX_DRP", "RX_OVR",
            "TX_OK", "TX_BPS", "TX_UTIL", "TX_ERR", "TX_DRP", "TX_OVR"]
ERRORS = ["RX_ERR", "RX_DRP", "RX_OVR", "TX_ERR", "TX_DRP", "TX_OVR"]
RATES = ["RX_OK", "RX_BPS", "RX_PPS", "RX_UTIL", "TX_OK", "TX_BPS", "TX_PPS", "TX_UTIL"]
ALL = ["RX_OK", "RX_BPS", "RX_PPS", "RX_UTIL", "RX_ERR", "RX_DRP", "RX_OVR",
       "TX_OK", "TX_BPS", "TX_PPS", "TX_UTIL", "TX_ERR", "TX_DRP", "TX_OVR", "TRIM", "TRIM_TX", "TRIM_DRP"]
FEC = ["FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER", "FEC_PRE_BER_MAX", "FLR(O)",
       "FLR(P) (Accuracy)", "FEC_MAX_T"]
FEC_HISTOGRAM = [f"BIN{number}" for number in range(16)]
TRIM = ["TRIM_PKTS", "TRIM_TX_PKTS", "TRIM_DRP_PKTS"]
"""Of these the hardware counts none: `N/A`."""
_FEC_RATES = FEC[3:]
_SIZES = ("64", "65-127", "128-255", "256-511", "512-1023", "1024-1518", "1519-2047", "2048-4095", "4096-9216",
          "9217-16383")
_CASTS = {"Unicast": "UCAST", "Multicast": "MULTICAST", "Broadcast": "BROADCAST"}


def _detail_of(way: str, done: str, total: str) -> dict[str, tuple[str, ...]]:
    """Lines of the details, and the fields of each: by size, in all and by kind; `way` is IN or OUT."""
    by_size = {f"Packets {done} {size} Octets": (
        f"SAI_PORT_STAT_ETHER_{way}_PKTS_{size.replace('-', '_TO_')}_OCTETS",) for size in _SIZES}
    by_cast = {f"{cast} Packets {done}": (f"SAI_PORT_STAT_IF_{way}_{name}_PKTS",) for cast, name in _CASTS.items()}
    return {**by_size, f"Total Packets {total}": tuple(field for fields in by_cast.values() for field in fields),
            **by_cast}


_DETAILS = {
    **_detail_of("IN", "Received", "Received Without Errors"),
    "Jabbers Received": ("SAI_PORT_STAT_ETHER_STATS_JABBERS",),
    "Fragments Received": ("SAI_PORT_STAT_ETHER_STATS_FRAGMENTS",),
    "Undersize Received": ("SAI_PORT_STAT_ETHER_STATS_UNDERSIZE_PKTS",),
    "Overruns Received": ("SAI_PORT_STAT_IP_IN_RECEIVES",),
    **_detail_of("OUT", "Transmitted", "Transmitted Successfully"),
    "Trimmed Packets": _COUNTERS["TRIM"], "Trimmed Sent Packets": _COUNTERS["TRIM_TX"],
    "Trimmed Dropped Packets": _COUNTERS["TRIM_DRP"]}
_AFTER_A_GAP = ("Total Packets", "Jabbers", "Packets Transmitted 64 ")
"""Lines that begin a part of the details."""
_FLAGS = (
    ("-a", "--all", "Display all the stats counters"), ("-c", "--clear", "Copy & clear stats"),
    ("-d", "--delete", "Delete saved stats"), ("-D", "--delete-all", "Delete all saved stats"),
    ("-e", "--errors", "Display interface errors"), ("-f", "--fec-stats", "Display FEC related statistics"),
    ("-fh", "--fec_hist", "Display FEC histogram"), ("-T", "--trim", "Display trimming related statistics"),
    ("-j", "--json", "Display in JSON format"),
    ("-r", "--raw", "Raw stats"), ("-R", "--rate", "Display interface rates"),
    ("-l", "--detail", "Display detailed statistics."), ("-nz", "--non_zero", "Display only non-zero counters"))
Counts = dict[str, dict[str, str]]


_KINDS = {**_COUNTERS, **_DETAILS}


@dataclass(frozen=True)
class PortsSeen:
    """Counters of ports, and rates and states ready to print."""

    counts: Counts
    rates: Counts


def collect(switch: SwitchContext) -> Counts:
    """Port -> counter -> value (text, N/A where the hardware has none)."""
    wanted_fields = list(dict.fromkeys(field for fields in _KINDS.values() for field in fields))
    found = read_fields(switch.counters, [f"COUNTERS:{oid}" for oid in switch.port_oids.values()], wanted_fields)
    return dict(zip(switch.ports(), map(_counts, found)))


def _counts(values: dict[str, str]) -> dict[str, str]:
    return {name: _total(values, fields) for name, fields in _KINDS.items()}


def _see(switch: SwitchContext) -> PortsSeen:
    """As it is now."""
    rates = read_hashes(switch.counters, [f"RATES:{oid}" for oid in switch.port_oids.values()])
    with switch.connect("APPL_DB") as appl:
        states = read_hashes(appl, [f"PORT_TABLE:{port}" for port in switch.ports()])
    rows = zip(switch.ports(), rates.values(), states.values())
    return PortsSeen(collect(switch), {port: _rates(values, state) for port, values, state in rows})


def _as_of(switch: SwitchContext, look: period.Look) -> PortsSeen:
    """As it was when the agent looked."""
    oids = switch.port_oids
    counts = {port: _counts(look["COUNTERS"].get(oid, {})) for port, oid in oids.items()}
    rates = {port: _rates(look["RATES"].get(oid, {}), look["PORT_TABLE"].get(port, {})) for port, oid in oids.items()}
    return PortsSeen(counts, rates)


def _total(values: dict[str, str], fields: tuple[str, ...]) -> str:
    if any(field not in values for field in fields):
        return NOT_AVAILABLE
    return str(sum(int(values[field]) for field in fields))


def _rates(values: dict[str, str], state: dict[str, str]) -> dict[str, str]:
    """State and rates of a port; those between the last two polls, as in SONiC, whatever the period."""
    entry = {"STATE": _state(state), **dict.fromkeys(_FEC_RATES, NOT_AVAILABLE)}
    for way in ("RX", "TX"):
        raw = values.get(f"{way}_BPS")
        entry[f"{way}_BPS"] = NOT_AVAILABLE if raw is None else _byte_rate(float(raw))
        entry[f"{way}_PPS"] = f"{float(values[f'{way}_PPS']):.2f}/s" if f"{way}_PPS" in values else NOT_AVAILABLE
        speed = float(state.get("speed", 0)) * 1e6 / 8
        entry[f"{way}_UTIL"] = NOT_AVAILABLE if raw is None or not speed else f"{float(raw) / speed * 100:.2f}%"
    return entry


def _state(row: dict[str, str]) -> str:
    if not row:
        return NOT_AVAILABLE
    if row.get("admin_status") == "down":
        return "X"
    return "U" if row.get("oper_status") == "up" else "D"


def _byte_rate(rate: float) -> str:
    if rate > 10e6:
        return f"{rate / 1e6:.2f} MB/s"
    return f"{rate / 1e3:.2f} KB/s" if rate > 10e3 else f"{rate:.2f} B/s"


def wanted(text: str | None) -> list[str] | None:
    """Ports of an `-i` option: names and ranges such as Ethernet0,Ethernet12-20."""
    if text is None:
        return None
    names: list[str] = []
    for part in text.split(","):
        found = re.fullmatch(r"([A-Za-z]+)(\d+)(?:-(\d+))?", part.strip())
        if not found:
            print(f"Error: Wrong interface name {part}", file=sys.stderr)
            sys.exit(1)
        last = int(found[3] or found[2])
        names += [f"{found[1]}{number}" for number in range(int(found[2]), last + 1)]
    return names


@dataclass(frozen=True)
class View:
    """What of the ports is shown: `ports` None is all; `raw`: also what this user cleared; `tag`: since that
    snapshot; `period_s`: what is counted within so many seconds of the switch's time from now on.
    """

    columns: list[str]
    ports: list[str] | None = None
    as_json: bool = False
    raw: bool = False
    tag: str | None = None
    non_zero: bool = False
    period_s: int = 0


def show(switch: SwitchContext, view: View) -> None:
    """Print ports, less what this user cleared. Ends the command when a period cannot be waited for."""
    if view.period_s and not view.raw:
        first, second = _within(switch, view.period_s)
        _print(view, second, first.counts)
        return
    tag = view.tag
    kept = None if view.raw else Snapshots(switch, "portstat", tag).load("portstat")
    if kept:
        print(f"Last cached time was {kept[0]}")
    elif tag:
        print(f"\nFile '{Snapshots(switch, 'portstat', tag).folder}/portstat' does not exist")
        print(f"Did you run 'portstat -c -t {tag}' to record the counters via tag {tag}?\n")
        return
    _print(view, _see(switch), kept[1] if kept else {})


def _within(switch: SwitchContext, seconds: int) -> tuple[PortsSeen, PortsSeen]:
    """What there was at the beginning and at the end of a period, as the first line says; the rates are of the end."""
    first, second = period.looks(switch, seconds, "portstat -p")
    print(f"The rates are calculated within {seconds} seconds period")
    return _as_of(switch, first), _as_of(switch, second)


def _print(view: View, seen: PortsSeen, old: Counts) -> None:
    body: dict[str, dict[str, str]] = {}
    for port, counts in seen.counts.items():
        if view.ports is not None and port not in view.ports:
            continue
        numbers = {name: difference(value, old.get(port, {}).get(name, "0")) for name, value in counts.items()}
        if not view.non_zero or any(numbers[name] not in ("0", NOT_AVAILABLE) for name in numbers
                                    if name in view.columns):
            body[port] = {**seen.rates[port], **numbers}
    header = view.columns if view.columns is FEC_HISTOGRAM else ["STATE", *view.columns]
    if body and view.as_json:
        shown = {port: {name: row[name] for name in header} for port, row in body.items()}
        print(json.dumps(shown, indent=4, sort_keys=True))
    elif body:
        print(table([[port, *(row[name] for name in header)] for port, row in body.items()], ["IFACE", *header]))
    elif view.non_zero:
        print("No non-zero statistics found for the specified interfaces.")


def clear(switch: SwitchContext, tag: str | None = None) -> None:
    """Remember the counters as they are."""
    Snapshots(switch, "portstat", tag).save("portstat", collect(switch))
    print("Cleared counters")


def detailed(switch: SwitchContext, port: str) -> None:
    """`show interfaces counters detailed PORT`; most sizes are N/A, as this switch does not count them."""
    kept = Snapshots(switch, "portstat").load("portstat")
    _print_details(collect(switch), port, kept[1] if kept else {}, kept[0] if kept else None)


def _print_details(found: Counts, port: str, before: Counts, since: str | None) -> None:
    """Of a port; `since`: when it was that it had counted what it had `before`."""
    counts = found.get(port)
    if counts is None:
        sys.exit(f"Error: cannot find interface {port}")
    old = before.get(port, {})
    for title in _DETAILS:
        gap = "\n" if title.startswith(_AFTER_A_GAP) else ""
        print(f"{gap}{title:.<47} {difference(counts[title], old.get(title, '0'))}")
    print(f"\n{'Time Since Counters Last Cleared':.<47} {since}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="portstat", description="Display the ports state and counters")
    for short, long, text in _FLAGS:
        parser.add_argument(short, long, action="store_true", help=text)
    parser.add_argument("-t", "--tag", default=None, help="Save stats with name TAG")
    parser.add_argument("-p", "--period", type=int, default=0,
                        help="Display stats over a specified period (in seconds).")
    parser.add_argument("-i", "--interface", default=None, help="Display stats for interface lists.")
    parser.add_argument("-s", "--show", default="frontend", help="Display all interfaces or only external interfaces")
    parser.add_argument("-n", "--namespace", default=None, help="Display interfaces for specific namespace")
    parser.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    return parser


def main() -> None:
    """The command."""
    arguments = _parser().parse_args()
    switch = this_switch()
    ports = wanted(arguments.interface)
    if arguments.delete or arguments.delete_all:
        Snapshots(switch, "portstat", arguments.tag).remove(everyone=arguments.delete_all)
    if arguments.clear:
        clear(switch, arguments.tag)
    elif arguments.detail and ports and arguments.period and not arguments.raw:
        since = datetime.datetime.now().isoformat()
        first, second = _within(switch, arguments.period)
        for port in ports:
            _print_details(second.counts, port, first.counts, since)
    elif arguments.detail and ports:
        for port in ports:
            detailed(switch, port)
    else:
        show(switch, View(_columns(arguments), ports, arguments.json, arguments.raw, arguments.tag, arguments.non_zero,
                          arguments.period))


def _columns(arguments: argparse.Namespace) -> list[str]:
    """The columns that the options ask for; the first of several counts, in SONiC's order."""
    asked = ((arguments.all, ALL), (arguments.errors, ERRORS), (arguments.fec_stats, FEC),
             (arguments.fec_hist, FEC_HISTOGRAM), (arguments.rate, RATES), (arguments.trim, TRIM))
    return next((columns for is_asked, columns in asked if is_asked), STANDARD)


if __name__ == "__main__":
    run(main)
