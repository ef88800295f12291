"""A group of commands whose modules are imported only when a command is used, so that help and mistakes answer at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

import click

from posegen.wording import did_you_mean, shown

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """Commands by name, each with the place of its code and a line of help.

    Parameters
    ----------
    commands_at : mapping of str to (str, str)
        For each command ``"module:attribute"`` and its help in the list of commands.
    **options
        As for :class:`click.Group`.
    """

    def __init__(self, commands_at: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self._commands_at = dict(commands_at)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands, in the order in which a newcomer needs them."""
        del ctx
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of that name."""
        del ctx
        if cmd_name not in self._commands_at:
            return None
        module, _, attribute = self._commands_at[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            msg = f"{module}:{attribute} is not a click command"
            raise TypeError(msg)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with."""
        if args[0] not in self._commands_at and not args[0].startswith("-"):
            _refuse(ctx, args[0], self._commands_at)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._commands_at.items()])


def _refuse(ctx: click.Context, name: str, known: Mapping[str, object]) -> NoReturn:
    ctx.fail(f"unknown command {shown(name)}{did_you_mean(name, known)}")
