"""An error says what is wrong and what to do about it, and the command it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tests.architecture.tree import ROOT, shown
from tests.docs.commands import parse_postroom

from postroom.cli.application import failure
from postroom.cli.helping import USER_HINTS
from postroom.kernel.values.errors import (
    HINTS,
    Code,
    InternalError,
    Refused,
    StoreUnavailable,
    UserError,
    ValidationError,
)

pytestmark = pytest.mark.requirement("side:words-errors")

SOURCE = ROOT / "src" / "postroom"
FOR_TOOLS_TOO = ("overview/story.py",)  # where there is no keyboard, and so no next step at one
NEXT_STEP = re.compile(
    r"`postroom|--[a-z]|POSTROOM_|BUTLER_|pip install|did_you_mean|must |needs |There are|is not one of|docs/how-to|"
    r"\b(answers? this|call|change|check|choose|correct|free|give|install|leave out|look|make|mend|move|name|remove|"
    r"rename|restore|save|say|send|set|start|stop|take|try|use|write)\b",
    re.I,
)
COMMAND = re.compile(r"`(postroom [^`{}]*)`")
# Only parts that are known when it happens: what went wrong elsewhere is told in the words of there.
TOLD = re.compile(r"^[\W_]*(\{[^{}]*\}[\W_]*)+$")


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(SOURCE.rglob("*.py"))}


def kinds() -> set[str]:
    """UserError, and what is made of it."""
    found = {"UserError"}
    classes = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for _ in range(4):
        found |= {
            one.name for one in classes if any(isinstance(base, ast.Name) and base.id in found for base in one.bases)
        }
    return found


@cache
def sites() -> list[tuple[str, str]]:
    known = kinds() - {"NotRunning", "NotReadable"}  # which say what to do wherever they are made or caught
    searched = {
        file: tree
        for file, tree in trees().items()
        if not file.relative_to(SOURCE).as_posix().startswith(FOR_TOOLS_TOO)
    }
    return [
        (f"{shown(file)}:{one.lineno}", words(one.args[0]))
        for file, tree in searched.items()
        for one in _made(tree, known)
    ]


def _made(tree: ast.Module, known: set[str]) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return [one for one in calls if isinstance(one.func, ast.Name) and one.func.id in known]


def words(node: ast.expr) -> str:
    """With what is only known later in braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(one.value if isinstance(one, ast.Constant) else words(one) for one in values)
        case ast.BinOp(left=left, right=right):
            return words(left) + words(right)
        case _:
            return "{" + re.sub("[{}]", "", ast.unparse(node)) + "}"


def test_every_message_for_the_keyboard_names_the_next_step() -> None:
    silent = [f"{place} {text}" for place, text in sites() if not NEXT_STEP.search(text) and not TOLD.match(text)]

    assert len(sites()) > 100
    assert silent == []


def test_every_command_that_an_error_names_exists() -> None:
    said = [text for _, text in sites()] + list(HINTS.values()) + list(USER_HINTS.values())
    named = [command for text in said for command in COMMAND.findall(text)]

    assert len(named) > 20
    for command in named:
        parse_postroom(command.split()[1:])


def test_every_code_has_a_hint() -> None:
    assert set(HINTS) == set(Code)
    assert [code for code, hint in HINTS.items() if not NEXT_STEP.search(hint) or not hint.endswith(".")] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("Choose --user or --project, not both."), "Choose --user or --project, not both."),
        (StoreUnavailable("no route"), "the store is not available (no route). `postroom doctor` checks the database"),
        (ValidationError("name: is empty"), "name: is empty. Correct what is named and try again"),
        (Refused(Code.AUTH_FAILED, "no such token."), "no such token. Set POSTROOM_TOKEN"),
        (InternalError("broken\nin two lines"), "broken in two lines. A fault of ours"),
    ],
    ids=["for the keyboard", "database", "wrong value", "refused", "fault"],
)
def test_it_is_one_line_with_the_next_step(error: Exception, said: str) -> None:
    assert isinstance(error, UserError | StoreUnavailable | ValidationError | Refused | InternalError)
    assert failure(error).startswith(said)
    assert "\n" not in failure(error)
