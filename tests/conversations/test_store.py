"""Threads people wrote from, on either database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import DBAPIError
from tests.clock import START_US
from tests.opened_database import opened_database

from postroom.approvals.store.approvals import HeardThreads
from postroom.conversations.model import InboundMove, InboundStatus, RoutedMessage, RouteKind
from postroom.conversations.store import StoredInbound, erase_written, inbound_messages
from postroom.delivery.files.taking import retention
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.message.inbound import InboundMessage
from postroom.overview.pruning import STALE


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_only_the_very_thread_that_was_heard_counts(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        conversations = HeardThreads(database)
        for _ in range(2):
            await conversations.hear("telegram", "555", "7", START_US)

        asked = [("telegram", "555", "7"), ("telegram", "555", "8"), ("telegram", "556", "7"), ("email", "555", "7")]
        assert [await conversations.heard(*one) for one in asked] == [True, False, False, False]


DAY_US = 86_400_000_000
GENERAL = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words="hi")


@pytest.fixture
def store(database: Database) -> StoredInbound:
    return StoredInbound(database, IdMint().mint)


def words(message_id: str = "9", **more: Any) -> InboundMessage:
    return InboundMessage(
        channel="telegram", number=3, message_id=message_id, places=("77", "@ada"), sender="77", text="hi", **more
    )


@pytest.mark.requirement("talk:stored-first")
async def test_a_message_is_kept_once_and_comes_back_as_it_was(store: StoredInbound) -> None:
    first = await store.keep(words(alone=True, replies_to="4"), START_US)
    again = await store.keep(words(alone=True, replies_to="4"), START_US + 5)

    assert first == again
    assert first.message == words(alone=True, replies_to="4")
    assert (first.status, first.received_us) == (InboundStatus.RECEIVED, START_US)


async def test_what_no_store_can_hold_is_kept_nevertheless(store: StoredInbound) -> None:
    odd = InboundMessage(channel="telegram", number=0, message_id="1", places=("77",), text="a\x00b\ud800")

    assert (await store.keep(odd, START_US)).message.text == "a\ufffdb\ufffd"


async def test_a_decision_is_made_once(store: StoredInbound) -> None:
    kept = await store.keep(words(), START_US)

    assert await store.decide(words(), GENERAL, "p1", START_US)
    assert not await store.decide(words(), GENERAL, "p1", START_US)
    decided = await store.named(words())
    assert (await store.with_butlers())[0].conversation == ("p1", "telegram", "77")
    assert await store.sessions_since("p1", START_US) == 1
    assert await store.move(decided, InboundMove.HAND_OVER, START_US, session_id="s")
    assert not await store.move(decided, InboundMove.STOP, START_US)
    found = await store.get(kept.id)
    assert found is not None and (found.status, found.session_id) == (InboundStatus.WAITING, "s")
    assert await store.tokens_since("p1", START_US) == 0
    assert await store.move(found, InboundMove.ANSWER, START_US, tokens=41)
    assert await store.tokens_since("p1", START_US) == 41
    assert await store.tokens_since("p1", START_US + 1) == 0


@pytest.mark.requirement("talk:words-go")
@pytest.mark.parametrize("kind", [kind for kind in RouteKind if kind is not RouteKind.BUTLER])
async def test_words_that_no_butler_is_given_are_not_kept(store: StoredInbound, kind: RouteKind) -> None:
    kept = await store.keep(words(), START_US)

    await store.decide(words(), RoutedMessage(kind=kind, reason="x", words="hi"), None, START_US)

    found = await store.get(kept.id)
    assert found is not None and found.message.text is None
    assert found.status in (InboundStatus.HANDLED, InboundStatus.REFUSED)


@pytest.mark.requirement("talk:words-go")
async def test_old_words_are_erased_before_the_row_goes(store: StoredInbound, database: Database) -> None:
    kept = await store.keep(words(), START_US)
    assert await store.decide(words(), GENERAL, "p1", START_US)
    await store.move(await store.named(words()), InboundMove.STOP, START_US)
    [erasing] = [one for one in STALE if one.name == "words people wrote"]

    early, late = (retention(START_US + days * DAY_US, 90 * DAY_US) for days in (29, 31))
    for keep, gone in ((early, 0), (late, 1), (late, 0)):
        assert await database.write(lambda connection, keep=keep: erasing.remove(connection, keep, 10)) == gone
    found = await store.get(kept.id)
    assert found is not None and found.message.text is None and found.reason == "named"


@pytest.mark.requirement("talk:states")
async def test_the_database_itself_refuses_a_move_that_is_not_in_the_table(
    store: StoredInbound, database: Database
) -> None:
    kept = await store.keep(words(), START_US)
    answered = update(inbound_messages).where(text(f"id = '{kept.id}'")).values(status="answered")

    with pytest.raises(DBAPIError, match="cannot make this move"):
        await database.write(lambda connection: connection.execute(answered).rowcount)


async def test_what_was_never_decided_is_found_again(store: StoredInbound) -> None:
    kept = await store.keep(words(), START_US)

    assert await store.undecided(START_US) == []
    assert [one.id for one in await store.undecided(START_US + 1)] == [kept.id]


@pytest.mark.requirement("talk:words-go")
async def test_what_a_person_wrote_is_erased_with_the_person(store: StoredInbound, database: Database) -> None:
    for number, person in enumerate(["p1", "p2"]):
        await store.keep(words(str(number)), START_US)
        assert await store.decide(words(str(number)), GENERAL, person, START_US)
        await store.move(await store.named(words(str(number))), InboundMove.STOP, START_US)

    assert await database.write(lambda connection: erase_written(connection, "p1", START_US)) == 1
    left = [await store.last(person, "telegram", "77") for person in ("p1", "p2")]
    assert [one.message.text for one in left if one] == [None, "hi"]
