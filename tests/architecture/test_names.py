"""A name means one thing: a search for a class finds that class and nothing else."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.architecture.tree import SOURCE, source_files

TWICE: dict[str, str] = {}  # a name, and why two classes share it


def test_no_public_class_name_is_defined_twice() -> None:
    assert {name: places for name, places in _shared().items() if name not in TWICE} == {}


def test_every_exception_is_still_needed() -> None:
    assert set(TWICE) <= set(_shared())


def _shared() -> dict[str, list[str]]:
    places = defaultdict(list)
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    return {name: found for name, found in places.items() if len(found) > 1}
