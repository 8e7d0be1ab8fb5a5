"""Coming in by a link that works once, leaving, and choosing light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from postroom.domain.ports import Clock
from postroom.doors.console.cookies import drop_session, keep_session, keep_theme, theme_of
from postroom.doors.console.form import read_form
from postroom.doors.console.message import message
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, Visit, anybody

_STALE: Final = (
    "This link does not work any more",
    "A link works once and for ten minutes. Run “postroom login” for a new one.",
)
_NEXT_THEME: Final = {"auto": "light", "light": "dark", "dark": "auto"}


def sign_in_routes(sessions: ConsoleSessions, clock: Clock, templates: Templates) -> Sequence[Route]:
    async def ask(request: Request) -> Response:
        """Opening the link uses nothing up: programs that look at links ahead of people must not sign in."""
        key = request.query_params.get("key", "")
        return HTMLResponse(templates.render("sign_in.html", key=key, theme=theme_of(request)))

    async def enter(request: Request) -> Response:
        form = await read_form(request)
        secret = await sessions.redeem(form.get("key"), clock.now_us())
        if secret is None:
            return message(templates, request, *_STALE, status=403)
        response = RedirectResponse(f"{ROOT}/", status_code=303)
        keep_session(response, request, secret)
        return response

    return [Route("/login", ask, methods=["GET"]), Route("/login", enter, methods=["POST"])]


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
