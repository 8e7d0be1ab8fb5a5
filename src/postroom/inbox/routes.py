"""The inbox as it changes, and the page that confirms an address: what is no act, because its answer is no document."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from html import escape
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Security
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.security import HTTPBearer
from starlette.responses import StreamingResponse as ResponsesStreamingResponse

from postroom.inbox.acts import ACTS, PLACE, NotificationBody, person_of
from postroom.inbox.copies import PATH
from postroom.inbox.inbox import Feed, Inbox
from postroom.inbox.model import Notification
from postroom.inbox.store.mail import StoredConfirmations
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.acts.routes import act_router
from postroom.kernel.guard.http import Caller
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import End, EventStream, JsonRoute, StreamEvent
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.fields import strict_json
from postroom.kernel.values.ids import seconds
from postroom.people.model import Purpose

_BEARER: Final = HTTPBearer(auto_error=False, description="A person's token, or a program's for that person")


def inbox_router(inbox: Inbox) -> APIRouter:
    watching = APIRouter(route_class=JsonRoute, tags=["inbox"], dependencies=[Security(_BEARER)])

    @watching.get(
        f"{PLACE}/stream",
        operation_id="streamNotifications",
        summary="Server-sent events: `notification` for each new one, `unread` with the count",
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            401: {"description": "No valid token"},
            403: {"description": "This caller has no such inbox"},
        },
    )
    async def follow(
        caller: Caller, last_event_id: Annotated[str | None, Header(max_length=100)] = None
    ) -> StreamingResponse:
        return stream(inbox.notes, inbox.feed, inbox.clock, person_of(caller), last_event_id)

    router = act_router(ACTS, inbox)
    router.routes += watching.routes
    return router


# Server-sent events: what arrives in one person's inbox, as it arrives.

_OVERLAP_US: Final = seconds(10)
_MOST_AT_ONCE: Final = 100


class Arrivals:
    """
    What came in since the last look.

    A row may become visible a little later than its own time says, so every look
    goes back over the last seconds and leaves out what was told before.
    """

    def __init__(self, notes: StoredNotes, user_id: str, since_us: int, told: str | None = None) -> None:
        self._notes = notes
        self._user_id = user_id
        self._since_us = since_us
        self._told: dict[str, int] = {told: since_us} if told else {}

    async def look(self) -> Sequence[Notification]:
        limit = _MOST_AT_ONCE + len(self._told)
        found = await self._notes.since(self._user_id, self._since_us, limit)
        fresh = [one for one in found if one.id not in self._told]
        self._told |= {one.id: one.created_at_us for one in fresh}
        if found:
            self._since_us = max(self._since_us, found[-1].created_at_us - _OVERLAP_US)
            self._told = {id_: moment for id_, moment in self._told.items() if moment >= self._since_us}
        return fresh


async def arrivals(notes: StoredNotes, user_id: str, last_event_id: str | None, now_us: int) -> Arrivals:
    """From where an earlier stream stopped, or from now on."""
    moment, _, told = (last_event_id or "").partition(".")
    if moment.isascii() and moment.isdigit() and len(moment) < 19:
        return Arrivals(notes, user_id, int(moment), told)
    from_now_on = Arrivals(notes, user_id, now_us - _OVERLAP_US)
    while await from_now_on.look():
        pass
    return from_now_on


def stream(
    notes: StoredNotes, feed: Feed, clock: Clock, user_id: str, last_event_id: str | None
) -> ResponsesStreamingResponse:
    """`unread` with the count, first and whenever it changes; `notification` with each new one."""
    coming: Arrivals | None = None
    shown_count = -1

    async def look(_: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        nonlocal coming, shown_count
        coming = coming or await arrivals(notes, user_id, last_event_id, clock.now_us())
        try:
            while fresh := await coming.look():
                for one in fresh:
                    yield _notification(one)
            count = await notes.unread(user_id, clock.now_us())
        except StoreUnavailable:
            return  # the next look will do
        if count != shown_count:
            shown_count = count
            yield StreamEvent(name="unread", data={"count": count})

    return EventStream(
        look=look, listening=feed.listening(user_id), clock=clock, first=StreamEvent(retry_ms=1000)
    ).response()


def _notification(one: Notification) -> StreamEvent:
    body = NotificationBody.model_validate(one).model_dump(mode="json")
    return StreamEvent(name="notification", id=f"{one.created_at_us}.{one.id}", data=strict_json(body))


# The page behind the link in a message that asks an address: looking decides nothing, the button does.

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


def confirmation_router(confirmations: StoredConfirmations, clock: Clock) -> APIRouter:
    router = APIRouter(
        prefix=PATH,
        tags=["inbox"],
        route_class=JsonRoute,
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
