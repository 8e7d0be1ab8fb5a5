"""The person's side by mail: sees the mail that asks in the sandbox's mailbox, and replies once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from chaos.provider import Provider
from chaos.questions.phone import Message, until
from chaos.questions.steps import Way
from chaos.tokens import token_in

_OWNER: Final = "owner@sandbox.example"
_US: Final = "postroom@sandbox.example"
CLOSED: Final = "answered by"


@dataclass(frozen=True, slots=True)
class Mailbox:
    provider: Provider

    async def cards(self, token: str) -> list[Message]:
        """Every mail that asks; what is sent cannot be changed, so another one says for all of them how it ended."""
        mails = await self._mails(token)
        over = [one for one in mails if CLOSED in one["body"]]
        said = over[0]["body"] if over else ""
        return [_as_card(one, said) for one in mails if one not in over]

    async def card(self, token: str, words: str = "") -> Message:
        async def look() -> Message | None:
            return next((one for one in await self.cards(token) if words in one["text"]), None)

        return await until(look)

    async def answer(self, token: str, way: Way, value: str) -> None:
        card = await self.card(token)
        mail = {
            "from": _OWNER,
            "to": _US,
            "subject": "Re: a question",
            "body": value,
            "in_reply_to": card["message_id"],
        }
        await self.provider.call("POST", "/sandbox/email/inbound", mail)

    async def _mails(self, token: str) -> list[dict[str, Any]]:
        return [one for one in await self.provider.listed("email") if token_in(one["body"]) == token]


def _as_card(mail: dict[str, Any], said: str) -> Message:
    return {"message_id": mail["message_id"], "text": f"{mail['body']}\n{said}", "reply_markup": None}
