"""Which test functions may go because everything that they touch is touched by others that stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from scripts.law.points import ROOT, Point, Seen, numbers

# They promise what no line of ours shows: that a break is survived, that a door is like all others, who is let in.
STAYING = re.compile(
    r"tests/(test_|museum/|contract/|docs/|architecture/|clients/|examples/|packaging/|faults/|benchmarks/|services/)"
    r"|tests/kernel/(acts|guard)/|/test_(every_\w+|walks|wiring|strangers|stored_everywhere)\.py"
)
NAMING = ("chaos", "docs", "scripts", "tests/museum", "CONTRIBUTING.md")
DOOR = re.compile(r"/(acts|page|routes|commands|server)\.py|/pages/|/kernel/(acts|serving)/")
WAY_IN = 10  # modules at the least, between a door and what it leads to
# Figures do not know what such a sentence is worth.
PROMISE = re.compile(
    r"nobody|no_one|somebody_else|someone_else|stranger|only_|_may_|secret|token|hostile|never|refuse|once|lost|leak|forbid|forged"
    r"|owner|killed|died|dies|crash|restart|survive|twice"
)
FEW_POINTS = 5  # below: it watches another process, or a tool; what it is worth is not to be seen here


@dataclass(frozen=True, slots=True)
class Candidate:
    file: str
    function: str
    lines: int
    modules: int  # of ours that it touches
    seconds: float
    door: bool  # it comes in as a caller or a person does
    promise: bool  # its name speaks of who may what, of hostile text, or of what is lost or done twice


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
    slices = {one.test: places.slices(one.points) for one in open_ones}
    may_go: list[Seen] = []
    unseen = [one for one in open_ones if one.points.bit_count() < FEW_POINTS]
    left = [one for one in open_ones if one.points.bit_count() >= FEW_POINTS]
    while left:
        # A test through a door that adds something stays before a test of one module that adds the same.
        without = [one for one in left if not one.points & ~covered]
        may_go += without
        left = [one for one in left if one.points & ~covered]
        if left:
            best = max(left, key=lambda one: _gain(one, covered, slices[one.test]))
            covered |= best.points
            left.remove(best)
    order = sorted((_candidate(one, places) for one in may_go), key=_order)
    eye = sorted((_candidate(one, places) for one in unseen), key=_order)
    return Choice(order, eye, len(tests) - len(may_go) - len(unseen))


def _order(one: Candidate) -> tuple[bool, bool, bool, int]:
    return one.door, one.promise, one.modules > 1, -one.lines


def _gain(one: Seen, covered: int, slices: int) -> float:
    kept_for_its_words = 2 if PROMISE.search(one.test.rpartition("::")[2]) else 1
    return (one.points & ~covered).bit_count() * slices * kept_for_its_words / (10 + lines_of(one))


def _candidate(one: Seen, places: Places) -> Candidate:
    file, _, function = one.test.partition("::")
    modules = places.modules(one.points)
    return Candidate(
        file=file,
        function=function,
        lines=lines_of(one),
        modules=len(modules),
        seconds=round(one.seconds, 2),
        door=len(modules) >= WAY_IN and any(DOOR.search(module) for module in modules),
        promise=bool(PROMISE.search(function)),
    )


class Places:
    """How many modules and slices a set of points lies in."""

    def __init__(self, points: list[Point]) -> None:
        self._modules: dict[str, int] = {}
        self._slices: dict[str, int] = {}
        for number, point in enumerate(points):
            self._modules[point.path] = self._modules.get(point.path, 0) | 1 << number
            self._slices[point.slice] = self._slices.get(point.slice, 0) | 1 << number

    def modules(self, points: int) -> list[str]:
        return [name for name, mask in self._modules.items() if mask & points]

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
    parts = [
        f"{summary(may_go)}.\nWhat may go need not: a promise (!) that is spoken nowhere else stays. With the last "
        "test that needs them\nfixtures, helpers and imports go, too.\n"
    ]
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
    kind = ("door  " if one.door else "inside") + (" ! " if one.promise else "   ")
    return f"  {one.lines:4} lines  {one.modules:3} modules  {one.seconds:6.2f} s  {kind}{before}{one.function}\n"


def summary(some: list[Candidate]) -> str:
    door = sum(one.lines for one in some if one.door)
    promise = sum(one.lines for one in some if one.promise)
    total = sum(one.lines for one in some)
    return f"{total} lines in {len(some)} functions may go, {door} through a door, {promise} with a promise"


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
