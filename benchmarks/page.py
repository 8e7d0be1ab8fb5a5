"""The page on which figures stand, each part's between marks of its own."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chaos.described import machine

from benchmarks.peers.table import write_between

PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"


def made(how: str) -> str:
    return f"Made on {datetime.now(UTC):%Y-%m-%d}, {how}: {machine()}. Load at the beginning {os.getloadavg()[0]:.1f}."


def verdict(met: bool) -> str:
    return "**met**" if met else "**missed**"


def write_part(part: str, lines: list[str]) -> None:
    """With `DRY` set it is only printed."""
    text = "\n".join(lines)
    print(text)
    if "DRY" not in os.environ:
        mark = f"<!-- written by `make bench ARGS={part}`: "
        write_between(PAGE, f"{mark}begin -->", f"{mark}end -->", text)
