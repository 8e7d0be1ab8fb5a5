"""A person's notifications: read them, put them off, put them away, and take them out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.attention.rules.times import Wish, snoozed_until
from postroom.console.frame import NavigationGroup
from postroom.console.lists import Found, ListPage, ListQuery, Shelves, paged
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.console.words import figure, state_word
from postroom.inbox.acts import PutPreferences
from postroom.inbox.inbox import Inbox
from postroom.inbox.model import (
    MOST_SHELVED,
    SHELVES,
    Cursor,
    DeliveryChannel,
    Notification,
    NotificationChange,
    NotificationQuery,
    Shelf,
)
from postroom.inbox.preferences import warnings_of
from postroom.inbox.rules import cursor_after, parse_cursor
from postroom.kernel.acts.declaration import Call
from postroom.kernel.acts.reading import read
from postroom.kernel.values.errors import Refused, ValidationError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.principal import Principal
from postroom.kernel.values.zones import zone_names
from postroom.people.model import inbox_of
from postroom.questions.page import QuestionPages
from postroom.questions.store.questions import besides_for

PAGE_SIZE: Final = 20
_GONE: Final = "There is no such notification in your inbox any more."

# What a person may do, and how the page says that it was done.
_CHANGES: Final[Mapping[str, tuple[NotificationChange, str]]] = {
    "read": (NotificationChange.READ, "Marked as read."),
    "unread": (NotificationChange.UNREAD, "Marked as unread."),
    "archive": (NotificationChange.ARCHIVE, "Put away."),
    "unarchive": (NotificationChange.UNARCHIVE, "Taken out again."),
    "dismiss": (NotificationChange.DISMISS, "Dismissed. You find it under Dismissed."),
    "wake": (NotificationChange.SNOOZE, "Back in the inbox."),
    "restore": (NotificationChange.RESTORE, "Brought back."),
}


_MANY: Final[Mapping[str, tuple[NotificationChange, str]]] = {
    "read": (NotificationChange.READ, "marked as read"),
    "archive": (NotificationChange.ARCHIVE, "put away"),
    "dismiss": (NotificationChange.DISMISS, "dismissed"),
}


_READ, _ARCHIVE, _DISMISS = ("read", "Mark as read"), ("archive", "Archive"), ("dismiss", "Dismiss")
_OFFERED: Final[Mapping[Shelf, Sequence[tuple[str, str]]]] = {
    Shelf.UNREAD: (_READ, _ARCHIVE, _DISMISS),
    Shelf.READ: (_ARCHIVE, _DISMISS),
    Shelf.SNOOZED: (_ARCHIVE, _DISMISS),
    Shelf.ARCHIVED: (_DISMISS,),
    Shelf.DISMISSED: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPages:
    inbox: Inbox
    questions: QuestionPages

    async def show(self, visit: Visit) -> Response:
        """The own inbox, or for the operator somebody else's: to read and no more."""
        own = own_inbox(visit)
        whose = self._whose(visit, own)
        listed = ListPage(
            title="Inbox",
            parts="inbox.html",
            look="letters",
            find=partial(self._find, whose),
            shelves=Shelves("shelf", {one: state_word(one) for one in SHELVES}),
            live="sse:inbox throttle:2s, sse:questions throttle:2s" if whose == own else "every 10s",
            said="The inbox was brought up to date.",
            kept={} if whose == own else {"of": whose},
        )
        return await listed.show(visit)

    async def _find(self, whose: str, visit: Visit, asked: ListQuery) -> Found[Notification]:
        shelf, after = Shelf(asked.shelf), _cursor(asked.before or "")
        wanted = NotificationQuery(shelf=shelf, after=after, limit=PAGE_SIZE + 1)
        found = await self.inbox.notes.page(whose, wanted, visit.now_us)
        notes, older = paged(found, PAGE_SIZE, cursor_after)
        counts = await self.inbox.notes.counts(whose, visit.now_us)
        is_own, besides = whose == own_inbox(visit), besides_for(visit.principal)
        others = (
            [one for one in await self.inbox.notes.people() if one != own_inbox(visit)] if visit.is_operator else []
        )
        return Found(
            rows=notes,
            older=older,
            ids=others,
            counts={one: figure(counts[one], MOST_SHELVED) for one in SHELVES},
            around={
                "whose": whose,
                "is_own": is_own,
                "others": others,
                "many": _OFFERED[shelf],
                "preferences": await self.inbox.preferences(whose),
                "asked": await self.questions.waiting(visit.principal, besides=besides) if is_own else 0,
                "questions": await self.questions.cards(visit, besides=besides) if is_own and after is None else (),
            },
        )

    async def one(self, visit: Visit) -> Response:
        found = await self.inbox.notes.find(own_inbox(visit), visit.path["id"])
        if found is None:
            raise HTTPException(404)
        preferences = await self.inbox.preferences(found.user_id)
        return visit.show(
            "notification.html", note=found, shelf=shelf_of(found, visit.now_us), zone=preferences.quiet_hours_timezone
        )

    async def change(self, visit: Visit, what: NotificationChange, said: str) -> Response:
        return _done(visit, await self.inbox.change(own_inbox(visit), visit.path["id"], what), said)

    async def snooze(self, visit: Visit) -> Response:
        preferences = await self.inbox.preferences(own_inbox(visit))
        try:
            wish = Wish(visit.form.get("wish"))
            until_us = snoozed_until(wish, visit.form.get("until"), preferences.quiet_hours_timezone, visit.now_us)
        except ValidationError as error:
            return visit.go(f"/inbox/{visit.path['id']}", f"Not snoozed: the time {error.fields[0].error}.", "bad")
        except ValueError:
            raise HTTPException(404) from None
        after = await self.inbox.change(own_inbox(visit), visit.path["id"], NotificationChange.SNOOZE, until_us)
        return _done(visit, after, "Snoozed. You find it under Snoozed until then.")

    async def read_all(self, visit: Visit) -> Response:
        many = await self.inbox.read_all(own_inbox(visit))
        return visit.go("/inbox", f"{many} marked as read." if many else "Nothing was unread.")

    async def many(self, visit: Visit) -> Response:
        """Those that were ticked; the others stay as they are."""
        back = f"/inbox?shelf={_shelf(visit.form.get('shelf'))}"
        if (chosen := _MANY.get(visit.form.get("act"))) is None:
            raise HTTPException(404)
        what, said = chosen
        own, ids = own_inbox(visit), visit.form.all("id")[:PAGE_SIZE]
        if not ids:
            return visit.go(back, "Nothing was ticked.", "bad")
        after = [await self.inbox.change(own, one, what) for one in ids]
        return visit.go(back, f"{sum(one is not None for one in after)} {said}.")

    def _whose(self, visit: Visit, own: str) -> str:
        wanted = visit.query.get("of", "") or own
        if wanted != own and not visit.is_operator:
            raise HTTPException(404)
        return wanted


def inbox_section(pages: InboxPages, preferences: PreferencePages) -> ConsoleSection:
    def changing(name: str) -> ConsolePage:
        what, said = _CHANGES[name]

        async def act(visit: Visit) -> Response:
            return await pages.change(visit, what, said)

        return ConsolePage(f"/inbox/{{id}}/{name}", act, "POST", open_to=has_inbox)

    return ConsoleSection(
        name="Inbox",
        group=NavigationGroup.YOURS,
        pages=(
            ConsolePage("/inbox", pages.show, open_to=has_inbox),
            # before the page of one notification, whose path would swallow theirs
            ConsolePage("/inbox/preferences", preferences.show, open_to=has_inbox),
            ConsolePage("/inbox/preferences", preferences.save, "POST", open_to=has_inbox),
            ConsolePage("/inbox/read-all", pages.read_all, "POST", open_to=has_inbox),
            ConsolePage("/inbox/many", pages.many, "POST", open_to=has_inbox),
            ConsolePage("/inbox/{id}", pages.one, open_to=has_inbox),
            *(changing(name) for name in _CHANGES),
            ConsolePage("/inbox/{id}/snooze", pages.snooze, "POST", open_to=has_inbox),
        ),
    )


def has_inbox(who: Principal) -> bool:
    return inbox_of(who) is not None


def own_inbox(visit: Visit) -> str:
    own = inbox_of(visit.principal)
    if own is None:
        raise HTTPException(404)
    return own


def shelf_of(one: Notification, now_us: int) -> Shelf:
    if one.dismissed_at_us is not None:
        return Shelf.DISMISSED
    if one.archived_at_us is not None:
        return Shelf.ARCHIVED
    if (one.snoozed_until_us or 0) > now_us:
        return Shelf.SNOOZED
    return Shelf.UNREAD if one.read_at_us is None and one.has_bell else Shelf.READ


def _done(visit: Visit, after: Notification | None, said: str) -> Response:
    back = f"/inbox?shelf={_shelf(visit.form.get('shelf'))}"
    return visit.go(back, _GONE, "bad") if after is None else visit.go(back, said)


def _shelf(text: str) -> Shelf:
    return Shelf(text) if text in SHELVES else Shelf.UNREAD


def _cursor(text: str) -> Cursor | None:
    try:
        return parse_cursor(text) if text else None
    except ValidationError:
        return None


# How a person wants to be told: where, and at which hours not.


@dataclass(frozen=True, slots=True)
class PreferencePages:
    inbox: Inbox

    async def show(self, visit: Visit) -> Response:
        kept = await self.inbox.preferences(own_inbox(visit))
        shown = {
            "delivery_channel": str(kept.delivery_channel),
            "email": kept.email_pending or kept.email or "",
            "quiet_hours_start": kept.quiet_hours_start.isoformat("minutes") if kept.quiet_hours_start else "",
            "quiet_hours_end": kept.quiet_hours_end.isoformat("minutes") if kept.quiet_hours_end else "",
            "quiet_hours_timezone": kept.quiet_hours_timezone,
            "high_priority_passes": kept.high_priority_passes,
        }
        warnings = warnings_of(kept, email_enabled=self.inbox.terms.email_enabled)
        return _page(visit, shown, {}, warnings=warnings, waits=kept.email_pending is not None)

    async def save(self, visit: Visit) -> Response:
        own_inbox(visit)
        wishes = _wishes(visit)
        try:
            one, _ = read(PutPreferences, wishes)
            await one.do(Call(work=self.inbox, caller=visit.principal, door="console"))
        except (Refused, ValidationError) as error:
            typed = {name: "" if value is None else value for name, value in wishes.items()}
            return _page(visit, typed, {one.field: one.error for one in error.fields}, status=422)
        return visit.go("/inbox/preferences", "Saved.")


def _wishes(visit: Visit) -> Document:
    texts = {name: visit.form.get(name).strip() or None for name in ("email", "quiet_hours_start", "quiet_hours_end")}
    return {
        "delivery_channel": visit.form.get("delivery_channel"),
        **texts,
        "quiet_hours_timezone": visit.form.get("quiet_hours_timezone").strip() or None,
        "high_priority_passes": visit.form.get("high_priority_passes") == "yes",
    }


def _page(
    visit: Visit,
    shown: Document,
    complaints: dict[str, str],
    *,
    status: int = 200,
    warnings: Sequence[str] = (),
    waits: bool = False,
) -> Response:
    return visit.show(
        "inbox_preferences.html",
        status=status,
        shown=shown,
        complaints=complaints,
        warnings=warnings,
        waits=waits,
        channels=[
            (DeliveryChannel.IN_APP, "In the inbox"),
            (DeliveryChannel.EMAIL, "By e-mail"),
            (DeliveryChannel.BOTH, "In the inbox and by e-mail"),
        ],
        zones=sorted(zone_names()),
    )
