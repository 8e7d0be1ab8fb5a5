"""What runs and what waits, counted where the console's first page counts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from postroom.app.accounts import Accounts
from postroom.domain.account import ListedAccount
from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.ids import IdMint
from postroom.domain.notice_states import CELLS
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.domain.standing import FailingChannel, StandingNow, WaitingNow
from postroom.system.settings import Settings
from postroom.system.settings.version import package_version
from postroom.work.inbox.owner import inbox_of
from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.inbox import StoredNotes
from postroom.world.store.questions.figures import QuestionFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdStanding:
    settings: Settings
    database: Database
    accounts: Accounts
    may_decide: Callable[[Principal], bool]
    clock: Clock
    mint: IdMint
    started_at_us: int

    async def seen_by(self, who: Principal) -> StandingNow:
        return StandingNow(
            version=package_version(),
            sandbox=self.settings.in_sandbox,
            started_at_us=self.started_at_us,
            waiting=await self._waiting(who),
            failing=[failing for one in await self.accounts.listed() if (failing := failing_channel(one))],
        )

    async def _waiting(self, who: Principal) -> WaitingNow:
        decides = self.settings.approvals_on and self.may_decide(who)
        return WaitingNow(
            questions=await _counted(partial(self._questions, who)),
            approvals=await _counted(self._approvals) if decides else None,
            unread=await _counted(partial(self._unread, who)),
            held=await _counted(partial(self._held, who)),
            dead_letters=await _counted(self._dead_letters) if who.is_owner else None,
        )

    async def _questions(self, who: Principal) -> int:
        return await QuestionFigures(self.database).waiting_for(person_id_of(who) or "")

    async def _approvals(self) -> int:
        return await StoredOverview(self.database).awaiting_approval(self.clock.now_us())

    async def _unread(self, who: Principal) -> int:
        return await StoredNotes(self.database, self.mint.mint).unread(inbox_of(who) or "", self.clock.now_us())

    async def _held(self, who: Principal) -> int:
        held = [str(one) for one in CELLS["held"]]
        return await StoredNotices(self.database).in_states(person_id_of(who) or "", held)

    async def _dead_letters(self) -> int:
        trouble = await StoredOverview(self.database).trouble()
        return trouble.given_up + trouble.held


async def _counted(count: Callable[[], Awaitable[int]]) -> int | None:
    """Each stands alone: what cannot be read is not known."""
    try:
        return await count()
    except StoreUnavailable:
        return None


def failing_channel(one: ListedAccount) -> FailingChannel | None:
    if not one.configured:
        return None
    if one.health is None:
        return FailingChannel(name=one.name, reason="the messenger does not answer")
    if one.health.circuit != "closed":
        return FailingChannel(name=one.name, reason=one.health.reason or f"its circuit is {one.health.circuit}")
    return FailingChannel(name=one.name, reason=f"hears nothing: {one.trouble.sentence}") if one.trouble else None
