"""Which test functions may go because everything that they touch is touched by others that stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from scripts.law.points import ROOT, Point, Seen, numbers

# They promise what no line of ours shows: that a break is survived, that a door is like all others.
STAYING = re.compile(
    r"tests/(test_|museum/|contract/|docs/|architecture/|clients/|examples/|packaging/|faults/|benchmarks/|services/)"
    r"|tests/kernel/acts/|/test_(every_\w+|walks|wiring|strangers|stored_everywhere)\.py"
)
NAMING = ("chaos", "docs", "scripts", "tests/museum", "CONTRIBUTING.md")
FEW_POINTS = 5  # below: it watches another process, or a tool; what it is worth is not to be seen here


@dataclass(frozen=True, slots=True)
class Candidate:
    file: str
    function: str
    lines: int
    modules: int  # of ours that it touches
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """`unseen` touch next to nothing of ours in their own process: they may be worth much or nothing."""

    may_go: list[Candidate]
    unseen: list[Candidate]
    stay: int


def chosen(seen: Mapping[str, Seen], points: list[Point], needed: Iterable[str]) -> Choice:
    """`needed` are tests that alone notice a mistake in the rules."""
    named = names_elsewhere()
    needed = set(needed)
    tests = {name: one for name, one in seen.items() if (ROOT / one.path).exists()}
    covered = 0
    open_ones: list[Seen] = []
    for name, one in tests.items():
        function = name.rpartition("::")[2]
        marked = one.marks & {"requirement", "exhibit"}
        if marked or STAYING.search(one.path) or function in named or name in needed or not lines_of(one):
            covered |= one.points
        else:
            open_ones.append(one)
    places = Places(points)
    worth = {one.test: (places.slices(one.points), -places.modules(one.points)) for one in open_ones}
    may_go: list[Seen] = []
    unseen = [one for one in open_ones if one.points.bit_count() < FEW_POINTS]
    left = [one for one in open_ones if one.points.bit_count() >= FEW_POINTS]
    while left:
        # A test through a door that adds something stays before a test of one module that adds the same.
        without = [one for one in left if not one.points & ~covered]
        may_go += without
        left = [one for one in left if one.points & ~covered]
        if left:
            best = max(left, key=lambda one: _gain(one, covered, worth[one.test][0]))
            covered |= best.points
            left.remove(best)
    of = {
        one.test: Candidate(*_place(one), lines_of(one), places.modules(one.points), round(one.seconds, 2))
        for one in open_ones
    }
    order = sorted((of[one.test] for one in may_go), key=lambda one: (one.modules > 1, -one.lines))
    return Choice(order, [of[one.test] for one in unseen], len(tests) - len(may_go) - len(unseen))


def _gain(one: Seen, covered: int, slices: int) -> float:
    return (one.points & ~covered).bit_count() * slices / (10 + lines_of(one))


def _place(one: Seen) -> tuple[str, str]:
    file, _, function = one.test.partition("::")
    return file, function


class Places:
    """How many modules and slices a set of points lies in."""

    def __init__(self, points: list[Point]) -> None:
        self._modules: dict[str, int] = {}
        self._slices: dict[str, int] = {}
        for number, point in enumerate(points):
            self._modules[point.path] = self._modules.get(point.path, 0) | 1 << number
            self._slices[point.slice] = self._slices.get(point.slice, 0) | 1 << number

    def modules(self, points: int) -> int:
        return sum(1 for mask in self._modules.values() if mask & points)

    def slices(self, points: int) -> int:
        return sum(1 for mask in self._slices.values() if mask & points)


def names_elsewhere() -> set[str]:
    """Tests that the documentation, a chaos scenario or an exhibit calls by name."""
    found: set[str] = set()
    for name in NAMING:
        place = ROOT / name
        for path in [place] if place.is_file() else place.rglob("*"):
            if path.suffix in (".py", ".md"):
                found |= set(re.findall(r"\btest_\w+", path.read_text()))
    return found


def lines_of(one: Seen) -> int:
    """With its decorators; 0 for a test that its file only borrows from a suite."""
    return _functions(one.path).get(one.test.rpartition("::")[2], 0)


@cache
def _functions(path: str) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lengths[node.name] = (node.end_lineno or 0) - first + 1
    return lengths


def by_folder(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    folders: dict[str, list[Candidate]] = {}
    for one in candidates:
        folders.setdefault(Path(one.file).parts[1], []).append(one)
    return folders


def text_of(may_go: list[Candidate], unseen: list[Candidate]) -> str:
    """By file, so that whoever reads it opens each file once."""
    total = sum(one.lines for one in may_go)
    parts = [f"{total} lines in {len(may_go)} functions may go\n"]
    files: dict[str, list[Candidate]] = {}
    for one in may_go:
        files.setdefault(one.file, []).append(one)
    for file in sorted(files, key=lambda name: -sum(one.lines for one in files[name])):
        parts.append(f"\n{file}: {sum(one.lines for one in files[file])} lines\n")
        parts += [_line(one) for one in files[file]]
    if unseen:
        lines = sum(one.lines for one in unseen)
        parts.append(f"\nTouch next to nothing of ours in their own process, to be judged by eye: {lines} lines\n")
        parts += [_line(one, one.file + " ") for one in unseen]
    return "".join(parts)


def _line(one: Candidate, before: str = "") -> str:
    return f"  {one.lines:4} lines  {one.modules:3} modules  {one.seconds:6.2f} s  {before}{one.function}\n"


def as_json(may_go: list[Candidate], unseen: list[Candidate]) -> dict[str, object]:
    return {
        "lines": sum(one.lines for one in may_go),
        "may_go": [asdict(one) for one in may_go],
        "judge_by_eye": [asdict(one) for one in unseen],
    }


def missed(points: list[Point], present: int, covered: int) -> dict[str, dict[str, int]]:
    """By slice and in total: how many lines and branches there are, and how many no test touches."""
    touched, there = set(numbers(covered)), set(numbers(present))
    figures: dict[str, dict[str, int]] = {}
    for number, point in enumerate(points):
        if number not in there:
            continue
        kind = "lines" if point.target is None else "branches"
        for name in (point.slice, "total"):
            one = figures.setdefault(name, {"lines": 0, "lines_missed": 0, "branches": 0, "branches_missed": 0})
            one[kind] += 1
            one[f"{kind}_missed"] += number not in touched
    return dict(sorted(figures.items()))
