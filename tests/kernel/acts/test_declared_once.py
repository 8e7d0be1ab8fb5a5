"""No argument of an act is declared a second time: with words, bounds, a flag or a place in a request of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from inspect import get_annotations
from typing import Any

import pytest
from tests.architecture.tree import SOURCE
from tests.kernel.acts.declared import every_act

from postroom.kernel.acts.declaration import Act

DOORS = ("typer.Option", "typer.Argument", "Query(", "Path(", "Body(", "Header(", "Field(", "WithJsonSchema(")
"""What makes a parameter of a function something that a caller outside reads or fills in."""
MOST_SHARED = 0.6
MOST_ALIKE = 4
"""Two acts may have so few arguments in common that a name such as `limit` means something else in each."""
ALLOWED = {
    "SendNotification": "its own specification says its arguments, their bounds and its sentences",
    "Remind": "takes them over from Notify, each with its words",
    "Revise": "a new text is not the first one: its arguments mean something else",
    "ReviseDelivery": "is Revise at another door",
}
"""What has so many names of one act all the same, each with the reason."""


@cache
def declarations() -> list[tuple[str, set[str]]]:
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        if not module.startswith(("kernel.acts.", "settings.", "sandbox.", "testing.")):
            for name, names in declared_in(ast.parse(file.read_text(encoding="utf-8"))):
                found.append((f"{module}.{name}", names))
    return found


def declared_in(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Requests written as models, and functions whose parameters are shown to callers; answers are none."""
    for one in ast.walk(tree):
        if isinstance(one, ast.ClassDef) and is_request(one):
            fields = [line.target for line in one.body if isinstance(line, ast.AnnAssign)]
            yield one.name, {field.id for field in fields if isinstance(field, ast.Name)}
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            asked = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
            if shown := {name.arg for name in asked if is_shown(name)}:
                yield one.name, shown


def is_request(one: ast.ClassDef) -> bool:
    above = " ".join(ast.unparse(base) for base in one.bases)
    return any(word in above for word in ("BaseModel", "Strict", "Fields", "Request")) and "Act[" not in above


def is_shown(one: ast.arg) -> bool:
    written = ast.unparse(one.annotation) if one.annotation is not None else ""
    return any(word in written for word in DOORS)


def repeated(kind: type[Act[Any]], names: set[str]) -> bool:
    fields = set(kind.model_fields)
    return len(names & fields) >= max(3, MOST_SHARED * len(fields))


@pytest.mark.parametrize("kind", every_act(), ids=lambda one: one.__name__)
def test_nothing_else_declares_the_arguments_of_this_act(kind: type[Act[Any]]) -> None:
    again = {name for name, names in declarations() if repeated(kind, names)}

    assert again <= set(ALLOWED)


@pytest.mark.parametrize("kind", every_act(), ids=lambda one: one.__name__)
def test_no_other_act_says_most_of_its_arguments_again(kind: type[Act[Any]]) -> None:
    own = {name: declared_by(kind, name) for name in kind.model_fields}
    for other in every_act():
        again = {name for name in own if name in other.model_fields and declared_by(other, name) is not own[name]}
        if len(again) >= max(MOST_ALIKE, MOST_SHARED * len(own)):
            assert kind.__name__ in ALLOWED, (other.__name__, again)


def declared_by(kind: type[Act[Any]], name: str) -> type:
    """An act takes arguments over from the classes it is made of."""
    return next(one for one in kind.__mro__ if name in get_annotations(one))


def test_every_exception_is_still_needed() -> None:
    names = {name for name, _ in declarations()} | {one.__name__ for one in every_act()}

    assert set(ALLOWED) <= names


def test_a_second_declaration_would_be_found() -> None:
    written = """
class NotifyRequest(BaseModel):
    channel: str
    message: str

def notify(message: Annotated[str, typer.Option("--message")], home: str) -> None: ...
"""
    found = list(declared_in(ast.parse(written)))

    assert found == [("NotifyRequest", {"channel", "message"}), ("notify", {"message"})]
