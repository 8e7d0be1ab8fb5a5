"""When people may be shown a question, and until when it then waits: the same policy as for notices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroom.domain.attention import AcceptedNotice
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.quiet import after_open_time
from postroom.work.attention.rules import PolicyBook, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTimes:
    book: NoticeBook

    async def shown_at(self, person: str, asker: str, urgency: Urgency, now_us: int) -> int:
        """Now, or when it is no longer quiet for them."""
        await self.book.keep_fresh()
        if self.book.policies.neutral(person):
            return now_us
        rules = self.book.policies.rules(person)
        return shown_at(rules, _capped(rules, person, asker, urgency), now_us)

    def channels_after(self, person: str) -> Sequence[tuple[str | None, float]]:
        """Channels that their escalation names, each so long after the one before; None is somebody else's step."""
        if self.book.policies.neutral(person):
            return ()
        steps = self.book.policies.rules(person).escalation
        return [(one.channel if one.person in (None, person) else None, one.after_seconds) for one in steps]

    async def policies(self) -> PolicyBook:
        """To be compared with those of the look before."""
        await self.book.keep_fresh()
        return self.book.policies

    async def deadline(
        self, people: Iterable[str], asker: str, urgency: Urgency, *, asked_us: int, deadline_us: int
    ) -> int:
        """Later by the quiet time of the one who has had all of it first: it does not run out while no one sees it."""
        await self.book.keep_fresh()
        return min((self._deadline(one, asker, urgency, asked_us, deadline_us) for one in people), default=deadline_us)

    def _deadline(self, person: str, asker: str, urgency: Urgency, asked_us: int, deadline_us: int) -> int:
        if self.book.policies.neutral(person):
            return deadline_us
        rules = self.book.policies.rules(person)
        return open_deadline(rules, _capped(rules, person, asker, urgency), asked_us, deadline_us)


def shown_at(rules: Rules, urgency: Urgency, now_us: int) -> int:
    """Now, or when quiet hours end."""
    return rules.quiet_until(urgency, now_us) or now_us


def open_deadline(rules: Rules, urgency: Urgency, asked_us: int, deadline_us: int) -> int:
    """The deadline, later by all the quiet time before it: it does not run out while the person is not shown it."""
    if rules.passes(urgency):
        return deadline_us
    return after_open_time(rules.quiet_hours, rules.zone, asked_us, max(deadline_us - asked_us, 0))


def _capped(rules: Rules, person: str, asker: str, urgency: Urgency) -> Urgency:
    """An asker asks; the person's ceilings and grants have the last word, by its name without its role."""
    agent = asker.partition(":")[2] or asker
    return rules.urgency(AcceptedNotice(id="", person=person, agent=agent, created_us=0, channel="", urgency=urgency))
