"""Text that was typed and not yet submitted, one file per popup."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

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
