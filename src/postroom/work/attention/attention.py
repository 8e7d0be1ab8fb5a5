"""Attention: which notice a person is shown when and where; the service behind every door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.attention.absence import Absence
from postroom.work.attention.plan import PlanItem
from postroom.work.attention.policy import Policy
from postroom.work.attention.views import Comparison, Figures, NoticeView

MOST_LISTED = 100


@dataclass(slots=True, kw_only=True)
class Attention:
    """
    Each act is one dated fact, folded and decided in one transaction under the person's lock.

    Who may do it is asked at the doors; that an agent withdraws only its own is asked here. `person` is the id of a
    person in the people book. Errors: Refused with `not_found` for what is not there, `illegal_transition` for a notice
    that can no longer do that, ValidationError for what can never be, StoreUnavailable.
    """

    async def consider(self, outgoing: Outgoing, request_id: str, *, wait_seconds: float = 0.0) -> Outcome | None:
        """None: go on as if nothing had been asked. Else the answer: deferred, or what became of it at once."""
        raise NotImplementedError

    async def ack(self, notice_id: str, by: str) -> NoticeView:
        """`by`: the id of the person who did. A second time is the same answer."""
        raise NotImplementedError

    async def snooze(self, notice_id: str, until_us: int | None, by: str) -> NoticeView:
        """None: until it is snoozed again, to a moment."""
        raise NotImplementedError

    async def withdraw(
        self, agent: str, notice_id: str | None = None, key: str | None = None
    ) -> tuple[NoticeView, ...]:
        """One by its id, or all of the agent's key; a key that has not come yet is remembered, and the answer empty."""
        raise NotImplementedError

    async def mute(
        self,
        person: str,
        agent: str | None = None,
        thread: str | None = None,
        category: str | None = None,
        until_us: int | None = None,
    ) -> None:
        """At least one of agent, thread, category; `until_us` None: until it is unmuted."""
        raise NotImplementedError

    async def unmute(
        self, person: str, agent: str | None = None, thread: str | None = None, category: str | None = None
    ) -> None:
        raise NotImplementedError

    async def away(self, person: str, absence: Absence | None) -> None:
        """None: back now."""
        raise NotImplementedError

    async def notice(self, notice_id: str) -> NoticeView | None:
        raise NotImplementedError

    async def notices(
        self, person: str, cell: str | None = None, limit: int = MOST_LISTED, before: str | None = None
    ) -> Sequence[NoticeView]:
        """Newest first, without their decisions; `before`: older than this notice. Cells are those of `CELLS`."""
        raise NotImplementedError

    async def plan(self, notice_id: str) -> tuple[PlanItem, ...]:
        raise NotImplementedError

    async def person_plan(self, person: str) -> tuple[PlanItem, ...]:
        raise NotImplementedError

    async def policy(self, person: str) -> tuple[Policy | None, str]:
        """The person's own, and the hash of what counts for them (the household's and their own)."""
        raise NotImplementedError

    async def absences(self, person: str) -> tuple[Absence, ...]:
        """Those that are not over."""
        raise NotImplementedError

    async def set_policy(self, person: str, policy: Policy | None) -> str:
        """Judges every open notice anew in the same transaction; returns the new hash. None: the household's alone."""
        raise NotImplementedError

    async def preview(self, person: str, policy: Policy | None) -> tuple[str, ...]:
        """In words, what this policy would have changed over the last week."""
        raise NotImplementedError

    async def simulate(self, person: str, policy: Policy | None, since_us: int) -> Comparison:
        raise NotImplementedError

    async def figures(self, person: str | None = None) -> Figures:
        """Of one person, or of all."""
        raise NotImplementedError
