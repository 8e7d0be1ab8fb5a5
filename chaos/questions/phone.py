"""The person's side: sees cards on the sandbox's phone, and presses or replies once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from chaos.provider import Provider
from chaos.questions.steps import Way
from chaos.tokens import token_in

_LOOK_SECONDS: Final = 0.02
_SECONDS: Final = 30.0
CHAT: Final = "1000"  # the owner's, in the sandbox

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Phone:
    provider: Provider

    async def cards(self, token: str) -> list[Message]:
        """Every copy of a card, as it looks now."""
        return [one for one in await self.provider.listed("telegram") if token_in(one["text"]) == token]

    async def card(self, token: str, words: str = "") -> Message:
        """The first copy that says this, as soon as there is one."""
        return await until(lambda: self._saying(token, words))

    async def answer(self, token: str, way: Way, value: str) -> None:
        card = await self.card(token)
        if way is Way.PRESS:
            await self.press(card, value)
        else:
            reply = {"chat_id": CHAT, "text": value, "reply_to_message_id": card["message_id"]}
            await self.provider.call("POST", "/sandbox/telegram/inbound", reply)

    async def press(self, card: Message, button: str) -> None:
        await self.provider.call(
            "POST", "/sandbox/telegram/press", {"message_id": card["message_id"], "button": button}
        )

    async def press_if_there(self, card: Message, button: str) -> None:
        """On a card that has been closed meanwhile there is nothing to press."""
        with suppress(aiohttp.ClientResponseError):
            await self.press(card, button)

    async def away(self, seconds: float) -> None:
        """The bot has not asked for so long: presses that waited are gone."""
        await self.provider.call("POST", "/sandbox/telegram/away", {"seconds": seconds})

    async def _saying(self, token: str, words: str) -> Message | None:
        return next((one for one in await self.cards(token) if words in one["text"]), None)


def is_pressable(card: Message) -> bool:
    return bool((card["reply_markup"] or {}).get("inline_keyboard"))


async def until(look: Callable[[], Awaitable[Message | None]]) -> Message:
    async with asyncio.timeout(_SECONDS):
        while not (found := await look()):
            await asyncio.sleep(_LOOK_SECONDS)
        return found
