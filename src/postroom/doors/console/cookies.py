"""The console's cookies: for its own paths, for no script, and for no other site's requests."""

from __future__ import annotations

from typing import Final, Literal
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from postroom.domain.console_session import SESSION_LIFE_SECONDS
from postroom.doors.console.root import ROOT

SESSION: Final = "postroom_console"
NOTICE: Final = "postroom_notice"
THEME: Final = "postroom_theme"
BROWSER: Final = "postroom_browser"  # a secret of this browser alone: a link it asked for works here and nowhere else
WANTED: Final = "postroom_wanted"
_YEAR_SECONDS: Final = 365 * 24 * 3600
_NOTICE_SECONDS: Final = 60
_BROWSER_SECONDS: Final = 3600
_LONGEST_NOTICE: Final = 500

Tone = Literal["good", "bad"]


def keep_session(response: Response, request: Request, secret: str) -> None:
    _set(response, request, SESSION, secret, int(SESSION_LIFE_SECONDS))


def drop_session(response: Response, request: Request) -> None:
    _set(response, request, SESSION, "", 0)


def session_secret(request: Request) -> str:
    return request.cookies.get(SESSION, "")


def leave_notice(response: Response, request: Request, text: str, tone: Tone) -> None:
    """One sentence for the page that comes next."""
    _set(response, request, NOTICE, f"{tone}.{quote(text[:_LONGEST_NOTICE], safe='')}", _NOTICE_SECONDS)


def take_notice(request: Request) -> tuple[str, str] | None:
    tone, _, text = request.cookies.get(NOTICE, "").partition(".")
    return (tone if tone == "good" else "bad", unquote(text)) if text else None


def drop_notice(response: Response, request: Request) -> None:
    _set(response, request, NOTICE, "", 0)


def did_nothing(response: Response) -> bool:
    """Whether the page that comes next is told of a failure."""
    return any(
        name == b"set-cookie" and value.startswith(f"{NOTICE}=bad.".encode()) for name, value in response.raw_headers
    )


def browser_secret(request: Request) -> str:
    return request.cookies.get(BROWSER, "")[:128]


def keep_browser(response: Response, request: Request, secret: str) -> None:
    _set(response, request, BROWSER, secret, _BROWSER_SECONDS)


def wanted_page(request: Request) -> str:
    """Where this browser wanted to go when it asked for a link."""
    return unquote(request.cookies.get(WANTED, ""))


def keep_wanted(response: Response, request: Request, path: str) -> None:
    _set(response, request, WANTED, quote(path, safe=""), _BROWSER_SECONDS if path else 0)


def keep_theme(response: Response, request: Request, theme: str) -> None:
    _set(response, request, THEME, theme, _YEAR_SECONDS)


def theme_of(request: Request) -> str:
    chosen = request.cookies.get(THEME, "")
    return chosen if chosen in ("light", "dark") else "auto"


def _set(response: Response, request: Request, name: str, value: str, seconds: int) -> None:
    secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
    response.set_cookie(name, value, max_age=seconds, path=ROOT, secure=secure, httponly=True, samesite="strict")
