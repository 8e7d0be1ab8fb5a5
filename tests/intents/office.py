"""An office that works on intents: a real store, a clock the test turns, and a post that keeps what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from tests.clock import FakeClock
from tests.opened_database import opened_database
from tests.patience import PATIENCE_SECONDS
from tests.people.known_people import household_people, owner
from tests.support.kinds import KINDS
from tests.timekeeping import Rounds, rounds

from postroom.butlers.wire import Route
from postroom.delivery.afterwards.webhooks import StoredWebhooks, Webhooks
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.intents.courier import Courier
from postroom.intents.directory import Acting, Directory
from postroom.intents.envelope import Envelope
from postroom.intents.gateway import Intake, Submission
from postroom.intents.model import AgentIntent
from postroom.intents.runner import IntentSteps
from postroom.intents.store import MOMENTS, StoredIntents
from postroom.intents.threads import StoredInbox, Threads
from postroom.kernel.database.engine import Database
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import OverloadRejected, TargetUnavailable
from postroom.kernel.values.ids import IdMint, to_text
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wire import Routed, notify_document, notify_error, read_response, read_routed
from postroom.people.model import Person
from postroom.people.people import HouseholdPeople
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople

MINT = IdMint()


@dataclass(slots=True)
class Post:
    """The way out: keeps every envelope, and answers as told."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    breaks_for: dict[str, Exception] = field(default_factory=dict)  # by recipient

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        envelope = notify_document(outgoing)
        self.sent.append({**envelope["delivery"], "key": envelope["idempotency_key"], "request_id": request_id})
        if error := self.breaks_for.get(outgoing.recipient or ""):
            raise error
        return read_response(self.answers.pop(0) if self.answers else {"status": "ok"})

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(one["recipient"], one["message"].split("\n")[0]) for one in self.sent]


@dataclass(slots=True)
class Butlers:
    """Butlers that answer as told, or cannot be reached."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    routes: list[tuple[str, Route]] = field(default_factory=list)

    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        self.routes.append((butler, route))
        if not self.answers:
            raise TargetUnavailable(f"{butler} cannot be reached")
        return read_routed(self.answers.pop(0))


@dataclass(slots=True)
class Subscribers:
    """What was posted to whom, and what they answered."""

    posted: list[tuple[str, bytes, dict[str, str]]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        self.posted.append((url, body, dict(headers)))
        return self.answers.pop(0) if self.answers else 200

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(slots=True)
class Office:
    database: Database
    contacts: StoredPeople
    store: StoredIntents
    subscriptions: StoredWebhooks
    intake: Intake
    threads: Threads
    courier: Courier
    times: Rounds
    webhooks: Webhooks
    post: Post
    butlers: Butlers
    subscribers: Subscribers
    clock: FakeClock

    async def person(self, name: str, telegram: str | None = None, email: str | None = None) -> Person:
        new = new_contact(name=name, telegram_chat_id=telegram, email=email)
        return await self.contacts.create(HOUSEHOLD_OWNER, new, source="api", now_us=self.clock.now_us())

    async def ask(
        self, to_agent: str, question: str = "Late?", *, sender: str = HOUSEHOLD_OWNER, **more: Any
    ) -> AgentIntent:
        """`more` goes to the submission where it has such a field, else into the payload."""
        now = self.clock.now_us()
        how = {name: more.pop(name) for name in ("reply_to", "deadline_at", "reminders") if name in more}
        envelope = {
            name: more.pop(name)
            for name in ("idempotency_key", "correlation_id", "intent_type", "intent_id")
            if name in more
        }
        asked = {"question": question, "requested_by": sender, "requested_at": to_text(now)}
        answered = {"answer": question, "status": "answered", "responded_by": sender, "responded_at": to_text(now)}
        payload = answered if envelope.get("intent_type") == "intent.reply.v1" else asked
        document = {
            "intent_type": "intent.ask.v1",
            "intent_id": MINT.mint(now),
            "correlation_id": MINT.mint(now),
            "created_at": to_text(now),
            "from_agent": sender,
            "to_agent": to_agent,
            "payload": {**payload, **more},
            **envelope,
        }
        acting = Acting(sender, by_person=False, caller=f"test of {sender}")
        asking = Submission(envelope=Envelope(**document), acting=acting, **how)
        intent, _ = await self.intake.submit(asking)
        return intent

    async def work(self) -> None:
        """Everything that is due now, until nothing is left to do at this moment."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(10):
                await self.times.look()
                await self.webhooks.look()
                await self.webhooks.idle()

    async def later(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.work()

    async def now(self, intent: AgentIntent) -> AgentIntent:
        found = await self.store.get(intent.id)
        assert found is not None
        return found

    async def events(self, intent: AgentIntent) -> list[str]:
        found = await self.store.events(intent.id, since=0, limit=100)
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        return [str(event.event_type).removeprefix("intent.") for event in found]


async def delivered(
    database: Database, request_id: str, address: str, provider_id: str, origin: str = "intents"
) -> None:
    """A message in the ledger that has arrived."""
    delivery_id = MINT.mint(1)
    row = {column.name: 0 for column in delivery_requests.columns if not column.nullable} | {
        "id": delivery_id, "idempotency_key": delivery_id, "fingerprint": "f", "request_id": request_id,
        "origin_butler": origin, "channel": "telegram", "intent": "send", "target_identity": address,
        "address": address, "order_key": "o", "message_content": "m", "request_envelope": "{}",
        "on_uncertain": "resend", "status": "delivered", "sending": False, "possible_duplicate": False,
    }  # fmt: skip
    receipt = {"delivery_request_id": delivery_id, "part": 0, "provider_delivery_id": provider_id}

    def write(connection: Connection) -> None:
        connection.execute(insert(delivery_requests), row)
        connection.execute(insert(delivery_receipts), receipt | {"receipt_type": "sent", "received_at": 1})

    await database.write(write)


def overloaded(retry_after_seconds: float) -> dict[str, Any]:
    return notify_error(OverloadRejected("too many", limit_type="recipient", retry_after_seconds=retry_after_seconds))


def build_office(database: Database, clock: FakeClock) -> Office:
    contacts, store = StoredPeople(database, MINT.mint, ()), StoredIntents(database, MINT.mint)
    subscriptions, signal = StoredWebhooks(database), Signal()
    post, butlers, subscribers = Post(), Butlers(), Subscribers()
    directory = Directory(
        contacts=contacts,
        household=HouseholdPeople(contacts, clock),
        butlers=frozenset({"health"}),
        channels=frozenset({"telegram", "email"}),
    )
    tools: dict[str, Any] = {"signal": signal, "clock": clock, "mint": MINT.mint}
    courier = Courier(store=store, directory=directory, outbound=post, route=butlers.route, channels=KINDS, **tools)
    return Office(
        database=database,
        contacts=contacts,
        store=store,
        subscriptions=subscriptions,
        intake=Intake(store=store, directory=directory, **tools),
        threads=Threads(store=store, inbox=StoredInbox(database), directory=directory, **tools),
        courier=courier,
        times=rounds(database, clock, MOMENTS, IntentSteps(store=store, courier=courier, **tools).take, store.shown_on),
        webhooks=Webhooks(store=subscriptions, poster=subscribers, clock=clock),
        post=post,
        butlers=butlers,
        subscribers=subscribers,
        clock=clock,
    )


@asynccontextmanager
async def opened_office(
    kind: str, folder: Path, request: pytest.FixtureRequest, clock: FakeClock
) -> AsyncIterator[Office]:
    async with opened_database(kind, folder, request) as database:
        await household_people(database, owner("Olivia", "1000"))
        yield build_office(database, clock)
