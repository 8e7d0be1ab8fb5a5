"""What a household asks of its database again and again: lists, searches, figures, claims, and a step of a prune."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from benchmarks.growth_rows import row_id
from postroom.attention.store import StoredNotices
from postroom.conversations.history import Histories, Lately
from postroom.conversations.model import HistoryQuery
from postroom.conversations.store import WRITTEN, StoredInbound, TalkPulse
from postroom.delivery.files.taking import DAY_US, Retention
from postroom.delivery.reading.file import DeadLetterQuery, DeliveryQuery, RowPage
from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.inbox.model import NotificationQuery, Shelf
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.audit import AuditKind, AuditQuery
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.database.engine import Database
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.values.ids import SECOND_US, DeliveryId
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import Status
from postroom.overview import pruning as prune_deliveries
from postroom.overview.counts import (
    ConsoleOverview,
    StoredOverview,
)
from postroom.overview.pruning import STALE
from postroom.overview.tracking import StoredDeliveries
from postroom.people.model import Person, PersonAddress, PersonRole
from postroom.questions.model import QuestionStatus
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import QuestionFigures, StoredQuestions

Look = Callable[[], Awaitable[Any]]
CHANNELS = ("telegram", "email")
WHO, ASKER = "p1", "butler:butler1"
ADDRESS = "person7@example.org"
_NO_SEAL: Any = None  # nothing here is a secret
FULL_AT = {"inbox, counted by shelf": 150_000}  # deliveries
_STEP = 100  # rows that one transaction of a prune takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One database at one size; `now_us` is the moment before which everything in it happened."""

    database: Database
    ledger: DeliveryLedger
    now_us: int
    size: int

    def looks(self) -> Mapping[str, Look]:
        return {
            **self._ledger(),
            **self._deliveries(),
            **self._front(),
            **self._questions(),
            **self._people(),
            **self._prune(),
        }

    def _ledger(self) -> dict[str, Look]:
        middle = DeliveryId(row_id(self.size // 2, self.now_us))
        return {
            "claim": lambda: self.ledger.claim("telegram", now_us=self.now_us, lease_until_us=self.now_us, limit=32),
            "status of a delivery": lambda: self.ledger.get(middle),
        }

    def _deliveries(self) -> dict[str, Look]:
        listed = ConsoleOverview(self.database, CHANNELS, BreakerPolicy())
        stored, all_of = StoredDeliveries(self.database), DeliveryQuery()
        deep = RowPage(limit=500, before=row_id(self.size // 2, self.now_us))
        failed, places = DeliveryQuery(status=Status.FAILED), [f"telegram:{ADDRESS}"]
        return {
            "deliveries": lambda: listed.find(all_of, None),
            "deliveries, failed ones": lambda: listed.find(failed, None),
            "deliveries, of one butler": lambda: stored.search(DeliveryQuery(origin_butler="butler1")),
            "deliveries, a page of 500 from the middle": lambda: listed.find(DeliveryQuery(page=deep), None),
            "search, a word that is nowhere": lambda: listed.find(all_of, "nowhere"),
            "search, by a person's name": lambda: listed.find(all_of, "Ann", places),
            "one delivery's page": lambda: listed.file(row_id(self.size // 2, self.now_us)),
            "dead letters": lambda: listed.find_letters(DeadLetterQuery(), None, ()),
            "dead letters, by a person's name": lambda: listed.find_letters(DeadLetterQuery(), "Ann", places),
        }

    def _front(self) -> dict[str, Look]:
        health, audit = ConsoleOverview(self.database, CHANNELS, BreakerPolicy()), StoredAudit(self.database, str)
        overview, talks = StoredOverview(self.database), TalkPulse(self.database)
        return {
            "badges of the navigation": lambda: overview.waits(Principal(Role.PERSON, WHO), self.now_us),
            "first page: the day by channel": lambda: health.tallies(self.now_us - DAY_US),
            "first page: what was given up": overview.trouble,
            "health: the queue": health.depth,
            "health: the day in hours": lambda: health.series(self._hours(), 500),
            "health: two weeks by day": lambda: health.days([self.now_us - DAY_US * day for day in range(14, -1, -1)]),
            "health: how long they took": lambda: health.arrivals(self.now_us - DAY_US, self.now_us),
            "what changed, once a second": overview.pulse,
            "what changed in conversations, once a second": talks.pulse,
            "audit": lambda: audit.page(AuditQuery(limit=50)),
            "audit, of one person": lambda: audit.page(AuditQuery(limit=50, actors=(f"person:{WHO}",))),
            "audit, decisions": lambda: audit.page(AuditQuery(limit=50, kind=AuditKind.DECISION)),
        }

    def _questions(self) -> dict[str, Look]:
        asked, shown = (
            StoredQuestions(self.database, _NO_SEAL),
            StoredPresentations(self.database, str, WRITTEN),
        )
        notices, pulse = StoredNotices(self.database), QuestionFigures(self.database).pulse
        moments = StoredMoments(self.database)
        return {
            "questions, open ones": lambda: asked.listing(status=QuestionStatus.OPEN),
            "questions, of a person": lambda: asked.listing(person_id=WHO),
            "questions, of an asker or for a person": lambda: asked.listing(asker=ASKER, person_id=WHO),
            "questions, what ended for an asker": lambda: asked.answers(ASKER, since=0, limit=50),
            "questions, cards to show": lambda: shown.due(self.now_us, lease_until_us=self.now_us, limit=32),
            "questions, a channel's open cards": lambda: shown.open_on("telegram"),
            "questions, a card that awaits words": lambda: shown.awaited("telegram", ["1000"]),
            "what changed in questions, once a second": pulse,
            "notices, of a person": lambda: notices.page(WHO, None, 50, None),
            "notices, held ones": lambda: notices.page(WHO, ["held"], 50, None),
            "notices, held for a person": lambda: notices.held(WHO),
            "notices, all that are kept counted for a person": lambda: notices.counts(WHO),
            "notices, to hand over": lambda: notices.take_sends(self.now_us, lease_until_us=self.now_us, limit=32),
            "notices, settled ones": lambda: notices.settled(100),
            "what is due by itself, first of all": lambda: moments.first(["notices", "question"]),
            "what is due by itself": lambda: moments.take(
                ["notices"], self.now_us, lease_until_us=self.now_us, limit=32
            ),
        }

    def _people(self) -> dict[str, Look]:
        person, said = self._person(), Histories(self.database)
        notes = StoredNotes(self.database)
        inbound, lately = StoredInbound(self.database, str), Lately(self.database, "owner")
        return {
            "a person's page": lambda: said.parts(person, HistoryQuery(limit=6)),
            "a conversation with one butler": lambda: said.parts(person, HistoryQuery(butler="butler1")),
            "conversations, the last of each": lambda: lately.last(50),
            "messages that wait for a butler": inbound.with_butlers,
            "inbox": lambda: notes.page(WHO, NotificationQuery(), self.now_us),
            "inbox, unread": lambda: notes.unread(WHO, self.now_us),
            "inbox, archived": lambda: notes.page(WHO, NotificationQuery(shelf=Shelf.ARCHIVED, limit=50), self.now_us),
            "inbox, counted by shelf": lambda: notes.counts(WHO, self.now_us),
            "inbox, since a moment": lambda: notes.since(WHO, self.now_us - DAY_US, 100),
            "what changed in an inbox, once a second": lambda: notes.pulses(
                [WHO], self.now_us - 2 * SECOND_US, self.now_us
            ),
            "whose inboxes there are": notes.people,
        }

    def _prune(self) -> dict[str, Look]:
        """A step that is taken back, and one that finds nothing because it has all been done."""
        half = Retention(
            settled_before_us=self.now_us - DAY_US // 2,
            now_us=self.now_us,
            words_before_us=self.now_us - DAY_US // 2,
            questions_before_us=self.now_us - DAY_US // 2,
            audit_before_us=self.now_us - DAY_US // 2,
        )
        never = Retention(settled_before_us=0, now_us=self.now_us)
        found: dict[str, Look] = {}
        for keep, what in ((half, "prune a step of"), (never, "prune, nothing left of")):
            found[f"{what} deliveries"] = partial(self._taken_back, partial(_remove, keep=keep))
            for stale in STALE:
                if stale.table.name in _GROWING:
                    step = partial(stale.remove, retention=keep, limit=_STEP)
                    found[f"{what} {stale.name}"] = partial(self._taken_back, step)
        return found

    async def _taken_back(self, work: Callable[[Connection], Any]) -> None:
        def undone(connection: Connection) -> None:
            work(connection)
            raise _TakenBack

        with suppress(_TakenBack):
            await self.database.write(undone)

    def _hours(self) -> list[int]:
        return [self.now_us - DAY_US + hour * (DAY_US // 24) for hour in range(25)]

    def _person(self) -> Person:
        return Person(
            id=WHO,
            owner_agent="owner",
            name="Ann",
            aliases=(),
            agent_address="ann",
            role=PersonRole.MEMBER,
            trusted=True,
            zone=None,
            language=None,
            addresses=(PersonAddress(channel="telegram", address=ADDRESS),),
            source="test",
            created_at_us=0,
            updated_at_us=0,
        )


class _TakenBack(Exception):
    """Ends a transaction without a trace."""


_GROWING = frozenset(
    {
        "notifications",
        "inbound_messages",
        "questions",
        "notices",
        "notice_sends",
        "attention_log",
        "audit_entries",
    }
)


def _remove(connection: Connection, keep: Retention) -> None:
    prune_deliveries.remove(connection, keep.settled_before_us, _STEP, prune_deliveries.START)
