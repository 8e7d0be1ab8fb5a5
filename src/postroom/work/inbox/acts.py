"""What a person does in an inbox of their own, through whichever door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from postroom.domain.notification import Notification, NotificationChange, Preferences
from postroom.work.inbox.change import apply, restored
from postroom.work.inbox.ports import Edit, Notes, PreferenceBook
from postroom.work.inbox.preferences import AddressCheck, changed


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxActs:
    """`ring` tells open streams that somebody's inbox changed, `email_due` that a letter is to be written."""

    notes: Notes
    preferences: PreferenceBook
    address: AddressCheck
    ring: Callable[[str], None]
    email_due: Callable[[], None] = lambda: None

    async def change(
        self, user_id: str, notification_id: str, what: NotificationChange, now_us: int, until_us: int | None = None
    ) -> Notification | None:
        """None when there is no such notification in this inbox."""
        return await self._edit(user_id, notification_id, partial(apply, change=what, now_us=now_us, until_us=until_us))

    async def restore(self, user_id: str, notification_id: str, now_us: int) -> Notification | None:
        return await self._edit(user_id, notification_id, partial(restored, now_us=now_us))

    async def read_all(self, user_id: str, now_us: int) -> int:
        many = await self.notes.read_all(user_id, now_us)
        self.ring(user_id)
        return many

    async def see_all(self, user_id: str, now_us: int) -> int:
        return await self.notes.see_all(user_id, now_us)

    async def prefer(self, user_id: str, wishes: Mapping[str, Any], now_us: int, *, confirmed: bool) -> Preferences:
        """Raises ValidationError; an address that is not `confirmed` is asked first whether it wants this."""
        edit = partial(changed, wishes=wishes, address=self.address, confirmed=confirmed)
        after = await self.preferences.change(user_id, edit, now_us)
        if after.email_pending is not None:
            self.email_due()
        return after

    async def _edit(self, user_id: str, notification_id: str, edit: Edit) -> Notification | None:
        after = await self.notes.change(user_id, notification_id, edit)
        if after is not None:
            self.ring(user_id)
        return after
