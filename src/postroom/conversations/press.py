"""Where the household's own app brings what was pressed on a notification: one attempt, answered with how it ended."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Annotated, Final

import structlog
from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from postroom.kernel.serving.json_door import JsonRoute
from postroom.kernel.values.errors import PostroomError
from postroom.message.inbound import Press
from postroom.people.model import DEVICE_ID
from postroom.questions.hearing import Hearing

PATH: Final = "/channels"
_log = structlog.get_logger("postroom.press")
_HEADERS: Final = {"Cache-Control": "no-store"}


class NotificationPress(BaseModel):
    """What the app was given with the notification."""

    model_config = ConfigDict(extra="forbid", strict=True)

    device: Annotated[str, Field(pattern=f"^{DEVICE_ID.pattern}$", description="The device's id")]
    token: Annotated[str, Field(min_length=1, max_length=64, description="Of the button")]


def press_router(accounts: Collection[str], ear: Hearing) -> APIRouter:
    """Needs no other proof than the button's own token: it was sent to that device only, encrypted."""
    router = APIRouter(prefix=PATH, tags=["channels"], route_class=JsonRoute)

    @router.post(
        "/{account}/press",
        operation_id="pressNotification",
        summary="Press a button of a notification",
        responses={404: {"description": "No such account"}, 503: {"description": "Not heard: press again"}},
    )
    async def press(account: str, pressed: NotificationPress) -> JSONResponse:
        if account not in accounts:
            return _said(404, "there is no such account", ok=False)
        try:
            reaction = await ear.pressed(_press(account, pressed))
        except PostroomError as error:
            _log.warning("press.not_heard", channel=account, error_class=str(error.error_class))
            return _said(503, "It could not be kept at the moment. Please press again.", ok=False)
        return _said(200, reaction.words, ok=not reaction.alert)

    return router


def _press(account: str, pressed: NotificationPress) -> Press:
    """The same button of the same card twice is one press."""
    name = hashlib.sha256(f"{pressed.device} {pressed.token}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Press(
        channel=account,
        event_id=f"press:{name}",
        callback_id=name,
        places=(pressed.device,),
        sender=pressed.device,
        token=pressed.token,
    )


def _said(status: int, words: str, *, ok: bool) -> JSONResponse:
    return JSONResponse({"ok": ok, "words": words}, status, _HEADERS)
