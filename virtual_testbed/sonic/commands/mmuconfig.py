"""`mmuconfig`: buffer pools and profiles, and the thresholds of profiles (sonic-utilities `scripts/mmuconfig`)."""
from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import click

from virtual_testbed.sonic.commands.context import SwitchContext, is_root, run, this_switch
from virtual_testbed.sonic.commands.ecnconfig import ROOT_NEEDED
from virtual_testbed.sonic.databases import Row, change_row, natural, read_config, read_hashes, read_row

_PARAMETERS, _POOLS, _PROFILES = "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "BUFFER_POOL", "BUFFER_PROFILE"
_LOWEST_ALPHA, _HIGHEST_ALPHA = -8, 8
_NOT_USED = {"dynamic_th": "{} not using dynamic thresholding", "static_th": "{} not using static threshold"}
NO_TRIMMING = "error: this switch does not trim packets (packet_discard_action)"


@dataclass(frozen=True)
class _Shown:
    """A table that is shown: what stands before a name, and what is said when there is nothing."""

    table: str
    title: str
    count: str
    gap: str = ""

    @property
    def what(self) -> str:
        """`buffer pool`"""
        return f"buffer {self.title.lower()}"


_SHOWN = (_Shown(_POOLS, "Pool", "Total pools", "\n\n"), _Shown(_PROFILES, "Profile", "Total profiles"))
Tables = Mapping[str, Mapping[str, Row]]


def show_configuration(switch: SwitchContext, verbose: bool = False) -> None:
    """Print what CONFIG_DB has."""
    found = {name: read_config(switch.config, name).get(name, {}) for name in (_PARAMETERS, _POOLS, _PROFILES)}
    _show({name: {key: rows[key] for key in sorted(rows)} for name, rows in found.items()}, verbose)


def show_information(switch: SwitchContext, verbose: bool = False) -> None:
    """Print what the switch has made of it, which is in STATE_DB: with dynamic buffers only."""
    with switch.connect("STATE_DB") as state:
        found = {name: {key.partition("|")[2]: row for key, row in read_hashes(
            state, sorted(state.call("KEYS", f"{name}*"), key=natural)).items()} for name in (_POOLS, _PROFILES)}
    _show(found, verbose)


def _show(tables: Tables, verbose: bool) -> None:
    for row in tables.get(_PARAMETERS, {}).values():
        print("Lossless traffic pattern:")
        _print_row(row)
    for shown in _SHOWN:
        rows = tables.get(shown.table, {})
        for name, row in rows.items():
            print(f"{shown.title}: {name}")
            _print_row(row)
        if not rows:
            print(f"No {shown.what} information available")
        elif verbose:
            print(f"{shown.count}: {len(rows)}{shown.gap}")


def _print_row(row: Row) -> None:
    from tabulate import tabulate
    print(tabulate([[field, row[field]] for field in sorted(row)]) + "\n")


def set_threshold(switch: SwitchContext, profile: str, field: str, value: int, verbose: bool = False) -> None:
    """Change a threshold of a profile.

    Raises:
        SystemExit: the account may not, or the profile has a threshold of the other kind.
    """
    if not is_root():
        sys.exit(ROOT_NEEDED)
    row = read_row(switch.config, _PROFILES, profile)
    if row and field not in row:
        sys.exit(_NOT_USED[field].format(profile))
    if verbose:
        print(f"Setting {profile} {field} value to {value}")
    change_row(switch.config, _PROFILES, profile, {field: str(value)})


def refuse_trimming() -> None:
    """End: nothing here trims packets."""
    sys.exit(NO_TRIMMING)


@click.command(help="Show and change: mmu configuration")
@click.option("-l", "--list", "show_config", is_flag=True, help="show mmu configuration")
@click.option("-p", "--profile", default=None, help="specify buffer profile name")
@click.option("-a", "--alpha", type=click.IntRange(_LOWEST_ALPHA, _HIGHEST_ALPHA), default=None,
              help="set n for dynamic threshold alpha 2^(n)")
@click.option("-s", "--staticth", type=click.IntRange(min=0), default=None, help="set static threshold")
@click.option("-t", "--trim", type=click.Choice(["on", "off"]), default=None,
              help="Configures packet trimming eligibility")
@click.option("-n", "--namespace", type=click.Choice([""]), default=None, help="Namespace name or skip for all")
@click.option("-vv", "--verbose", is_flag=True, help="verbose output")
@click.version_option(version="1.0")
@click.pass_context
def cli(context: click.Context, /, show_config: bool, profile: str | None, alpha: int | None, staticth: int | None,
        trim: str | None, namespace: str | None, verbose: bool) -> None:
    """The command."""
    switch = this_switch()
    if show_config:
        show_configuration(switch, verbose)
    elif not profile:
        click.echo(context.get_help())
        sys.exit(1)
    else:
        set_profile(switch, profile, alpha, staticth, trim, verbose)


def set_profile(switch: SwitchContext, profile: str, alpha: int | None, staticth: int | None, trim: str | None,
                verbose: bool) -> None:
    """The first of these that is given. Raises SystemExit."""
    if alpha is not None:
        set_threshold(switch, profile, "dynamic_th", alpha, verbose)
    elif staticth is not None:
        set_threshold(switch, profile, "static_th", staticth, verbose)
    elif trim:
        refuse_trimming()


def main() -> None:
    """The program."""
    cli(prog_name="mmuconfig")


if __name__ == "__main__":
    run(main)
