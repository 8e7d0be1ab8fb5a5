"""Points around what is written when a file is taken over and when a message is corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaos.class_points import NO_TOKEN, around, token_of
from chaos.crash_points import Crash
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.delivery.files.folder import FolderFiles, StoredUploads


def watch_content(crash: Crash) -> None:
    """The bytes of a file hold its token; an upload is known again by its id, in the process that made it."""
    tokens: dict[str, str] = {}

    def add(new: Sequence[Any], **_: Any) -> tuple[str, str]:
        tokens.update({one.id: one.name.partition(".")[0] for one in new})
        return "upload", tokens[new[0].id]

    around(FolderFiles, "keep", crash, lambda draft: ("file", token_of(draft.path.read_text())))
    around(StoredUploads, "add", crash, add)
    around(StoredUploads, "claim", crash, lambda ids, *_: ("claim", tokens.get(ids[0], NO_TOKEN)))
    for call in ("keep", "reword", "withdraw"):
        around(StoredCorrections, call, crash, lambda seen, *_: ("correction", token_of(seen.claim.message)))
