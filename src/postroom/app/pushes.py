"""Webhooks put together: where a provider brings what people write, and who reads it there."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from postroom.app.account_channel import hook_secret
from postroom.app.store import OpenedStore
from postroom.domain.ports import Clock, Listen, TakesPushes
from postroom.doors.channels.webhook_route import channel_webhook_router
from postroom.system.settings import Settings
from postroom.system.settings.webhook_base import webhook_bases
from postroom.system.signal import Signal
from postroom.work.conversations.inbound import Handler
from postroom.work.conversations.pushed import LeftPushes, PushedUpdates
from postroom.world.store.conversations.pushed import StoredPushes


def pushes_router(settings: Settings, store: OpenedStore, clock: Clock, bell: Signal) -> APIRouter:
    secrets = {name: hook_secret(settings.home, name) for name in webhook_bases(settings)}
    return channel_webhook_router(secrets, StoredPushes(store.database), clock, bell.ring)


def reading_pushes(name: str, channel: Listen, store: OpenedStore, clock: Clock, bell: Signal) -> PushedUpdates | None:
    """None where the provider is asked."""
    if not isinstance(channel, TakesPushes) or not channel.is_pushed:
        return None
    return PushedUpdates(channel=name, bot=channel, store=StoredPushes(store.database), clock=clock, bell=bell)


def left_pushes(
    name: str, channel: Listen, store: OpenedStore, handlers: Sequence[Handler], clock: Clock
) -> LeftPushes | None:
    if not isinstance(channel, TakesPushes) or channel.is_pushed:
        return None
    return LeftPushes(channel=name, bot=channel, store=StoredPushes(store.database), handlers=handlers, clock=clock)
