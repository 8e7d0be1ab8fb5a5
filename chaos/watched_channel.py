"""A channel that notes each call, and dies around it when told to."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import Any

from chaos.crash_points import Crash, Point
from chaos.journal import Journal, Step
from chaos.tokens import token_in
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.message.channel import Capabilities, Channel, Reconcile
from postroom.message.delivery import Message, Receipt

_current: ContextVar[str] = ContextVar("token", default="-")


def watched(inner: Channel, journal: Journal, crash: Crash, timeout_seconds: float = 2.0) -> WatchedChannel:
    can = replace(inner.capabilities, timeout_seconds=timeout_seconds, spacing_seconds=0.0)
    if isinstance(inner, Reconcile):
        return WatchedReconciler(inner, inner, can, journal, crash)
    return WatchedChannel(inner, can, journal, crash)


class WatchedChannel:
    """An attempt prepares and sends in one task, so the message's token travels with the task."""

    def __init__(self, inner: Channel, can: Capabilities, journal: Journal, crash: Crash) -> None:
        self._inner = inner
        self._journal = journal
        self._crash = crash
        self.name = inner.name
        self.capabilities = can

    def address(self, text: str) -> str | None:
        return self._inner.address(text)

    def prepare(self, message: Message) -> Sequence[Any]:
        _current.set(token_in(message.text) or "-")
        return self._inner.prepare(message)

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        token = _current.get()
        self._crash.at(Point.BEFORE_SEND, token)
        self._journal.note(Step.SEND, token)
        try:
            receipt = await self._inner.send(part, timeout_seconds)
        except OutcomeUncertain:
            self._journal.note(Step.UNCERTAIN, token)
            raise
        self._crash.at(Point.AFTER_SEND, token)
        return receipt

    async def close(self) -> None:
        await self._inner.close()


class WatchedReconciler(WatchedChannel):
    """One that can be asked."""

    def __init__(self, inner: Channel, asked: Reconcile, can: Capabilities, journal: Journal, crash: Crash) -> None:
        super().__init__(inner, can, journal, crash)
        self._asked = asked

    async def find(self, part: Any, since: datetime, timeout_seconds: float) -> Receipt | None:
        token = _current.get()
        self._crash.at(Point.BEFORE_ASK, token)
        found = await self._asked.find(part, since, timeout_seconds)
        self._crash.at(Point.AFTER_ASK, token)
        return found
