"""Every line and branch inside the functions of src/postroom, numbered; a set of them is one long integer.

Numbers belong to the source as it was when the data was begun (`Store.begin`). A test that runs later, on changed
source, is translated back line by line, so that data of several runs can be put together.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coverage.parser import PythonParser

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "postroom"

_TABLES = """
CREATE TABLE source (path TEXT PRIMARY KEY, text TEXT, firsts TEXT);
CREATE TABLE point (number INTEGER PRIMARY KEY, path TEXT, line INTEGER, target INTEGER);
CREATE TABLE file (path TEXT PRIMARY KEY, digest TEXT);
CREATE TABLE seen (path TEXT, test TEXT, marks TEXT, seconds REAL, points BLOB);
CREATE INDEX seen_path ON seen (path);
CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT);
"""


@dataclass(frozen=True, slots=True)
class Point:
    """A line, or a branch from it to `target`; below zero: out of the function."""

    path: str
    line: int
    target: int | None

    @property
    def slice(self) -> str:
        return self.path.removeprefix("src/postroom/").partition("/")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" + ("" if self.target is None else f" -> {self.target}")


@dataclass(slots=True)
class Seen:
    """What the calls of one test function touched, all its parameters together."""

    test: str
    path: str
    marks: frozenset[str]
    seconds: float
    points: int


def numbers(points: int) -> Iterator[int]:
    """The places of the bits that are set."""
    while points:
        lowest = points & -points
        yield lowest.bit_length() - 1
        points ^= lowest


def united(sets: Iterable[int]) -> int:
    total = 0
    for one in sets:
        total |= one
    return total


def together(places: Collection[int]) -> int:
    octets = bytearray(max(places, default=0) // 8 + 1)
    for number in places:
        octets[number // 8] |= 1 << number % 8
    return int.from_bytes(octets, "little")


def parsed(text: str) -> PythonParser:
    from coverage.parser import PythonParser  # only where something is collected

    parser = PythonParser(text=text or "\n")
    parser.parse_source()
    return parser


def first_lines(text: str, parser: PythonParser) -> dict[int, int]:
    lines = range(1, text.count("\n") + 2)
    return {line: first for line in lines if (first := parser.first_line(line)) != line}


def inside_functions(text: str) -> set[int]:
    """What runs on import is left out: every test has it."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return found


def same_lines(new: str, old: str) -> dict[int, int]:
    """Where each line of the new text that is in the old one too stood there."""
    matcher = SequenceMatcher(None, new.splitlines(), old.splitlines(), autojunk=False)
    return {
        block.a + step + 1: block.b + step + 1 for block in matcher.get_matching_blocks() for step in range(block.size)
    }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Store:
    """One SQLite file with everything that was collected; each worker of a run writes into it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=120, isolation_level=None)

    @property
    def begun(self) -> bool:
        return bool(self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'point'").fetchone())

    def begin(self) -> None:
        """Forget everything; number the points of the source as it is now."""
        self._database.close()
        self._path.unlink(missing_ok=True)
        self._database = sqlite3.connect(self._path, timeout=120, isolation_level=None)
        self._database.executescript("BEGIN;" + _TABLES)
        count = 0
        for path in sorted(SOURCE.rglob("*.py")):
            name, text = path.relative_to(ROOT).as_posix(), path.read_text()
            parser = parsed(text)
            firsts = json.dumps(first_lines(text, parser))
            self._database.execute("INSERT INTO source VALUES (?, ?, ?)", (name, text, firsts))
            rows = [(count + at, name, *place) for at, place in enumerate(_places(text, parser))]
            self._database.executemany("INSERT INTO point VALUES (?, ?, ?, ?)", rows)
            count += len(rows)
        self._database.execute("COMMIT")

    def present(self) -> int:
        """The points on lines that still stand in the source; what is new has no number before the next `begin`."""
        gone: dict[str, set[int]] = {}
        for name, old in self.sources().items():
            path = ROOT / name
            new = path.read_text() if path.exists() else ""
            if new != old:
                gone[name] = set(range(1, old.count("\n") + 2)) - set(same_lines(old, new))
        points = enumerate(self.points())
        return together([number for number, point in points if point.line not in gone.get(point.path, ())])

    def points(self) -> list[Point]:
        return [Point(*row) for row in self._database.execute("SELECT path, line, target FROM point ORDER BY number")]

    def sources(self) -> dict[str, str]:
        return dict(self._database.execute("SELECT path, text FROM source").fetchall())

    def firsts(self, path: str) -> dict[int, int]:
        """Of each further line of a statement of the source, as it was, the line that it begins in."""
        row = self._database.execute("SELECT firsts FROM source WHERE path = ?", (path,)).fetchone()
        return {int(line): first for line, first in json.loads(row[0]).items()}

    def add(self, seen: Seen) -> None:
        points = zlib.compress(seen.points.to_bytes((seen.points.bit_length() + 7) // 8, "little"))
        row = (seen.path, seen.test, json.dumps(sorted(seen.marks)), seen.seconds, points)
        self._database.execute("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", row)

    def seen(self) -> dict[str, Seen]:
        found: dict[str, Seen] = {}
        present = self.present()
        rows: Iterable[Sequence[str | float | bytes]] = self._database.execute(
            "SELECT test, path, marks, seconds, points FROM seen"
        )
        for test, path, marks, seconds, points in rows:
            bits = int.from_bytes(zlib.decompress(points), "little") & present  # type: ignore[arg-type]
            one = found.setdefault(str(test), Seen(str(test), str(path), frozenset(json.loads(str(marks))), 0, 0))
            one.points |= bits
            one.seconds += float(seconds)
        return found

    def forget(self, files: Iterable[str]) -> None:
        for path in files:
            self._database.execute("DELETE FROM seen WHERE path = ?", (path,))
            self._database.execute("DELETE FROM file WHERE path = ?", (path,))

    def ran(self, files: dict[str, str]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO file VALUES (?, ?)", files.items())

    def files(self) -> dict[str, str]:
        return dict(self._database.execute("SELECT path, digest FROM file").fetchall())

    def keep(self, name: str, value: object) -> None:
        self._database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, json.dumps(value)))

    def kept(self, name: str) -> object | None:
        row = self._database.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None


def _places(text: str, parser: PythonParser) -> list[tuple[int, int | None]]:
    inside = inside_functions(text)
    exits = parser.exit_counts()
    lines: list[tuple[int, int | None]] = [(line, None) for line in sorted(parser.statements & inside)]
    return lines + sorted(arc for arc in parser.arcs() if arc[0] in inside and exits.get(arc[0], 0) > 1)
