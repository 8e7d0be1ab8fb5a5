"""Files that a desk and its windows share: what was typed and not yet submitted, and whose turn the screen is."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDraft:
    file: Path
    text: str = field(repr=False)


def folder_for(drafts: Path, project_path: str, project: str) -> Path:
    """Each project has its own drafts; nothing typed for one is offered in another."""
    import hashlib  # the window's process never needs it and should start fast

    return drafts / hashlib.sha256(f"{project_path}\0{project}".encode()).hexdigest()[:16]


def save(file: Path, text: str) -> None:
    """Whole or not at all, for the owner's eyes only; an empty text leaves no file."""
    if not text.strip():
        discard(file)
        return
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump({"text": text}, stream)
    fresh.replace(file)


def discard(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def waiting(folder: Path) -> list[ReplyDraft]:
    """Newest first; names are time-ordered. A file that cannot be read is left alone."""
    found = []
    for file in sorted(folder.glob("*.json"), reverse=True):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found.append(ReplyDraft(file=file, text=str(json.loads(file.read_text(encoding="utf-8"))["text"])))
    return found


def prune(folder: Path) -> None:
    for file in sorted(folder.glob("*.json"), reverse=True)[KEPT:]:
        discard(file)


# Whose turn it is on this screen: the newest popup's, whichever server opened it.

_SILENT_SECONDS: Final = 5.0  # a window keeps its turn alive every second


def take_turn(file: Path, token: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_name(f"{file.name}.{token}")
    fresh.write_text(token, encoding="ascii")
    fresh.replace(file)


def turn_is_over(file: Path, token: str) -> bool:
    """A turn ends only when someone else has taken it; a missing file means nobody has."""
    try:
        return file.read_text(encoding="ascii") != token
    except OSError:
        return False


def keep_turn(file: Path, token: str) -> None:
    """Says that the window is still there."""
    if not turn_is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file)


def give_turn_back(file: Path, token: str) -> None:
    if not turn_is_over(file, token):
        with contextlib.suppress(OSError):
            os.utime(file, (0, 0))


def screen_is_free(file: Path) -> bool:
    """No window is there, or the last one has not been heard of for a while."""
    try:
        return time.time() - file.stat().st_mtime > _SILENT_SECONDS
    except OSError:
        return True
