"""A page of one sentence, for whoever cannot be shown another."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from postroom.doors.console.cookies import theme_of
from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT

_FIRST_PAGE: Final = ("Go to the first page", f"{ROOT}/")


def message(
    templates: Templates,
    request: Request,
    title: str,
    text: str,
    *,
    status: int = 200,
    way: tuple[str, str] = _FIRST_PAGE,
) -> Response:
    """`way` are the words and the address of the one link that leads on."""
    shown = templates.render("message.html", title=title, text=text, way=way, theme=theme_of(request))
    return HTMLResponse(shown, status_code=status)
