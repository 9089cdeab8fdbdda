"""`pfcwd`: the PFC watchdog's configuration and statistics (sonic-utilities `pfcwd/main.py`)."""
from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from virtual_testbed.sonic.commands.context import SwitchContext, require_root, run, this_switch
from virtual_testbed.sonic.commands.groups import HelpfulGroup
from virtual_testbed.sonic.commands.snapshots import table
from virtual_testbed.sonic.databases import Row, change_row, natural, read_config, read_fields, read_hash, read_row

_MAX_POLL_MS = 1000
_DEFAULT_MS = 200
_DEFAULT_PORTS = 32
_STATISTICS = {
    "STORM DETECTED/RESTORED": ("DEADLOCK_DETECTED", "DEADLOCK_RESTORED"),
    "TX OK/DROP": ("TX_PACKETS", "TX_DROPPED_PACKETS"), "RX OK/DROP": ("RX_PACKETS", "RX_DROPPED_PACKETS"),
    "TX LAST OK/DROP": ("TX_PACKETS_LAST", "TX_DROPPED_PACKETS_LAST"),
    "RX LAST OK/DROP": ("RX_PACKETS_LAST", "RX_DROPPED_PACKETS_LAST")}
_FIELD = "PFC_WD_QUEUE_STATS_"
_SETTINGS = {"ACTION": ("action", "drop"), "DETECTION TIME": ("detection_time", "N/A"),
             "RESTORATION TIME": ("restoration_time", "infinite"), "HISTORY": ("pfc_stat_history", "disable")}


def show_stats(switch: SwitchContext, queues: Iterable[str], empty: bool = False, check_storm: bool = False) -> None:
    """Print queues with statistics (`empty`: all); with `check_storm` only the exit status says whether one is
    stormed.
    """
    names = read_hash(switch.counters, "COUNTERS_QUEUE_NAME_MAP")
    wanted = [queue for queue in (queues or names) if queue in names]
    fields = ["PFC_WD_STATUS", *(_FIELD + name for pair in _STATISTICS.values() for name in pair)]
    found = read_fields(switch.counters, [f"COUNTERS:{names[queue]}" for queue in wanted], fields)
    rows = []
    for queue, values in zip(wanted, found):
        if not values and not empty:  # as most queues are
            continue
        cells = ["/".join(values.get(_FIELD + name, "0") for name in pair) for pair in _STATISTICS.values()]
        if empty or set(cells) != {"0/0"}:
            rows.append([queue, values.get("PFC_WD_STATUS", "N/A"), *cells])
    if not queues:
        rows.sort(key=lambda row: natural(row[0]))
    if check_storm:
        sys.exit(1 if any(row[1] == "stormed" for row in rows) else 0)
    print(table(rows, ["QUEUE", "STATUS", *_STATISTICS]))


def show_config(switch: SwitchContext, ports: Iterable[str]) -> None:
    """Print the configuration of ports (default: all that have one)."""
    config = read_config(switch.config, "PFC_WD").get("PFC_WD", {})
    rows = [[port, *(str(config[port].get(name, default)) for name, default in _SETTINGS.values())]
            for port in (ports or switch.ports()) if port in config]
    if rows:
        everywhere = config.get("GLOBAL", {})
        if "POLL_INTERVAL" in everywhere:
            print(f"Changed polling interval to {everywhere['POLL_INTERVAL']}ms")
        if "BIG_RED_SWITCH" in everywhere:
            print(f"BIG_RED_SWITCH status is {everywhere['BIG_RED_SWITCH']}")
    print(table(rows, ["PORT", *_SETTINGS]))


def _check_ports(switch: SwitchContext, ports: Iterable[str]) -> None:
    unknown = sorted(set(ports) - {"all"} - set(switch.ports()), key=natural)
    if unknown:
        print("Failed to run command, invalid options:")
        print("\n".join(unknown))
        sys.exit(1)


def _expand(switch: SwitchContext, ports: Iterable[str]) -> list[str]:
    ports = list(ports)
    return switch.ports() if not ports or "all" in ports else ports


def _configure(switch: SwitchContext, port: str, fields: Row, overwrite: bool = True) -> None:
    """Write a port's row unless PFC is off there. A history setting stays unless given."""
    if "pfc_enable" not in read_row(switch.config, "PORT_QOS_MAP", port):
        print(f"SKIPPED: PFC is not enabled on port: {port}")
        return
    if overwrite:
        history = read_row(switch.config, "PFC_WD", port).get("pfc_stat_history", "disable")
        fields = {"pfc_stat_history": history, **fields}
        change_row(switch.config, "PFC_WD", port, None)
    change_row(switch.config, "PFC_WD", port, fields)


def start_default(switch: SwitchContext) -> None:
    """The default watchdog on all ports with a neighbour, if the switch's metadata enables it."""
    config = switch.running()
    internal = [port for port, row in config.get("PORT", {}).items()
                if row.get("role") == "Int" and row.get("admin_status") == "up"]
    metadata = config.get("DEVICE_METADATA", {}).get("localhost", {})
    if str(metadata.get("default_pfcwd_status", "")).lower() != "enable":
        return
    factor = max(1, (len(config.get("PORT", {})) - 1) // _DEFAULT_PORTS + 1)
    time_ms = str(_DEFAULT_MS * factor)
    for port in sorted({*config.get("DEVICE_NEIGHBOR", {}), *internal}, key=natural):
        _configure(switch, port, {"action": "drop", "detection_time": time_ms, "pfc_stat_history": "disable",
                                  "restoration_time": time_ms})
    change_row(switch.config, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": str(min(_DEFAULT_MS * factor, _MAX_POLL_MS))})


def _refuse_slow_poll(switch: SwitchContext, poll_ms: int) -> None:
    """A poll may not be longer than the shortest configured time."""
    times = [(int(row[name]), name.replace("_", " "))
             for port, row in read_config(switch.config, "PFC_WD").get("PFC_WD", {}).items() if "Ethernet" in port
             for name in ("detection_time", "restoration_time") if str(row.get(name, "")).isdigit() and int(row[name])]
    shortest = min(times, default=(_MAX_POLL_MS, ""))
    if shortest[0] < poll_ms:
        click.echo(f"unable to use polling interval = {poll_ms}ms, value is bigger than one of the configured "
                   f"{shortest[1]} values, please choose a smaller polling_interval", err=True)
        sys.exit(1)


def start_on(switch: SwitchContext, ports: tuple[str, ...], detection_time: int, restoration_time: int | None = None,
             action: str | None = None, pfc_stat_history: bool = False) -> None:
    """Start it on ports (none, or `all`: on all of them); times in ms. Raises SystemExit: an unknown port, or no root.
    """
    _check_ports(switch, ports)
    require_root()
    fields = {"detection_time": str(detection_time)}
    if action is not None:
        fields["action"] = action
    if restoration_time is None:
        restoration_time = 2 * detection_time
        click.echo(f"restoration time not defined; default to 2 times detection time: {restoration_time} ms")
    fields["restoration_time"] = str(restoration_time)
    if pfc_stat_history:
        fields["pfc_stat_history"] = "enable"
    for port in _expand(switch, ports):
        _configure(switch, port, fields)


def stop_on(switch: SwitchContext, ports: tuple[str, ...] = ()) -> None:
    """Stop it on ports; none: on all of them."""
    require_root()
    known = switch.ports()
    keys = [("DEL", f"PFC_WD|{port}") for port in (ports or known) if port in known]
    if keys:
        switch.config.transaction(keys)


def set_interval(switch: SwitchContext, poll_ms: int) -> None:
    """Set how often it polls. Raises SystemExit: a configured time is shorter."""
    require_root()
    _refuse_slow_poll(switch, poll_ms)
    change_row(switch.config, "PFC_WD", "GLOBAL", {"POLL_INTERVAL": str(poll_ms)})


def set_counter_poll(switch: SwitchContext, status: str) -> None:
    """Set whether its counters are polled."""
    require_root()
    change_row(switch.config, "FLEX_COUNTER_TABLE", "PFCWD", {"FLEX_COUNTER_STATUS": status})


def set_big_red_switch(switch: SwitchContext, status: str) -> None:
    """Set whether all watched queues are taken for stormed."""
    require_root()
    change_row(switch.config, "PFC_WD", "GLOBAL", {"BIG_RED_SWITCH": status})


def set_history(switch: SwitchContext, status: str, ports: tuple[str, ...]) -> None:
    """Set whether the history of pauses is kept on ports. Raises SystemExit: an unknown port, or no root."""
    _check_ports(switch, ports)
    require_root()
    for port in _expand(switch, ports):
        _configure(switch, port, {"pfc_stat_history": status}, overwrite=False)


@click.group(cls=HelpfulGroup)
def cli() -> None:
    """ SONiC PFC Watchdog """


@cli.group()
def show() -> None:
    """ Show PFC Watchdog information"""


@show.command()
@click.option("-e", "--empty", is_flag=True)
@click.option("--check-storm", is_flag=True, help="Exit 1 if any storms detected, 0 otherwise")
@click.option("-n", "--namespace", default=None)
@click.option("-d", "--display", default="all")
@click.argument("queues", nargs=-1)
def stats(empty: bool, check_storm: bool, namespace: str | None, display: str, queues: tuple[str, ...]) -> None:
    """ Show PFC Watchdog stats per queue """
    show_stats(this_switch(), queues, empty, check_storm)


@show.command()
@click.option("-n", "--namespace", default=None)
@click.option("-d", "--display", default="all")
@click.argument("ports", nargs=-1)
def config(namespace: str | None, display: str, ports: tuple[str, ...]) -> None:
    """ Show PFC Watchdog configuration """
    show_config(this_switch(), ports)


@cli.command()
@click.option("--action", "-a", type=click.Choice(["drop", "forward", "alert"]))
@click.option("--restoration-time", "-r", type=click.IntRange(100, 60000))
@click.option("--pfc-stat-history", is_flag=True)
@click.argument("ports", nargs=-1)
@click.argument("detection-time", type=click.IntRange(100, 5000))
def start(action: str | None, restoration_time: int | None, pfc_stat_history: bool, ports: tuple[str, ...],
          detection_time: int) -> None:
    """ Start PFC watchdog on port(s). To config all ports, use all as input. """
    start_on(this_switch(), ports, detection_time, restoration_time, action, pfc_stat_history)


@cli.command()
@click.argument("ports", nargs=-1)
def stop(ports: tuple[str, ...]) -> None:
    """ Stop PFC watchdog on port(s) """
    stop_on(this_switch(), ports)


@cli.command("start_default")
def start_default_command() -> None:
    """ Start PFC WD by default configurations  """
    require_root()
    start_default(this_switch())


@cli.command()
@click.argument("poll_interval", type=click.IntRange(100, _MAX_POLL_MS))
def interval(poll_interval: int) -> None:
    """ Set PFC watchdog counter polling interval """
    set_interval(this_switch(), poll_interval)


@cli.command("counter_poll")
@click.argument("counter_poll", type=click.Choice(["enable", "disable"]))
def counter_poll_command(counter_poll: str) -> None:
    """ Enable/disable counter polling """
    set_counter_poll(this_switch(), counter_poll)


@cli.command("big_red_switch")
@click.argument("big_red_switch", type=click.Choice(["enable", "disable"]))
def big_red_switch_command(big_red_switch: str) -> None:
    """ Enable/disable BIG_RED_SWITCH mode """
    set_big_red_switch(this_switch(), big_red_switch)


@cli.command("pfc_stat_history")
@click.argument("pfc_stat_history", type=click.Choice(["enable", "disable"]))
@click.argument("ports", nargs=-1)
def pfc_stat_history_command(pfc_stat_history: str, ports: tuple[str, ...]) -> None:
    """ Enable/disable PFC Historical Statistics mode on ports"""
    set_history(this_switch(), pfc_stat_history, ports)


def main() -> None:
    """The program."""
    cli(prog_name="pfcwd")


if __name__ == "__main__":
    run(main)
