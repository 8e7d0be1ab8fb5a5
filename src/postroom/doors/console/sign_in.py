"""Coming in by a link that works once, by a link that is asked for, or by a passkey; leaving; light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from postroom.domain.clock import Clock
from postroom.domain.console_session import new_secret
from postroom.doors.console.cookies import (
    browser_secret,
    drop_session,
    keep_browser,
    keep_session,
    keep_theme,
    keep_wanted,
    session_secret,
    theme_of,
    wanted_page,
)
from postroom.doors.console.device_words import device_words
from postroom.doors.console.form import read_form
from postroom.doors.console.local_path import local_path
from postroom.doors.console.message import message
from postroom.doors.console.passkey_site import is_this_machine, local_address, site_of
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, Visit, anybody

_STALE: Final = (
    "This link does not work any more",
    "A link works once and for ten minutes. Ask for a new one on the sign-in page, or run “postroom login”.",
)
_ELSEWHERE: Final = (
    "Open this link where you asked for it",
    "It works in the browser that asked for it, and nowhere else, so that a forwarded link is of no use to others. "
    "Copy it there, or ask for a new one here.",
)
_SENT: Final = (
    "Look at your messages",
    "If that is a person who may sign in and has a verified address, a link is on its way there. It works once, for "
    "ten minutes, in this browser. Nothing came? At most three links are open at a time, and five are sent an hour.",
)
_NEXT_THEME: Final = {"auto": "light", "light": "dark", "dark": "auto"}


class AskedLinks(Protocol):
    async def ask(self, who: str, *, sender: str, browser: str, now_us: int) -> None:
        """Sends a link if this names a person who may have one; says nothing of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPages:
    sessions: ConsoleSessions
    links: AskedLinks
    clock: Clock
    templates: Templates

    async def ask(self, request: Request) -> Response:
        """Opening a link uses nothing up: programs that look at links ahead of people must not sign in."""
        return sign_in_page(self.templates, request, wanted=local_path(request.query_params.get("next", "")))

    async def enter(self, request: Request) -> Response:
        form, now_us = await read_form(request), self.clock.now_us()
        key, browser = form.get("key"), browser_secret(request)
        device = device_words(request.headers.get("user-agent", ""))
        secret = await self.sessions.redeem(key, now_us, browser=browser, device=device)
        if secret is None:
            if await self.sessions.is_for_another_browser(key, browser, now_us):
                return self._elsewhere(request, key)
            return message(self.templates, request, *_STALE, status=403)
        asked = [local_path(one) for one in (form.get("next"), wanted_page(request))]
        response = RedirectResponse(next((one for one in asked if one != f"{ROOT}/"), f"{ROOT}/"), status_code=303)
        await self.come_in(request, response, secret)
        keep_wanted(response, request, "")
        return response

    def _elsewhere(self, request: Request, key: str) -> Response:
        """To a browser this machine has two names, and what it was given under one it does not show under the other."""
        if not is_this_machine(request):
            return message(self.templates, request, *_ELSEWHERE, status=403)
        way = ("Open it under the other name of this machine", f"{local_address(request)}{ROOT}/login?key={quote(key)}")
        return message(self.templates, request, *_ELSEWHERE, status=403, way=way)

    async def send_link(self, request: Request) -> Response:
        """The same answer to everybody."""
        form = await read_form(request)
        browser = browser_secret(request) or new_secret()
        sender = request.client.host if request.client else ""
        await self.links.ask(form.get("who"), sender=sender, browser=browser, now_us=self.clock.now_us())
        response = message(self.templates, request, *_SENT)
        keep_browser(response, request, browser)
        keep_wanted(response, request, local_path(form.get("next")))
        return response

    async def come_in(self, request: Request, response: Response, secret: str) -> None:
        """Always with a new secret; a session this browser had before ends."""
        if before := session_secret(request):
            await self.sessions.end(before, self.clock.now_us())
        keep_session(response, request, secret)

    def routes(self) -> Sequence[Route]:
        return [
            Route("/login", self.ask, methods=["GET"]),
            Route("/login", self.enter, methods=["POST"]),
            Route("/login/link", self.send_link, methods=["POST"]),
        ]


def sign_in_page(templates: Templates, request: Request, *, wanted: str, status: int = 200) -> Response:
    """`wanted` is the page to go to afterwards."""
    shown = templates.render(
        "sign_in.html",
        key=request.query_params.get("key", "") if status == 200 else "",
        wanted=wanted,
        is_page=wanted != f"{ROOT}/",
        has_passkeys=site_of(request) is not None,
        local_address=f"{local_address(request)}{ROOT}/login" if is_this_machine(request) else "",
        theme=theme_of(request),
    )
    return HTMLResponse(shown, status_code=status)


def sign_out_page(sessions: ConsoleSessions) -> ConsolePage:
    async def leave(visit: Visit) -> Response:
        await sessions.end(visit.secret, visit.now_us)
        response = message(visit.templates, visit.request, "Signed out", "You can close this page.")
        drop_session(response, visit.request)
        return response

    return ConsolePage("/logout", leave, "POST", open_to=anybody)


def theme_page() -> ConsolePage:
    async def switch(visit: Visit) -> Response:
        back = visit.form.get("back")
        response = visit.go(back.removeprefix(ROOT) if back.startswith(f"{ROOT}/") else "/")
        keep_theme(response, visit.request, _NEXT_THEME[theme_of(visit.request)])
        return response

    return ConsolePage("/theme", switch, "POST", open_to=anybody)
