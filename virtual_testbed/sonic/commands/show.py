"""`show`: what SONiC shows of PFC, counters, ports and configuration (sonic-utilities `show/main.py`)."""
from __future__ import annotations

import click

from virtual_testbed.sonic.commands.context import run, this_switch
from virtual_testbed.sonic.commands.groups import AliasedGroup
from virtual_testbed.sonic.commands.watermark_groups import PRIORITY_GROUPS, QUEUES, add_watermarks

_namespace = click.option("-n", "--namespace", default=None, help="Namespace name")
_display = click.option("-d", "--display", default="all", help="Show internal interfaces")
_verbose = click.option("--verbose", is_flag=True, help="Enable verbose output")


@click.group(cls=AliasedGroup, context_settings={"help_option_names": ["-h", "--help", "-?"]})
def cli() -> None:
    """SONiC command line - 'show' command"""


@cli.group(cls=AliasedGroup)
def pfc() -> None:
    """Show details of the priority-flow-control (pfc) """


@pfc.command("counters")
@click.option("--history", is_flag=True, help="Display historical PFC statistics")
@_namespace
@_display
@_verbose
def pfc_counters(history: bool, namespace: str | None, display: str, verbose: bool) -> None:
    """Show pfc counters"""
    from virtual_testbed.sonic.commands import pfcstat
    (pfcstat.show_history if history else pfcstat.show)(this_switch())


@pfc.command("priority")
@click.argument("interface", required=False)
@_namespace
def pfc_priority(interface: str | None, namespace: str | None) -> None:
    """Show pfc priority"""
    from virtual_testbed.sonic.commands.pfc import show_priority
    show_priority(this_switch(), interface)


@pfc.command("asymmetric")
@click.argument("interface", required=False)
@_namespace
def pfc_asymmetric(interface: str | None, namespace: str | None) -> None:
    """Show asymmetric pfc"""
    from virtual_testbed.sonic.commands.pfc import show_asymmetric
    show_asymmetric(this_switch(), interface)


@cli.group(cls=AliasedGroup)
def pfcwd() -> None:
    """Show details of the pfc watchdog """


@pfcwd.command("config")
@_namespace
@_display
@click.argument("ports", nargs=-1)
def pfcwd_config(namespace: str | None, display: str, ports: tuple[str, ...]) -> None:
    """Show pfc watchdog config"""
    from virtual_testbed.sonic.commands.pfcwd import show_config
    show_config(this_switch(), ports)


@pfcwd.command("stats")
@_namespace
@_display
@click.option("-e", "--empty", is_flag=True)
@click.argument("queues", nargs=-1)
def pfcwd_stats(namespace: str | None, display: str, empty: bool, queues: tuple[str, ...]) -> None:
    """Show pfc watchdog stats"""
    from virtual_testbed.sonic.commands.pfcwd import show_stats
    show_stats(this_switch(), queues, empty)


@cli.group(cls=AliasedGroup)
def queue() -> None:
    """Show details of the queues """


@queue.command("counters")
@click.argument("interfacename", required=False)
@_namespace
@_display
@click.option("-a", "--all", "everything", is_flag=True, help="All counters")
@click.option("-T", "--trim", is_flag=True, help="Trimming counters")
@click.option("-V", "--voq", is_flag=True, help="VOQ counters")
@click.option("-nz", "--nonzero", is_flag=True, help="Non Zero Counters")
@click.option("-j", "--json", "as_json", is_flag=True, help="JSON output")
@_verbose
def queue_counters(interfacename: str | None, everything: bool, trim: bool, voq: bool, nonzero: bool, as_json: bool,
                   **ignored: object) -> None:
    """Show queue counters"""
    from virtual_testbed.sonic.commands import queuestat
    if voq:
        queuestat.show_virtual_outputs(this_switch(), interfacename, as_json)
    else:
        columns = queuestat.columns_of(everything, trim)
        queuestat.show(this_switch(), queuestat.QueueView(interfacename, columns, as_json, nonzero))


def _watermark_command(name: str, kind: str, which: str) -> click.Command:
    @click.command(name, help=f"Show {which} WM, {name}")
    @_namespace
    @click.option("-j", "--json", "as_json", is_flag=True, help="Display JSON output")
    def show_watermark(namespace: str | None, as_json: bool) -> None:
        from virtual_testbed.sonic.commands import watermarkstat
        watermarkstat.show(this_switch(), watermarkstat.KINDS[kind], which == "persistent", as_json)
    return show_watermark


add_watermarks(queue, "Show", QUEUES, _watermark_command)


@cli.group("priority-group", cls=AliasedGroup)
def priority_group() -> None:
    """Show details of the PGs """


add_watermarks(priority_group, "Show", PRIORITY_GROUPS, _watermark_command)


@priority_group.group("drop", cls=AliasedGroup)
def priority_group_drop() -> None:
    """Show priority-group drops"""


@priority_group_drop.command("counters")
@_namespace
def priority_group_drop_counters(namespace: str | None) -> None:
    """Show dropped packets for priority-group"""
    from virtual_testbed.sonic.commands import watermarkstat
    watermarkstat.show(this_switch(), watermarkstat.PG_DROPS)


@cli.group(cls=AliasedGroup)
def watermark() -> None:
    """Show details of watermark"""


@watermark.group(cls=AliasedGroup)
def telemetry() -> None:
    """Show watermark telemetry info"""


@telemetry.command("interval")
def telemetry_interval() -> None:
    """Show telemetry interval"""
    from virtual_testbed.sonic.commands import watermarkcfg
    watermarkcfg.show_interval(this_switch())


@cli.group("buffer_pool", cls=AliasedGroup)
def buffer_pool() -> None:
    """Show details of the buffer pools"""


@cli.group("headroom-pool", cls=AliasedGroup)
def headroom_pool() -> None:
    """Show details of headroom pool"""


def _show_pools(is_headroom: bool, is_persistent: bool) -> None:
    from virtual_testbed.sonic.commands import watermarkstat
    what = watermarkstat.HEADROOM_POOL if is_headroom else watermarkstat.BUFFER_POOL
    watermarkstat.show_pools(this_switch(), what, is_persistent)


@buffer_pool.command("watermark")
@_namespace
def buffer_pool_watermark(namespace: str | None) -> None:
    """Show user WM for buffer pools"""
    _show_pools(is_headroom=False, is_persistent=False)


@buffer_pool.command("persistent-watermark")
@_namespace
def buffer_pool_persistent(namespace: str | None) -> None:
    """Show persistent WM for buffer pools"""
    _show_pools(is_headroom=False, is_persistent=True)


@headroom_pool.command("watermark")
@_namespace
def headroom_pool_watermark(namespace: str | None) -> None:
    """Show user WM for headroom pool"""
    _show_pools(is_headroom=True, is_persistent=False)


@headroom_pool.command("persistent-watermark")
@_namespace
def headroom_pool_persistent(namespace: str | None) -> None:
    """Show persistent WM for headroom pool"""
    _show_pools(is_headroom=True, is_persistent=True)


@cli.group(cls=AliasedGroup)
def buffer() -> None:
    """Show buffer information"""


@buffer.command("configuration")
@_namespace
@click.option("--verbose", "-vv", is_flag=True, help="Enable verbose output")
def buffer_configuration(namespace: str | None, verbose: bool) -> None:
    """show buffer configuration"""
    from virtual_testbed.sonic.commands import mmuconfig
    mmuconfig.show_configuration(this_switch(), verbose)


@buffer.command("information")
def buffer_information() -> None:
    """show buffer information"""
    from virtual_testbed.sonic.commands import mmuconfig
    mmuconfig.show_information(this_switch())


@cli.command()
@_namespace
@click.option("--verbose", "-vv", is_flag=True, help="Enable verbose output")
def mmu(namespace: str | None, verbose: bool) -> None:
    """Show mmu configuration"""
    from virtual_testbed.sonic.commands import mmuconfig
    mmuconfig.show_configuration(this_switch(), verbose)


@cli.command()
@_namespace
@_verbose
def ecn(namespace: str | None, verbose: bool) -> None:
    """Show ECN configuration"""
    from virtual_testbed.sonic.commands import ecnconfig
    ecnconfig.show(this_switch())


@cli.group(cls=AliasedGroup)
def dropcounters() -> None:
    """Show drop counter related information"""


@dropcounters.command("counts")
@click.option("-g", "--group", default=None)
@click.option("-t", "--counter_type", default=None)
@_verbose
@_namespace
def dropcounters_counts(group: str | None, counter_type: str | None, **ignored: object) -> None:
    """Show drop counts"""
    from virtual_testbed.sonic.commands import dropstat
    dropstat.show(this_switch(), group, counter_type, gap=False)


@dropcounters.command("configuration")
@click.option("-g", "--group", default=None)
@_verbose
@_namespace
def dropcounters_configuration(group: str | None, **ignored: object) -> None:
    """Show current drop counter configuration"""
    from virtual_testbed.sonic.commands import dropstat
    dropstat.show_configuration(this_switch(), group)


@dropcounters.command("capabilities")
@_verbose
@_namespace
def dropcounters_capabilities(**ignored: object) -> None:
    """Show device drop counter capabilities"""
    from virtual_testbed.sonic.commands import dropstat
    dropstat.show_capabilities()


@cli.group(cls=AliasedGroup)
def interfaces() -> None:
    """Show details of the network interfaces"""


@interfaces.command("status")
@click.argument("interfacename", required=False)
@_namespace
@_display
@_verbose
def interfaces_status(interfacename: str | None, namespace: str | None, display: str, verbose: bool) -> None:
    """Show Interface status information"""
    from virtual_testbed.sonic.commands import state
    state.interface_status(this_switch(), interfacename)


@interfaces.group("autoneg", cls=AliasedGroup)
def interfaces_autoneg() -> None:
    """Show interface autoneg information"""


@interfaces_autoneg.command("status")
@click.argument("interfacename", required=False)
@_namespace
@_display
@_verbose
def interfaces_autoneg_status(interfacename: str | None, namespace: str | None, display: str, verbose: bool) -> None:
    """Show interface autoneg status"""
    from virtual_testbed.sonic.commands import state
    state.negotiation_status(this_switch(), interfacename)


@interfaces.command("portchannel")
@_namespace
@_display
@_verbose
def interfaces_portchannel(namespace: str | None, display: str, verbose: bool) -> None:
    """Show PortChannel information"""
    from virtual_testbed.sonic.commands import portchannel
    portchannel.show(this_switch())


@interfaces.group("counters", cls=AliasedGroup, invoke_without_command=True)
@click.option("-a", "--printall", is_flag=True)
@click.option("-i", "--interface", default=None, help="Filter by interface name")
@click.option("-j", "--json", "as_json", is_flag=True, help="Print in JSON format")
@click.option("-nz", "--nonzero", is_flag=True, help="Non-Zero counters only")
@click.option("-p", "--period", type=int, default=0)
@_namespace
@_display
@_verbose
@click.pass_context
def interfaces_counters(context: click.Context, /, printall: bool, interface: str | None, as_json: bool, nonzero: bool,
                        period: int, **ignored: object) -> None:
    """Show interface counters"""
    if context.invoked_subcommand is None:
        from virtual_testbed.sonic.commands import portstat
        columns = portstat.ALL if printall else portstat.STANDARD
        portstat.show(this_switch(), portstat.View(columns, portstat.wanted(interface), as_json, non_zero=nonzero,
                                                   period_s=period))


@interfaces_counters.command("errors")
def interfaces_counters_errors() -> None:
    """Show interface counters errors"""
    from virtual_testbed.sonic.commands import portstat
    portstat.show(this_switch(), portstat.View(portstat.ERRORS))


@interfaces_counters.command("rates")
def interfaces_counters_rates() -> None:
    """Show interface counters rates"""
    from virtual_testbed.sonic.commands import portstat
    portstat.show(this_switch(), portstat.View(portstat.RATES))


@interfaces_counters.command("fec-stats")
@_namespace
@_display
@click.option("-p", "--period", type=int, default=0)
@click.option("-j", "--json", "as_json", is_flag=True, help="Print in JSON format")
@click.option("--nonzero", is_flag=True, help="Only display non zero counters")
@_verbose
def interfaces_counters_fec(period: int, as_json: bool, nonzero: bool, **ignored: object) -> None:
    """Show interface counters fec-stats"""
    from virtual_testbed.sonic.commands import portstat
    portstat.show(this_switch(), portstat.View(portstat.FEC, as_json=as_json, non_zero=nonzero, period_s=period))


@interfaces_counters.command("trim")
@click.argument("interface", required=False)
@click.option("-p", "--period", type=int, default=0)
@click.option("-j", "--json", "as_json", is_flag=True, help="Print in JSON format")
@_verbose
def interfaces_counters_trim(interface: str | None, period: int, as_json: bool, verbose: bool) -> None:
    """Show interface counters trim"""
    from virtual_testbed.sonic.commands import portstat
    portstat.show(this_switch(), portstat.View(portstat.TRIM, portstat.wanted(interface), as_json, period_s=period))


@interfaces_counters.command("detailed")
@click.argument("interface")
def interfaces_counters_detailed(interface: str) -> None:
    """Show interface counters detailed"""
    from virtual_testbed.sonic.commands import portstat
    portstat.detailed(this_switch(), interface)


@cli.command()
@click.option("-b", "--brief", is_flag=True, help="Display brief version information")
@_verbose
def version(brief: bool, verbose: bool) -> None:
    """Show version information"""
    from virtual_testbed.sonic.commands import state
    state.version(this_switch(), brief)


@cli.command()
@_verbose
def uptime(verbose: bool) -> None:
    """Show system uptime"""
    import time

    from virtual_testbed.sonic.commands.uptime import boot_time, pretty
    click.echo(pretty(time.time() - boot_time(this_switch())))


@cli.group("reboot-cause", cls=AliasedGroup, invoke_without_command=True)
@click.pass_context
def reboot_cause(context: click.Context, /) -> None:
    """Show cause of most recent reboot"""
    from virtual_testbed.sonic.commands.reboot_cause import last
    if context.invoked_subcommand is None:
        last(this_switch())


@reboot_cause.command("history")
def reboot_cause_history() -> None:
    """Show history of reboot-cause"""
    from virtual_testbed.sonic.commands.reboot_cause import history
    history(this_switch())


@cli.group(cls=AliasedGroup)
def platform() -> None:
    """Show platform-specific hardware info"""


@platform.group(cls=AliasedGroup)
def npu() -> None:
    """Show what the network processor's debug shell says"""


@npu.command("global")
@_namespace
def npu_global(namespace: str | None) -> None:
    """Show global information"""
    from virtual_testbed.sonic.commands.npu import show_global
    show_global(this_switch())


@npu.command("script")
@click.option("-s", "--script", required=True, help="File of the container syncd")
@_namespace
def npu_script(script: str, namespace: str | None) -> None:
    """Run a script"""
    from virtual_testbed.sonic.commands.npu import run_script
    run_script(this_switch(), script)


@cli.group(cls=AliasedGroup)
def feature() -> None:
    """Show feature status"""


@feature.command("status")
@click.argument("feature_name", required=False)
def feature_status(feature_name: str | None) -> None:
    """Show feature state"""
    from virtual_testbed.sonic.commands import state
    state.feature_status(this_switch(), feature_name)


@cli.group(cls=AliasedGroup)
def vlan() -> None:
    """Show VLAN information"""


@vlan.command("brief")
@_verbose
def vlan_brief(verbose: bool) -> None:
    """Show all bridge information"""
    from virtual_testbed.sonic.commands import state
    state.vlan_brief(this_switch())


@cli.group(cls=AliasedGroup)
def runningconfiguration() -> None:
    """Show current running configuration information"""


@runningconfiguration.command("all")
@_verbose
def runningconfiguration_all(verbose: bool) -> None:
    """Show full running configuration"""
    from virtual_testbed.sonic.databases import as_json
    print(as_json(this_switch().running()))


def main() -> None:
    """The program."""
    cli(prog_name="show")


if __name__ == "__main__":
    run(main)
