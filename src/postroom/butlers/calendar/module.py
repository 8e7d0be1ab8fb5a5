"""The calendar as a module of a butler: its section `[modules.calendar]` and its life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, PlainSerializer

from postroom.butlers.calendar.calendar import Calendar, ConflictPolicy, Daytime
from postroom.butlers.calendar.google import GoogleAccount, GoogleCalendar
from postroom.butlers.modules import ModuleConfig
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import (
    TargetUnavailable,
)

_OTHER_NAMES = {"allow": "allow_overlap", "reject": "fail"}


def _zone(name: object) -> object:
    if isinstance(name, ZoneInfo):
        return name
    try:
        return ZoneInfo(str(name))
    except (ValueError, OSError, LookupError):
        raise ValueError(f"'{str(name)[:64]}' is not the name of a time zone, such as Europe/Paris") from None


Zone = Annotated[ZoneInfo, BeforeValidator(_zone), PlainSerializer(str)]
Policy = Annotated[ConflictPolicy, BeforeValidator(lambda name: _OTHER_NAMES.get(name, name))]


class Conflicts(ModuleConfig):
    policy: Policy = ConflictPolicy.SUGGEST
    """What happens when a time is taken: `suggest`, `fail` or `allow_overlap`."""
    earliest_hour: Annotated[int, Field(ge=0, le=23)] = 8
    """Free times are proposed from this hour on, unless the wanted one is earlier."""
    latest_hour: Annotated[int, Field(ge=0, le=24)] = 20
    """And up to this one."""


class CalendarConfig(ModuleConfig):
    provider: Literal["google"]
    """Whose calendar."""
    calendar_id: Annotated[str, Field(min_length=1, max_length=320)] = "primary"
    """`primary`, or the address of another calendar."""
    timezone: Zone = ZoneInfo("UTC")
    """For times without an offset."""
    conflicts: Conflicts = Conflicts()
    client_id_env: str = "GOOGLE_OAUTH_CLIENT_ID"
    """The variable that holds the OAuth client's id."""
    client_secret_env: str = "GOOGLE_OAUTH_CLIENT_SECRET"  # noqa: S105  # the name of a variable
    """The variable that holds its secret."""
    refresh_token_env: str = "GOOGLE_OAUTH_REFRESH_TOKEN"  # noqa: S105  # the name of a variable
    """The variable that holds the refresh token."""
    api_base_url: str = "https://www.googleapis.com/calendar/v3"
    """Where the API is."""
    token_url: str = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address
    """Where access tokens are made."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    """Of one call."""


def google_calendar(config: CalendarConfig, secrets: Sequence[Secret], clock: Clock) -> GoogleCalendar:
    """`secrets`: the client's id and secret, and the refresh token."""
    client_id, client_secret, refresh_token = secrets
    account = GoogleAccount(
        calendar_id=config.calendar_id,
        timezone=config.timezone,
        api_base_url=config.api_base_url,
        token_url=config.token_url,
        timeout_seconds=config.timeout_seconds,
        client_id=client_id,
        client_secret=client_secret,
        refresh_token=refresh_token,
    )
    return GoogleCalendar(account, clock)


class CalendarModule:
    """
    Works without credentials too: its tools then say what is missing, because a
    household that has not connected a calendar is not broken.
    """

    def __init__(self, config: CalendarConfig, environment: Mapping[str, Secret], clock: Clock) -> None:
        self.zone = config.timezone
        names = (config.client_id_env, config.client_secret_env, config.refresh_token_env)
        secrets = {name: value for name in names if (value := environment.get(name))}
        self._missing = [name for name in names if name not in secrets]
        self._google = None if self._missing else google_calendar(config, list(secrets.values()), clock)
        self._hours, self._clock = config.conflicts, clock

    async def stop(self) -> None:
        if self._google is not None:
            await self._google.close()

    def calendar(self) -> Calendar:
        """Raises one of our errors while none is connected."""
        if self._google is None:
            raise TargetUnavailable(f"no calendar is connected: set {', '.join(self._missing)}")
        daytime = Daytime(earliest_hour=self._hours.earliest_hour, latest_hour=self._hours.latest_hour)
        return Calendar(self._google, self._hours.policy, daytime, self._clock)
