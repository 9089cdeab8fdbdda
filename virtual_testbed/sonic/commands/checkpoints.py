"""`config checkpoint`, `rollback`, `list-checkpoints`, `delete-checkpoint`: CONFIG_DB as it was (sonic-utilities
`generic_config_updater`).

A rollback is a `config replace` by what was kept: all of it or nothing, and refused where a patch would be.
"""
from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from virtual_testbed.sonic.commands import patch
from virtual_testbed.sonic.commands.context import SwitchContext, this_switch
from virtual_testbed.sonic.databases import as_json

FOLDER = "/etc/sonic/checkpoints"
_SUFFIX = ".cp.json"
_name = click.argument("checkpoint-name")
_verbose = click.option("-v", "--verbose", is_flag=True,
                        help="print additional details of what the operation is doing")


class CheckpointError(Exception):
    """A checkpoint that cannot be kept, found or brought back; the text is one sentence."""


@contextmanager
def _ends_with(context: click.Context, message: str) -> Iterator[None]:
    """End the command as SONiC's when something goes wrong."""
    try:
        yield
    except (CheckpointError, patch.PatchError) as error:
        click.echo(message, err=True)
        context.fail(str(error))


def _path(switch: SwitchContext, name: str, exists: bool = True) -> Path:
    """The file of a checkpoint. Raises CheckpointError: the name is none, or there is no such checkpoint."""
    if not name or "/" in name:
        raise CheckpointError(f"Checkpoint '{name}' cannot be the name of a file")
    path = switch.path(FOLDER) / f"{name}{_SUFFIX}"
    if exists and not path.is_file():
        raise CheckpointError(f"Checkpoint '{name}' does not exist")
    return path


@click.command()
@_name
@_verbose
@click.pass_context
def checkpoint(context: click.Context, /, checkpoint_name: str, verbose: bool) -> None:
    """Take a checkpoint of the whole current config with the specified checkpoint name."""
    with _ends_with(context, "Failed to create a config checkpoint"):
        switch = this_switch()
        path = _path(switch, checkpoint_name, exists=False)
        partial = path.with_name(f"{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(as_json(switch.running()), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise CheckpointError(f"{FOLDER}/{path.name} cannot be written: {error.strerror}") from error
    click.echo("Checkpoint created successfully.")


@click.command()
@_name
@click.option("-d", "--dry-run", is_flag=True, help="test out the command without affecting config state")
@click.option("-n", "--ignore-non-yang-tables", is_flag=True, hidden=True)
@click.option("-i", "--ignore-path", multiple=True, hidden=True)
@_verbose
@click.pass_context
def rollback(context: click.Context, /, checkpoint_name: str, dry_run: bool, **ignored: object) -> None:
    """Rollback the whole config to the specified checkpoint."""
    with _ends_with(context, "Failed to rollback config"):
        patch.announce(dry_run)
        switch = this_switch()
        path = _path(switch, checkpoint_name)
        try:
            wanted = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{FOLDER}/{path.name} cannot be read: {error}") from error
        patch.replace_whole(switch, wanted, dry_run)
    click.echo("Config rolled back successfully.")


@click.command("delete-checkpoint")
@_name
@_verbose
@click.pass_context
def delete_checkpoint(context: click.Context, /, checkpoint_name: str, verbose: bool) -> None:
    """Delete a checkpoint with the specified checkpoint name."""
    with _ends_with(context, "Failed to delete config checkpoint"):
        path = _path(this_switch(), checkpoint_name)
        try:
            path.unlink()
        except OSError as error:
            raise CheckpointError(f"{FOLDER}/{path.name} cannot be deleted: {error.strerror}") from error
    click.echo("Checkpoint deleted successfully.")


@click.command("list-checkpoints")
@click.option("-t", "--time", "with_times", is_flag=True,
              help="Add extra last modified time information for each checkpoint")
@_verbose
def list_checkpoints(with_times: bool, verbose: bool) -> None:
    """List the config checkpoints available."""
    files = sorted(this_switch().path(FOLDER).glob(f"*{_SUFFIX}"))
    names = [path.name.removesuffix(_SUFFIX) for path in files]
    if not with_times:
        click.echo(json.dumps(names, indent=4))
        return
    found = [{"name": name, "time": _changed(path)} for name, path in zip(names, files)]
    click.echo(json.dumps(sorted(found, key=lambda entry: entry["time"], reverse=True), indent=4))


def _changed(path: Path) -> str:
    return datetime.datetime.fromtimestamp(path.stat().st_mtime, tz=datetime.timezone.utc).isoformat()
