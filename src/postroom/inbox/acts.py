"""`send_notification` over MCP, and the inbox over HTTP: read it, tidy it, watch it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from datetime import time
from html import escape
from typing import Annotated, Any, Final, Self

import structlog
from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query, Response, Security
from fastapi import Request as FastapiRequest
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from fastapi.security import HTTPBearer
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer
from starlette.responses import StreamingResponse as ResponsesStreamingResponse

from postroom.inbox import rules as answers
from postroom.inbox.copies import PATH
from postroom.inbox.inbox import Feed, Inbox
from postroom.inbox.model import (
    CONVERSATION_META,
    CORRELATION_META,
    DESCRIPTION,
    NAME,
    PARAMETERS,
    USER_META,
    DeliveryChannel,
    Notification,
    NotificationChange,
    NotificationQuery,
    NotificationType,
    Preferences,
    View,
)
from postroom.inbox.preferences import warnings_of
from postroom.inbox.rules import NO_USER, Answer, Request, cursor_after, parse_cursor
from postroom.inbox.store.mail import StoredConfirmations
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.guard.http import Caller, Verifier
from postroom.kernel.guard.tools import Rule, caller, person, program
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import End, EventStream, LateRoute, StreamEvent, Strict
from postroom.kernel.serving.mcp import show_parameters
from postroom.kernel.values.errors import FieldError, StoreUnavailable, ValidationError
from postroom.kernel.values.fields import printable, strict_json, words
from postroom.kernel.values.ids import parse_text, seconds, to_text
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import Priority
from postroom.message.outgoing import INBOX_AGENT
from postroom.message.wire import WISH_FIELDS, wish_object
from postroom.message.wishes import Urgency
from postroom.people.model import Purpose, inbox_of, recipient

MAX_PAGE: Final = 100
_UUID: Final = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_MISSING: Final[dict[int | str, dict[str, Any]]] = {404: {"description": "There is no such notification in this inbox"}}


# What goes over the wire: strict on the way in, free of internals on the way out.

WallTime = Annotated[str | None, Field(max_length=8, examples=["22:00"], description="HH:MM or HH:MM:SS, wall clock")]
Zone = Annotated[str, Field(max_length=64, examples=["Europe/Berlin"], description="IANA time zone")]
Address = Annotated[str | None, Field(max_length=254, examples=["ada@example.com"])]
Channel = Annotated[DeliveryChannel, Field(strict=False)]


class _Body(Strict):
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class PreferencesPut(_Body):
    """
    All at once. What is left out goes back to its default, except the address,
    which nobody should lose by leaving it out.
    """

    delivery_channel: Channel
    email: Address = None
    quiet_hours_start: WallTime = None
    quiet_hours_end: WallTime = None
    quiet_hours_timezone: Zone | None = None
    high_priority_passes: bool = False

    def whole(self) -> dict[str, Any]:
        kept = set() if "email" in self.model_fields_set else {"email"}
        return self.model_dump(exclude=kept)


class PreferencesPatch(_Body):
    """Only what is to change; null takes an address or quiet hours away."""

    delivery_channel: Channel = DeliveryChannel.IN_APP
    email: Address = None
    quiet_hours_start: WallTime = None
    quiet_hours_end: WallTime = None
    quiet_hours_timezone: Zone | None = None
    high_priority_passes: bool = False


class PreferencesOut(BaseModel):
    delivery_channel: DeliveryChannel
    email: str | None
    email_pending: Annotated[str | None, Field(description="Waits until the link in a mail to it is followed")]
    quiet_hours_start: str | None
    quiet_hours_end: str | None
    quiet_hours_timezone: str
    high_priority_passes: bool
    warnings: Annotated[
        list[str], Field(description="Wishes that are kept but cannot come true as things stand, or be shown whole")
    ]

    @classmethod
    def of(cls, preferences: Preferences, warnings: list[str]) -> Self:
        return cls(
            delivery_channel=preferences.delivery_channel,
            email=preferences.email,
            email_pending=preferences.email_pending,
            quiet_hours_start=_wall_time(preferences.quiet_hours_start),
            quiet_hours_end=_wall_time(preferences.quiet_hours_end),
            quiet_hours_timezone=preferences.quiet_hours_timezone,
            high_priority_passes=preferences.high_priority_passes,
            warnings=warnings,
        )


class SnoozeBody(_Body):
    """`until` as RFC 3339 with an offset; null brings the notification back."""

    until: Annotated[str | None, Field(max_length=64, examples=["2026-01-01T09:00:00+01:00"])]


class NotificationOut(BaseModel):
    id: str
    message: str
    type: NotificationType
    priority: Priority
    is_read: bool
    conversation_id: str | None
    link: str | None
    created_at: str
    seen_at: str | None
    read_at: str | None
    archived_at: str | None
    snoozed_until: str | None
    urgency: Urgency | None = None
    category: str | None = None
    thread: str | None = None
    supersedes: str | None = None
    needs_ack: bool | None = None
    expires_in_seconds: int | None = None

    @model_serializer(mode="wrap")
    def _without_what_was_not_asked(self, shown: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # the schema is the model's
        document: dict[str, Any] = shown(self)
        return {name: one for name, one in document.items() if one is not None or name not in WISH_FIELDS}

    @classmethod
    def of(cls, one: Notification) -> Self:
        return cls(
            id=one.id,
            message=one.message,
            type=one.type,
            priority=one.priority,
            is_read=one.read_at_us is not None,
            conversation_id=one.conversation_id,
            link=one.link,
            created_at=to_text(one.created_at_us),
            seen_at=_moment(one.seen_at_us),
            read_at=_moment(one.read_at_us),
            archived_at=_moment(one.archived_at_us),
            snoozed_until=_moment(one.snoozed_until_us),
            **wish_object(one.wish),
        )


class NotificationList(BaseModel):
    items: list[NotificationOut]
    limit: int
    next_cursor: Annotated[str | None, Field(description="Ask with `cursor` set to this for the next page")]


class UnreadCount(BaseModel):
    count: int


class UpdatedCount(BaseModel):
    updated_count: int


def _moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)


def _wall_time(moment: time | None) -> str | None:
    return None if moment is None else moment.isoformat("seconds" if moment.second else "minutes")


# Whose inbox a request may read, and whose it may change.


def person_of(caller: Caller) -> str:
    user_id = inbox_of(caller)
    if user_id is None:
        raise HTTPException(403, f"{caller} has no inbox")
    return user_id


def myself(caller: Caller) -> str:
    """A program reads its person's inbox and writes to it; what is done about the notes there is that person's."""
    if not caller.is_person:
        raise HTTPException(403, f"{caller} may read this inbox and write to it, but not change it")
    return person_of(caller)


Person = Annotated[str, Depends(person_of)]
Myself = Annotated[str, Depends(myself)]


# `send_notification` as an MCP tool: whose notification it is, the token says.

# Checked by us and not by the SDK, so that a wrong argument gets the contract's answer too.
Anything = Any
_log = structlog.get_logger("postroom.agents")


def add_notification_tool(server: MCPServer[Any], inbox: Inbox, verifier: Verifier) -> dict[str, Rule]:
    """Returns who may call what was added."""

    async def send_notification(
        context: Context[Any, Any],
        message: Anything = None,
        type: Anything = "info",
        urgency: Anything = None,
        category: Anything = None,
        thread: Anything = None,
        supersedes: Anything = None,
        needs_ack: Anything = None,
        expires_in_seconds: Anything = None,
    ) -> Answer:
        meta: Mapping[str, Any] = context.request_context.meta or {}
        given = {
            "message": message,
            "type": type,
            "urgency": urgency,
            "category": category,
            "thread": thread,
            "supersedes": supersedes,
            "needs_ack": needs_ack,
            "expires_in_seconds": expires_in_seconds,
        }
        try:
            return await _send(inbox, caller(context, verifier), given, meta)
        except Exception as error:  # a model must get the contract's answer, whatever went wrong
            _log.error("send_notification.bug", error=error.__class__.__name__)
            return answers.failed("internal error")

    server.add_tool(
        send_notification,
        name=NAME,
        description=DESCRIPTION,
        annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=False, open_world_hint=False),
    )
    # A model is shown that `message` is required. The function has a default for it all the same,
    # because a call without it would otherwise get the SDK's answer.
    show_parameters(server, NAME, PARAMETERS)
    return {NAME: lambda one: person(one) or program(one)}


async def _send(inbox: Inbox, who: Principal, given: Mapping[str, Any], meta: Mapping[str, Any]) -> Answer:
    named = meta.get(USER_META)
    user_id = recipient(who, named) if named is None or isinstance(named, str) else None
    if user_id is None:
        return answers.validation_error(NO_USER if named is None else "user_id is not the token's")
    return await inbox.send(
        Request(
            **given,
            user_id=user_id,
            agent=who.name if who.role is Role.PROGRAM else INBOX_AGENT,
            conversation_id=meta.get(CONVERSATION_META),
            correlation_id=meta.get(CORRELATION_META),
        )
    )


# The inbox over HTTP. A wrong request is answered 422 with the field that is wrong, and never with what was in it.

Id = Annotated[str, Path(pattern=_UUID, description="The notification's id")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Conversation = Annotated[str | None, Query(max_length=128, pattern=r"^[^\x00]*$")]
CursorText = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the page before")]


class InboxRoute(LateRoute):
    """Repeating the input back, as FastAPI would, fails on text that is not Unicode."""

    def get_route_handler(self) -> Callable[[FastapiRequest], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: FastapiRequest) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _refusal([(item["loc"], words(item), item["type"]) for item in error.errors()])
            except ValidationError as error:
                part = "query" if request.method == "GET" else "body"
                return _refusal([((part, item.field), item.error, item.code) for item in error.fields])
            except StoreUnavailable:
                return JSONResponse({"detail": "the inbox is not available right now"}, 503, {"Retry-After": "1"})

        return guarded


def _refusal(problems: list[tuple[Any, str, str]]) -> JSONResponse:
    detail = [
        {"loc": [part if isinstance(part, int) else printable(part) for part in place], "msg": said, "type": code}
        for place, said, code in problems
    ]
    return JSONResponse({"detail": detail}, 422)


def inbox_router(inbox: Inbox) -> APIRouter:
    router = APIRouter(
        prefix="/notifications",
        tags=["inbox"],
        route_class=InboxRoute,
        dependencies=[
            Security(HTTPBearer(auto_error=False, description="A person's token, or a program's for that person"))
        ],
        responses={401: {"description": "No valid token"}, 403: {"description": "This caller has no such inbox"}},
    )
    _add_preferences(router, inbox)
    _add_reading(router, inbox)
    _add_everything_at_once(router, inbox)
    _add_changes(router, inbox)
    return router


def _add_reading(router: APIRouter, inbox: Inbox) -> None:
    @router.get("", operation_id="listNotifications", summary="Newest first")
    async def list_notifications(
        person: Person,
        type: NotificationType | None = None,
        is_read: bool | None = None,
        view: View = View.ACTIVE,
        conversation_id: Conversation = None,
        limit: Limit = 20,
        cursor: CursorText = None,
    ) -> NotificationList:
        page = NotificationQuery(
            view=view,
            type=type,
            is_read=is_read,
            conversation_id=conversation_id,
            after=parse_cursor(cursor) if cursor else None,
            limit=limit + 1,  # one more tells whether there is a next page
        )
        found = await inbox.notes.page(person, page, inbox.clock.now_us())
        following = cursor_after(found[limit - 1]) if len(found) > limit else None
        items = [NotificationOut.of(one) for one in found[:limit]]
        return NotificationList(items=items, limit=limit, next_cursor=following)

    @router.get("/unread-count", operation_id="countUnread", summary="How many have not been read")
    async def unread_count(person: Person) -> UnreadCount:
        return UnreadCount(count=await inbox.notes.unread(person, inbox.clock.now_us()))

    @router.get(
        "/stream",
        operation_id="streamNotifications",
        summary="Server-sent events: `notification` for each new one, `unread` with the count",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def follow(
        person: Person, last_event_id: Annotated[str | None, Header(max_length=100)] = None
    ) -> StreamingResponse:
        return stream(inbox.notes, inbox.feed, inbox.clock, person, last_event_id)


def _add_everything_at_once(router: APIRouter, inbox: Inbox) -> None:
    @router.patch("/read-all", operation_id="readAll", summary="Mark everything in view as read")
    async def read_all(person: Myself) -> UpdatedCount:
        return UpdatedCount(updated_count=await inbox.read_all(person))

    @router.patch("/see-all", operation_id="seeAll", summary="Mark everything in view as seen, without reading it")
    async def see_all(person: Myself) -> UpdatedCount:
        return UpdatedCount(updated_count=await inbox.see_all(person))


def _add_changes(router: APIRouter, inbox: Inbox) -> None:
    async def change(
        person: str, notification_id: str, what: NotificationChange, until_us: int | None = None
    ) -> Notification:
        changed = await inbox.change(person, notification_id.lower(), what, until_us)
        if changed is None:
            raise HTTPException(404, "there is no such notification")
        return changed

    def add(what: NotificationChange, summary: str) -> None:
        @router.patch(
            f"/{{notification_id}}/{what}", operation_id=f"{what}Notification", summary=summary, responses=_MISSING
        )
        async def change_one(person: Myself, notification_id: Id) -> NotificationOut:
            return NotificationOut.of(await change(person, notification_id, what))

    add(NotificationChange.READ, "Mark as read")
    add(NotificationChange.UNREAD, "Mark as unread again")
    add(NotificationChange.ARCHIVE, "Put away")
    add(NotificationChange.UNARCHIVE, "Take out again")

    @router.patch(
        "/{notification_id}/snooze", operation_id="snoozeNotification", summary="Hide until later", responses=_MISSING
    )
    async def snooze(person: Myself, notification_id: Id, body: SnoozeBody) -> NotificationOut:
        until_us = _until_us(body.until, inbox.clock.now_us())
        return NotificationOut.of(await change(person, notification_id, NotificationChange.SNOOZE, until_us))

    @router.delete(
        "/{notification_id}",
        operation_id="dismissNotification",
        summary="Remove from the inbox, for good; twice is fine",
        status_code=204,
        responses=_MISSING,
    )
    async def dismiss(person: Myself, notification_id: Id) -> None:
        await change(person, notification_id, NotificationChange.DISMISS)


def _until_us(text: str | None, now_us: int) -> int | None:
    if text is None:
        return None
    try:
        until_us = parse_text(text)
    except (ValueError, OverflowError):
        raise _bad_until("must be an RFC 3339 time with an offset") from None
    if until_us <= now_us:
        raise _bad_until("must lie in the future")
    return until_us


def _bad_until(sentence: str) -> ValidationError:
    return ValidationError.of([FieldError("until", sentence, "invalid")])


def _add_preferences(router: APIRouter, inbox: Inbox) -> None:
    def shown(kept: Preferences) -> PreferencesOut:
        return PreferencesOut.of(kept, warnings_of(kept, email_enabled=inbox.terms.email_enabled))

    async def write(person: str, caller: Principal, wishes: Mapping[str, Any]) -> PreferencesOut:
        return shown(await inbox.prefer(person, wishes, confirmed=caller.role is Role.OPERATOR))

    @router.get("/preferences", operation_id="getPreferences", summary="How this person wants to be told")
    async def get_preferences(person: Myself) -> PreferencesOut:
        return shown(await inbox.preferences(person))

    @router.put("/preferences", operation_id="putPreferences", summary="Replace all preferences")
    async def put_preferences(person: Myself, caller: Caller, body: PreferencesPut) -> PreferencesOut:
        return await write(person, caller, body.whole())

    @router.patch("/preferences", operation_id="patchPreferences", summary="Change some preferences")
    async def patch_preferences(person: Myself, caller: Caller, body: PreferencesPatch) -> PreferencesOut:
        return await write(person, caller, body.given())


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
    body = NotificationOut.of(one).model_dump(mode="json")
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
