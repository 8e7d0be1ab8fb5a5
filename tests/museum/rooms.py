"""The rooms of the museum, each with its exhibits and the tests that show them, read from the tests themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.museum import exhibits_of_answers as answers
from tests.museum import exhibits_of_messages as messages
from tests.museum.catalogue import Exhibit

FOLDER: Final = Path(__file__).parent
ROOMS: Final[dict[str, tuple[Exhibit, ...]]] = {
    "test_lost_answers": answers.LOST,
    "test_asked_twice": answers.ASKED_TWICE,
    "test_wrong_person": answers.WRONG_PERSON,
    "test_clients": answers.CLIENTS,
    "test_coding_agents": answers.CODING_AGENTS,
    "test_conversations": answers.CONVERSATIONS,
    "test_duplicates": messages.DUPLICATES,
    "test_silence": messages.SILENCE,
    "test_content": messages.CONTENT,
    "test_leaked_files": messages.LEAKED_FILES,
    "test_attention": messages.ATTENTION,
}


@dataclass(frozen=True, slots=True)
class Room:
    """`about`: the first sentence of its file; `tests`: by the id of what they show, in their order."""

    name: str
    about: str
    tests: tuple[tuple[str, str], ...]


def rooms() -> Iterator[Room]:
    for name in ROOMS:
        tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
        yield Room(name, ast.get_docstring(tree) or "", tuple(_shown(tree)))


def _shown(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for one in tree.body:
        if isinstance(one, ast.AsyncFunctionDef | ast.FunctionDef) and one.name.startswith("test_"):
            yield from ((exhibit, one.name) for exhibit in _marked(one))


def _marked(test: ast.AsyncFunctionDef | ast.FunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.exhibit":
            yield from (str(ast.literal_eval(one)) for one in mark.args)
