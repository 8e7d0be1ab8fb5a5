"""A person who writes to a Slack app and presses its buttons, as Socket Mode tells of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from postroom.message.channel import Channel
from postroom.testing import HttpProvider, Place, Reply, TakenRequest, WebSocketProvider, raw_reply, reply

PERSON = "U024BE7LH"
DIRECT = "D024BE91L"
HELLO = {"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}}
CARD = "1700000000.000077"


class SlackPerson:
    """An envelope that nobody acknowledged is brought again by the next connection."""

    sender = PERSON

    def __init__(self, web: HttpProvider, sockets: WebSocketProvider, connect: Callable[[Place], Channel]) -> None:
        self._web, self._sockets, self._connect = web, sockets, connect
        self._unacknowledged: dict[str, dict[str, Any]] = {}
        self._count = 0
        self._is_away = False
        self.acknowledged = 0
        web.aside = self._answer
        sockets.opening = [json.dumps(HELLO)]

    def connect(self) -> Any:
        return self._connect(Place(port=self._web.port))

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        stamp = self._stamp()
        event: dict[str, Any] = {"type": "message", "channel": DIRECT, "channel_type": "im", "text": text, "ts": stamp}
        event |= {"subtype": "bot_message", "bot_id": "B1"} if by_bot else {"user": PERSON}
        if forged:
            event["attachments"] = [{"is_share": True, "author_id": "U0EVE", "text": "words of another"}]
        authorizations = [{"user_id": "U0BOT", "is_bot": True}]
        payload = {"type": "event_callback", "event_id": f"Ev{stamp}", "event": event, "authorizations": authorizations}
        await self._bring({"type": "events_api", "accepts_response_payload": False, "payload": payload})

    async def press(self, token: str) -> None:
        action = {"type": "button", "action_id": "postroom-0", "value": token, "action_ts": self._stamp()}
        payload = {
            "type": "block_actions",
            "user": {"id": PERSON, "username": "ada", "team_id": "T1"},
            "container": {"type": "message", "message_ts": CARD, "channel_id": DIRECT},
            "channel": {"id": DIRECT, "name": "directmessage"},
            "message": {"type": "message", "ts": CARD},
            "actions": [action],
        }
        await self._bring({"type": "interactive", "accepts_response_payload": False, "payload": payload})

    async def show_again(self) -> None:
        """Another envelope with the same event, as Slack does when an answer is late."""
        last = list(self._unacknowledged.values())[-1]
        await self._bring({**last, "retry_attempt": 1, "retry_reason": "timeout"})

    async def leave(self) -> None:
        self._is_away = True
        self._sockets.cut()

    async def hear(self) -> None:
        while True:
            envelope_id = json.loads(await self._sockets.hear())["envelope_id"]
            self.acknowledged += self._unacknowledged.pop(envelope_id, None) is not None
            self._prepare_opening()

    async def _bring(self, envelope: dict[str, Any]) -> None:
        self._count += 1
        envelope |= {"envelope_id": f"envelope-{self._count}"}
        self._unacknowledged[envelope["envelope_id"]] = envelope
        self._prepare_opening()
        if self._sockets.joined.is_set():
            await self._sockets.say(json.dumps(envelope))

    def _prepare_opening(self) -> None:
        self._sockets.opening = [json.dumps(one) for one in (HELLO, *self._unacknowledged.values())]

    def _stamp(self) -> str:
        return f"1700000001.{self._count:06d}"

    def _answer(self, request: TakenRequest) -> Reply | None:
        if self._is_away:
            return raw_reply(503, b"later")
        return reply(200, {"ok": True, "url": f"{self._sockets.url}?ticket=canary-ticket"})


def person_on(connect: Callable[[Place], Channel]) -> Callable[[], Any]:
    @asynccontextmanager
    async def person() -> AsyncIterator[SlackPerson]:
        async with HttpProvider() as web, WebSocketProvider() as sockets:
            one = SlackPerson(web, sockets, connect)
            hearing = asyncio.create_task(one.hear())
            try:
                yield one
            finally:
                hearing.cancel()

    return person
