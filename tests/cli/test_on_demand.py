"""The list of commands imports none of them, and says what each would say of itself."""

from __future__ import annotations

import pytest
from typer.main import get_command

from postroom.cli.application import app
from postroom.cli.on_demand import Group
from tests.cli.command import postroom

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
