"""How far work has come that takes a while: a bar on a terminal, now and then a line elsewhere; none for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final, Protocol

EVERY_SECONDS: Final = 5.0


class ShowDone(Protocol):
    """Call it with how much is done, and of how much; None of what is not known."""

    def __call__(self, done: int, total: int | None, /) -> None: ...


@contextmanager
def bar(title: str, *, quiet: bool = False) -> Iterator[ShowDone]:
    """`quiet` is for `--json`. Work of which nothing is said shows that it goes on."""
    if quiet:
        yield _nothing
    elif sys.stderr.isatty():
        with _on_terminal(title) as show:
            yield show
    else:
        with lines(title, _write) as show:
            yield show


@contextmanager
def lines(title: str, write: Callable[[str], None], every_seconds: float = EVERY_SECONDS) -> Iterator[ShowDone]:
    """Nothing is written of what is over before the first line is due."""
    now: list[tuple[int, int | None]] = [(0, None)]
    over = Event()

    def show(done: int, total: int | None, /) -> None:
        now[0] = (done, total)

    def tell() -> None:
        rounds = 0
        while not over.wait(every_seconds):
            rounds += 1
            write(_line(title, *now[0], round(rounds * every_seconds)))

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield show
    finally:
        over.set()
        teller.join()


@contextmanager
def _on_terminal(title: str) -> Iterator[ShowDone]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int | None, /) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _line(title: str, done: int, total: int | None, elapsed_seconds: int) -> str:
    if total is not None:
        return f"{title}: {done:,} of {total:,}, {elapsed_seconds} s"
    return f"{title}: {f'{done:,} so far' if done else 'still at it'}, {elapsed_seconds} s"


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _nothing(_done: int, _total: int | None, /) -> None:
    """Programs look at the answer."""
