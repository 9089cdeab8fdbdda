"""`ecnconfig`: WRED profiles, and which queues have one (sonic-utilities `scripts/ecnconfig`).

What is changed goes into CONFIG_DB, and is said to have no effect: the data plane neither marks nor drops by WRED.
"""
from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from virtual_testbed.sonic.commands.context import SwitchContext, is_root, run, this_switch
from virtual_testbed.sonic.databases import Row, change_row, natural, read_config, read_row

PROFILES = "WRED_PROFILE"
QUEUES = "QUEUE"
NEIGHBORS = "DEVICE_NEIGHBOR"
FIELDS = {"gmax": "green_max_threshold", "gmin": "green_min_threshold", "ymax": "yellow_max_threshold",
          "ymin": "yellow_min_threshold", "rmax": "red_max_threshold", "rmin": "red_min_threshold",
          "gdrop": "green_drop_probability", "ydrop": "yellow_drop_probability", "rdrop": "red_drop_probability"}
"""Options and the fields that they set, in the order in which they are checked and written."""
_FIELD = "wred_profile"
_ON = "AZURE_LOSSLESS"
_HIGHEST_PERCENT = 100
ROOT_NEEDED = "Root privileges required for this operation"
NOTE = "note: CONFIG_DB is changed; the data plane of this switch knows no WRED and no ECN"


def fail(reason: str) -> NoReturn:
    """End the command as SONiC's does with what went wrong."""
    print("Exception caught: ", reason, file=sys.stderr)
    sys.exit(1)


def show(switch: SwitchContext, verbose: bool = False) -> None:
    """Print all WRED profiles (`verbose`: and how many)."""
    from tabulate import tabulate
    profiles = read_config(switch.config, PROFILES).get(PROFILES, {})
    for name in sorted(profiles):
        print(f"Profile: {name}")
        print(tabulate(sorted(profiles[name].items())) + "\n")
    if verbose:
        print(f"Total profiles: {len(profiles)}")


def set_profile(switch: SwitchContext, profile: str, values: Mapping[str, str], verbose: bool = False) -> None:
    """Change a profile; `values` by option. Raises SystemExit when the profile would not be valid."""
    if not values:
        fail("Input arguments error. Specify at least one threshold parameter to set")
    current = read_row(switch.config, PROFILES, profile)
    if not current:
        fail(f"Input arguments error. Invalid WRED profile {profile} for namespace None")
    wrong = wrong_with({**current, **{FIELDS[option]: value for option, value in values.items()}})
    if wrong:
        print("\n".join(wrong))
        fail("Input arguments error. Invalid WRED profile parameters")
    _require_root()
    for option, field in FIELDS.items():
        if option in values:
            if verbose:
                print(f"Setting {field} value to {values[option]}{'%' if 'probability' in field else ''}")
            change_row(switch.config, PROFILES, profile, {field: values[option]})
    _say_note()


def wrong_with(profile: Row) -> list[str]:
    """What is wrong with a profile, a sentence each: texts that are no numbers first, else a minimum above its maximum.
    """
    found = []
    for option, field in FIELDS.items():
        value = str(profile.get(field, "0"))
        if "threshold" in field and not value.isdigit():
            found.append(f"Invalid {option} ({value}). {option} should be an non-negative integer.")
        elif "probability" in field and not (value.isdigit() and int(value) <= _HIGHEST_PERCENT):
            found.append(f"Invalid {option} ({value}). {option} should be an integer between 0 and 100.")
    return found or _wrong_order(profile)


def _wrong_order(profile: Row) -> list[str]:
    found = []
    for color in "gyr":
        low, high = f"{color}min", f"{color}max"
        if FIELDS[low] in profile and FIELDS[high] in profile:
            least, most = int(profile[FIELDS[low]]), int(profile[FIELDS[high]])
            if least > most:
                found.append(f"Invalid {low} ({least}) and {high} ({most}). {low} should be smaller than {high}")
    return found


def _ports(switch: SwitchContext) -> list[str]:
    """The ports with a neighbour, which alone this is about."""
    ports = sorted(read_config(switch.config, NEIGHBORS).get(NEIGHBORS, {}), key=natural)
    if not ports:
        fail(f"No active ports detected in table '{NEIGHBORS}'")
    return ports


def show_queues(switch: SwitchContext, queues: list[str], verbose: bool) -> None:
    """Print whether queues have the profile, as the first port has it."""
    ports = _ports(switch)
    print("ECN status:")
    for queue in queues:
        is_on = read_row(switch.config, QUEUES, f"{ports[0]}|{queue}").get(_FIELD) == _ON
        print(f"{','.join(ports) + ' ' if verbose else ''}queue {queue}: {'on' if is_on else 'off'}")


def set_queues(switch: SwitchContext, queues: list[str], is_on: bool, verbose: bool) -> None:
    """Give queues of all ports the profile, or take it away; a row without fields goes."""
    _require_root()
    ports = _ports(switch)
    for queue in queues:
        if verbose:
            print(f"{'Enable' if is_on else 'Disable'} ECN on {','.join(ports)} queue {queue}")
        for port in ports:
            key = f"{port}|{queue}"
            row = read_row(switch.config, QUEUES, key)
            if is_on:
                change_row(switch.config, QUEUES, key, {_FIELD: _ON})
            elif set(row) <= {_FIELD}:
                change_row(switch.config, QUEUES, key, None)
            else:
                switch.config.call("HDEL", f"{QUEUES}|{key}", _FIELD)
    _say_note()


def _require_root() -> None:
    if not is_root():
        sys.exit(ROOT_NEEDED)


def _say_note() -> None:
    print(NOTE, file=sys.stderr)


@click.command(help="Show and change: ECN WRED configuration\nECN on/off status on queues")
@click.argument("command", type=click.Choice(["on", "off"], case_sensitive=False), required=False)
@click.option("-l", "--list", "show_config", is_flag=True, help="show ECN WRED configuration")
@click.option("-p", "--profile", default=None, help="specify WRED profile name")
@click.option("-gmin", "--green-min", "gmin", default=None, help="set min threshold for packets marked 'green'")
@click.option("-gmax", "--green-max", "gmax", default=None, help="set max threshold for packets marked 'green'")
@click.option("-ymin", "--yellow-min", "ymin", default=None, help="set min threshold for packets marked 'yellow'")
@click.option("-ymax", "--yellow-max", "ymax", default=None, help="set max threshold for packets marked 'yellow'")
@click.option("-rmin", "--red-min", "rmin", default=None, help="set min threshold for packets marked 'red'")
@click.option("-rmax", "--red-max", "rmax", default=None, help="set max threshold for packets marked 'red'")
@click.option("-gdrop", "--green-drop-prob", "gdrop", default=None, help="probability of green packets, in percent")
@click.option("-ydrop", "--yellow-drop-prob", "ydrop", default=None, help="probability of yellow packets, in percent")
@click.option("-rdrop", "--red-drop-prob", "rdrop", default=None, help="probability of red packets, in percent")
@click.option("-n", "--namespace", type=click.Choice([""]), default=None, help="Namespace name or skip for all")
@click.option("-vv", "--verbose", is_flag=True, help="Verbose output")
@click.option("-q", "--queue", default=None, help="specify queue index list: 3,4")
@click.version_option(version="1.0")
def cli(command: str | None, show_config: bool, profile: str | None, namespace: str | None, verbose: bool,
        queue: str | None, **options: str | None) -> None:
    """The command."""
    switch = this_switch()
    values = {option: value for option, value in options.items() if value}
    if show_config:
        if values:
            fail("Input arguments error. No set options allowed when -l[ist] specified")
        show(switch, verbose)
    elif profile:
        set_profile(switch, profile, values, verbose)
    elif not queue:
        sys.exit(1)
    elif command is None:
        show_queues(switch, queue.split(","), verbose)
    else:
        set_queues(switch, queue.split(","), command == "on", verbose)


def main() -> None:
    """The program."""
    cli(prog_name="ecnconfig")


if __name__ == "__main__":
    run(main)
