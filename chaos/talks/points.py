"""Points around every commit between a person's message and its answer, named after what is written."""

from __future__ import annotations

from typing import Any

from chaos.class_points import around, token_of
from chaos.crash_points import Crash
from postroom.butlers.store import StoredSessions
from postroom.conversations.store import StoredInbound
from postroom.kernel.database.engine import Marks


def watch_inbound(crash: Crash) -> None:
    """Where the provider's stream was read to is about all that was read since the last time."""
    heard: list[str] = []

    def keep(message: Any, _now_us: int) -> tuple[str, str]:
        heard.append(token_of(message.text))
        return "keep", heard[-1]

    def save_offset(*_: Any) -> tuple[str, list[str]]:
        tokens = [*dict.fromkeys(heard)]
        heard.clear()
        return "save_offset", tokens

    around(StoredInbound, "keep", crash, keep)
    around(StoredInbound, "decide", crash, lambda message, *_: ("decide", token_of(message.text)))
    around(StoredInbound, "move", crash, lambda kept, move, *_, **__: (str(move), token_of(kept.message.text)))
    around(Marks, "save_offset", crash, save_offset)
    around(StoredSessions, "add", crash, lambda new, **_: ("session", token_of(new.prompt)))
    around(StoredSessions, "end", crash, lambda session, *_, **__: ("end", token_of(session.prompt)))
