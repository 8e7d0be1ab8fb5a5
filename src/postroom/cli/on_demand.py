"""Commands that are listed by name and line, and imported when one of them is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from postroom.cli.plain_value import sparing_pydantic

if TYPE_CHECKING:
    from typer._click import Command, Context
    from typer._click.core import Parameter
    from typer._click.formatting import HelpFormatter

_COMPLETING: Final = "_POSTROOM_COMPLETE"  # set by the shell's script when a person presses Tab


class Single(TyperCommand):
    def get_params(self, ctx: Context) -> list[Parameter]:
        return sparing_pydantic(super().get_params(ctx))


class Listed(TyperCommand):
    """What the list of commands and the Tab key need to know."""

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode=None)
        self._place = place

    def imported(self) -> Command:
        module, _, attribute = self._place.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            for one in found.registered_commands:
                one.cls = Single
            return get_group_from_info(
                TyperInfo(found, name=self.name, cls=Group),
                pretty_exceptions_short=False,
                suggest_commands=True,
                rich_markup_mode=None,
            )
        return get_command_from_info(
            CommandInfo(name=self.name, cls=Single, callback=found),
            pretty_exceptions_short=False,
            rich_markup_mode=None,
        )


class Group(TyperGroup):
    """Says the whole line of each command, and imports a listed one when it is chosen."""

    listed: ClassVar[Mapping[str, tuple[str, str]]] = {}
    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # titles, and the names below each

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({name: Listed(name, *one) for name, one in self.listed.items()})

    def get_params(self, ctx: Context) -> list[Parameter]:
        return sparing_pydantic(super().get_params(ctx))

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        found = command.imported() if isinstance(command, Listed) else command
        path = f"{ctx.command_path} {name}".partition("postroom ")[2]
        if found is not None and _COMPLETING in os.environ:
            from postroom.cli.completion import teach

            teach(path, found)
        elif found is not None and "--help" in rest:
            from postroom.cli.examples import epilog_of

            found.epilog = epilog_of(path)
        return name, found, rest

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for title, names in (self.sections or {"Commands": tuple(self.commands)}).items():
            rows = [(name, " ".join((self.commands[name].help or "").split())) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)
