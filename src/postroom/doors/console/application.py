"""The console as one application: who is there, may they see this, and which page answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from postroom.domain.audit import NewAudit
from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.doors.audit.ports import Audit
from postroom.doors.console.app_files import app_routes
from postroom.doors.console.audited import entry_of
from postroom.doors.console.badges import Badges
from postroom.doors.console.cookies import did_nothing, session_secret
from postroom.doors.console.form import Form, FormRefused, check_token, read_form
from postroom.doors.console.headers import Protected
from postroom.doors.console.local_path import asked_path
from postroom.doors.console.message import message
from postroom.doors.console.names import NameBook
from postroom.doors.console.navigation import Navigation, NavigationEntry
from postroom.doors.console.passkey_routes import PasskeyDoor
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT
from postroom.doors.console.sign_in import AskedLinks, SignInPages, sign_in_page, sign_out_page, theme_page
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit

_REFUSED = ("Nothing was done", "")
_OWNER = ("For the owner", "This page shows the whole household. You are signed in as {who}.")
_UNKNOWN = ("Not found", "There is nothing at this address.")
_AWAY = ("The database is not available", "Nothing is lost: try again in a moment.")
_BROKEN = ("Something went wrong", "The error is ours and has been written to the log.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleParts:
    sections: Sequence[ConsoleSection]
    badges: Badges
    sandbox_url: str | None
    more_pages: Sequence[ConsolePage]
    sessions: ConsoleSessions
    links: AskedLinks
    audit: Audit
    clock: Clock
    names: NameBook
    zone_of: Callable[[str], Awaitable[str]]
    passkeys: Callable[[SignInPages], PasskeyDoor]


def console_app(parts: ConsoleParts) -> Starlette:
    templates = Templates(parts.sandbox_url)
    coming_in = SignInPages(sessions=parts.sessions, links=parts.links, clock=parts.clock, templates=templates)
    passkeys = parts.passkeys(coming_in)
    pages = [page for section in parts.sections for page in section.pages]
    pages += [*parts.more_pages, *passkeys.pages(), sign_out_page(parts.sessions), theme_page()]
    doors = _Doors(parts, templates)
    routes: list[BaseRoute] = [Mount("/static", StaticFiles(packages=[("postroom.doors.console", "static")]))]
    routes += [*app_routes(templates), *coming_in.routes(), *passkeys.routes()]
    routes += [Route(page.path, doors.to(page), methods=[page.method]) for page in pages]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Protected)],
        exception_handlers={HTTPException: doors.explain, FormRefused: doors.explain, StoreUnavailable: doors.explain},
    )


class _Doors:
    """Every page is reached through here, so none can forget to ask."""

    def __init__(self, parts: ConsoleParts, templates: Templates) -> None:
        self._parts = parts
        self._templates = templates

    def to(self, page: ConsolePage) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            secret, now_us = session_secret(request), self._parts.clock.now_us()
            session = await self._parts.sessions.find(secret, now_us) if secret else None
            if session is None:
                return sign_in_page(self._templates, request, wanted=asked_path(request), status=401)
            visit = Visit(
                request=request,
                principal=session.principal,
                secret=secret,
                form=Form(),
                now_us=now_us,
                templates=self._templates,
                navigation=await self._navigation(session.principal, now_us),
                book=self._parts.names,
                session=session,
                zone=await self._parts.zone_of(person_id_of(session.principal) or ""),
            )
            if not page.open_to(visit.principal):
                return self._says(request, 403, _OWNER[0], _OWNER[1].format(who=visit.shown_as))
            return await (self._acted(page, visit) if page.method == "POST" else page.handler(visit))

        return answer

    async def _acted(self, page: ConsolePage, visit: Visit) -> Response:
        """What was done is written down by the door that did it, so that no page can forget to."""
        form = await read_form(visit.request)
        check_token(form, visit.secret)
        response = await page.handler(replace(visit, form=form))
        if response.status_code < 400 and not did_nothing(response):
            await self._noted(entry_of(page.path, replace(visit, form=form)))
        return response

    async def _noted(self, new: NewAudit | None) -> None:
        """The act is done: a person who heard otherwise would do it again."""
        with suppress(StoreUnavailable):
            if new is not None:
                await self._parts.audit.add(new, self._parts.clock.now_us())

    async def explain(self, request: Request, error: Exception) -> Response:
        """In a page, not in JSON: whoever reads this is a person."""
        if isinstance(error, FormRefused):
            return self._says(request, 403, _REFUSED[0], str(error))
        if isinstance(error, StoreUnavailable):
            return self._says(request, 503, *_AWAY)
        status = error.status_code if isinstance(error, HTTPException) else 500
        return self._says(request, status, *(_UNKNOWN if status in (404, 405) else _BROKEN))

    async def _navigation(self, who: Principal, now_us: int) -> Navigation:
        waiting = await self._parts.badges.of(who, now_us)
        return Navigation(
            [
                NavigationEntry(name=one.name, path=ROOT + one.path, group=one.group, waiting=waiting.get(one.path, 0))
                for one in self._parts.sections
                if one.is_open_to(who)
            ]
        )

    def _says(self, request: Request, status: int, title: str, text: str) -> Response:
        return message(self._templates, request, title, text, status=status)
