"""Google Calendar: its access tokens, its REST interface, and what its answers mean."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from postroom.kernel.http.answers import JsonObject, as_object, json_object, objects_in, wait_seconds
from postroom.kernel.http.call import HttpCall
from postroom.kernel.http.tokens import NotGranted, granted, send_form
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import seconds, to_datetime

# Whose calendar, and access tokens, refreshed before they run out.

_MARGIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleAccount:
    """Which calendar, where Google is, and how we are known there."""

    calendar_id: str
    timezone: ZoneInfo
    api_base_url: str
    token_url: str
    timeout_seconds: float
    client_id: Secret
    client_secret: Secret
    refresh_token: Secret


class _AccessTokens:
    """One refresh at a time; everybody who waits gets its result."""

    def __init__(self, account: GoogleAccount, clock: Clock) -> None:
        self._account = account
        self._clock = clock
        self._token = ""
        self._good_until_us = 0
        self._lock = asyncio.Lock()

    async def get(self, *, refused: str = "") -> str:
        """`refused` is a token that was just turned down, and is not given out again."""
        async with self._lock:
            if self._token in ("", refused) or self._clock.now_us() >= self._good_until_us:
                await self._refresh()
            return self._token

    async def _refresh(self) -> None:
        account = self._account
        form = {
            "grant_type": "refresh_token",
            "client_id": account.client_id.reveal(),
            "client_secret": account.client_secret.reveal(),
            "refresh_token": account.refresh_token.reveal(),
        }
        try:
            told = granted(await send_form("Google's login", account.token_url, form, account.timeout_seconds))
        except NotGranted as refused:
            raise _refused(refused.status, refused.code) from None
        self._token = told.access_token
        self._good_until_us = self._clock.now_us() + seconds(max(0.0, told.lasts_seconds - _MARGIN_SECONDS))


def _refused(status: int, reason: str) -> TargetUnavailable:
    if reason == "invalid_grant":
        return TargetUnavailable("Google no longer accepts the refresh token; connect the calendar again")
    return TargetUnavailable(f"Google's login answered {status}" + (f" ({reason})" if reason else ""))


# What Google's answers mean, by status and reason and never by words.

_LIMITS: Final = frozenset(
    {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "calendarUsageLimitsExceeded"}
)
_REASON: Final = re.compile(r"[A-Za-z_]{1,60}")


class EventMissing(ValidationError):
    """There is no such event, or not any more."""


class EventExists(ValidationError):
    """An event with this id was created before."""


class EventChanged(TargetUnavailable):
    """Somebody changed the event since it was read."""


class NotNow(TargetUnavailable):
    """Google turned the request away before it began with it."""


class LoginExpired(TargetUnavailable):
    """The access token is not accepted; a new one may be."""


def reason_of(body: bytes) -> str:
    """Google's own word for it, or nothing."""
    reasons = [one.get("reason") for one in objects_in(as_object(json_object(body).get("error")).get("errors"))]
    return reasons[0] if reasons and isinstance(reasons[0], str) and _REASON.fullmatch(reasons[0]) else ""


def refusal(status: int, reason: str, wait_seconds: float) -> PostroomError:
    said = f"Google Calendar answered {status}" + (f" ({reason})" if reason else "")
    if status == 429 or (status == 403 and reason in _LIMITS):
        return ProviderThrottled(said, retry_after_seconds=wait_seconds)
    match status:
        case 401:
            return LoginExpired(said)
        case 404 | 410:
            return EventMissing("there is no such event, or it was deleted")
        case 409:
            return EventExists("an event with this id exists already")
        case 412:
            return EventChanged("the event was changed by somebody else in the meantime; read it again")
        case 503:
            return NotNow(said, retry_after_seconds=wait_seconds)
        case _ if 400 <= status < 500:
            return ValidationError(said)
        case _:
            return TargetUnavailable(said, retry_after_seconds=wait_seconds)


# Its REST interface, version 3.

_MAX_ATTEMPTS: Final = 3
LONGEST_WAIT_SECONDS: Final = 30.0
_PAGE: Final = 250
_MOST_PAGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleCall:
    """`repeatable` when a second arrival would change nothing, so that a lost answer may be asked for again."""

    method: str
    path: str
    query: Mapping[str, str]
    body: JsonObject | None = None
    etag: str | None = None
    repeatable: bool = True


class GoogleCalendar:
    """Waits and tries again where Google asks for it; everything else is one of our errors."""

    def __init__(self, account: GoogleAccount, clock: Clock) -> None:
        self._clock = clock
        self._api = account.api_base_url.rstrip("/")
        self._events = f"/calendars/{quote(account.calendar_id, safe='')}/events"
        self._zone = account.timezone.key
        self._timeout_seconds = account.timeout_seconds
        self._access = _AccessTokens(account, clock)
        self._http = HttpCall("Google Calendar")

    async def close(self) -> None:
        await self._http.close()

    async def pages(self, start: datetime, end: datetime) -> AsyncIterator[list[Any]]:
        """What takes place between the two moments, in order, repeated events one by one."""
        query = {
            "timeMin": start.isoformat(),
            "timeMax": end.isoformat(),
            "singleEvents": "true",
            "orderBy": "startTime",
            "maxResults": str(_PAGE),
            "timeZone": self._zone,
        }
        for _ in range(_MOST_PAGES):
            answer = await self._known(GoogleCall(method="GET", path=self._events, query=query))
            items = answer.get("items")
            yield items if isinstance(items, list) else []
            following = answer.get("nextPageToken")
            if not isinstance(following, str) or not following:
                return
            query |= {"pageToken": following}
        raise TargetUnavailable(f"Google Calendar sends more than {_MOST_PAGES} pages")

    async def get(self, event_id: str) -> Document:
        return await self._send(GoogleCall(method="GET", path=self._event(event_id), query={}))

    async def insert(self, body: JsonObject) -> Document:
        """The body names the event's id, so the same event is never created twice."""
        return await self._known(GoogleCall(method="POST", path=self._events, query=_QUIET, body=body))

    async def patch(self, event_id: str, body: JsonObject, etag: str) -> Document:
        call = GoogleCall(
            method="PATCH", path=self._event(event_id), query=_QUIET, body=body, etag=etag, repeatable=False
        )
        return await self._send(call)

    async def delete(self, event_id: str, etag: str | None) -> None:
        call = GoogleCall(method="DELETE", path=self._event(event_id), query=_QUIET, etag=etag, repeatable=False)
        await self._send(call)

    def _event(self, event_id: str) -> str:
        return f"{self._events}/{quote(event_id, safe='')}"

    async def _known(self, call: GoogleCall) -> Document:
        """On the calendar itself, where "not found" speaks of the household's settings and not of an event."""
        try:
            return await self._send(call)
        except EventMissing:
            raise TargetUnavailable("Google has no calendar with the household's calendar_id") from None

    async def _send(self, call: GoogleCall) -> Document:
        refused = ""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            token = await self._access.get(refused=refused)
            try:
                return await self._once(call, token)
            except LoginExpired:
                if refused:
                    break
                refused = token
            except (TargetUnavailable, DeliveryTimeout, OutcomeUncertain) as error:
                if attempt == _MAX_ATTEMPTS or not _may_repeat(call, error):
                    raise
                await self._pause(attempt, error)
        raise TargetUnavailable("Google does not accept our credentials; connect the calendar again")

    async def _once(self, call: GoogleCall, token: str) -> Document:
        url = f"{self._api}{call.path}?{urlencode(call.query)}"
        headers = {"Authorization": f"Bearer {token}"} | ({"If-Match": call.etag} if call.etag else {})
        body = None
        if call.body is not None:
            headers["Content-Type"], body = "application/json", json.dumps(call.body).encode()
        answer = await self._http.request(call.method, url, self._timeout_seconds, body=body, headers=headers)
        if not 200 <= answer.status < 300:
            wait = wait_seconds(None, answer.retry_after, to_datetime(self._clock.now_us()))
            raise refusal(answer.status, reason_of(answer.body), wait)
        return _document(answer.body)

    async def _pause(self, attempt: int, error: PostroomError) -> None:
        wait = max(2.0 ** (attempt - 1), error.retry_after_seconds or 0.0)
        if wait > LONGEST_WAIT_SECONDS:
            raise error
        await self._clock.wait(asyncio.Event(), self._clock.now_us() + seconds(wait))


def _document(body: bytes) -> Document:
    try:
        answer = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise InternalError("Google Calendar's answer cannot be read")
    return answer


# Guests hear from the household through `notify`, where messages are checked, limited and recorded.
_QUIET: Final = {"sendUpdates": "none"}


def _may_repeat(call: GoogleCall, error: PostroomError) -> bool:
    """Google has not begun with what it throttles or turns away as unavailable."""
    return isinstance(error, ProviderThrottled | NotNow) or (call.repeatable and not isinstance(error, EventChanged))
