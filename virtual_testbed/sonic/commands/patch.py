"""`config apply-patch` and `config replace`: all of a change or nothing of it (sonic-utilities
`generic_config_updater`).

SONiC checks each step against its field operation validators, as this does, and the result against YANG models. This
checks its form, the watchdog's times, and that the hardware understands every row that it understood before and every
new one.
"""
from __future__ import annotations

import json
import sys
from typing import Any

import click

from virtual_testbed.sonic.commands.context import SwitchContext, this_switch
from virtual_testbed.sonic.databases import Config, checked_config, write_config
from virtual_testbed.sonic.patch_rules import refusal, violations

_options = [
    click.option("-f", "--format", "config_format", type=click.Choice(["CONFIGDB", "SONICYANG"]), default="CONFIGDB"),
    click.option("-d", "--dry-run", is_flag=True, help="test out the command without affecting config state"),
    click.option("-p", "--parallel", is_flag=True, hidden=True),
    click.option("-n", "--ignore-non-yang-tables", is_flag=True, hidden=True),
    click.option("-i", "--ignore-path", multiple=True, hidden=True),
    click.option("-v", "--verbose", is_flag=True),
]


class PatchError(Exception):
    """A patch or a target configuration that is refused; the text is one sentence."""


def _with_options(command: Any) -> Any:
    for option in reversed(_options):
        command = option(command)
    return command


def _load(switch: SwitchContext, name: str) -> Any:
    try:
        text = sys.stdin.read() if name == "/dev/stdin" else switch.file(name).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise PatchError(f"{name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise PatchError(f"{name} is not JSON: {error}") from error


def patched(config: Config, operations: object) -> Config:
    """The configuration after an RFC 6902 patch. Raises PatchError."""
    import jsonpatch
    import jsonpointer
    if not isinstance(operations, list):
        raise PatchError(f"a patch is a list of operations, found {type(operations).__name__}")
    try:
        result = jsonpatch.JsonPatch(operations).apply(config)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError) as error:
        raise PatchError(str(error) or f"an operation fails: {type(error).__name__}") from error
    return _checked(result)


def check_steps(switch: SwitchContext, current: Config, wanted: Config) -> None:
    """Raise PatchError when a step from a configuration to another changes what no patch may change on this switch."""
    import jsonpatch
    steps = jsonpatch.make_patch(current, wanted).patch
    if sentence := refusal(steps, switch.hwsku, switch.image["build_version"]):
        raise PatchError(sentence)


def _checked(data: object) -> Config:
    try:
        return checked_config(data, "the result")
    except ValueError as error:
        raise PatchError(str(error)) from error


def check_hardware(switch: SwitchContext, before: Config, after: Config) -> None:
    """Raise PatchError when `after` has a row that SONiC's model or the hardware would refuse and `before` had not."""
    from virtual_testbed.sonic.translate import translate
    old, found = ((*violations(config), *translate(config, switch.profile, switch.name, switch.mac).problems)
                  for config in (before, after))
    new = [problem for problem in found if problem not in old]
    if new:
        raise PatchError(new[0])


def _bring_about(switch: SwitchContext, wanted: Config, current: Config, dry_run: bool) -> None:
    check_hardware(switch, current, wanted)
    if not dry_run:
        write_config(switch.config, wanted, current)


@click.command("apply-patch")
@click.argument("patch-file-path")
@_with_options
@click.pass_context
def apply_patch(context: click.Context, /, patch_file_path: str, dry_run: bool, **ignored: object) -> None:
    """Apply given patch of updates to Config. A patch is a JsonPatch which follows rfc6902."""
    announce(dry_run)
    switch = this_switch()
    current = switch.running()
    try:
        wanted = patched(current, _load(switch, patch_file_path))
        check_steps(switch, current, wanted)
        _bring_about(switch, wanted, current, dry_run)
    except PatchError as error:
        click.echo(f"Failed to apply patch due to: {error}", err=True)
        context.fail(str(error))
    click.echo("Patch applied successfully.")


@click.command("replace")
@click.argument("target-file-path")
@_with_options
@click.pass_context
def replace(context: click.Context, /, target_file_path: str, dry_run: bool, **ignored: object) -> None:
    """Replace the whole config with the specified config."""
    announce(dry_run)
    switch = this_switch()
    try:
        replace_whole(switch, _load(switch, target_file_path), dry_run)
    except PatchError as error:
        click.echo(f"Failed to replace config due to: {error}", err=True)
        context.fail(str(error))
    click.echo("Config replaced successfully.")


def replace_whole(switch: SwitchContext, target: object, dry_run: bool) -> None:
    """Make CONFIG_DB what a target is, in one transaction. Raises PatchError: it is no configuration, or steps to it
    are refused.
    """
    current = switch.running()
    wanted = _checked(target)
    check_steps(switch, current, wanted)
    _bring_about(switch, wanted, current, dry_run)


def announce(dry_run: bool) -> None:
    """Say that nothing will be changed."""
    if dry_run:
        click.echo("** DRY RUN EXECUTION **")
