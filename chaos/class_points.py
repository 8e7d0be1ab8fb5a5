"""Points around calls of whole classes, for a process that is `postroom up` and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from chaos.crash_points import Crash, Point
from chaos.questions.steps import after, before
from chaos.tokens import token_in
from postroom.channels.telegram.channel import Telegram
from postroom.delivery.store.postgres import PostgresLedger
from postroom.delivery.store.sqlite import SqliteLedger

NO_TOKEN = "-"
Named = Callable[..., tuple[str, str | list[str]]]  # of a call's arguments: the point's name and the tokens it is about
_meant: ContextVar[str] = ContextVar("meant", default=NO_TOKEN)


def around(owner: type, call: str, crash: Crash, named: Named) -> None:
    """From now on the process can die before and after this call of every instance."""
    inner: Callable[..., Awaitable[Any]] = getattr(owner, call)

    async def passing(self: object, *arguments: Any, **more: Any) -> Any:
        name, given = named(*arguments, **more)
        tokens = [given] if isinstance(given, str) else given
        for token in tokens:
            crash.at(before(name), token)
        found = await inner(self, *arguments, **more)
        for token in tokens:
            crash.at(after(name), token)
        return found

    setattr(owner, call, passing)


def token_of(text: str | None) -> str:
    return token_in(text or "") or NO_TOKEN


def watch_deliveries(crash: Crash) -> None:
    """The same names as in `Point`, with the token of what is being sent."""
    for ledger in (SqliteLedger, PostgresLedger):
        around(ledger, "insert", crash, lambda new, _lease, **_more: ("insert", token_of(new.message)))
        around(ledger, "settle", crash, lambda done: ("settle", token_of(done.claim.message)))
    prepare: Callable[..., Any] = Telegram.prepare

    def prepared(self: object, message: Any) -> Any:
        _meant.set(token_of(message.text))
        return prepare(self, message)

    setattr(Telegram, "prepare", prepared)  # noqa: B010
    around(Telegram, "send", crash, lambda *_: ("send", _meant.get()))


SENDING = tuple(
    str(point)
    for point in (
        Point.BEFORE_INSERT,
        Point.AFTER_INSERT,
        Point.BEFORE_SEND,
        Point.DURING_SEND,
        Point.AFTER_SEND,
        Point.BEFORE_SETTLE,
        Point.AFTER_SETTLE,
    )
)
