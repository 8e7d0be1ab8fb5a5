"""Where a path lies below a caller's outbox folders, by its words alone; nothing is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from postroom.domain.file_ports import OutboxRefusal

_OUTSIDE: Final = "is not below an outbox folder of yours"


@dataclass(frozen=True, slots=True)
class OutboxPlace:
    folder: Path
    parts: tuple[str, ...]


def places(path: str, outbox: Sequence[Path]) -> list[OutboxPlace]:
    """Where to look, in order. An absolute path names its folder; another may lie below any of them."""
    if not outbox:
        raise OutboxRefusal("cannot be used: no outbox folder is set for you; upload the file", "no_outbox")
    asked = PurePosixPath(path)
    if ".." in path.split("/"):
        raise OutboxRefusal(f"{_OUTSIDE}: it must not contain ..", "outside_outbox")
    found = [_below(asked, folder) for folder in outbox]
    wanted = [one for one in found if one is not None and one.parts]
    if not wanted:
        raise OutboxRefusal(_OUTSIDE, "outside_outbox")
    for place in wanted:
        if any(part.startswith(".") for part in place.parts):
            raise OutboxRefusal("is hidden: files and folders whose names begin with a dot stay here", "hidden_file")
    return wanted


def _below(asked: PurePosixPath, folder: Path) -> OutboxPlace | None:
    if not asked.is_absolute():
        return OutboxPlace(folder, asked.parts)
    root = PurePosixPath(folder)
    return OutboxPlace(folder, asked.relative_to(root).parts) if asked.is_relative_to(root) else None
