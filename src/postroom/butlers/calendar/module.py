"""The calendar as a module of a butler: its section `[modules.calendar]`, its life and its tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BeforeValidator, Field, PlainSerializer

from postroom.butlers.calendar.calendar import Calendar, ConflictPolicy, Daytime, EventEdit, parse_span
from postroom.butlers.calendar.google import GoogleAccount, GoogleCalendar
from postroom.butlers.modules import ModuleConfig, ModuleContext
from postroom.kernel.guard.tools import Rule, itself
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Secret
from postroom.kernel.serving.json_door import answered
from postroom.kernel.values.errors import (
    FieldError,
    PostroomError,
    TargetUnavailable,
    ValidationError,
    error_answer,
    error_object,
)
from postroom.kernel.values.fields import text_problem

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

    def __init__(self, config: CalendarConfig, context: ModuleContext) -> None:
        self._butler, self._zone = context.butler, config.timezone
        names = (config.client_id_env, config.client_secret_env, config.refresh_token_env)
        secrets = {name: value for name in names if (value := context.environment.get(name))}
        self._missing = [name for name in names if name not in secrets]
        self._google = None if self._missing else google_calendar(config, list(secrets.values()), context.clock)
        self._hours, self._clock = config.conflicts, context.clock

    def tools(self, server: MCPServer[Any]) -> dict[str, Rule]:
        """Adds the tools and says who may call each."""
        add_tools(server, self._connected, self._zone)
        return dict.fromkeys(TOOL_NAMES, itself(self._butler))

    async def stop(self) -> None:
        if self._google is not None:
            await self._google.close()

    def _connected(self) -> Calendar:
        if self._google is None:
            raise TargetUnavailable(f"no calendar is connected: set {', '.join(self._missing)}")
        daytime = Daytime(earliest_hour=self._hours.earliest_hour, latest_hour=self._hours.latest_hour)
        return Calendar(self._google, self._hours.policy, daytime, self._clock)


# The tools, as a model sees them.

TOOL_NAMES: Final = (
    "calendar_list_events",
    "calendar_get_event",
    "calendar_create_event",
    "calendar_update_event",
    "calendar_delete_event",
    "calendar_find_conflicts",
)

_EVENT_ID: Final = re.compile(r"[A-Za-z0-9_@.-]{1,1024}")
_LINE: Final = re.compile(r"[\x20-\x7e]+")
_KEY_CHARACTERS: Final = 200
_GOOGLES_NAMES: Final = {"title": "summary"}

Moment = Annotated[
    str | None,
    Field(description="2026-05-01T10:00 in the time zone, 2026-05-01T10:00:00+02:00, or 2026-05-01 for whole days"),
]
_RequiredMoment = Annotated[
    str,
    Field(description="2026-05-01T10:00 in the time zone, 2026-05-01T10:00:00+02:00, or 2026-05-01 for whole days"),
]
_ZoneName = Annotated[str | None, Field(description="IANA name such as Europe/Paris; without it the calendar's own")]
Title = Annotated[str, Field(min_length=1, max_length=500)]
_OptionalTitle = Annotated[str | None, Field(min_length=1, max_length=500)]
Text = Annotated[str | None, Field(max_length=8_000)]
Key = Annotated[
    str | None, Field(max_length=_KEY_CHARACTERS, description="pass one when you may repeat the call: created once")
]
_Etag = Annotated[str | None, Field(max_length=200, description="change only this version of the event")]

CalendarSource = Callable[[], Calendar]  # raises one of our errors while no calendar is connected


def add_tools(server: MCPServer[Any], calendar: CalendarSource, own_zone: ZoneInfo) -> None:
    _add_reading(server, calendar, own_zone)
    _add_writing(server, calendar, own_zone)


def _add_reading(server: MCPServer[Any], calendar: CalendarSource, own_zone: ZoneInfo) -> None:
    @answered(_unread(events=[]))
    async def calendar_list_events(
        start: Moment = None,
        end: Moment = None,
        timezone: _ZoneName = None,
        limit: Annotated[int, Field(ge=1, le=250)] = 50,
    ) -> dict[str, Any]:
        """List what is in the calendar between two moments, in order; by default the next seven days. \
When `complete` is false the calendar could not be read and may hold more than is shown."""
        return await calendar().list_events(start, end, _tools_zone(timezone, own_zone), limit)

    @answered(_unread(event=None))
    async def calendar_get_event(event_id: str, timezone: _ZoneName = None) -> dict[str, Any]:
        """Read one event with its description and its `etag`, by which a change can be bound to what you have seen."""
        return await calendar().get_event(_id(event_id), _tools_zone(timezone, own_zone))

    @answered(_unread(conflicts=[], suggested_slots=[]))
    async def calendar_find_conflicts(
        start: _RequiredMoment,
        end: _RequiredMoment,
        timezone: _ZoneName = None,
        ignore_event_id: str | None = None,
    ) -> dict[str, Any]:
        """See what stands in the way of a time, and up to three free times of the same length nearby. \
Nothing is changed."""
        return await calendar().find_conflicts(
            parse_span(start, end, _tools_zone(timezone, own_zone)), _id(ignore_event_id) if ignore_event_id else None
        )

    for tool in (calendar_list_events, calendar_get_event, calendar_find_conflicts):
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True))


def _add_writing(server: MCPServer[Any], calendar: CalendarSource, own_zone: ZoneInfo) -> None:
    @answered(error_answer)
    async def calendar_create_event(
        title: Title,
        start: _RequiredMoment,
        end: _RequiredMoment,
        timezone: _ZoneName = None,
        description: Text = None,
        location: Text = None,
        idempotency_key: Key = None,
    ) -> dict[str, Any]:
        """Put an event into the calendar. Whole days take dates, the end being the day after the last. \
If the time is taken the answer is `status: conflict` with what is in the way and, when the household wishes it, \
up to three free times: nothing was created, so ask the person or choose one and call again. \
Nobody is invited or told; use `notify` for that."""
        return await calendar().create_event(
            parse_span(start, end, _tools_zone(timezone, own_zone)),
            _texts(title=title, description=description, location=location),
            idempotency_key,
        )

    @answered(error_answer)
    async def calendar_update_event(
        event_id: str,
        title: _OptionalTitle = None,
        start: Moment = None,
        end: Moment = None,
        timezone: _ZoneName = None,
        description: Text = None,
        location: Text = None,
        etag: _Etag = None,
    ) -> dict[str, Any]:
        """Change an event; what is left out stays as it is, and a new start alone moves it with its length. \
A time that is taken answers `status: conflict` as in calendar_create_event, and nothing was changed."""
        return await calendar().update_event(
            EventEdit(
                event_id=_id(event_id),
                start=start,
                end=end,
                zone=_tools_zone(timezone, own_zone),
                texts=_texts(title=title, description=description, location=location),
                etag=_etag(etag),
            )
        )

    @answered(error_answer)
    async def calendar_delete_event(event_id: str, etag: _Etag = None) -> dict[str, Any]:
        """Take an event out of the calendar. This cannot be undone here; nobody is told."""
        return await calendar().delete_event(_id(event_id), _etag(etag))

    keyed = ToolAnnotations(destructive_hint=False, open_world_hint=True)
    server.add_tool(calendar_create_event, annotations=keyed)
    for tool in (calendar_update_event, calendar_delete_event):
        server.add_tool(tool, annotations=ToolAnnotations(destructive_hint=True, open_world_hint=True))


def _unread(**empty: Any) -> Callable[[PostroomError], dict[str, Any]]:
    """A wrong argument is an error; a calendar that is not there is an empty answer with a note."""

    def shape(error: PostroomError) -> dict[str, Any]:
        if isinstance(error, ValidationError):
            return error_answer(error)
        return {"status": "ok", "complete": False, "note": error.message, "error": error_object(error), **empty}

    return shape


def _tools_zone(name: str | None, own: ZoneInfo) -> ZoneInfo:
    if name is None:
        return own
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        error = FieldError("timezone", "is not the name of a time zone, such as Europe/Paris", "unknown_timezone")
        raise ValidationError.of([error]) from None


def _id(event_id: str) -> str:
    if not _EVENT_ID.fullmatch(event_id):
        raise ValidationError.of([FieldError("event_id", "is not the id of an event", "invalid_id")])
    return event_id


def _etag(etag: str | None) -> str | None:
    """It travels as a header, which is one line."""
    if etag is not None and not _LINE.fullmatch(etag):
        raise ValidationError.of([FieldError("etag", "is not the etag of an event", "invalid_etag")])
    return etag


def _texts(**texts: str | None) -> dict[str, str]:
    given = {name: text for name, text in texts.items() if text is not None}
    wrong = [
        FieldError(name, problem, "invalid_text") for name, text in given.items() if (problem := text_problem(text))
    ]
    if wrong:
        raise ValidationError.of(wrong)
    return {_GOOGLES_NAMES.get(name, name): text for name, text in given.items()}
