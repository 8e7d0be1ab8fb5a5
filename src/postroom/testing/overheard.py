"""Everything that is said aside while a check runs: logs of both kinds, and what is printed."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import structlog


class Overheard:
    def __init__(self) -> None:
        self._printed = io.StringIO()
        self.events: list[Any] = []

    @property
    def printed(self) -> io.StringIO:
        return self._printed

    @property
    def text(self) -> str:
        return self._printed.getvalue() + "".join(map(repr, self.events))


@contextlib.contextmanager
def overhearing() -> Iterator[Overheard]:
    heard = Overheard()
    handler = logging.StreamHandler(heard.printed)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            structlog.testing.capture_logs() as heard.events,
            contextlib.redirect_stdout(heard.printed),
            contextlib.redirect_stderr(heard.printed),
        ):
            yield heard
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def everything_said(error: BaseException) -> Iterator[str]:
    """By an error and all that led to it, as a log would show them."""
    seen: BaseException | None = error
    while seen is not None:
        yield from (str(seen), repr(seen), repr(vars(seen)), *traceback.format_exception(seen))
        seen = seen.__cause__ or seen.__context__
