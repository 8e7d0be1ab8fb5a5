"""The sandbox's HTTP application: the page, the Bot API and the control routes behind one guard."""

from __future__ import annotations

from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from postroom.domain.error_shapes import error_object
from postroom.domain.errors import ValidationError
from postroom.programs.sandbox.bot_api import BotApi
from postroom.programs.sandbox.control import Control
from postroom.programs.sandbox.guard import refusal_reason
from postroom.programs.sandbox.page import SandboxPage
from postroom.programs.sandbox.requests import answer

MAX_BODY_BYTES = 1_048_576
_SIGN = {"X-Postroom-Sandbox": "nothing leaves this machine", "Cache-Control": "no-store"}


def build_application(
    *, bot_api: BotApi, control: Control, page: SandboxPage, hosts: Collection[str]
) -> web.Application:
    application = web.Application(
        middlewares=[in_json, only_from_here(frozenset(host.lower() for host in hosts))],
        client_max_size=MAX_BODY_BYTES,
    )
    application.add_routes([*page.routes(), *control.routes(), *bot_api.routes()])
    application.on_response_prepare.append(_sign)
    return application


def only_from_here(hosts: Collection[str]) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if reason := refusal_reason(request.headers, request.method, request.path, hosts):
            return error_answer(request, 403, reason)
        return await handler(request)

    return guard


@web.middleware
async def in_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Programs read every answer, so a refusal by the framework is JSON too."""
    try:
        return await handler(request)
    except ValidationError as error:
        return answer({"status": "error", "error": {"fields": []} | error_object(error)}, status=422)
    except web.HTTPRedirection:
        raise
    except web.HTTPException as error:
        return error_answer(request, error.status, error.reason)


def error_answer(request: web.Request, status: int, words: str) -> web.Response:
    if request.path.startswith("/bot"):
        return web.json_response({"ok": False, "error_code": status, "description": words}, status=status)
    return answer({"status": "error", "error": {"class": "http_error", "message": words}}, status=status)


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_SIGN)
