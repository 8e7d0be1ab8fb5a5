"""What was said in a conversation, read from both ledgers, on either database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, request_row

from postroom.butlers.model import Session, SessionStatus
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import InboundMove, KeptMessage, RoutedMessage, RouteKind
from postroom.conversations.store import StoredInbound
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.kernel.values.principal import SessionId
from postroom.message.inbound import InboundMessage

MINUTE_US = 60_000_000


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


@pytest.fixture
def store(database: Database) -> StoredInbound:
    return StoredInbound(database, IdMint().mint)


def words(number: int, **more: Any) -> InboundMessage:
    return InboundMessage(
        channel="telegram", number=number, message_id=str(number), places=("77", "@ada"), sender="77", text="x", **more
    )


async def routed(store: StoredInbound, number: int, *, text: str = "hi", person: str = "p1") -> KeptMessage:
    at_us = NOON_US + number * MINUTE_US
    decision = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words=text)
    decided = await store.decide(await store.keep(words(number), at_us), decision, person, at_us)
    assert decided is not None
    return decided


async def sent(database: Database, provider_id: str = "", **changes: Any) -> str:
    row = request_row(**{"address": "77", "origin_butler": "general", "intent": "reply"} | changes)

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


@pytest.mark.requirement("talk:answered-in-thread")
@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"intent": "send"}, True),
        ({"intent": "react"}, False),
        ({"origin_butler": "messenger"}, False),
        ({"address": "88"}, False),
        ({"channel": "email"}, False),
        ({"address": "@ada", "status": "awaiting_approval"}, True),
    ],
    ids=str,
)
async def test_only_the_butlers_own_words_to_that_place_are_its_answer(
    store: StoredInbound, database: Database, changes: dict[str, Any], counts: bool
) -> None:
    kept, talk = await routed(store, 1), StoredTalk(database)
    assert not await talk.replied(kept.id)

    await sent(database, request_id=kept.id, **changes)

    assert await talk.replied(kept.id) is counts
    assert not await talk.replied("no such message")


@pytest.mark.requirement("talk:turns")
async def test_turns_are_those_of_this_conversation_in_their_order(store: StoredInbound, database: Database) -> None:
    first = await routed(store, 1, text="one")
    await routed(store, 2, text="of another", person="p2")
    await sent(database, request_id=first.id, message_content="answer", created_at=NOON_US + 3 * MINUTE_US)
    await routed(store, 4, text="two")
    last, talk = await routed(store, 5, text="now"), StoredTalk(database)

    assert [(one.by, one.text) for one in await talk.turns(last, 9)] == [
        ("person", "one"),
        ("general", "answer"),
        ("person", "two"),
    ]
    assert [one.text for one in await talk.turns(last, 2)] == ["answer", "two"]


@pytest.mark.requirement("talk:order")
async def test_a_reply_is_to_whoever_sent_or_had_said_the_message(store: StoredInbound, database: Database) -> None:
    kept, talk = await routed(store, 1), StoredTalk(database)
    await sent(database, "500", origin_butler="health", intent="send")
    await sent(database, "501", origin_butler="messenger", request_id=kept.id)
    await sent(database, "502", origin_butler="health", address="88")
    named = await sent(database, "503", origin_butler="home")

    found = [await talk.replied_to(words(9, replies_to=one)) for one in ("500", "501", "502", "999")]
    assert [one.by if one else None for one in found] == ["health", "general", None, None]
    at_home = await talk.replied_to(words(9, answers=DeliveryId(named)))
    assert at_home is not None and (at_home.by, at_home.id) == ("home", named)
    assert await talk.replied_to(words(9)) is None
    nobody: set[str] = set()
    for besides, by in ((nobody, "home"), ({"home"}, "general"), ({"home", "messenger"}, "health")):
        last = await talk.last_sent(words(9), besides)
        assert last is not None and last.by == by


@pytest.mark.requirement("talk:restart")
async def test_a_session_whose_message_is_answered_or_stopped_is_over(store: StoredInbound, database: Database) -> None:
    answered, stopped, waits = [await routed(store, number) for number in (1, 2, 3)]
    await sent(database, request_id=answered.id)
    await store.move(stopped, InboundMove.STOP, NOON_US)
    talk = StoredTalk(database)

    over = [await talk.is_over(session(one)) for one in (answered.id, stopped.id, waits.id, "other", None)]

    assert over == [True, True, False, False, False]


def session(request_id: str | None) -> Session:
    blank = Session(
        id=SessionId("s"),
        butler="general",
        runtime="codex",
        trigger="route",
        caller="operator",
        prompt="hi",
        request_id=None,
        context=None,
        depth=0,
        status=SessionStatus.RUNNING,
        attempt=1,
        crashes=0,
        created_us=0,
        started_us=0,
        finished_us=None,
        error_class=None,
        error_message=None,
        transcript=None,
    )
    return replace(blank, request_id=request_id)
