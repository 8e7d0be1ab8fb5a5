"""The page behind the link by which a stranger ends our letters: looking ends nothing, the button or one click does."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse

from postroom.domain.ports import Clock
from postroom.doors.notifications.confirmation import page
from postroom.doors.notifications.refusals import InboxRoute
from postroom.work.delivery.unsubscribing import PATH, Unsubscribing

_TITLE: Final = "No more messages"
_GONE: Final = "<p>This link is not good any more.</p>"
_ASK: Final = """\
<p>The household that wrote to you would send nothing more to the address this message came to.</p>
<form method="post"><button type="submit">Send me nothing more</button></form>"""
_DONE: Final = "<p>Thank you. Nothing more will be sent to that address.</p>"

Token = Annotated[str, Path(max_length=128, pattern=r"^[a-f0-9.-]+$", description="From the link in the message")]


def unsubscribe_router(unsubscribing: Unsubscribing, clock: Clock) -> APIRouter:
    router = APIRouter(
        prefix=PATH,
        tags=["inbox"],
        route_class=InboxRoute,
        default_response_class=HTMLResponse,
        responses={404: {"description": "The link is not good any more"}},
    )

    async def show(token: Token) -> HTMLResponse:
        return page(_TITLE, _ASK) if await unsubscribing.is_good(token) else page(_TITLE, _GONE, 404)

    router.add_api_route(
        "/{token}", show, methods=["GET"], operation_id="showUnsubscribe", summary="The page of an unsubscribe link"
    )
    router.add_api_route("/{token}", show, methods=["HEAD"], include_in_schema=False)

    @router.post("/{token}", operation_id="unsubscribe", summary="Send nothing more to the address (RFC 8058)")
    async def end(token: Token) -> HTMLResponse:
        done = await unsubscribing.end(token, clock.now_us())
        return page(_TITLE, _DONE) if done else page(_TITLE, _GONE, 404)

    return router
