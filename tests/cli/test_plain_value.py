"""A value that is taken as it was typed is the value Typer would have made of it."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer._click.exceptions import UsageError
from typer.core import TyperCommand
from typer.main import get_command_from_info
from typer.models import CommandInfo

from postroom.cli.on_demand import Single


def show(
    what: Annotated[str, typer.Argument()],
    text: Annotated[str | None, typer.Option("--text")] = None,
    wait: Annotated[float | None, typer.Option("--wait")] = None,
    rank: Annotated[int | None, typer.Option("--rank", min=1, max=50)] = None,
    many: Annotated[list[str] | None, typer.Option("--many")] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
) -> None: ...


def parsed(kind: type[TyperCommand], words: list[str]) -> object:
    info = CommandInfo(name="show", cls=kind, callback=show)
    command = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
    try:
        return command.make_context("show", list(words)).params
    except UsageError as error:
        return error.format_message()


@pytest.mark.parametrize(
    "words",
    [
        ["Grüße", "--text", "ein Wort"],
        ["", "--text", ""],
        ["x", "--wait", "1.5", "--flag"],
        ["x", "--many", "a", "--many", "b"],
        [],
    ],
    ids=ascii,
)
def test_a_plain_value_is_what_typer_makes_of_it(words: list[str]) -> None:
    assert parsed(Single, words) == parsed(TyperCommand, words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x", "--wait", "soon"], "Invalid value for '--wait': must be a number"),
        (["x", "--rank", "99"], "Invalid value for '--rank': must be at most 50"),
        (["x", "--rank", "1.5"], "Invalid value for '--rank': must be a whole number"),
        (["no UTF-8 \udcff"], "Invalid value for 'what': is not text in UTF-8"),
        (["x", "--many", "\udcff"], "Invalid value for '--many': is not text in UTF-8"),
    ],
    ids=ascii,
)
def test_what_is_wrong_is_said_in_our_words(words: list[str], told: str) -> None:
    assert parsed(Single, words) == told
