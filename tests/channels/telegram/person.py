"""A person who writes to a bot and presses its buttons, as Telegram's getUpdates tells of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from postroom.message.channel import Channel
from postroom.testing import HttpProvider, Place, Reply, TakenRequest, raw_reply, reply

PERSON = 4711


class TelegramPerson:
    """An update is kept until a later one is asked for, and shown until then."""

    def __init__(self, server: HttpProvider, connect: Callable[[Place], Channel]) -> None:
        self._server, self._connect = server, connect
        self._updates: list[dict[str, Any]] = []
        self._count = 0
        self._away = False
        self.acknowledged = 0
        server.aside = self._answer

    @property
    def sender(self) -> str:
        return str(PERSON)

    def connect(self) -> Any:
        return self._connect(Place(port=self._server.port))

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        number = self._next()
        writer = {"id": 99 if by_bot else PERSON, "is_bot": by_bot, "first_name": "Ada"}
        chat = {"id": PERSON, "type": "private"}
        message: dict[str, Any] = {
            "message_id": number,
            "date": 1_772_366_400,
            "chat": chat,
            "from": writer,
            "text": text,
        }
        if forged:
            message["forward_origin"] = {"type": "hidden_user", "date": 1_772_366_000, "sender_user_name": "Eve"}
        self._updates.append({"update_id": number, "message": message})

    async def press(self, token: str) -> None:
        number = self._next()
        presser = {"id": PERSON, "is_bot": False, "first_name": "Ada"}
        card = {"message_id": 77, "date": 1_772_366_400, "chat": {"id": PERSON, "type": "private"}}
        query = {"id": f"press-{number}", "from": presser, "message": card, "data": token, "chat_instance": "1"}
        self._updates.append({"update_id": number, "callback_query": query})

    async def show_again(self) -> None:
        """It does so by itself until a later one is asked for."""

    async def leave(self) -> None:
        self._away = True

    def _next(self) -> int:
        self._count += 1
        return 1000 + self._count

    def _answer(self, request: TakenRequest) -> Reply | None:
        if not request.path.endswith("/getUpdates"):
            return None
        if self._away:
            return raw_reply(502, b"Bad Gateway")
        offset = request.body.get("offset", 0)
        kept = [one for one in self._updates if one["update_id"] >= offset]
        self.acknowledged += len(self._updates) - len(kept)
        self._updates = kept
        return reply(200, {"ok": True, "result": kept})


def person_on(connect: Callable[[Place], Channel]) -> Callable[[], Any]:
    @asynccontextmanager
    async def person() -> AsyncIterator[TelegramPerson]:
        async with HttpProvider() as server:
            yield TelegramPerson(server, connect)

    return person
