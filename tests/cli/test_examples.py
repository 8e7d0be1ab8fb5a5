"""Help has an order, and every command an example that is understood."""

from __future__ import annotations

import shlex

import pytest

from postroom.cli.application import Commands
from postroom.cli.helping import EXAMPLES
from tests.cli.command import postroom
from tests.cli.walk import commands
from tests.docs.commands import type_postroom

pytestmark = pytest.mark.requirement("side:words-help")


def test_every_command_has_an_example_and_every_example_a_command() -> None:
    assert set(EXAMPLES) == set(commands())


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_is_understood_and_stands_in_the_help(path: str) -> None:
    program, *words = shlex.split(EXAMPLES[path])

    assert program == "postroom" and EXAMPLES[path].startswith(f"postroom {path}")
    type_postroom(words)
    assert postroom(*path.split(), "--help").out.endswith(f"Example:\n    {EXAMPLES[path]}\n")


def test_every_command_stands_in_one_section() -> None:
    named = [name for names in Commands.sections.values() for name in names]

    assert sorted(named) == sorted(Commands.listed)
    shown = postroom("--help").out
    places = [shown.index(f"\n{title}:") for title in Commands.sections]
    assert places == sorted(places)
