"""Lease and fence, for everything that is claimed: whoever works on a row is the only one, and no one is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from tests.attention.attended import names, take_in
from tests.attention.sample import accepted
from tests.clock import START_US, FakeClock
from tests.opened_database import KINDS, ledger_of, opened_database
from tests.questions.sample_questions import MINT, new_question
from tests.support.sample_deliveries import ending, new_delivery

from postroom.attention.state import SendRow
from postroom.attention.store import StoredNotices
from postroom.attention.turn import NoticeBook
from postroom.butlers.model import Session, SessionEvent, SessionId, SessionOutcome
from postroom.butlers.store import StoredSessions
from postroom.conversations.store import WRITTEN
from postroom.delivery.model import Claim
from postroom.delivery.rules.retry import DeliveryEvent
from postroom.household.store import stored_people
from postroom.inbox.model import AskedToConfirm, HandedOver
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
from postroom.kernel.database.engine import Database
from postroom.kernel.database.moments import StoredMoments, add_moments
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.moments import Reason
from postroom.questions.model import PlannedPresentation, PresentationClaim, PresentationMove, Shown
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

NOW = START_US
LEASE_US = seconds(30)
MANY = 12


@dataclass(frozen=True, slots=True)
class Held:
    """What one worker has: which row, and how to write what came of it."""

    name: str
    settle: Callable[[], Awaitable[bool]]


class Deliveries:
    def __init__(self, database: Database) -> None:
        self.ledger = ledger_of(database)

    async def add(self) -> None:
        for _ in range(MANY):
            await self.ledger.insert(replace(new_delivery(), created_at_us=NOW), None)

    async def take(self, now_us: int) -> list[Held]:
        lease = {"now_us": now_us, "lease_until_us": now_us + LEASE_US, "limit": 3}
        return self._held(await self.ledger.claim("telegram", **lease))

    async def take_lost(self, now_us: int) -> list[Held]:
        lease = {"now_us": now_us, "lease_until_us": now_us + LEASE_US, "limit": 3}
        return self._held(await self.ledger.reclaim(expired_before_us=now_us, **lease))

    def _held(self, claims: Sequence[Claim]) -> list[Held]:
        return [Held(one.id, partial(self._settle, one)) for one in claims]

    async def _settle(self, claim: Claim) -> bool:
        return await self.ledger.settle(ending(claim, DeliveryEvent.DELIVER))


class Cards:
    def __init__(self, database: Database) -> None:
        self.questions = StoredQuestions(database, Seal(bytes(32)))
        self.cards = StoredPresentations(database, MINT.mint, WRITTEN)

    async def add(self) -> None:
        question = (await self.questions.ask(new_question())).question
        places = [PlannedPresentation(person_id="anna", channel=f"c{one}", address="1") for one in range(MANY)]
        await self.cards.plan(question.id, ["anna", "ben"], places, NOW)

    async def take(self, now_us: int) -> list[Held]:
        claims = await self.cards.due(now_us, lease_until_us=now_us + LEASE_US, limit=3)
        return [Held(one.presentation.id, partial(self._settle, one)) for one in claims]

    take_lost = take

    async def _settle(self, claim: PresentationClaim) -> bool:
        return await self.cards.presented(claim, Shown(move=PresentationMove.SHOW, revision=1), NOW)


class Sends:
    def __init__(self, database: Database) -> None:
        self.store = StoredNotices(database)
        self.book = NoticeBook(store=self.store, people=names(database), clock=FakeClock(NOW))

    async def add(self) -> None:
        await take_in(self.book, *(accepted(f"n{one}", NOW, agent=f"agent {one}") for one in range(MANY)))

    async def take(self, now_us: int) -> list[Held]:
        rows = await self.store.take_sends(now_us, lease_until_us=now_us + LEASE_US, limit=3)
        return [Held(one.key, partial(self._settle, one)) for one in rows]

    take_lost = take

    async def _settle(self, row: SendRow) -> bool:
        return await self.store.handed_over(row.key, row.fence, "a delivery")


class Links:
    def __init__(self, database: Database) -> None:
        self.links = StoredConfirmations(database, stored_people(database, IdMint()))
        self.wishes = StoredPreferences(database)

    async def add(self) -> None:
        for one in range(MANY):
            wish = partial(replace, email_pending=f"user{one}@example.com")
            await self.wishes.change(f"user{one}", wish, NOW)

    async def take(self, now_us: int) -> list[Held]:
        taken = await self.links.take(now_us=now_us, lease_until_us=now_us + LEASE_US)
        return [Held(one.id, partial(self._settle, one)) for one in taken]

    take_lost = take

    async def _settle(self, asked: AskedToConfirm) -> bool:
        return await self.links.settle(asked, HandedOver("a delivery"), NOW)


class Sessions:
    """What their process had when it ended is put back into the queue when it begins again."""

    def __init__(self, database: Database) -> None:
        self.store = StoredSessions(database)

    async def add(self) -> None:
        for _ in range(MANY):
            new = Session(
                id=SessionId(MINT.mint(NOW)),
                butler="general",
                runtime="codex",
                trigger_source="trigger",
                caller="operator",
                prompt="Do it.",
                created_at_us=NOW,
            )
            await self.store.add(new, most_queued=MANY)

    async def take(self, now_us: int) -> list[Held]:
        session = await self.store.claim("general", now_us=now_us)
        return [Held(session.id, partial(self._settle, session))] if session is not None else []

    async def take_lost(self, now_us: int) -> list[Held]:
        await self.store.recover("general", now_us=now_us)
        return await self.take(now_us)

    async def _settle(self, session: Session) -> bool:
        return await self.store.end(session, SessionOutcome(event=SessionEvent.FINISH, transcript={}), now_us=NOW)


class Moments:
    def __init__(self, database: Database) -> None:
        self.database, self.moments = database, StoredMoments(database)

    async def add(self) -> None:
        new = [(f"m{one}", {Reason.REMIND: NOW}) for one in range(MANY)]
        await self.database.write(lambda connection: add_moments(connection, "test", new))

    async def take(self, now_us: int) -> list[Held]:
        taken = await self.moments.take(["test"], now_us, lease_until_us=now_us + LEASE_US, limit=3)
        return [Held(one.id, partial(self.moments.done, one)) for one in taken]

    take_lost = take


USERS = (Deliveries, Cards, Sends, Links, Sessions, Moments)
Worker = Deliveries | Cards | Sends | Links | Sessions | Moments


@pytest.fixture(params=USERS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[Worker]:
    return request.param


@pytest.fixture(params=KINDS)
async def workers(
    kind: type[Worker], request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Worker, Worker]]:
    """In two processes, as it were, on one database with a dozen rows to work on."""
    async with AsyncExitStack() as stack:
        opened = [opened_database(request.param, tmp_path, request) for _ in range(2)]
        first, second = [kind(await stack.enter_async_context(one)) for one in opened]
        await first.add()
        yield first, second


async def everything(workers: tuple[Worker, ...], now_us: int) -> list[Held]:
    """All that is due, taken by all of them at once."""
    taken: list[Held] = []
    while some := [held for one in await asyncio.gather(*(one.take(now_us) for one in workers * 3)) for held in one]:
        taken += some
    return taken


@pytest.mark.requirement("attention:kill-safe", "ask:shown-once")
async def test_two_workers_never_get_the_same_and_nothing_is_left(workers: tuple[Worker, Worker]) -> None:
    taken = await everything(workers, NOW)

    assert len({one.name for one in taken}) == len(taken) == MANY
    assert all([await one.settle() for one in taken])
    assert await everything(workers, NOW + 10 * LEASE_US) == []


@pytest.mark.requirement("attention:kill-safe", "ask:shown-once")
async def test_what_a_lost_worker_had_comes_back_when_its_lease_has_ended_and_not_before(
    workers: tuple[Worker, Worker],
) -> None:
    lost, other = workers
    had = {one.name for one in await everything((lost,), NOW)}
    assert await other.take(NOW + LEASE_US - 1) == []

    found: list[Held] = []
    while some := await other.take_lost(NOW + LEASE_US + 1):
        found += some
        assert all([await one.settle() for one in some])
    assert {one.name for one in found} == had


@pytest.mark.requirement("attention:kill-safe", "ask:shown-once")
async def test_what_a_lost_worker_says_later_is_refused_and_what_its_successor_says_counts_once(
    workers: tuple[Worker, Worker],
) -> None:
    lost, other = workers
    late = {one.name: one for one in await everything((lost,), NOW)}

    for valid in await other.take_lost(NOW + LEASE_US + 1):
        assert not await late[valid.name].settle()
        assert await valid.settle()
        assert not await valid.settle()
        assert not await late[valid.name].settle()
