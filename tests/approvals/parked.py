"""Deliveries and actions as tests of approvals need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.clock import START_US

from postroom.approvals.model import Action, ActionStatus, Content, content_of
from postroom.delivery.model import NewDelivery
from postroom.kernel.values.ids import DeliveryId, IdMint, seconds
from postroom.message.delivery import Intent, OnUncertain, Priority
from postroom.message.wishes import Risk

MINT = IdMint()
HOUR_US = seconds(3600)


def new_delivery(**changes: Any) -> NewDelivery:
    fresh = MINT.mint(START_US)
    new = NewDelivery(
        id=DeliveryId(fresh),
        idempotency_key=f"key-{fresh}",
        fingerprint=f"key-{fresh}",
        request_id="request",
        origin_butler="general",
        channel="telegram",
        intent=Intent.SEND,
        target_identity="555",
        address="555",
        thread=None,
        message="See you at eight",
        subject=None,
        emoji=None,
        envelope='{"schema_version":"notify.v1","origin_butler":"general","delivery":{"intent":"send",'
        '"channel":"telegram","message":"See you at eight","recipient":"555"}}',
        priority=Priority.MEDIUM,
        on_uncertain=OnUncertain.RESEND,
        created_at_us=START_US,
    )
    return replace(new, **changes)


def content(**changes: Any) -> Content:
    return replace(content_of(new_delivery()), **changes)


def pending_action(**changes: Any) -> Action:
    new = new_delivery()
    action = Action(
        id=new.id,
        origin_butler="general",
        request_id="request",
        content=content_of(new),
        content_hash=content_of(new).hash,
        envelope={"schema_version": "notify.v1", "origin_butler": "general", "delivery": {}},
        risk=Risk.MEDIUM,
        status=ActionStatus.PENDING,
        requested_at_us=START_US,
        expires_at_us=START_US + 48 * HOUR_US,
    )
    return replace(action, **changes)
