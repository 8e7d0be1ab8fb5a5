"""Envelopes on their way to the app: each to one connection, and once more when an event is not acknowledged."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import seconds

PATIENCE_SECONDS: Final = 3.0  # for an acknowledgement
_PAUSES_SECONDS: Final = (PATIENCE_SECONDS, 60.0, 300.0)  # before each repetition of an event
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackEnvelope:
    """`sent_to` is the connection that has it now."""

    kind: str
    payload: Mapping[str, Any]
    made_us: int
    id: str = ""
    sent_to: object | None = None
    sendings: int = 0
    due_us: int = 0

    def frame(self) -> dict[str, Any]:
        retry = {"retry_attempt": self.sendings - 1, "retry_reason": "timeout" if self.sendings > 1 else ""}
        frame = {"envelope_id": self.id, "type": self.kind, "payload": self.payload}
        return frame | {"accepts_response_payload": self.kind != "events_api"} | (retry if self._is_repeated else {})

    @property
    def _is_repeated(self) -> bool:
        """Presses and commands are for the moment: nobody hears of them later."""
        return self.kind == "events_api"

    def is_over(self, now_us: int) -> bool:
        """Due, and not to be sent any more."""
        if self._is_repeated:
            return now_us >= self.due_us and self.sendings > len(_PAUSES_SECONDS)
        return now_us >= self.due_us and (self.sendings > 0 or now_us > self.made_us + seconds(PATIENCE_SECONDS))

    def sent(self, connection: object, now_us: int) -> SlackEnvelope:
        pause = _PAUSES_SECONDS[min(self.sendings, len(_PAUSES_SECONDS) - 1)]
        named, due_us = str(uuid.uuid4()), now_us + seconds(pause)
        return replace(self, id=named, sent_to=connection, sendings=self.sendings + 1, due_us=due_us)


class SlackEnvelopes:
    def __init__(self) -> None:
        self._waiting: list[SlackEnvelope] = []
        self.news = Signal()

    def put(self, kind: str, payload: Mapping[str, Any], now_us: int) -> None:
        self._waiting = [*self._waiting, SlackEnvelope(kind=kind, payload=payload, made_us=now_us)][-_MOST:]
        self.news.ring()

    def take(self, connection: object, now_us: int) -> list[dict[str, Any]]:
        """What is due now, for this connection to send."""
        self._waiting = [one for one in self._waiting if not one.is_over(now_us)]
        sent = {id(one): one.sent(connection, now_us) for one in self._waiting if now_us >= one.due_us}
        self._waiting = [sent.get(id(one), one) for one in self._waiting]
        return [one.frame() for one in sent.values()]

    def acknowledged(self, envelope_id: object) -> None:
        self._waiting = [one for one in self._waiting if one.id != envelope_id]

    def lost(self, connection: object) -> None:
        """The connection is gone: what it had is due at once."""
        self._waiting = [
            replace(one, sent_to=None, due_us=0) if one.sent_to is connection else one for one in self._waiting
        ]
        self.news.ring()

    def next_us(self) -> int | None:
        return min((one.due_us for one in self._waiting), default=None)
