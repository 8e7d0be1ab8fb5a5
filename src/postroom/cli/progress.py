"""A bar on the terminal for work that takes a while; a script or a log file sees nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Shown = Callable[[int, int], None]


@contextmanager
def bar(title: str) -> Iterator[Shown]:
    """Call what it gives with how much is done, and of how much."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show
