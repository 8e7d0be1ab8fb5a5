"""The links by which strangers end our letters, and the page behind them."""

from __future__ import annotations

from fastapi import APIRouter

from postroom.app.household_key import household_key
from postroom.app.store import OpenedStore
from postroom.domain.ports import Clock
from postroom.doors.notifications.unsubscribe import unsubscribe_router
from postroom.system.settings import Settings
from postroom.work.delivery.unsubscribing import UnsubscribeLinks, Unsubscribing
from postroom.world.store.deliveries.news import StoredNews


def unsubscribe_links(settings: Settings) -> UnsubscribeLinks:
    return UnsubscribeLinks(key=household_key(settings.home, "unsubscribe links"))


def leaving_router(settings: Settings, store: OpenedStore, clock: Clock) -> APIRouter:
    leaving = Unsubscribing(links=unsubscribe_links(settings), sent=StoredNews(store.database))
    return unsubscribe_router(leaving, clock)
