"""A person's own preferences over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from postroom.domain.clock import Clock
from postroom.domain.notification import Preferences
from postroom.domain.principal import Principal, Role
from postroom.doors.guard.depends import Caller
from postroom.doors.notifications.models import PreferencesOut, PreferencesPatch, PreferencesPut
from postroom.doors.notifications.person import Myself
from postroom.work.inbox.acts import InboxActs
from postroom.work.inbox.ports import PreferenceBook
from postroom.work.inbox.preferences import warnings_of


def add_preferences(
    router: APIRouter,
    book: PreferenceBook,
    acts: InboxActs,
    clock: Clock,
    *,
    email_enabled: bool,
) -> None:
    def shown(kept: Preferences) -> PreferencesOut:
        return PreferencesOut.of(kept, warnings_of(kept, email_enabled=email_enabled))

    async def write(person: str, caller: Principal, wishes: Mapping[str, Any]) -> PreferencesOut:
        return shown(await acts.prefer(person, wishes, clock.now_us(), confirmed=caller.role is Role.OPERATOR))

    @router.get("/preferences", operation_id="getPreferences", summary="How this person wants to be told")
    async def get_preferences(person: Myself) -> PreferencesOut:
        return shown(await book.of(person))

    @router.put("/preferences", operation_id="putPreferences", summary="Replace all preferences")
    async def put_preferences(person: Myself, caller: Caller, body: PreferencesPut) -> PreferencesOut:
        return await write(person, caller, body.whole())

    @router.patch("/preferences", operation_id="patchPreferences", summary="Change some preferences")
    async def patch_preferences(person: Myself, caller: Caller, body: PreferencesPatch) -> PreferencesOut:
        return await write(person, caller, body.given())
