"""The section `[modules.calendar]`."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, PlainSerializer

from postroom.domain.calendar import ConflictPolicy
from postroom.doors.butler.modules.module import ModuleConfig

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
