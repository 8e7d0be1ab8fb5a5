"""Points around every commit between a person's message and its answer, named after what is written."""

from __future__ import annotations

from typing import Any

from chaos.class_points import NO_TOKEN, around, token_of
from chaos.crash_points import Crash
from postroom.world.store.butlers.sessions import StoredSessions
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.intents.intents import StoredIntents


def watch_inbound(crash: Crash) -> None:
    """Where the provider's stream was read to has no token of its own: it is that of what was read last."""
    last = [NO_TOKEN]

    def keep(message: Any, _now_us: int) -> tuple[str, str]:
        last[0] = token_of(message.text)
        return "keep", last[0]

    around(StoredInbound, "keep", crash, keep)
    around(StoredInbound, "decide", crash, lambda kept, *_: ("decide", token_of(kept.message.text)))
    around(StoredInbound, "move", crash, lambda kept, move, *_, **__: (str(move), token_of(kept.message.text)))
    around(StoredIntents, "save_offset", crash, lambda *_: ("save_offset", last[0]))
    around(StoredSessions, "add", crash, lambda new, **_: ("session", token_of(new.prompt)))
    around(StoredSessions, "end", crash, lambda session, *_, **__: ("end", token_of(session.prompt)))
