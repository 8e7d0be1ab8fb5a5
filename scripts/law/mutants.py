"""Small mistakes, made on purpose in the pure rules: how many of them does some test notice?

Each is made in a copy of the process in which the tests are collected already, so that none costs an import. Only tests
that touch the line are asked, the quick ones first.
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.law.points import ROOT, SOURCE, Seen, Store, same_lines, together

# Where values go in and values come out, and where it is decided who may.
RULES = (
    "**/rules.py",
    "**/*_rules.py",
    "**/rules/*.py",
    "kernel/guard/*.py",
    "kernel/text/*.py",
    "kernel/values/*.py",
    "questions/shapes.py",
)
MUTANTS_PER_FILE = 40
TESTS_PER_MUTANT = 25
SECONDS_PER_MUTANT = 6.0  # of tests, as they took when they were collected
SEED = 7

Change = Callable[[], None]

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Site:
    """A place for one mistake; `function` is the line that the outermost function around it begins in."""

    function: int
    line: int
    change: Change


@dataclass(slots=True)
class Rated:
    made: int
    killed: int
    needed: set[str]  # tests that may go by what they cover, and alone notice one of the mistakes

    def figures(self) -> dict[str, int]:
        return {"made": self.made, "killed": self.killed}


@dataclass(frozen=True, slots=True)
class Task:
    """`first` are the tests that stay, `then` those that might go."""

    site: int
    line: int
    first: list[str]
    then: list[str]


def rule_files() -> list[str]:
    found = {path for pattern in RULES for path in SOURCE.glob(pattern) if path.name != "__init__.py"}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def rated(store: Store, folder: Path, rules: Iterable[str], going: set[str]) -> dict[str, Rated]:
    """Two files at a time."""
    seen = [one for one in store.seen().values() if (ROOT / one.path).exists()]
    old = store.sources()
    numbered = {(point.path, point.line): number for number, point in enumerate(store.points()) if point.target is None}
    tasks = {path: _tasks(path, old.get(path, ""), seen, numbered, going) for path in rules}
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda item: _rated_file(folder, *item), tasks.items())
        return dict(zip(tasks, found, strict=True))


def touching(store: Store, path: str) -> set[str]:
    """The test files that touch a file of rules."""
    mask = together([number for number, point in enumerate(store.points()) if point.path == path])
    return {one.path for one in store.seen().values() if one.points & mask}


def sites(tree: ast.Module) -> Iterator[Site]:
    """Always in the same order, so that a number names one."""
    for function in _outermost(tree):
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        for statement in function.body:
            for node in ast.walk(statement):
                for change in _changes(node):
                    yield Site(first, getattr(node, "lineno", statement.lineno), change)


def _outermost(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _outermost(child)


def _changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from (_put(node.ops, at, _SWAPPED[type(op)]()) for at, op in enumerate(node.ops))
        case ast.BoolOp() | ast.BinOp() if type(node.op) in _SWAPPED:
            yield lambda: setattr(node, "op", _SWAPPED[type(node.op)]())
        case ast.If() | ast.IfExp() | ast.While() if not isinstance(node.test, ast.Compare | ast.BoolOp):
            yield lambda: setattr(node, "test", ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test))
        case ast.Constant(value=bool(value)):
            yield lambda: setattr(node, "value", not value)
        case ast.Constant(value=int(number)):
            yield lambda: setattr(node, "value", number + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield lambda: setattr(node, "value", ast.copy_location(ast.Constant(None), value))


def _put(operators: list[ast.cmpop], at: int, other: ast.AST) -> Change:
    return lambda: operators.__setitem__(at, other)  # type: ignore[call-overload]


def _tasks(
    path: str, old: str, seen: Sequence[Seen], numbered: dict[tuple[str, int], int], going: set[str]
) -> list[Task]:
    """Of the mistakes on lines that were collected; the same ones each time while the file is the same."""
    text = (ROOT / path).read_text()
    moved = same_lines(text, old)
    possible = [
        (at, moved[site.line])
        for at, site in enumerate(sites(ast.parse(text)))
        if (path, moved.get(site.line)) in numbered
    ]
    chosen = sorted(random.Random(SEED).sample(possible, min(MUTANTS_PER_FILE, len(possible))))
    tasks = []
    for at, line in chosen:
        mask = 1 << numbered[path, line]
        asked = sorted((one for one in seen if one.points & mask), key=lambda one: (one.points.bit_count(), one.test))
        first = _quick([one for one in asked if one.test not in going])
        tasks.append(Task(at, line, first, _quick([one for one in asked if one.test in going])))
    return tasks


def _quick(tests: Iterable[Seen]) -> list[str]:
    chosen: list[str] = []
    seconds = 0.0
    for one in tests:
        if one.marks & {"browser"} or one.seconds > SECONDS_PER_MUTANT:
            continue
        seconds += one.seconds
        if seconds > SECONDS_PER_MUTANT or len(chosen) == TESTS_PER_MUTANT:
            break
        chosen.append(one.test)
    return chosen


def _rated_file(folder: Path, path: str, tasks: list[Task]) -> Rated:
    name = path.removeprefix("src/postroom/").replace("/", "-").removesuffix(".py")
    work, result = folder / f"mutants-{name}.json", folder / f"killed-{name}.json"
    work.write_text(json.dumps({"path": path, "tasks": [asdict(task) for task in tasks], "result": str(result)}))
    result.unlink(missing_ok=True)
    files = sorted({test.partition("::")[0] for task in tasks for test in (*task.first, *task.then)})
    if files:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.law.mutating", "-p", "no:cacheprovider", *files]
        with (folder / f"mutants-{name}.log").open("w") as log:
            environment = {**os.environ, "LAW_MUTANTS": str(work)}
            subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own interpreter
    killers: list[str | None] = json.loads(result.read_text()) if result.exists() else []
    needed = {killer for killer, task in zip(killers, tasks, strict=False) if killer in task.then}
    return Rated(len(tasks), sum(killer is not None for killer in killers), {test for test in needed if test})
