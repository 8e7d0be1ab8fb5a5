"""Where the figures of growth stand in the documentation: each part between marks of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from benchmarks.peers.table import write_between

PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "scaling.md"


def written(part: str, text: str, began: float) -> None:
    """`began` by the clock that counts up; with DRY in the environment the page stays as it is."""
    print(f"{text}\n\nTook {(time.perf_counter() - began) / 60:.1f} minutes.")
    if "DRY" not in os.environ:
        write_between(PAGE, *marks(part), text)


def marks(part: str) -> tuple[str, str]:
    return f"<!-- written by `make bench ARGS={part}`: begin -->", f"<!-- written by `make bench ARGS={part}`: end -->"


def load_words(load: float) -> str:
    """Of the minute before it began."""
    busy = load > 0.5 * (os.cpu_count() or 1)
    return f"Load at the beginning {load:.1f}: {'other work ran on the machine' if busy else 'nothing else ran'}."
