"""What makes the console an app on a phone: its manifest, its worker, and the page that is left when offline."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from postroom.doors.console.rendering import Templates
from postroom.doors.console.root import ROOT

ACCENT: Final = "#1f6f5c"
_STATIC: Final = files("postroom.doors.console") / "static"
_VERSION: Final = "{{version}}"
MANIFEST: Final[dict[str, Any]] = {
    "id": f"{ROOT}/",
    "name": "Postroom",
    "short_name": "Postroom",
    "description": "What waits for you in your household: questions, approvals and messages.",
    "lang": "en",
    "start_url": f"{ROOT}/",
    "scope": f"{ROOT}/",
    "display": "standalone",
    "theme_color": ACCENT,
    "background_color": "#f6f5f1",
    "icons": [
        {"src": f"{ROOT}/static/icon-192.png", "sizes": "192x192", "type": "image/png"},
        {"src": f"{ROOT}/static/icon-512.png", "sizes": "512x512", "type": "image/png"},
        {"src": f"{ROOT}/static/icon-maskable-512.png", "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
    ],
    "shortcuts": [{"name": "Questions", "url": f"{ROOT}/questions"}, {"name": "Approvals", "url": f"{ROOT}/approvals"}],
}


def app_routes(templates: Templates) -> Sequence[Route]:
    """Open to all: none of them knows anything of the household."""

    async def manifest(_request: Request) -> Response:
        return JSONResponse(MANIFEST, media_type="application/manifest+json")

    async def worker(_request: Request) -> Response:
        return Response(service_worker(), media_type="text/javascript")

    async def offline(_request: Request) -> Response:
        return HTMLResponse(templates.render("offline.html", theme="auto"))

    return [
        Route("/manifest.webmanifest", manifest),
        Route("/service-worker.js", worker),
        Route("/offline", offline),
    ]


@cache
def service_worker() -> str:
    """Another one as soon as any file of the console changes, so that an installed app brings itself up to date."""
    return (_STATIC / "service-worker.js").read_text(encoding="utf-8").replace(_VERSION, _version())


def _version() -> str:
    shell = files("postroom.doors.console") / "templates" / "offline.html"
    kept = [one for one in sorted(_STATIC.iterdir(), key=lambda one: one.name) if one.is_file()]
    digest = hashlib.sha256()
    for one in (*kept, shell):
        digest.update(one.name.encode() + b"\0" + one.read_bytes())
    return digest.hexdigest()[:16]
