"""The files of this repository, as the architecture tests read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "postroom"


def source_files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py"))


def tracked_files() -> Iterator[Path]:
    """Everything that .gitignore does not name; asked of the folder, so that it works without git."""
    ignored = [".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line)]
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if not _matches(name, ignored)]
        yield from (Path(folder, name) for name in sorted(files) if not _matches(name, ignored))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
