"""Envelopes on their way to the app: each to one connection, and to the next when an event is not acknowledged."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.kernel.running.loop import Signal


@dataclass(slots=True, kw_only=True)
class SlackEnvelope:
    """`sent_to` is the connection that has it now."""

    kind: str
    payload: Mapping[str, Any]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    sent_to: object | None = None
    sendings: int = 0

    def frame(self) -> dict[str, Any]:
        frame = {"envelope_id": self.id, "type": self.kind, "payload": self.payload}
        if self.kind != "events_api":
            return frame | {"accepts_response_payload": True}
        retry = {"retry_attempt": self.sendings - 1, "retry_reason": "timeout" if self.sendings > 1 else ""}
        return frame | {"accepts_response_payload": False} | retry


class SlackEnvelopes:
    def __init__(self) -> None:
        self._waiting: list[SlackEnvelope] = []
        self.news = Signal()

    def put(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._waiting.append(SlackEnvelope(kind=kind, payload=payload))
        self.news.ring()

    def take(self, connection: object) -> list[dict[str, Any]]:
        """What no other connection has, for this one to send."""
        taken = [one for one in self._waiting if one.sent_to is None]
        for one in taken:
            one.sent_to, one.sendings = connection, one.sendings + 1
        return [one.frame() for one in taken]

    def acknowledged(self, envelope_id: object) -> None:
        self._waiting = [one for one in self._waiting if one.id != envelope_id]

    def lost(self, connection: object) -> None:
        """The connection is gone: events that it had are for the next, presses are for the moment."""
        self._waiting = [one for one in self._waiting if one.sent_to is not connection or one.kind == "events_api"]
        for one in self._waiting:
            one.sent_to = None if one.sent_to is connection else one.sent_to
        self.news.ring()
