"""Put a person's e-mail address into that person's preferences, without a running household."""

from __future__ import annotations

from functools import partial

from postroom.app.store import open_store
from postroom.domain.errors import ValidationError
from postroom.domain.settings_error import SettingsError
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.inbox.preferences import changed
from postroom.world.channels.mailbox import mailbox
from postroom.world.store.inbox.preferences import StoredPreferences


async def remember_address(settings: Settings, user_id: str, email: str) -> None:
    edit = partial(changed, wishes={"email": email}, address=mailbox, confirmed=True)
    async with open_store(settings) as store:
        try:
            await StoredPreferences(store.database).change(user_id, edit, SystemClock().now_us())
        except ValidationError as error:
            raise SettingsError(f"--email: {error.fields[0].error}.") from None
