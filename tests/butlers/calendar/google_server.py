"""Google's calendar and login as far as we use them, over HTTP on this machine."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

FORM = {
    "grant_type": "refresh_token",
    "client_id": "client",
    "client_secret": "canary-secret",
    "refresh_token": "canary-refresh",
}


@dataclass(slots=True)
class Trouble:
    """One answer that is given instead of the right one; `cut` does the work and then hangs up."""

    status: int = 0
    reason: str = ""
    retry_after: str | None = None
    method: str | None = None
    cut: bool = False


@dataclass(slots=True)
class Google:
    api_url: str = ""
    token_url: str = ""
    page_size: int = 250
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    refreshes: int = 0
    login_error: str = ""
    troubles: list[Trouble] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    changed_on_read: bool = False  # somebody else is faster, once
    versions: Any = field(default_factory=lambda: itertools.count(1))

    def put(self, event_id: str, start: str, end: str, **more: Any) -> None:
        """Moments with an offset, or dates."""
        name = "date" if len(start) == 10 else "dateTime"
        times = {"start": {name: start}, "end": {name: end}}
        self._store({"id": event_id, "status": "confirmed", "summary": event_id, **times, **more})

    def expire_tokens(self) -> None:
        self.tokens.clear()

    async def login(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        if self.login_error or form != FORM:
            return web.json_response({"error": self.login_error or "invalid_client"}, status=400)
        self.refreshes += 1
        token = f"access-{self.refreshes}"
        self.tokens.add(token)
        return web.json_response({"access_token": token, "expires_in": 3600, "token_type": "Bearer"})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs))
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return _refuse(401, "authError")
        trouble = self._trouble(request)
        if trouble and not trouble.cut:
            return _refuse(trouble.status, trouble.reason, trouble.retry_after)
        response = await self._right_answer(request)
        if trouble and request.transport is not None:
            request.transport.abort()
        return response

    def _trouble(self, request: web.Request) -> Trouble | None:
        if self.troubles and self.troubles[0].method in (None, request.method):
            return self.troubles.pop(0)
        return None

    async def _right_answer(self, request: web.Request) -> web.Response:
        if request.match_info["calendar"] != "family@example.com":
            return _refuse(404, "notFound")
        event_id = request.match_info.get("event")
        if event_id is None:
            return self._list(request) if request.method == "GET" else await self._insert(request)
        event = self.events.get(event_id)
        if event is None:
            return _refuse(404, "notFound")
        if event["status"] == "cancelled" and request.method == "DELETE":
            return _refuse(410, "deleted")
        if request.method == "GET":
            response = web.json_response(event)
            if self.changed_on_read:
                self.changed_on_read = False
                self._store(event | {"location": "elsewhere"})
            return response
        if request.headers.get("If-Match", event["etag"]) != event["etag"]:
            return _refuse(412, "conditionNotMet")
        assert request.query["sendUpdates"] == "none"
        if request.method == "DELETE":
            self._store(event | {"status": "cancelled"})
            return web.Response(status=204)
        return self._patch(event, await request.json())

    def _list(self, request: web.Request) -> web.Response:
        low, high = (datetime.fromisoformat(request.query[name]) for name in ("timeMin", "timeMax"))
        assert request.query["singleEvents"] == "true"
        living = [event for event in self.events.values() if event["status"] != "cancelled"]
        found = sorted(
            (one for one in living if _moment(one["start"]) < high and low < _moment(one["end"])),
            key=lambda one: _moment(one["start"]),
        )
        first = int(request.query.get("pageToken", "0"))
        page: dict[str, Any] = {"kind": "calendar#events", "items": found[first : first + self.page_size]}
        if first + self.page_size < len(found):
            page["nextPageToken"] = str(first + self.page_size)
        return web.json_response(page)

    async def _insert(self, request: web.Request) -> web.Response:
        event = await request.json()
        assert set(event["id"]) <= set("0123456789abcdefghijklmnopqrstuv") and 5 <= len(event["id"]) <= 1024
        if event["id"] in self.events:
            return _refuse(409, "duplicate")
        return web.json_response(self._store({"status": "confirmed", **event}))

    def _patch(self, event: dict[str, Any], change: dict[str, Any]) -> web.Response:
        merged = dict(event)
        for name, value in change.items():
            old = merged.get(name)
            merged[name] = _without_nulls(old | value) if isinstance(value, dict) and isinstance(old, dict) else value
        if any(("date" in merged[name]) == ("dateTime" in merged[name]) for name in ("start", "end")):
            return _refuse(400, "invalid")
        return web.json_response(self._store(merged))

    def _store(self, event: dict[str, Any]) -> dict[str, Any]:
        event = event | {"etag": f'"{next(self.versions)}"'}
        self.events[event["id"]] = event
        return event


def _moment(end: dict[str, str]) -> datetime:
    if "date" in end:
        return datetime.fromisoformat(end["date"]).replace(tzinfo=UTC)
    return datetime.fromisoformat(end["dateTime"])


def _without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _refuse(status: int, reason: str, retry_after: str | None = None) -> web.Response:
    body = {"error": {"code": status, "message": "words", "errors": [{"domain": "global", "reason": reason}]}}
    return web.json_response(body, status=status, headers={"Retry-After": retry_after} if retry_after else {})


@asynccontextmanager
async def google_server() -> AsyncIterator[Google]:
    google = Google()
    app = web.Application()
    app.router.add_post("/token", google.login)
    app.router.add_route("*", "/calendar/v3/calendars/{calendar}/events", google.answer)
    app.router.add_route("*", "/calendar/v3/calendars/{calendar}/events/{event}", google.answer)
    async with TestServer(app) as server:
        google.api_url = str(server.make_url("/calendar/v3"))
        google.token_url = str(server.make_url("/token"))
        yield google


def at(day: int, hour: int, minute: int = 0) -> str:
    """A moment in May 2026, UTC."""
    return (datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day - 1, hours=hour, minutes=minute)).isoformat()
