"""A file holds one idea and a function one step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import shown, source_files

FILE_LINES = 400
FUNCTION_LINES = 60


def test_no_source_file_is_past_its_budget() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in source_files()}

    assert [f"{shown(path)}: {lines} lines" for path, lines in lengths.items() if lines > FILE_LINES] == []


def test_no_function_is_past_its_budget() -> None:
    too_long = [
        f"{shown(path)}:{function.lineno} {function.name}: {lines} lines"
        for path in source_files()
        for function, lines in _functions(path)
        if lines > FUNCTION_LINES
    ]

    assert too_long == []


def _functions(path: Path) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node, node.end_lineno - node.lineno + 1 - sum(_docstring_lines(inner) for inner in ast.walk(node))


def _docstring_lines(node: ast.AST) -> int:
    """What a tool says to a model is product text and does not make its function longer."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or ast.get_docstring(node) is None:
        return 0
    text = node.body[0]
    return (text.end_lineno or text.lineno) - text.lineno + 1
