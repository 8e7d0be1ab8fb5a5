"""What the inbox needs from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from postroom.domain.email_copy import Batch, Ending, Judge, Verdict
from postroom.domain.notice_rows import Loaded, NoticeChanges, Wanted
from postroom.domain.notification import Notification, NotificationQuery, Preferences

Edit = Callable[[Notification], Notification | None]


class Notes(Protocol):
    """
    The notifications themselves; every question names the person it is asked for.

    `create` counts, decides about the e-mail and writes in one transaction, so
    the hourly cap holds whoever else is writing; None means the cap is reached.
    """

    async def create(
        self, new: Notification, *, hourly_cap: int, judge: Judge
    ) -> tuple[Notification, Verdict] | None: ...

    async def page(self, user_id: str, page: NotificationQuery, now_us: int) -> Sequence[Notification]: ...

    async def since(self, user_id: str, moment_us: int, limit: int) -> Sequence[Notification]:
        """With a bell, in the order they came."""
        ...

    async def unread(self, user_id: str, now_us: int) -> int: ...

    async def change(self, user_id: str, notification_id: str, edit: Edit) -> Notification | None:
        """Read, edit and write as one step; None when it is not this person's, or the edit says so."""
        ...

    async def read_all(self, user_id: str, now_us: int) -> int:
        """What is in view now, archived and snoozed ones aside; returns how many were unread."""
        ...

    async def see_all(self, user_id: str, now_us: int) -> int: ...

    async def pulses(self, user_ids: Collection[str], since_us: int, now_us: int) -> Mapping[str, tuple[int, int]]:
        """For each user something happened to lately: a pair that differs whenever something more has happened."""
        ...


class PreferenceRows(Protocol):
    """As they are stored: with the row of attention, where the quiet hours are."""

    async def of(self, user_id: str) -> Preferences: ...

    async def change_both(
        self,
        user_id: str,
        wanted: Wanted,
        edit: Callable[[Preferences, Loaded], tuple[Preferences, NoticeChanges | None]],
        now_us: int,
    ) -> Preferences:
        """The preferences and what attention keeps of the same person, read, edited and written as one step."""
        ...


class PreferenceBook(Protocol):
    async def of(self, user_id: str) -> Preferences: ...

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        """Read, edit and write as one step, so that two edits at once both count."""
        ...


class HourlyCap(Protocol):
    """A quick no, shared by all processes. It may not know; the store counts again and has the last word."""

    async def take(self, user_id: str, notification_id: str, now_us: int) -> bool: ...

    async def give_back(self, user_id: str, notification_id: str) -> None: ...


class EmailQueue(Protocol):
    """E-mail copies that are not yet deliveries. A lease and a fence let any number of workers empty it."""

    async def take(
        self, *, now_us: int, lease_until_us: int, digest: bool, judge: Judge, mint: Callable[[int], str]
    ) -> Sequence[Batch]:
        """
        What is due, judged once more and leased to the caller.

        A batch that was taken before comes back exactly as it was decided then.
        """
        ...

    async def settle(self, batch: Batch, ending: Ending, now_us: int) -> bool:
        """False when the fence has moved on."""
        ...

    async def next_due_us(self) -> int | None: ...


class InboxMeter(Protocol):
    """Counts and logs what happens; never what was said."""

    def created(self, notification: Notification, email: Verdict) -> None: ...

    def limited(self, user_id: str, correlation_id: str | None) -> None: ...

    def handed_over(self, batch: Batch, ending: Ending) -> None: ...
