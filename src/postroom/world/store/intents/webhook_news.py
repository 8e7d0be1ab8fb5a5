"""What those who want to hear of an intent are told."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Connection, insert, select

from postroom.domain.intent import IntentChange, IntentEvent, IntentEventType
from postroom.domain.time import to_text
from postroom.domain.webhook import WebhookEvent
from postroom.world.store.tables.webhooks import webhook_deliveries, webhook_subscriptions


def tell_subscribers(connection: Connection, change: IntentChange, mint: Callable[[int], str]) -> None:
    """In the same commit as the change itself, so that no news is lost and none is invented."""
    asked = select(webhook_subscriptions).where(
        webhook_subscriptions.c.owner_agent.in_(sorted(change.intent.concerned)), webhook_subscriptions.c.active
    )
    rows = [
        {
            "id": mint(event.at_us),
            "subscription_id": row.id,
            "event_type": str(kind),
            "body": _body(event, kind, row.owner_agent),
            "status": "pending",
            "attempts": 0,
            "next_at": event.at_us,
            "created_at": event.at_us,
        }
        for row in connection.execute(asked)
        for event in change.events
        if (kind := _kind(event, change)) in json.loads(row.event_types)
    ]
    if rows:
        connection.execute(insert(webhook_deliveries), rows)


def _kind(event: IntentEvent, change: IntentChange) -> WebhookEvent:
    if event.event_type is IntentEventType.CREATED:
        return WebhookEvent.THREAD_CREATED
    answered = change.says is not None and event is change.events[-1]
    return WebhookEvent.REPLY_RECEIVED if answered else WebhookEvent.THREAD_UPDATED


def _body(event: IntentEvent, kind: WebhookEvent, owner_agent: str) -> str:
    """What happened, never what was said: whoever may read it can ask."""
    return json.dumps(
        {
            "event_id": event.id,
            "event_type": str(kind),
            "owner_agent": owner_agent,
            "thread_id": event.intent_id,
            "intent_event": str(event.event_type),
            "lifecycle_status": str(event.status),
            "seq": event.seq,
            "at": to_text(event.at_us),
        },
        separators=(",", ":"),
    )
