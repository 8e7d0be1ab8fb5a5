"""Every command of the tree, with its path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from typer.main import get_command

from postroom.cli.application import app


@cache
def commands() -> dict[str, Any]:
    return dict(_below(get_command(app), ()))


def _below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in command.commands:
        _, inner, _ = command.resolve_command(command.context_class(command), [name])
        if hasattr(inner, "commands"):
            yield from _below(inner, (*path, name))
        else:
            yield " ".join((*path, name)), inner


def options_of(command: Any) -> set[str]:
    return {option for one in command.params for option in one.opts}
