"""What callers can do with the inbox: leave a note in it, read and tidy it, and say how they want to be told."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import time
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasPath, BeforeValidator, Field, StringConstraints

from postroom.channels.email.building import mailbox
from postroom.inbox.model import (
    CONVERSATION_META,
    CORRELATION_META,
    MAX_NOTIFICATION_CHARACTERS,
    USER_META,
    DeliveryChannel,
    NewNotification,
    NotificationChange,
    NotificationQuery,
    NotificationType,
    Preferences,
    Shelf,
)
from postroom.inbox.preferences import warnings_of
from postroom.inbox.rules import Sent, cursor_after, identity, not_created, parse_cursor, whose, wrong
from postroom.kernel.acts.declaration import Act, Answer, Call, HttpRoute, Shape, Tool, act, said
from postroom.kernel.acts.reading import At, Name
from postroom.kernel.acts.reading import wrong as malformed
from postroom.kernel.values.errors import Code, PostroomError, Refused
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import PEOPLE, Kind, Principal, Role
from postroom.kernel.values.zones import is_zone
from postroom.message.delivery import Priority
from postroom.message.outgoing import INBOX_AGENT
from postroom.message.wishes import LONGEST_LIFE_SECONDS, AttentionWish, Urgency
from postroom.people.model import inbox_of, recipient

if TYPE_CHECKING:
    from postroom.inbox.inbox import Inbox

    Own = Call[Inbox]

_READERS: Final = PEOPLE | {Kind.PROGRAM}
PLACE: Final = "/notifications"
_UUID: Final = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_NO_WISH: Final = AttentionWish()


def _route(line: str, **more: Any) -> HttpRoute:
    missing = (404,) if "{" in line else ()
    return HttpRoute(line, "inbox", refusals=(400, 401, 403, *missing, 422, 503), **more)


def person_of(caller: Principal) -> str:
    """A program reads its person's inbox and writes to it; what is done about the notes there is that person's."""
    if (user_id := inbox_of(caller)) is None:
        raise Refused(Code.POLICY_DENIED, f"{caller} has no inbox")
    return user_id


# -- send_notification, whose answers are the contract's to the letter --


_TOLD: Final = ("success", "action", "message", "notification_id", "status", "until", "reasons")


@act(by=_READERS, tool=Tool("send_notification", answers=_TOLD))
class SendNotification(Act[Sent]):
    """
    Send a notification to the user. Use this when the user asks to be reminded about something, when you identify
    information worth flagging for later, or when you want to surface a warning. Notifications persist beyond the
    current conversation and can be delivered via email if the user has opted in.
    """

    message: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NOTIFICATION_CHARACTERS)
    ] = said(f"The notification message (1-{MAX_NOTIFICATION_CHARACTERS} characters)", ...)
    type: NotificationType | None = said(
        'Notification type: "reminder", "info", or "warning". Default: "info"', NotificationType.INFO
    )
    urgency: Urgency | None = said(
        "How soon it should be seen, if not as its type says; the person's policy has the last word"
    )
    category: Name | None = said("What kind of message it is, such as security.")
    thread: Name | None = said("Your name for what belongs together.")
    supersedes: Name | None = said("Your own key: replaces what you sent under it.")
    needs_ack: bool | None = said("A person has to acknowledge it.")
    expires_in_seconds: Annotated[int, Field(ge=1, le=LONGEST_LIFE_SECONDS)] | None = said(
        "Not worth showing after this."
    )

    null_counts = ("type", "urgency")  # an empty text is none of these

    async def do(self, call: Own) -> Sent:
        """Whose notification it is, the token says; only the operator's may name another person."""
        named = call.meta.get(USER_META)
        user_id = recipient(call.caller, named) if named is None or isinstance(named, str) else None
        if user_id is None:
            raise wrong("user_id", "is required" if named is None else "is not the token's")
        context = {name: call.meta.get(meta) for name, meta in _CONTEXT.items()}
        agent = call.caller.name if call.caller.role is Role.PROGRAM else INBOX_AGENT
        return await call.work.send(self.new(user_id=user_id, agent=agent, **context))

    def new(self, *, user_id: object, agent: str = INBOX_AGENT, **context: object) -> NewNotification:
        """`context` has the ids of the conversation and of the correlation, as the caller keeps them."""
        wish = AttentionWish(
            urgency=self.urgency,
            category=self.category,
            thread=self.thread,
            supersedes=self.supersedes,
            needs_ack=bool(self.needs_ack),
            expires_in_seconds=self.expires_in_seconds,
        )
        return NewNotification(
            user_id=whose(user_id),
            message=self.message,
            type=self.type or NotificationType.INFO,
            agent=agent,
            wish=wish if wish != _NO_WISH else None,
            **{name: identity(name, value) for name, value in context.items()},
        )

    @classmethod
    def refused(cls, error: PostroomError) -> Document:
        return dict(not_created(error))


_CONTEXT: Final = {"conversation_id": CONVERSATION_META, "correlation_id": CORRELATION_META}


# -- Read it --

NotificationKey = Annotated[str, Field(max_length=36, pattern=_UUID), AfterValidator(str.lower)]
_ID: Final = "The notification's id"


def _asked(name: str) -> Any:
    """What its agent asked for stands beside the rest, and only where it asked."""
    return Field(default=None, validation_alias=AliasPath("wish", name), exclude_if=lambda value: not value)


class NotificationBody(Shape):
    id: str
    message: str
    type: NotificationType
    priority: Priority
    is_read: bool
    conversation_id: str | None
    link: str | None
    created_at: At = Field(validation_alias="created_at_us")
    seen_at: At | None = Field(validation_alias="seen_at_us")
    read_at: At | None = Field(validation_alias="read_at_us")
    archived_at: At | None = Field(validation_alias="archived_at_us")
    snoozed_until: At | None = Field(validation_alias="snoozed_until_us")
    urgency: Urgency | None = _asked("urgency")
    category: str | None = _asked("category")
    thread: str | None = _asked("thread")
    supersedes: str | None = _asked("supersedes")
    needs_ack: bool | None = _asked("needs_ack")
    expires_in_seconds: int | None = _asked("expires_in_seconds")


class NotificationPage(Shape):
    items: list[NotificationBody]
    limit: int
    next_cursor: str | None = Field(description="Ask with `cursor` set to this for the next page")


class UnreadCount(Shape):
    count: int


class UpdatedCount(Shape):
    updated_count: int


@act(by=_READERS, route=_route(f"GET {PLACE}"))
class ListNotifications(Act[NotificationPage]):
    """Newest first"""

    type: NotificationType | None = said("Only these.")
    is_read: bool | None = said("Only what has been read, or has not.")
    view: Literal["active", "snoozed", "archived", "all"] = said("Which part of the inbox.", "active")
    conversation_id: Annotated[str, Field(max_length=128)] | None = said("Only what was left in this conversation.")
    limit: Annotated[int, Field(ge=1, le=100)] = said("How many at most.", 20)
    cursor: Annotated[str, Field(max_length=200)] | None = said("`next_cursor` of the page before")

    async def do(self, call: Own) -> NotificationPage:
        wanted = NotificationQuery(
            shelf=Shelf(self.view),
            type=self.type,
            is_read=self.is_read,
            conversation_id=self.conversation_id,
            after=parse_cursor(self.cursor) if self.cursor else None,
            limit=self.limit + 1,  # one more tells whether there is a next page
        )
        found = await call.work.notes.page(person_of(call.caller), wanted, call.work.clock.now_us())
        following = cursor_after(found[self.limit - 1]) if len(found) > self.limit else None
        items = [NotificationBody.model_validate(one) for one in found[: self.limit]]
        return NotificationPage(items=items, limit=self.limit, next_cursor=following)


@act(by=_READERS, route=_route(f"GET {PLACE}/unread-count"))
class CountUnread(Act[UnreadCount]):
    """How many have not been read"""

    async def do(self, call: Own) -> UnreadCount:
        return UnreadCount(count=await call.work.notes.unread(person_of(call.caller), call.work.clock.now_us()))


# -- Tidy it: all at once, or one note --


@act(by=PEOPLE, route=_route(f"PATCH {PLACE}/read-all", operation="readAll"))
class ReadAllNotifications(Act[UpdatedCount]):
    """Mark everything in view as read"""

    async def do(self, call: Own) -> UpdatedCount:
        return UpdatedCount(updated_count=await call.work.read_all(person_of(call.caller)))


@act(by=PEOPLE, route=_route(f"PATCH {PLACE}/see-all", operation="seeAll"))
class SeeAllNotifications(Act[UpdatedCount]):
    """Mark everything in view as seen, without reading it"""

    async def do(self, call: Own) -> UpdatedCount:
        return UpdatedCount(updated_count=await call.work.see_all(person_of(call.caller)))


class _OfNotification(Act[Answer]):
    notification_id: NotificationKey = said(_ID, ...)

    async def changed(self, call: Own, change: NotificationChange, until_us: int | None = None) -> NotificationBody:
        after = await call.work.change(person_of(call.caller), self.notification_id, change, until_us)
        if after is None:
            raise Refused(Code.NOT_FOUND, "there is no such notification")
        return NotificationBody.model_validate(after)


def _changing(change: NotificationChange, words: str) -> type[Act[NotificationBody]]:
    """The four changes that need nothing but an id are one act, declared four times from data."""

    class ChangeNotification(_OfNotification[NotificationBody]):
        async def do(self, call: Own) -> NotificationBody:
            return await self.changed(call, change)

    ChangeNotification.__name__ = f"{change.capitalize()}Notification"
    ChangeNotification.__doc__ = words
    return act(by=PEOPLE, route=_route(f"PATCH {PLACE}/{{notification_id}}/{change}"))(ChangeNotification)


@act(by=PEOPLE, route=_route(f"PATCH {PLACE}/{{notification_id}}/snooze"))
class SnoozeNotification(_OfNotification[NotificationBody]):
    """Hide until later"""

    until: Annotated[str, Field(max_length=64)] | None = said(
        "RFC 3339 with an offset; null brings the notification back.", ..., examples=["2026-01-01T09:00:00+01:00"]
    )
    null_counts = ("until",)

    async def do(self, call: Own) -> NotificationBody:
        return await self.changed(call, NotificationChange.SNOOZE, self._until_us(call.work.clock.now_us()))

    def _until_us(self, now_us: int) -> int | None:
        if self.until is None:
            return None
        try:
            until_us = parse_text(self.until)
        except (ValueError, OverflowError):
            raise wrong("until", "must be an RFC 3339 time with an offset") from None
        if until_us <= now_us:
            raise wrong("until", "must lie in the future")
        return until_us


@act(by=PEOPLE, route=_route(f"DELETE {PLACE}/{{notification_id}}", status=204))
class DismissNotification(_OfNotification[None]):
    """Remove from the inbox, for good; twice is fine"""

    async def do(self, call: Own) -> None:
        await self.changed(call, NotificationChange.DISMISS)


# -- How a person wants to be told --

_WALL_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", re.ASCII)


def _read_time(value: object) -> time:
    if not isinstance(value, str) or not _WALL_TIME.fullmatch(value):
        raise malformed("must be a time of day such as 22:00")
    return time.fromisoformat(value)


def _read_zone(value: str | None) -> str:
    if value is not None and not is_zone(value):
        raise malformed("must be the name of a time zone such as Europe/Berlin")
    return value or ""


def _read_address(value: str) -> str:
    if (found := mailbox(value)) is None:
        raise malformed("must be a single e-mail address")
    return found


def _clock_words(value: object) -> object:
    return value.isoformat("seconds" if value.second else "minutes") if isinstance(value, time) else value


WallTime = Annotated[time, BeforeValidator(_read_time)]
TimeWords = Annotated[str | None, BeforeValidator(_clock_words)]
_CLOCK: Final = "HH:MM or HH:MM:SS, wall clock; null takes it away."
_TIME: Final = ["22:00"]


class PreferencesBody(Shape):
    delivery_channel: DeliveryChannel
    email: str | None
    email_pending: str | None = Field(description="Waits until the link in a mail to it is followed")
    quiet_hours_start: TimeWords
    quiet_hours_end: TimeWords
    quiet_hours_timezone: str
    high_priority_passes: bool
    warnings: list[str] = Field(
        description="Wishes that are kept but cannot come true as things stand, or be shown whole"
    )


def _preferences(inbox: Inbox, kept: Preferences) -> PreferencesBody:
    shown = {name: getattr(kept, name) for name in PreferencesBody.model_fields.keys() - {"warnings"}}
    return PreferencesBody(**shown, warnings=warnings_of(kept, email_enabled=inbox.terms.email_enabled))


class _Wishes(Act[PreferencesBody]):
    """Named as the fields of Preferences."""

    delivery_channel: DeliveryChannel = said("Where notifications go.", DeliveryChannel.IN_APP)
    email: Annotated[str, Field(max_length=254), AfterValidator(_read_address)] | None = said(
        "Where copies go, once it is confirmed; null takes it away.", examples=["ada@example.com"]
    )
    quiet_hours_start: WallTime | None = said(_CLOCK, examples=_TIME)
    quiet_hours_end: WallTime | None = said(_CLOCK, examples=_TIME)
    quiet_hours_timezone: Annotated[Annotated[str, Field(max_length=64)] | None, AfterValidator(_read_zone)] = said(
        "IANA time zone; null is the person's own.", "", examples=["Europe/Berlin"]
    )
    high_priority_passes: bool = said("Whether what is urgent is mailed in quiet hours too.", False)

    null_counts = tuple(Preferences.__dataclass_fields__)

    @property
    def names(self) -> Collection[str]:
        """What of it counts."""
        return self.model_fields_set

    async def do(self, call: Own) -> PreferencesBody:
        wished = Preferences(**{name: getattr(self, name) for name in _Wishes.model_fields})
        is_confirmed = call.caller.role is Role.OPERATOR
        kept = await call.work.prefer(person_of(call.caller), wished, self.names, confirmed=is_confirmed)
        return _preferences(call.work, kept)


@act(by=PEOPLE, route=_route(f"GET {PLACE}/preferences"))
class GetPreferences(Act[PreferencesBody]):
    """How this person wants to be told"""

    async def do(self, call: Own) -> PreferencesBody:
        return _preferences(call.work, await call.work.preferences(person_of(call.caller)))


@act(by=PEOPLE, route=_route(f"PUT {PLACE}/preferences"))
class PutPreferences(_Wishes):
    """Replace all preferences. What is left out goes back to its default; an address is lost only by saying null"""

    delivery_channel: DeliveryChannel = said("Where notifications go.", ...)

    @property
    def names(self) -> Collection[str]:
        kept = set() if "email" in self.model_fields_set else {"email"}
        return type(self).model_fields.keys() - kept


@act(by=PEOPLE, route=_route(f"PATCH {PLACE}/preferences"))
class PatchPreferences(_Wishes):
    """Change some preferences; null takes an address or quiet hours away"""


ACTS: Final[Sequence[type[Act[Any]]]] = (
    SendNotification,
    GetPreferences,
    PutPreferences,
    PatchPreferences,
    ListNotifications,
    CountUnread,
    ReadAllNotifications,
    SeeAllNotifications,
    _changing(NotificationChange.READ, "Mark as read"),
    _changing(NotificationChange.UNREAD, "Mark as unread again"),
    _changing(NotificationChange.ARCHIVE, "Put away"),
    _changing(NotificationChange.UNARCHIVE, "Take out again"),
    SnoozeNotification,
    DismissNotification,
)
