"""That whoever reads an address wants no more messages, as news of the message they had."""

from __future__ import annotations

from postroom.domain.closed_address import Closing
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import LateNews, NewsKind


def unsubscribed(channel: str, delivery_id: DeliveryId, by: str, at_us: int) -> LateNews:
    """`by` is how they said it; said twice in the same way it is one piece of news."""
    return LateNews(
        channel=channel,
        event_id=f"unsubscribe:{by}",
        kind=NewsKind.UNSUBSCRIBED,
        at_us=at_us,
        delivery_id=delivery_id,
        closes=Closing.UNSUBSCRIBED,
    )
