"""A visit without a network, for pages whose sources a test wants to choose."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroom.console.form import Form
from postroom.console.rendering import Templates
from postroom.console.visit import Section, Visit
from postroom.domain.principal import OPERATOR, Principal

NOW_US = 1_800_000_000_000_000
_TEMPLATES = Templates()


async def opened(section: Section, principal: Principal = OPERATOR, query: str = "") -> str:
    """The section's first page as it is shown."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/console{section.path}",
        "query_string": query.encode(),
        "headers": [],
        "scheme": "http",
        "server": ("test", 80),
    }
    visit = Visit(
        request=Request(scope),
        principal=principal,
        secret="secret",
        form=Form(),
        now_us=NOW_US,
        templates=_TEMPLATES,
        navigation=[(section.name, f"/console{section.path}")],
    )
    response: Response = await section.pages[0].handler(visit)
    return bytes(response.body).decode()
