"""Where a provider brings what people write: who knows the account's secret is the provider."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postroom.domain.errors import PostroomError
from postroom.domain.ports import Clock
from postroom.doors.guard.late_route import LateRoute

PATH: Final = "/channels"
SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of it
_LARGEST_NUMBER: Final = 2**63 - 1
_log = structlog.get_logger("postroom.webhook")


class KeepsPushes(Protocol):
    async def keep(self, channel: str, number: int, update: Mapping[str, Any], now_us: int) -> None:
        """Once for each number; raises one of our errors when it could not be stored."""
        ...


def channel_webhook_router(
    secrets: Mapping[str, str], pushes: KeepsPushes, clock: Clock, ring: Callable[[], None]
) -> APIRouter:
    """`secrets` by account. Stored first and acknowledged then: what is not stored the provider brings again."""
    router = APIRouter(route_class=LateRoute, prefix=PATH, tags=["channels"])

    @router.post(
        "/{account}/webhook",
        operation_id="channelWebhook",
        summary="Take an update that Telegram brings",
        responses={
            400: {"description": "Not an update"},
            401: {"description": "Not the secret that was agreed on"},
            404: {"description": "This account has no webhook"},
            503: {"description": "Not stored: bring it again"},
        },
    )
    async def take(account: str, request: Request) -> JSONResponse:
        if account not in secrets:
            return _said(404, "this account has no webhook")
        if not _knows(request, secrets[account]):
            return _said(401, "the secret is missing or wrong")
        update = _update(await request.body())
        if update is None:
            return _said(400, "this is not an update")
        try:
            await pushes.keep(account, update["update_id"], update, clock.now_us())
        except PostroomError as error:
            _log.warning("webhook.not_stored", channel=account, error_class=str(error.error_class))
            return _said(503, "it could not be stored")
        ring()
        return JSONResponse({"ok": True})

    return router


def _knows(request: Request, secret: str) -> bool:
    given = request.headers.getlist(SECRET_HEADER)
    return len(given) == 1 and hmac.compare_digest(given[0].encode("latin-1"), secret.encode())


def _update(body: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    number = told.get("update_id") if isinstance(told, dict) else None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _LARGEST_NUMBER:
        return None
    return dict(told)


def _said(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"ok": False, "error": sentence}, status_code=status)
