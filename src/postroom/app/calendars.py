"""Google's calendar, as a module's section and the household's secrets describe it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from postroom.domain.clock import Clock
from postroom.doors.butler.modules.calendar.config import CalendarConfig
from postroom.doors.butler.modules.module import Calendars
from postroom.system.settings import Secret
from postroom.world.calendar.access import Credentials
from postroom.world.calendar.google import GoogleAccount, GoogleCalendar


def google_calendars(clock: Clock) -> Calendars:
    return partial(_google, clock=clock)


def _google(config: CalendarConfig, secrets: Sequence[Secret], *, clock: Clock) -> GoogleCalendar:
    client_id, client_secret, refresh_token = secrets
    account = GoogleAccount(
        calendar_id=config.calendar_id,
        timezone=config.timezone,
        api_base_url=config.api_base_url,
        token_url=config.token_url,
        timeout_seconds=config.timeout_seconds,
        credentials=Credentials(client_id=client_id, client_secret=client_secret, refresh_token=refresh_token),
    )
    return GoogleCalendar(account, clock)
