"""Points around every commit of attention, named after what it writes: accept, digest, repeat, policy, receipt …"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from sqlalchemy import Connection

from chaos.crash_points import Crash
from chaos.questions.steps import after, before, watch
from postroom.attention import store as stored
from postroom.attention.model import Decision
from postroom.attention.state import Loaded, LogRow, NoticeChanges
from postroom.attention.store import write

_FACTS: Final = {"NoticeAccepted": "accept", "ReceiptIn": "receipt", "Acked": "answer", "PolicyChanged": "policy"}
_SENT: Final = {"release": "release", "close_digest": "digest", "repeat": "repeat", "escalate": "escalate"}
Edit = Callable[[Loaded], NoticeChanges | None]


def inside(what: str) -> str:
    """Written, and not committed."""
    return f"inside {what}"


def watch_attention(crash: Crash) -> None:
    """In this process, from now on."""
    watch(stored.StoredNotices, ["take_sends", "handed_over"], crash)
    setattr(stored.StoredNotices, "change", _watched(stored.StoredNotices.change, crash))  # noqa: B010

    def writing(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
        write(connection, before, changes)
        for what in written(changes):
            crash.at(inside(what))

    setattr(stored, "write", writing)  # noqa: B010


def written(changes: NoticeChanges) -> list[str]:
    """What a commit is about."""
    names = dict.fromkeys(name for row in changes.log if (name := _name(row)))
    return list(names)


def _name(row: LogRow) -> str | None:
    if not isinstance(row.event, Decision):
        return _FACTS.get(type(row.event).__name__)
    return _SENT.get(row.event.kind) if row.event.send else None


def _watched(inner: Callable[..., Awaitable[None]], crash: Crash) -> Callable[..., Awaitable[None]]:
    async def change(self: object, person: str, wanted: object, edit: Edit) -> None:
        names: list[str] = []

        def editing(loaded: Loaded) -> NoticeChanges | None:
            changes = edit(loaded)
            names[:] = written(changes) if changes is not None else []
            for name in names:
                crash.at(before(name))
            return changes

        await inner(self, person, wanted, editing)
        for name in names:
            crash.at(after(name))

    return change
