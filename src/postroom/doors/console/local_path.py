"""Where a person goes after signing in: a page of the console, and never another site."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from postroom.doors.console.root import ROOT

_LONGEST: Final = 1_000
_PLAIN: Final = re.compile(r"[!-\[\]-~]+")  # printable ASCII without the backslash, which browsers take for a slash
_FIRST: Final = f"{ROOT}/"


def local_path(wanted: str) -> str:
    """The first page for everything that is not clearly one of ours."""
    if len(wanted) > _LONGEST or not _PLAIN.fullmatch(wanted) or not wanted.startswith(_FIRST):
        return _FIRST
    parts = urlsplit(wanted)
    walks = "//" in parts.path or "/." in parts.path or "%" in parts.path[: len(_FIRST) + 1]
    own_door = parts.path.startswith((f"{ROOT}/login", f"{ROOT}/events", f"{ROOT}/logout"))
    return _FIRST if parts.scheme or parts.netloc or walks or own_door else wanted


def asked_path(request: Request) -> str:
    """Where this request wanted to go, if it was a page."""
    if request.method != "GET":
        return _FIRST
    query = f"?{request.url.query}" if request.url.query else ""
    return local_path(request.url.path + query)
