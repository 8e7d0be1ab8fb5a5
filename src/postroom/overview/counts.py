"""What the first pages and the navigation count, each from an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import Connection, func, select, text

from postroom.approvals.model import ApprovalEventType
from postroom.approvals.store.steps import waits
from postroom.approvals.store.tables import approval_events, pending_actions, was_refused
from postroom.attention.store import held_between, held_for
from postroom.conversations.store import StoredTroubles
from postroom.delivery.reading.counts import (
    Counted,
    DeadLetterCounts,
    Depth,
    Detail,
    Spread,
    StoredFigures,
    Stretch,
    Tally,
    spread_of,
)
from postroom.delivery.reading.file import DeadLetterQuery, DeliveryQuery, RowPage
from postroom.delivery.reading.record import FoundDelivery
from postroom.delivery.reading.search import FoundDeliveries, FoundLetters, find_letters, identified, lookup
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, as_of
from postroom.delivery.store.dead_letters import OpenedLetter, StoredDeadLetters
from postroom.delivery.store.limits import StoredCircuits
from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_requests
from postroom.delivery.workers import LivingWorker, living
from postroom.inbox.store.notes import unread
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import DeadLetterId, first_id_at, moment_of
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.message.delivery import ClosedAddress, QuarantineReason, Status
from postroom.message.inbound import InboundTrouble
from postroom.overview.story import DeliveryFile, delivery_file
from postroom.overview.tracking import StoredDeliveries
from postroom.people.model import inbox_of
from postroom.people.store.rows import StoredClosedAddresses
from postroom.questions.store.questions import besides_for, waiting_for
from postroom.questions.store.tables import questions

_requests = delivery_requests.c
_attempts = delivery_attempts.c
_YES_OR_NO: Final = (str(ApprovalEventType.ACTION_APPROVED), str(ApprovalEventType.ACTION_REJECTED))
_UNTOUCHED = text("discarded_at IS NULL AND replay_count = 0")  # spelled as in the partial index
_COUNTED = (Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED)
_LOOKED_AT = 500
_MOST_ARRIVALS = 500
MOST_A_DAY: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingNow:
    """
    Questions that ask them, messages that wait for a decision in the household, notes not yet read, notices held.

    None is what this person may not see, what is switched off, or what could not be counted: never nothing.
    """

    questions: int | None = None
    approvals: int | None = None
    unread: int | None = None
    held: int | None = None
    dead_letters: int | None = None


# -- The first page's figures, each read from an index, so that a million deliveries cost no more than a thousand --


class StoredOverview:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def pulse(self) -> dict[str, tuple[Any, ...]]:
        return await self._database.read(pulse)

    async def trouble(self) -> DeadLetterCounts:
        return await self._database.read(trouble)

    async def waits(self, who: Principal, now_us: int) -> WaitingNow:
        """In one read, for everything that says it: the navigation, Today, and `postroom` alone."""
        person_id, user_id = person_id_of(who), inbox_of(who)

        def read(connection: Connection) -> WaitingNow:
            return WaitingNow(
                questions=0 if person_id is None else waiting_for(connection, person_id, besides_for(who)),
                approvals=awaiting_approval(connection, now_us),
                unread=0 if user_id is None else unread(connection, user_id, now_us),
                held=0 if person_id is None else held_for(connection, person_id),
            )

        return await self._database.read(read)


def trouble(connection: Connection) -> DeadLetterCounts:
    reason = delivery_dead_letter.c.quarantine_reason
    counted = select(reason, func.count().label("many")).where(_UNTOUCHED).group_by(reason)
    found = {QuarantineReason(row.quarantine_reason): row.many for row in connection.execute(counted)}
    return DeadLetterCounts(
        given_up=found.get(QuarantineReason.RETRIES_EXHAUSTED, 0),
        held=found.get(QuarantineReason.OUTCOME_UNCERTAIN, 0),
    )


def awaiting_approval(connection: Connection, now_us: int) -> int:
    waiting = select(func.count()).where(waits(), questions.c.expires_at > now_us)
    return int(connection.execute(waiting).scalar_one())


def pulse(connection: Connection) -> dict[str, tuple[Any, ...]]:
    """
    For each topic the moment of the newest change, then something that differs when more has happened.

    Bounded, because it is asked every second: with more open deliveries than are
    looked at, the newest id and the dead letters still move.
    """
    newest = select(func.max(_requests.id)).scalar_subquery()
    letters = select(func.max(delivery_dead_letter.c.created_at)).scalar_subquery()
    open_rows = (
        select(_requests.updated_at)
        .where(text("status IN ('pending', 'in_progress')"))
        .limit(_LOOKED_AT)
        .subquery("open_rows")
    )
    moving = select(func.count(), func.max(open_rows.c.updated_at), newest, letters).select_from(open_rows)
    waiting = select(func.count(), func.max(questions.c.subject_id)).where(waits())
    count, moved_at, newest_id, lettered_at = connection.execute(moving).one()
    parked, newest_action = connection.execute(waiting).one()
    came_at, asked_at = (moment_of(one) if one else 0 for one in (newest_id, newest_action))
    return {
        "deliveries": (max(moved_at or 0, came_at, lettered_at or 0), count, moved_at, newest_id, lettered_at),
        "approvals": (asked_at, parked, newest_action),
    }


# -- What happened on each day: sent, held for a better moment, and asked --


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCounts:
    """Of one channel at most MOST_A_DAY are counted as sent."""

    since_us: int
    sent: int
    held: int
    asked: int


def _held_and_asked(connection: Connection, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """An id is a time."""
    held = [held_between(since_us, until_us).scalar_subquery() for since_us, until_us in spans]
    ids = [(first_id_at(since_us), first_id_at(until_us)) for since_us, until_us in spans]
    made = select(func.count()).select_from(questions)
    asked = [made.where(questions.c.id >= one, questions.c.id < end).scalar_subquery() for one, end in ids]
    row = connection.execute(select(*(one.label(f"n{place}") for place, one in enumerate((*held, *asked))))).one()
    return list(zip(row[: len(spans)], row[len(spans) :], strict=True))


# -- How long people waited: of the newest --


def arrivals(connection: Connection, since_us: int, until_us: int) -> Mapping[str, Spread]:
    """By channel: accepted, or approved where it waited for a person, until the provider had it."""
    newest = (
        select(_requests.id, _requests.channel, _requests.status, _requests.created_at, _requests.terminal_at)
        .where(_requests.id >= first_id_at(since_us), _requests.id < first_id_at(until_us))
        .order_by(_requests.id.desc())
        .limit(_MOST_ARRIVALS)
        .subquery("newest")
    )
    began = func.coalesce(questions.c.ended_at, newest.c.created_at)
    took = (
        select(newest.c.channel, (newest.c.terminal_at - began).label("value"))
        .outerjoin(pending_actions, pending_actions.c.id == newest.c.id)
        .outerjoin(questions, questions.c.id == pending_actions.c.question_id)
        .where(newest.c.status == str(Status.DELIVERED), newest.c.terminal_at.is_not(None))
        .subquery("took")
    )
    return {row.channel: _spread(row) for row in connection.execute(spread_of(took, "channel"))}


def decided(connection: Connection, since_us: int) -> Spread | None:
    """For how long each waited for a person who then said yes or no."""
    actions, trail = pending_actions.c, approval_events.c
    waited = (
        select((trail.occurred_at - actions.requested_at).label("value"))
        .join(approval_events, trail.action_id == actions.id)
        .where(actions.id >= first_id_at(since_us), trail.occurred_at >= actions.requested_at)
        .where(trail.event_type.in_(_YES_OR_NO))
        .order_by(actions.id.desc())
        .limit(_MOST_ARRIVALS)
        .subquery("waited")
    )
    row = connection.execute(spread_of(waited)).one()
    return _spread(row) if row.many else None


def _spread(row: Any) -> Spread:
    return Spread(many=row.many, p50_ms=row.p50 / 1000, p95_ms=row.p95 / 1000)


# -- What the console's pages read of the ledger --


class ConsoleOverview:
    """The first page, that of health, and those of deliveries and dead letters, from the ledger and nothing else."""

    def __init__(self, database: Database, channels: Sequence[str], breaker: BreakerPolicy) -> None:
        self._database = database
        self._circuits = StoredCircuits(database)
        self._figures = StoredFigures(database, was_refused())
        self._deliveries = StoredDeliveries(database)
        self._letters = StoredDeadLetters(database)
        self._breaker = breaker
        self.channels = channels

    async def tallies(self, since_us: int) -> Sequence[Tally]:
        return await self._figures.tallies(self.channels, since_us)

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        known = await self._circuits.load()
        return {name: as_of(circuit, self._breaker, now_us) for name, circuit in known.items()}

    async def depth(self) -> Depth:
        return await self._figures.depth(None)

    async def latest(self, limit: int) -> Sequence[FoundDelivery]:
        return (await self.find(DeliveryQuery(page=RowPage(limit=limit)), None)).rows

    async def hearing(self) -> Sequence[InboundTrouble]:
        return await StoredTroubles(self._database).listed()

    async def closed(self, most: int) -> Sequence[ClosedAddress]:
        return await StoredClosedAddresses(self._database).newest(most)

    async def workers(self, now_us: int) -> Sequence[LivingWorker]:
        return await self._database.read(partial(living, now_us=now_us))

    async def series(self, edges_us: Sequence[int], most: int) -> Sequence[Counted]:
        """How well deliveries went over time: the newest of each stretch."""
        spans = pairwise(edges_us)
        return await self._figures.report([Stretch(since_us=one, until_us=end, most=most) for one, end in spans])

    async def days(self, edges_us: Sequence[int]) -> Sequence[DayCounts]:
        spans = list(pairwise(edges_us))
        cells = [
            Stretch(since_us=since_us, until_us=until_us, channel=name, status=Status.DELIVERED, most=MOST_A_DAY)
            for since_us, until_us in spans
            for name in self.channels
        ]
        sent = Counter[int]()
        for one in await self._figures.report(cells, detail=Detail.MANY):
            sent[one.stretch.since_us] += one.figures.deliveries
        others = await self._database.read(partial(_held_and_asked, spans=spans))
        return [
            DayCounts(since_us=since_us, sent=sent[since_us], held=held, asked=asked)
            for (since_us, _), (held, asked) in zip(spans, others, strict=True)
        ]

    async def arrivals(self, since_us: int, until_us: int) -> Mapping[str, Spread]:
        return await self._database.read(partial(arrivals, since_us=since_us, until_us=until_us))

    async def decided(self, since_us: int) -> Spread | None:
        return await self._database.read(partial(decided, since_us=since_us))

    async def find(self, query: DeliveryQuery, words: str | None, places: Sequence[str] = ()) -> FoundDeliveries:
        return await self._database.read(partial(lookup, query=query, words=words, places=places))

    async def identified(self, identifier: str) -> str | None:
        return await self._database.read(partial(identified, identifier=identifier))

    async def file(self, delivery_id: str) -> DeliveryFile | None:
        return await self._database.read(partial(delivery_file, delivery_id=delivery_id))

    async def find_letters(self, query: DeadLetterQuery, words: str | None, places: Sequence[str]) -> FoundLetters:
        return await self._database.read(partial(find_letters, query=query, words=words, places=places))

    async def letter(self, dead_letter_id: DeadLetterId) -> OpenedLetter | None:
        return await self._letters.letter(dead_letter_id)
