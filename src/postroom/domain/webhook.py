"""Somebody who wants to be told of news over HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class WebhookEvent(StrEnum):
    THREAD_CREATED = "inbox.thread_created"
    THREAD_UPDATED = "inbox.thread_updated"
    REPLY_RECEIVED = "inbox.reply_received"
    ASK_OPENED = "ask.opened"
    ASK_ANSWERED = "ask.answered"
    ASK_DECLINED = "ask.declined"
    ASK_EXPIRED = "ask.expired"
    ASK_CANCELLED = "ask.cancelled"
    ASK_REVISED = "ask.revised"
    DELIVERY_BOUNCED = "delivery.bounced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    id: str
    owner_agent: str
    callback_url: str
    event_types: tuple[WebhookEvent, ...]
    secret: str = field(repr=False)
    active: bool
    description: str
    created_at_us: int
    updated_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something that happened, for all who subscribed for this agent; `id` is the same however often it is told."""

    id: str
    owner_agent: str
    type: WebhookEvent
    body: str = field(repr=False)
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One piece of news on its way to one subscriber."""

    id: str
    callback_url: str
    secret: str = field(repr=False)
    body: str = field(repr=False)
    attempts: int
