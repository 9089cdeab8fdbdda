"""Click groups as SONiC's are: without a command they print their help, and some accept unique prefixes of a command
(`show int stat`).
"""
from __future__ import annotations

import click


class HelpfulGroup(click.Group):
    """A group that without a command prints its help and ends well, as with the click that SONiC has (below 8.2)."""

    group_class = type

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Help where there is nothing to parse."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)


class AliasedGroup(HelpfulGroup):
    """A group whose commands can be abbreviated."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or the only one that begins so."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            return found
        matches = [name for name in self.list_commands(ctx) if name.lower().startswith(cmd_name.lower())]
        if len(matches) > 1:
            ctx.fail(f"Too many matches: {', '.join(sorted(matches))}")
        return super().get_command(ctx, matches[0]) if matches else None

    def resolve_command(
            self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Errors name the full command."""
        _, command, rest = super().resolve_command(ctx, args)
        return (command.name if command else None), command, rest
