"""Where Ada writes to us: what is kept of it, those whom we know, and a way out as a list, on a real database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert
from tests.clock import FakeClock
from tests.people.known_people import household_people
from tests.support.delivery_rows import NOON_US, request_row

from postroom.butlers.model import Session, SessionStatus
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import KeptMessage
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import Talk
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import SessionId
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing, refused
from postroom.people.model import NewPerson, PersonAddress
from postroom.questions.asked_people import AskedPeople

PLACE = "77"
ADA = NewPerson(name="Ada", addresses=(PersonAddress(channel="pager", address=PLACE, verified_at_us=1),))


class Post:
    """The way out as a list, or out of order."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []
        self.outage: PostroomError | None = None

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        if self.outage is not None:
            return refused(self.outage, request_id=request_id)
        self.sent.append(outgoing)
        return Outcome(status=AnswerStatus.ACCEPTED, request_id=request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    database: Database
    clock: FakeClock
    post: Post
    kept: StoredInbound
    people: AskedPeople

    async def hear(self, message: InboundMessage, butlers: Mapping[str, bool] | None = None) -> KeptMessage:
        """Kept first, as every message is."""
        talk = Talk(
            kept=self.kept,
            people=self.people,
            threads=StoredTalk(self.database),
            butlers=butlers or {},
            outbound=self.post,
            clock=self.clock,
            sessions_per_day=9,
            tokens_per_day=1000,
        )
        await self.kept.keep(message, self.clock.now_us())
        assert await talk.handle(message)
        return await self.kept.named(message)


async def room_of(database: Database, clock: FakeClock) -> Room:
    stored, _ = await household_people(database, ADA)
    kept = StoredInbound(database, IdMint().mint)
    return Room(database=database, clock=clock, post=Post(), kept=kept, people=AskedPeople(book=stored))


def written(message_id: str = "9", **more: Any) -> InboundMessage:
    values = {"number": 5, "places": (PLACE, "@ada"), "text": "hi", "alone": True, **more}
    return InboundMessage(channel="pager", message_id=message_id, **values)


async def sent(database: Database, provider_id: str = "", **changes: Any) -> str:
    """Of a butler to that place, as the ledger has it."""
    row = request_row(**{"address": PLACE, "origin_butler": "general", "intent": "reply"} | changes)

    def work(connection: Connection) -> None:
        connection.execute(insert(delivery_requests), [row])
        if provider_id:
            receipt = {
                "delivery_request_id": row["id"],
                "part": 1,
                "provider_delivery_id": provider_id,
                "receipt_type": "sent",
                "received_at": NOON_US,
            }
            connection.execute(insert(delivery_receipts), [receipt])

    await database.write(work)
    return str(row["id"])


def session(request_id: str | None) -> Session:
    blank = Session(
        id=SessionId("s"),
        butler="general",
        runtime="codex",
        trigger_source="route",
        caller="operator",
        prompt="hi",
        status=SessionStatus.RUNNING,
        attempt=1,
        created_at_us=0,
        started_at_us=0,
    )
    return replace(blank, request_id=request_id)
