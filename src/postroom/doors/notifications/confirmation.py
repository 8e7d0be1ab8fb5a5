"""The page behind the link in a message that asks an address: looking decides nothing, the button does."""

from __future__ import annotations

from html import escape
from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse

from postroom.domain.clock import Clock
from postroom.domain.confirmation_origin import Purpose
from postroom.doors.notifications.refusals import InboxRoute
from postroom.work.inbox.confirmation import PATH, Confirmations

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it a browser hides the origin of our own form from us, too.
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    "Cache-Control": "no-store",
}
_GONE: Final = "<p>This link is not good any more. Set the address again, or start again, to get a new one.</p>"
_ASK: Final = {
    Purpose.INBOX: """\
<p>Copies of the notifications of <strong>{person}</strong> would be sent to <strong>{address}</strong>.</p>
<form method="post"><button type="submit">Confirm this address</button></form>
<p>If you did not ask for this, close the page: nothing will be sent.</p>""",
    Purpose.PAIRING: """\
<p>Is <strong>{address}</strong> your own address? What is answered from it would count as your word.</p>
<form method="post"><button type="submit">Confirm this address</button></form>
<p>If you know nothing of this, close the page: nothing will change.</p>""",
}
_DONE: Final = {
    Purpose.INBOX: "<p>Thank you. Copies of notifications will be sent to <strong>{address}</strong> from now on.</p>",
    Purpose.PAIRING: "<p>Thank you. <strong>{address}</strong> is verified as yours.</p>",
}

Secret = Annotated[str, Path(max_length=128, pattern=r"^[A-Za-z0-9_-]+$", description="From the link in the message")]


def confirmation_router(confirmations: Confirmations, clock: Clock) -> APIRouter:
    router = APIRouter(
        prefix=PATH,
        tags=["inbox"],
        route_class=InboxRoute,
        default_response_class=HTMLResponse,
        responses={404: {"description": "The link is not good any more"}},
    )

    async def show(secret: Secret) -> HTMLResponse:
        claim = await confirmations.claim(secret, clock.now_us())
        if claim is None:
            return _page(_GONE, 404)
        return _page(_ASK[claim.purpose].format(person=escape(claim.user_id), address=escape(claim.address)))

    router.add_api_route(
        "/{secret}",
        show,
        methods=["GET"],
        operation_id="showConfirmation",
        summary="The page of a confirmation link",
    )
    router.add_api_route("/{secret}", show, methods=["HEAD"], include_in_schema=False)

    @router.post("/{secret}", operation_id="confirmAddress", summary="Confirm an address, once")
    async def confirm(secret: Secret) -> HTMLResponse:
        claim = await confirmations.confirm(secret, clock.now_us())
        return _page(_GONE, 404) if claim is None else _page(_DONE[claim.purpose].format(address=escape(claim.address)))

    return router


def _page(body: str, status: int = 200) -> HTMLResponse:
    return page("Confirm your address", body, status)


def page(title: str, body: str, status: int = 200) -> HTMLResponse:
    """Both are our own HTML."""
    document = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(document, status, _HEADERS)
