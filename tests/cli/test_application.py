"""What every command has in common: a version, and failures in words on standard error."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer._click.exceptions import UsageError
from typer.core import TyperCommand
from typer.main import get_command, get_command_from_info
from typer.models import CommandInfo

from postroom.cli.application import Group, Single, app
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR
from tests.cli.command import postroom, postroom_beside
from tests.household.living import PORTS, QUICK, living
from tests.services.ports import free_port


def test_the_version_is_the_packages(home: Path) -> None:
    done = postroom("--version")

    assert (done.code, done.out) == (0, f"postroom {version('postroom')}\n")


@pytest.mark.parametrize("command", [["notify", "Hello"], ["approvals", "list"]], ids=lambda command: command[0])
@pytest.mark.parametrize("has_token", [True, False], ids=["once started", "never started"])
def test_without_a_household_a_command_asks_whether_it_runs(
    home: Path, command: list[str], has_token: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PORTS:
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", str(free_port()))
    if has_token:
        TokenFile(home / "tokens.json").create(OPERATOR)

    done = postroom(*command)

    assert (done.code, done.out) == (1, "")
    assert "is the household running? `postroom up` starts it." in done.error


def test_a_mistake_ends_the_real_command_with_one_sentence_on_standard_error(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "postroom", "why", "01a1"], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("postroom: ") and done.stderr.count("\n") == 1


async def test_a_message_that_is_refused_is_told_on_standard_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    general = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__GENERAL", str(general))
    async with living(home, QUICK, {"ports": {"general": general}}):
        done = await postroom_beside("notify", "Hello", "--recipient", "Nobody I know")

    assert (done.code, done.out) == (1, "")
    assert done.error.startswith("Not delivered: ") and "known contact" in done.error


COMMANDS = get_command(app)
assert isinstance(COMMANDS, Group)


@pytest.mark.parametrize("name", COMMANDS.commands)
def test_a_command_is_listed_with_its_own_words(name: str) -> None:
    _, command, _ = COMMANDS.resolve_command(COMMANDS.context_class(COMMANDS), [name])

    assert command is not None and command.help is not None
    assert COMMANDS.commands[name].help == " ".join(command.help.split())
    assert (command.name, command.callback is None) == (name, False) or isinstance(command, Group)


def test_help_shows_every_line_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "200")

    shown = " ".join(postroom("--help").out.split())

    for name, command in COMMANDS.commands.items():
        assert f"{name} {command.help}" in shown


def test_a_mistyped_command_is_guessed() -> None:
    done = postroom("nootify")

    assert done.code == 2
    assert "No such command 'nootify'. Did you mean 'notify'?" in done.error


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
