"""A command ends with 2 when it is wrong as it was written, whatever household runs or none; with 1 when refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from postroom.kernel.acts.commands import flags_of
from postroom.kernel.acts.declaration import Act, Command, names_at
from postroom.kernel.acts.reading import arguments_schema, kinds_of
from tests.cli.command import postroom
from tests.cli.walk import commands
from tests.kernel.acts.declared import every_act

pytestmark = pytest.mark.usefixtures("home")
TAKES_ALL = {"headless"}  # what another program is started with
NEEDED_BESIDES = {
    "ask": ["--options", "yes,no"],
    "answer": ["--text", "yes"],
    "attention simulate": ["--policy", "calm.toml"],
    "revise": ["New words"],
}
"""What a command wants together with the argument that is tried."""


def test_every_command_ends_with_2_for_an_option_that_it_has_not() -> None:
    for path in sorted(set(commands()) - TAKES_ALL):
        assert postroom(*path.split(), "--nothing-of-this-name").code == 2, path


def test_every_command_ends_with_2_when_what_it_needs_is_not_there() -> None:
    for path, command in commands().items():
        if path not in TAKES_ALL and any(one.required for one in command.params):
            assert postroom(*path.split()).code == 2, path


def typed_commands() -> list[tuple[type[Act[Any]], Command]]:
    return [(kind, kind.declared.command) for kind in every_act() if kind.declared.command is not None]


def wrong_values(shape: dict[str, Any], name: str) -> Iterator[str]:
    kinds = kinds_of(shape)
    if name.endswith("_seconds"):
        yield "soon"
    elif "integer" in kinds or "number" in kinds:
        yield "many"
    if "maximum" in shape:
        yield str(shape["maximum"] + 1)
    if "enum" in shape and "string" in kinds:
        yield "nothing-of-this-kind"
    if "maxLength" in shape:
        yield "x" * (shape["maxLength"] + 1)


@pytest.mark.parametrize(("kind", "command"), typed_commands(), ids=lambda one: getattr(one, "path", ""))
def test_a_value_that_is_wrong_as_it_was_written_ends_with_2(kind: type[Act[Any]], command: Command) -> None:
    names, properties = names_at(kind, command), arguments_schema(kind, command)["properties"]
    for alias, name in names.items():
        for value in wrong_values(properties[alias], name):
            given = [value if one == name else "x" for one in command.positional]
            more = NEEDED_BESIDES.get(command.path, [])
            option = [] if name in command.positional else [flags_of(kind, name, command)[0], value]

            done = postroom(*command.path.split(), *given, *more, *option)

            assert done.code == 2, (command.path, option or given, done.error)


@pytest.mark.parametrize(
    "typed",
    [
        "ask Deploy? --options yes,no --wait 98765432101",
        "wait some-id --wait 31d",
        "wait",
        "answer some-id",
        "asks --status gone",
        "attention set --preset calm --clear",
        "attention set --quiet late",
        "attention withdraw",
        "people edit owner",
        "people edit owner --rank 2",
        "people edit owner --address nowhere",
        "prune --older-than soon",
        "token create",
        "token create --program ci",
        "connect nothing-of-this-name",
        "connectors export nothing-of-this-name",
        "hook nothing-of-this-name",
        "up --only nothing-of-this-name",
    ],
)
def test_so_does_what_does_not_go_together_or_names_nothing_there_is(typed: str) -> None:
    done = postroom(*typed.split())

    assert done.code == 2, done.error


def test_what_only_the_household_can_judge_ends_with_1() -> None:
    assert postroom("notify", "x", "--channel", "pigeon").code == 1
    assert postroom("people", "show", "Nobody").code == 1
    assert postroom("asks").code == 1
