"""A person's preferences, with the quiet hours that are in that person's attention policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from postroom.domain.inbox_owner import person_of_inbox
from postroom.domain.notice_rows import Loaded, NoticeChanges
from postroom.domain.notification import Preferences
from postroom.work.attention.facts import PolicyChanged
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.turn import Turn
from postroom.work.inbox.ports import PreferenceRows
from postroom.work.inbox.quiet_hours import own_policy, shown, with_quiet_hours


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxWishes:
    """One place for quiet hours: what is changed here is changed in the policy, in the same transaction."""

    rows: PreferenceRows
    book: NoticeBook

    async def of(self, user_id: str) -> Preferences:
        return self._shown(await self.rows.of(user_id))

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        """Read, edit and write as one step, so that two edits at once both count."""
        person, told = person_of_inbox(user_id), list[NoticeChanges]()

        def both(kept: Preferences, loaded: Loaded) -> tuple[Preferences, NoticeChanges | None]:
            told.clear()
            before = self._shown(kept)
            after = edit(before)
            changes = self._changes(person, kept, before, after, loaded, now_us)
            told.extend([changes] if changes is not None else [])
            same = after.quiet_hours_timezone == before.quiet_hours_timezone
            zone = kept.quiet_hours_timezone if same else after.quiet_hours_timezone
            return replace(after, quiet_hours_start=None, quiet_hours_end=None, quiet_hours_timezone=zone), changes

        after = await self.rows.change_both(user_id, self.book.wanted(person), both, now_us)
        if told:
            await self.book.refresh()
            self.book.woken.ring()
        return self._shown(after)

    def _shown(self, kept: Preferences) -> Preferences:
        return shown(kept, self.book.household, self.book.zone)

    def _changes(
        self, person: str, kept: Preferences, before: Preferences, after: Preferences, loaded: Loaded, now_us: int
    ) -> NoticeChanges | None:
        """What is held is judged anew under the policy as it is then."""
        own = own_policy(kept)
        policy = with_quiet_hours(own, before, after, self.book.household)
        turn = Turn(person, loaded, self.book.policies, now_us)
        if policy == turn.policy:
            return None
        turn.take(PolicyChanged(at_us=turn.moment_us, policy=policy))
        turn.judge()
        return turn.changes()
