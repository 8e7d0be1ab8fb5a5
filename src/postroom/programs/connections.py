"""How programs on this machine reach their household: `connections.json`, which only its owner can read."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = "connections.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """`url` is that of the household's API port."""

    url: str
    token: str = field(repr=False)


def home_of(environment: Mapping[str, str], chosen: str | None) -> Path:
    """As the settings find it, without reading them: programs that start often have no time for that."""
    if home := chosen or environment.get("POSTROOM_HOME"):
        return Path(home).expanduser()
    data = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or Path.home()) / ".local" / "share"
    return Path(data) / "postroom"


def connection_of(home: Path, program: str) -> Connection | None:
    """None when it was never connected, or the file cannot be read."""
    try:
        one = json.loads((home / NAME).read_text(encoding="utf-8"))["programs"][program]
        return Connection(url=str(one["url"]), token=str(one["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_all(home: Path) -> dict[str, Any]:
    try:
        document = json.loads((home / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = {}
    found = document if isinstance(document, dict) else {}
    return {part: dict(found[part]) if isinstance(found.get(part), dict) else {} for part in ("programs", "files")}


@contextlib.contextmanager
def changing(home: Path) -> Iterator[dict[str, Any]]:
    """What is in the file when this ends is written; never readable by others, never half."""
    document = read_all(home)
    before = json.dumps(document, sort_keys=True)
    yield document
    if json.dumps(document, sort_keys=True) != before:
        home.mkdir(parents=True, exist_ok=True)
        written = (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
        replace_file(home / NAME, written, 0o600)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """All of it or nothing, with this mode from the first byte on."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
