"""`config`: change the running configuration (sonic-utilities `config/main.py`, `config/vlan.py`).

It writes CONFIG_DB and nothing else; the hardware follows through the agent. `config reload` asks the agent to restart
the services.
"""
from __future__ import annotations

import sys
from pathlib import Path

import click

from virtual_testbed.sonic.commands import (
    buffers, checkpoints, config_files, ecnconfig, interface, mmuconfig, patch, pfcwd, pfcwd_config, portchannel, vlan,
    watermarkcfg)
from virtual_testbed.sonic.commands.context import require_root, run, this_switch
from virtual_testbed.sonic.commands.config_files import DEFAULT_FILE, GOLDEN_FILE, INITIAL_FILE
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.commands.restarting import ask_for, await_begin
from virtual_testbed.sonic.databases import Config, as_json, merge, write_config
from virtual_testbed.sonic.factory import QOS_TABLES, of_model, qos_tables

_CFGGEN = "/usr/local/bin/sonic-cfggen"
_yes = click.option("-y", "--yes", is_flag=True)
_file = click.argument("filename", required=False)


@click.group(cls=AliasedGroup, context_settings={"help_option_names": ["-h", "--help", "-?"]})
def cli() -> None:
    """SONiC command line - 'config' command"""
    require_root()


for _command in (interface.interface, vlan.vlan, portchannel.portchannel, patch.apply_patch, patch.replace,
                 checkpoints.checkpoint, checkpoints.rollback, checkpoints.delete_checkpoint,
                 checkpoints.list_checkpoints, pfcwd_config.pfcwd, buffers.buffer):
    cli.add_command(_command)


def _confirm(yes: bool, message: str) -> None:
    if not yes:
        click.confirm(message, abort=True)


def _write(path: Path, name: str, config: Config) -> None:
    """Write a configuration file whole. Ends the command with one sentence when it cannot be written."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(as_json(config), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        sys.exit(f"error: {name} cannot be written: {error.strerror}")


@cli.command()
@_yes
@_file
def save(yes: bool, filename: str | None) -> None:
    """Export current config DB to a file on disk."""
    _confirm(yes, "Existing files will be overwritten, continue?")
    switch = this_switch()
    name = filename or DEFAULT_FILE
    click.echo(f"Running command: {_CFGGEN} -d --print-data > {name}")
    _write(switch.file(name), name, switch.running())


@cli.command()
@_yes
@_file
def load(yes: bool, filename: str | None) -> None:
    """Import a previous saved config DB dump file."""
    _confirm(yes, f"Load config from the {f'file(s) {filename}' if filename else 'default config file(s)'} ?")
    switch = this_switch()
    name = filename or DEFAULT_FILE
    if name != "/dev/stdin" and not switch.file(name).exists():
        click.echo(f"The config_db file {name} doesn't exist")
        return
    click.echo(f"Running command: {_CFGGEN} -j {name} --write-to-db")
    current = switch.running()
    write_config(switch.config, merge(current, config_files.read(switch, name)), current)


@cli.command()
@_yes
@click.option("-l", "--load-sysinfo", is_flag=True, help="load system default information (mac, portmap etc) first.")
@click.option("-n", "--no_service_restart", is_flag=True, help="Do not restart docker services")
@click.option("-f", "--force", is_flag=True, help="Force config reload without system checks")
@click.option("-t", "--file_format", default="config_db", type=click.Choice(["config_yang", "config_db"]))
@click.option("-b", "--bypass-lock", is_flag=True, help="Do reload without acquiring lock")
@_file
def reload(
    yes: bool, filename: str | None, file_format: str, no_service_restart: bool, **ignored: object
) -> None:
    """Clear current configuration and import a previous saved config DB dump file. Without one: the factory's."""
    what = f"from the file(s) {filename} ?" if filename else "from the default config file(s) ?"
    _confirm(yes, f"Clear current config and reload config in {file_format} format {what}")
    switch = this_switch()
    name = filename or DEFAULT_FILE
    if name == "/dev/stdin" or switch.file(name).exists():
        click.echo(f"Running command: {_CFGGEN} -j {name} --write-to-db")
        wanted = config_files.whole(switch, name)
    elif filename:
        click.echo(f"The config file {name} doesn't exist")
        raise click.Abort
    else:
        click.echo(f"The config file {name} doesn't exist, the factory configuration is loaded")
        wanted = config_files.factory(switch)
    if not no_service_restart:
        click.echo("Stopping SONiC target ...")
        ask_for(switch, "config reload")
    write_config(switch.config, wanted)
    if not no_service_restart:
        click.echo("Restarting SONiC target ...")
        await_begin(switch, "config reload")


@cli.group(cls=AliasedGroup)
def qos() -> None:
    """QoS-related configuration tasks"""


@qos.command("clear")
@click.option("--verbose", is_flag=True)
def qos_clear(verbose: bool) -> None:
    """Clear QoS configuration"""
    switch = this_switch()
    current = switch.running()
    write_config(switch.config, {table: rows for table, rows in current.items() if table not in QOS_TABLES}, current)


@qos.command("reload")
@click.option("--ports", default=None, help="List of ports that needs to be updated")
@click.option("--no-dynamic-buffer", is_flag=True, help="Disable dynamic buffer calculation")
@click.option("--no-delay", is_flag=True, hidden=True)
@click.option("--verbose", is_flag=True)
@click.option("--json-data", default=None, help="json string with additional data, valid with --dry-run option")
@click.option("--dry_run", default=None, help="Dry run, writes config to the given file")
def qos_reload(
    ports: str | None, no_dynamic_buffer: bool, dry_run: str | None, json_data: str | None, **ignored: object
) -> None:
    """Reload QoS configuration"""
    switch = this_switch()
    found = switch.running()
    current = of_model(found, "traditional") if no_dynamic_buffer and not ports else found
    if dry_run:
        source = config_files.parse(json_data, "--json-data") if json_data else current
        _write(switch.file(dry_run), dry_run, qos_tables(source, switch.profile))
        return
    wanted = qos_tables(current, switch.profile)
    if ports:
        wanted = _only_ports(wanted, current, ports.split(","))
    else:
        kept = {table: rows for table, rows in current.items() if table not in QOS_TABLES}
        write_config(switch.config, kept, found)  # whoever follows sees that all was cleared
        found, wanted = kept, {**kept, **wanted}
    write_config(switch.config, wanted, found)


def _only_ports(wanted: Config, current: Config, ports: list[str]) -> Config:
    """Rows of some ports from `wanted`, the rest as it is."""
    unknown = [port for port in ports if port not in current.get("PORT", {})]
    if unknown:
        sys.exit(f"Error: Invalid port {unknown[0]}")
    chosen = {table: {key: row for key, row in rows.items() if key.split("|")[0] in ports}
              for table, rows in wanted.items() if table in ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE")}
    return merge(current, chosen)


@cli.command()
@click.option("-profile", required=True, help="Profile name")
@click.option("-rmax", type=int, help="Set red max threshold")
@click.option("-rmin", type=int, help="Set red min threshold")
@click.option("-ymax", type=int, help="Set yellow max threshold")
@click.option("-ymin", type=int, help="Set yellow min threshold")
@click.option("-gmax", type=int, help="Set green max threshold")
@click.option("-gmin", type=int, help="Set green min threshold")
@click.option("-rdrop", type=click.IntRange(0, 100), help="Set red drop probability")
@click.option("-ydrop", type=click.IntRange(0, 100), help="Set yellow drop probability")
@click.option("-gdrop", type=click.IntRange(0, 100), help="Set green drop probability")
@click.option("-v", "--verbose", is_flag=True, help="Enable verbose output")
def ecn(profile: str, verbose: bool, **options: int | None) -> None:
    """ECN-related configuration tasks"""
    values = {option: str(value) for option, value in options.items() if value is not None}
    ecnconfig.set_profile(this_switch(), profile, values, verbose)


@cli.command()
@click.option("-p", "profile", required=True, help="Profile name")
@click.option("-a", "alpha", type=click.IntRange(-8, 8), help="Set alpha for profile type dynamic")
@click.option("-s", "staticth", type=click.IntRange(min=0), help="Set staticth for profile type static")
@click.option("-t", "trim", type=click.Choice(["on", "off"]), help="Set packet trimming eligibility")
@click.option("--verbose", "-vv", is_flag=True, help="Enable verbose output")
def mmu(profile: str, alpha: int | None, staticth: int | None, trim: str | None, verbose: bool) -> None:
    """mmuconfig configuration tasks"""
    mmuconfig.set_profile(this_switch(), profile, alpha, staticth, trim, verbose)


@cli.group(cls=AliasedGroup)
def watermark() -> None:
    """Configure watermark"""


@watermark.group(cls=AliasedGroup)
def telemetry() -> None:
    """Configure watermark telemetry"""


@telemetry.command("interval")
@click.argument("interval")
def telemetry_interval(interval: str) -> None:
    """Configure watermark telemetry interval"""
    arguments = watermarkcfg.parser().parse_args(["--config-interval", interval])
    watermarkcfg.set_interval(this_switch(), arguments.config_interval)


@cli.command("load_minigraph")
@_yes
@click.option("-n", "--no_service_restart", is_flag=True, help="Do not restart docker services")
@click.option("-t", "--traffic_shift_away", is_flag=True, help="Keep device in maintenance with TSA")
@click.option("-o", "--override_config", is_flag=True, help="Override config DB. Proceed with default behavior.")
@click.option("-p", "--golden_config_path", default=GOLDEN_FILE, help="Provide golden config path to override.")
def load_minigraph(yes: bool, no_service_restart: bool, override_config: bool, golden_config_path: str,
                   **ignored: object) -> None:
    """Reconfigure based on minigraph."""
    _confirm(yes, "Reload config from minigraph?")
    switch = this_switch()
    wanted = merge(config_files.read(switch, INITIAL_FILE), config_files.from_minigraph(switch))
    wanted = {**wanted, **qos_tables(wanted, switch.profile)}
    if override_config:
        wanted = {**wanted, **config_files.read(switch, golden_config_path)}
    if not no_service_restart:
        click.echo("Stopping SONiC target ...")
        ask_for(switch, "config reload")
    click.echo(f"Running command: {_CFGGEN} -H -m -j {INITIAL_FILE} --write-to-db")
    click.echo("Running command: config qos reload --no-dynamic-buffer --no-delay")
    write_config(switch.config, wanted)
    if "PFC_WD" not in wanted:
        click.echo("Running command: pfcwd start_default")
        pfcwd.start_default(switch)
    if not no_service_restart:
        click.echo("Restarting SONiC target ...")
        await_begin(switch, "config load_minigraph")
    click.echo("Please note setting loaded from minigraph will be lost after system reboot. To preserve setting, run "
               "`config save`.")


@cli.group(cls=AliasedGroup)
def bgp() -> None:
    """BGP-related configuration tasks"""


def _no_bgp(verb: str) -> click.Group:
    """`startup all` or `shutdown all`: there is no session."""
    group = AliasedGroup(verb, help=f"{verb} BGP session(s)")
    group.add_command(click.Command("all", callback=lambda: None, help=f"{verb} all BGP sessions"))
    return group


for _verb in ("startup", "shutdown"):
    bgp.add_command(_no_bgp(_verb))


def main() -> None:
    """The program."""
    cli(prog_name="config")


if __name__ == "__main__":
    run(main)
