"""`config pfcwd`: what `pfcwd` does, as a group of `config` (sonic-utilities `config/main.py`)."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands import pfcwd as watchdog
from virtual_testbed.sonic.commands.context import this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup

_verbose = click.option("--verbose", is_flag=True, help="Enable verbose output")
_status = click.Choice(["enable", "disable"])
_OLD_WORDS = ("ports", "detection-time")
"""Words that older images want between the arguments: here they are left out."""


def _say(verbose: bool, *words: object) -> None:
    if verbose:
        click.echo(f"Running command: pfcwd {' '.join(map(str, words))}")


@click.group("pfcwd", cls=AliasedGroup)
def pfcwd() -> None:
    """Configure pfc watchdog """


@pfcwd.command()
@click.option("--action", "-a", type=click.Choice(["drop", "forward", "alert"]))
@click.option("--restoration-time", "-r", type=click.IntRange(100, 60000))
@click.option("--pfc-stat-history", is_flag=True, help="Enable historical statistics tracking")
@_verbose
@click.argument("ports", nargs=-1)
@click.argument("detection-time", type=click.IntRange(100, 5000))
def start(action: str | None, restoration_time: int | None, pfc_stat_history: bool, ports: tuple[str, ...],
          detection_time: int, verbose: bool) -> None:
    """Start PFC watchdog on port(s). To config all ports, use all as input."""
    ports = tuple(dict.fromkeys(port for port in ports if port not in _OLD_WORDS))
    options = [*(("--restoration-time", restoration_time) if restoration_time else ()),
               *(("--pfc-stat-history",) if pfc_stat_history else ())]
    _say(verbose, "start", *(("--action", action) if action else ()), *ports, detection_time, *options)
    watchdog.start_on(this_switch(), ports, detection_time, restoration_time, action, pfc_stat_history)


@pfcwd.command()
@_verbose
def stop(verbose: bool) -> None:
    """ Stop PFC watchdog """
    _say(verbose, "stop")
    watchdog.stop_on(this_switch())


@pfcwd.command()
@_verbose
@click.argument("poll_interval", type=click.IntRange(100, 1000))
def interval(poll_interval: int, verbose: bool) -> None:
    """ Set PFC watchdog counter polling interval (ms) """
    _say(verbose, "interval", poll_interval)
    watchdog.set_interval(this_switch(), poll_interval)


@pfcwd.command("counter_poll")
@_verbose
@click.argument("counter_poll", type=_status)
def counter_poll_command(counter_poll: str, verbose: bool) -> None:
    """ Enable/disable counter polling """
    _say(verbose, "counter_poll", counter_poll)
    watchdog.set_counter_poll(this_switch(), counter_poll)


@pfcwd.command("big_red_switch")
@_verbose
@click.argument("big_red_switch", type=_status)
def big_red_switch_command(big_red_switch: str, verbose: bool) -> None:
    """ Enable/disable BIG_RED_SWITCH mode """
    _say(verbose, "big_red_switch", big_red_switch)
    watchdog.set_big_red_switch(this_switch(), big_red_switch)


@pfcwd.command("pfc_stat_history")
@_verbose
@click.argument("pfc_stat_history", type=_status)
@click.argument("ports", nargs=-1)
def pfc_stat_history_command(pfc_stat_history: str, ports: tuple[str, ...], verbose: bool) -> None:
    """ Enable/disable PFC Historical Statistics mode on ports"""
    ports = tuple(dict.fromkeys(port for port in ports if port != _OLD_WORDS[0]))
    _say(verbose, "pfc_stat_history", pfc_stat_history, *ports)
    watchdog.set_history(this_switch(), pfc_stat_history, ports)


@pfcwd.command("start_default")
@_verbose
def start_default_command(verbose: bool) -> None:
    """ Start PFC WD by default configurations  """
    _say(verbose, "start_default")
    watchdog.start_default(this_switch())
