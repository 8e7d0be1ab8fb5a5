"""The inbox over HTTP: read it, tidy it, watch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, HTTPException, Path, Query, Security
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPBearer

from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notification import Notification, NotificationChange, NotificationQuery, NotificationType, View
from postroom.domain.time import parse_text
from postroom.doors.notifications.models import NotificationList, NotificationOut, SnoozeBody, UnreadCount, UpdatedCount
from postroom.doors.notifications.person import Myself, Person
from postroom.doors.notifications.preferences import add_preferences
from postroom.doors.notifications.refusals import InboxRoute
from postroom.doors.notifications.stream import stream
from postroom.work.inbox.acts import InboxActs
from postroom.work.inbox.cursor import cursor_after, parse_cursor
from postroom.work.inbox.feed import Feed
from postroom.work.inbox.ports import Notes, PreferenceBook

MAX_PAGE: Final = 100
_UUID: Final = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_MISSING: Final[dict[int | str, dict[str, Any]]] = {404: {"description": "There is no such notification in this inbox"}}

Id = Annotated[str, Path(pattern=_UUID, description="The notification's id")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Conversation = Annotated[str | None, Query(max_length=128, pattern=r"^[^\x00]*$")]
CursorText = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the page before")]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxParts:
    """What the door needs from the household."""

    notes: Notes
    preferences: PreferenceBook
    acts: InboxActs
    feed: Feed
    clock: Clock
    email_enabled: bool


def inbox_router(parts: InboxParts) -> APIRouter:
    router = APIRouter(
        prefix="/notifications",
        tags=["inbox"],
        route_class=InboxRoute,
        dependencies=[
            Security(HTTPBearer(auto_error=False, description="A person's token, or a program's for that person"))
        ],
        responses={401: {"description": "No valid token"}, 403: {"description": "This caller has no such inbox"}},
    )
    add_preferences(router, parts.preferences, parts.acts, parts.clock, email_enabled=parts.email_enabled)
    _add_reading(router, parts)
    _add_everything_at_once(router, parts)
    _add_changes(router, parts)
    return router


def _add_reading(router: APIRouter, parts: InboxParts) -> None:
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
        found = await parts.notes.page(person, page, parts.clock.now_us())
        following = cursor_after(found[limit - 1]) if len(found) > limit else None
        items = [NotificationOut.of(one) for one in found[:limit]]
        return NotificationList(items=items, limit=limit, next_cursor=following)

    @router.get("/unread-count", operation_id="countUnread", summary="How many have not been read")
    async def unread_count(person: Person) -> UnreadCount:
        return UnreadCount(count=await parts.notes.unread(person, parts.clock.now_us()))

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
        return stream(parts.notes, parts.feed, parts.clock, person, last_event_id)


def _add_everything_at_once(router: APIRouter, parts: InboxParts) -> None:
    @router.patch("/read-all", operation_id="readAll", summary="Mark everything in view as read")
    async def read_all(person: Myself) -> UpdatedCount:
        return UpdatedCount(updated_count=await parts.acts.read_all(person, parts.clock.now_us()))

    @router.patch("/see-all", operation_id="seeAll", summary="Mark everything in view as seen, without reading it")
    async def see_all(person: Myself) -> UpdatedCount:
        return UpdatedCount(updated_count=await parts.acts.see_all(person, parts.clock.now_us()))


def _add_changes(router: APIRouter, parts: InboxParts) -> None:
    async def change(
        person: str, notification_id: str, what: NotificationChange, until_us: int | None = None
    ) -> Notification:
        changed = await parts.acts.change(person, notification_id.lower(), what, parts.clock.now_us(), until_us)
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
        until_us = _until_us(body.until, parts.clock.now_us())
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
