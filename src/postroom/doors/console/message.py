"""A page of one sentence, for whoever cannot be shown another."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from postroom.doors.console.cookies import theme_of
from postroom.doors.console.rendering import Templates


def message(templates: Templates, request: Request, title: str, text: str, *, status: int = 200) -> Response:
    shown = templates.render("message.html", title=title, text=text, theme=theme_of(request))
    return HTMLResponse(shown, status_code=status)
