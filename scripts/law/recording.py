"""A pytest plugin that writes down what each test function touched: `-p scripts.law.recording`, with LAW_DATA set."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest
from scripts.law.points import ROOT, SOURCE, Seen, Store, first_lines, parsed, same_lines, together

_recorder_key: pytest.StashKey[Recorder] = pytest.StashKey()


class Recorder:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._translator = Translator(store)
        # SQLAlchemy's asyncio runs in greenlets; without the name their calls would be taken for those of others.
        self._coverage = coverage.Coverage(
            data_file=None, branch=True, source=[str(SOURCE)], concurrency=["thread", "greenlet"], config_file=False
        )
        self._coverage.start()
        self._now: Seen | None = None

    def end_call(self, test: str, path: str, marks: frozenset[str], seconds: float) -> None:
        """Parameters of one function follow each other, so they are written together."""
        if self._now is not None and self._now.test != test:
            self.write()
        if self._now is None:
            self._now = Seen(test, path, marks, 0, 0)
        self._now.points |= self._touched()
        self._now.seconds += seconds

    def forget(self) -> None:
        for steps in self._steps().copy().values():
            steps.clear()

    def write(self) -> None:
        if self._now is not None:
            self._store.add(self._now)
        self._now = None

    def close(self) -> None:
        self.write()
        self._coverage.stop()

    def _touched(self) -> int:
        points: set[int] = set()
        for path, steps in self._steps().copy().items():
            if steps and path.endswith(".py"):  # others are templates
                points |= self._translator.points(path, steps.copy())
        self.forget()
        return together(points)

    def _steps(self) -> dict[str, set[int]]:
        """What its tracer has written; by the public way, through a database, the tests would take twice as long."""
        return self._coverage._collector.data  # type: ignore[union-attr, return-value]


@dataclass(slots=True)
class File:
    name: str
    firsts: dict[int, int]
    moved: dict[int, int] | None  # since the points were numbered
    known: dict[int, list[int]] = field(default_factory=dict)


class Translator:
    """From the steps that coverage reports, between lines as they are, to the numbers of points."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._old = store.sources()
        self._numbers = {(point.path, point.line, point.target): number for number, point in enumerate(store.points())}
        self._files: dict[str, File] = {}

    def points(self, path: str, steps: Iterable[int]) -> set[int]:
        if path not in self._files:
            self._files[path] = self._read(path)
        file = self._files[path]
        total: set[int] = set()
        for step in steps:
            if step not in file.known:
                file.known[step] = self._numbered(file, *_unpacked(step))
            total.update(file.known[step])
        return total

    def _read(self, path: str) -> File:
        name, text = Path(path).relative_to(ROOT).as_posix(), Path(path).read_text()
        old = self._old.get(name, "")
        if text == old:
            return File(name, self._store.firsts(name), None)
        return File(name, first_lines(text, parsed(text)), same_lines(text, old))

    def _numbered(self, file: File, start: int, end: int) -> list[int]:
        start, end = (_translated(line, file) for line in (start, end))
        places = ((file.name, start, end), (file.name, start, None), (file.name, end, None))
        return [self._numbers[place] for place in places if place in self._numbers]


def _unpacked(step: int) -> tuple[int, int]:
    """As coverage's tracer packs a step between two lines; negative lines are the ways in and out of a function."""
    start, end = step & 0xFFFFFFF, step >> 28 & 0xFFFFFFF
    return -start if step & 1 << 56 else start, -end if step & 1 << 57 else end


def _translated(line: int, file: File) -> int:
    now = file.firsts.get(abs(line), abs(line))
    old = now if file.moved is None else file.moved.get(now, 0)
    return old if line > 0 else -old


def pytest_configure(config: pytest.Config) -> None:
    runs_tests = hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)
    if runs_tests:
        config.stash[_recorder_key] = Recorder(Store(Path(os.environ["LAW_DATA"])))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was touched by importing and collecting is no test's doing."""
    if _recorder_key in session.config.stash:
        session.config.stash[_recorder_key].forget()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    started = time.perf_counter()
    result = yield
    recorder = item.config.stash.get(_recorder_key, None)
    if recorder is not None:
        marks = frozenset(mark.name for mark in item.iter_markers())
        test = item.nodeid.partition("[")[0]
        recorder.end_call(test, test.partition("::")[0], marks, time.perf_counter() - started)
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    if _recorder_key in config.stash:
        config.stash[_recorder_key].close()
