"""Background work runs on the one loop: whoever writes another decides here that it is something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.tree import SOURCE, source_files

PROGRAMS = {"agents", "desk", "sandbox"}  # of their own
NOT_IN_THE_BACKGROUND = {
    ("kernel/serving/servers.py", "bind_patiently"): "a port, until it is free",
    ("questions/telling.py", "until_over"): "a caller waits",
    ("overview/pruning.py", "_deliveries"): "a command, batch by batch",
    ("overview/pruning.py", "_records"): "a command, batch by batch",
    ("butlers/sessions.py", "wait"): "a caller waits",
    ("butlers/sessions.py", "_record"): "one write, until the store has it",
    ("delivery/pipeline.py", "_insist"): "one write, until the store has it",
    ("delivery/afterwards/corrections.py", "_begun"): "a caller waits; looks again when what it saw has moved on",
    ("kernel/serving/json_door.py", "frames"): "a reader's stream",
    ("kernel/running/loop.py", "run"): "the one loop",
    ("channels/discord/gateway.py", "_live"): "the connection of one who listens, who hears of its end",
    ("channels/discord/gateway.py", "_read"): "one connection, until it is cut",
}


def test_background_work_runs_on_the_one_loop() -> None:
    assert set(_endless()) == set(NOT_IN_THE_BACKGROUND)


def _endless() -> Iterator[tuple[str, str]]:
    """Coroutines that go on until they are told to stop."""
    for path in source_files():
        place = path.relative_to(SOURCE)
        if place.parts[0] in PROGRAMS:
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.AsyncFunctionDef) and any(map(_goes_on, ast.walk(function))):
                yield place.as_posix(), function.name


def _goes_on(node: ast.AST) -> bool:
    if not isinstance(node, ast.While):
        return False
    asked = ast.unparse(node.test)
    return asked == "True" or (asked.startswith("not ") and "stopping" in asked)
