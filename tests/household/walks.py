"""Follows words through a running household: which files take them in hand, one after the other."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import CO_COROUTINE
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import BaseModel

from tests.architecture.tree import SOURCE
from tests.household.asked_household import parts
from tests.household.living import Living

_DEPTH = 6


def holds(value: object, marks: tuple[str, ...], depth: int = _DEPTH) -> bool:
    """Whether these words stand anywhere in it."""
    if isinstance(value, str):
        return any(mark in value for mark in marks)
    if isinstance(value, bytes):
        return any(mark.encode() in value for mark in marks)
    if depth == 0 or value is None or isinstance(value, int | float):
        return False
    if isinstance(value, Mapping):
        return any(holds(one, marks, depth - 1) for one in list(value.values()))
    if isinstance(value, list | tuple):
        return any(holds(one, marks, depth - 1) for one in value[:20])
    if isinstance(value, BaseModel):
        return any(holds(one, marks, depth - 1) for one in value.__dict__.values())
    if is_dataclass(value) and not isinstance(value, type):
        return any(holds(getattr(value, one.name, None), marks, depth - 1) for one in fields(value) if one.compare)
    return False


@dataclass
class Walk:
    """`passed`: the files in which a function was given the words, in order; `handed`: from which file to which."""

    marks: tuple[str, ...]
    passed: list[str] = field(default_factory=list)
    handed: set[tuple[str, str]] = field(default_factory=set)

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or (name := file_of(frame)) is None or not self._has_words(frame):
            return
        self.passed.append(name)
        if frame.f_code.co_flags & CO_COROUTINE and (before := _before(frame, name)) is not None:
            self.handed.add((before, name))

    @property
    def hands(self) -> set[str]:
        """Files of slices in which something waits for another file to which it gave the words."""
        return {before for before, after in self.handed if _is_stage(before) and _is_stage(after)}

    def _has_words(self, frame: FrameType) -> bool:
        code = frame.f_code
        given = [frame.f_locals.get(one) for one in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        services = given[:1] if code.co_varnames[:1] == ("self",) and not isinstance(given[0], BaseModel) else ()
        return any(holds(one, self.marks) for one in given[len(services) :])


def file_of(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    return Path(path).relative_to(SOURCE).as_posix() if path.startswith(str(SOURCE)) else None


def _before(frame: FrameType, name: str) -> str | None:
    """The nearest stage that waits for it."""
    below = frame.f_back
    while below is not None:
        found = file_of(below)
        if found is not None and found != name and _is_stage(found) and below.f_code.co_flags & CO_COROUTINE:
            return found
        below = below.f_back
    return None


def _is_stage(name: str) -> bool:
    """What all slices share is none, nor are rows, the words of a slice, and the wiring."""
    is_shared = name.startswith(("kernel/", "message/", "settings/", "household/", "sandbox/"))
    return not is_shared and "/store" not in name and not name.endswith("/model.py")


@asynccontextmanager
async def walking(home: Living, *marks: str) -> AsyncIterator[Walk]:
    """Of everything in this thread, and in that in which the database is written."""
    walk = Walk(marks)
    write = parts(home).world.store.database.write
    await write(lambda _: sys.setprofile(walk.note))
    sys.setprofile(walk.note)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        await write(lambda _: sys.setprofile(None))
