"""Look up what became of a delivery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.delivery import Intent, Status
from postroom.domain.enquiry import DeliveryQuery
from postroom.domain.errors import ValidationError
from postroom.work.delivery.enquiries import (
    in_pages,
    read_choice,
    read_page,
    read_request_id,
    read_span,
    read_uuid,
    read_word,
)

_KIND: Final = "delivery"


class DeliveryRecord(Protocol):
    """What the delivery path wrote; reading it changes nothing."""

    async def delivery(self, delivery_id: str) -> dict[str, Any] | None: ...

    async def attempts(self, delivery_id: str) -> Sequence[dict[str, Any]] | None:
        """In order; None when there is no such delivery."""
        ...

    async def search(self, query: DeliveryQuery) -> Sequence[dict[str, Any]]:
        """Newest first, one more than the page holds when there are more."""
        ...

    async def trace(self, request_id: str) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Takes values from outside; raises ValidationError with a sentence for the caller."""

    record: DeliveryRecord
    channel_names: frozenset[str]

    async def status(self, delivery_id: object) -> dict[str, Any]:
        known = read_uuid(delivery_id, "delivery_id")
        found = await self.record.delivery(known)
        if found is None:
            raise ValidationError(f"Delivery {known} not found")
        return found

    async def attempts(self, delivery_id: object) -> dict[str, Any]:
        known = read_uuid(delivery_id, "delivery_id")
        attempts = await self.record.attempts(known)
        if attempts is None:
            raise ValidationError(f"Delivery {known} not found")
        return {"delivery_id": known, "attempts": list(attempts), "total_attempts": len(attempts)}

    async def search(
        self,
        *,
        origin_butler: object = None,
        channel: object = None,
        intent: object = None,
        status: object = None,
        since: object = None,
        until: object = None,
        limit: object = None,
        cursor: object = None,
    ) -> dict[str, Any]:
        asked_intent = read_choice(intent, "intent", Intent)
        asked_status = read_choice(status, "status", Status)
        since_us, until_us = read_span(since, until)
        query = DeliveryQuery(
            page=read_page(_KIND, limit, cursor),
            origin_butler=read_word(origin_butler, "origin_butler"),
            channel=read_choice(channel, "channel", sorted(self.channel_names)),
            intent=Intent(asked_intent) if asked_intent else None,
            status=Status(asked_status) if asked_status else None,
            since_us=since_us,
            until_us=until_us,
        )
        found = await self.record.search(query)
        deliveries, next_cursor = in_pages(_KIND, found, query.page, "delivery_id")
        return {
            "deliveries": deliveries,
            "count": len(deliveries),
            "limit": query.page.limit,
            "next_cursor": next_cursor,
        }

    async def trace(self, request_id: object) -> dict[str, Any]:
        known = read_request_id(request_id)
        found = await self.record.trace(known)
        if not (found["deliveries"] or found["refusals"] or found["hops"]):
            raise ValidationError("Request not found: nothing is known under this request_id")
        return found
