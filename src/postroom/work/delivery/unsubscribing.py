"""Strangers may say that they want no more: a link in every letter to them, good for the address it went to."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol

from postroom.domain.delivery import Intent
from postroom.domain.email_confirmation import CONFIRMATION_ORIGIN
from postroom.domain.ids import DeliveryId, is_uuid
from postroom.domain.inbound_message import LateNews
from postroom.domain.ledger import NewDelivery
from postroom.domain.markup import Markup
from postroom.domain.unsubscribed_news import unsubscribed

PATH: Final = "/unsubscribe"
_MARK_CHARACTERS: Final = 32


class KnownAddresses(Protocol):
    async def knows(self, channel: str, address: str) -> bool:
        """Whether it is the address of one of the household's people."""
        ...


class SentLetters(Protocol):
    async def channel_of(self, delivery_id: DeliveryId) -> str | None:
        """Also of one that has left the ledger; None when there is none, or no more."""
        ...

    async def keep(self, news: LateNews) -> DeliveryId | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsubscribeLinks:
    """`key` is the household's own: without it nobody makes a link for an address that is not theirs."""

    key: bytes = field(repr=False)

    def token(self, delivery_id: str) -> str:
        return f"{delivery_id}.{self._mark(delivery_id)}"

    def delivery(self, token: str) -> DeliveryId | None:
        delivery_id, _, mark = token.partition(".")
        good = is_uuid(delivery_id) and hmac.compare_digest(mark.encode(), self._mark(delivery_id).encode())
        return DeliveryId(delivery_id) if good else None

    def _mark(self, delivery_id: str) -> str:
        return hmac.new(self.key, delivery_id.encode(), sha256).hexdigest()[:_MARK_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForStrangers:
    """`base_url` is where strangers reach the household's pages; empty: nowhere, so they are left to write."""

    people: KnownAddresses
    links: UnsubscribeLinks
    base_url: str

    async def marked(self, new: NewDelivery) -> NewDelivery:
        """A message to one of the household's people, or in answer to someone, stays as it is."""
        if new.intent is not Intent.SEND or new.origin_butler == CONFIRMATION_ORIGIN:
            return new
        if await self.people.knows(new.channel, new.address):
            return new
        link = f"{self.base_url}{PATH}/{self.links.token(new.id)}" if self.base_url else ""
        return replace(new, markup=replace(new.markup or Markup(), unsubscribe=link))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribing:
    """What the page behind a link calls."""

    links: UnsubscribeLinks
    sent: SentLetters

    async def is_good(self, token: str) -> bool:
        found = self.links.delivery(token)
        return found is not None and await self.sent.channel_of(found) is not None

    async def end(self, token: str, now_us: int) -> bool:
        """However often it is asked for; False when the link is not good, or its message is long gone."""
        found = self.links.delivery(token)
        channel = await self.sent.channel_of(found) if found else None
        if found is None or channel is None:
            return False
        await self.sent.keep(unsubscribed(channel, found, "link", now_us))
        return True
