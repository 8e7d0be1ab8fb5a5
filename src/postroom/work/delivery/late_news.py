"""What a provider says about a message after it was delivered: kept with it, and nothing else changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol

import structlog

from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import InboundEvent, LateNews
from postroom.domain.storable_text import storable

LONGEST: Final = 500
_log = structlog.get_logger("postroom.delivery")


class NewsRecord(Protocol):
    async def keep(self, news: LateNews) -> DeliveryId | None:
        """The delivery it is about, however often it comes; None when none of ours is meant."""
        ...


async def keep_news(record: NewsRecord, news: LateNews) -> DeliveryId | None:
    """Words of a provider are data: one line of them is kept, and none is logged."""
    about = await record.keep(replace(news, words=_one_line(news.words)))
    _log.info("delivery.news", channel=news.channel, kind=str(news.kind), delivery_id=about)
    return about


def news_handler(record: NewsRecord) -> Callable[[InboundEvent], Awaitable[bool]]:
    """Takes every piece of news, also of messages that are not ours: it concerns no other handler."""

    async def handle(event: InboundEvent) -> bool:
        if not isinstance(event, LateNews):
            return False
        await keep_news(record, event)
        return True

    return handle


def _one_line(words: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in storable(words))
    return " ".join(printable.split())[:LONGEST]
