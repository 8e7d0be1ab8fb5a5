"""A stranger who writes to the bot gets one sentence a day, and their words are kept out of the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.clock import FakeClock
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.conversations.model import InboundStatus, KeptMessage, RoutedMessage, RouteKind, SentBefore
from postroom.conversations.mute_and_snooze import SENTENCE
from postroom.conversations.talk import Talk
from postroom.kernel.running.clock import Clock
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wire import notify_document, read_response
from postroom.people.model import Person

DAY_SECONDS = 24 * 3600


class Post:
    """The way out as a list."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        self.sent.append(notify_document(outgoing))
        return read_response({"status": "accepted"})


class Book:
    """Keeps nothing, and knows no person and no thread."""

    def __init__(self) -> None:
        self.decided: list[RoutedMessage] = []

    async def keep(self, message: InboundMessage, now_us: int) -> KeptMessage:
        return KeptMessage(id="m", message=message, received_us=now_us, status=InboundStatus.RECEIVED)

    async def decide(
        self, kept: KeptMessage, routed: RoutedMessage, person: str | None, now_us: int
    ) -> KeptMessage | None:
        self.decided.append(routed)
        return None

    async def sessions_since(self, person: str, since_us: int) -> int:
        return 0

    async def tokens_since(self, person: str, since_us: int) -> int:
        return 0

    async def at(self, channel: str, address: str) -> Person | None:
        return None

    async def replied_to(self, message: InboundMessage) -> SentBefore | None:
        return None


def talk(post: Post, clock: Clock, book: Book | None = None) -> Talk:
    book = book or Book()
    return Talk(
        kept=book,
        people=book,
        threads=book,
        butlers={},
        outbound=post,
        clock=clock,
        sessions_per_day=1,
        tokens_per_day=1,
    )


def written(message_id: str = "9", *, alone: bool = True) -> InboundMessage:
    return InboundMessage(
        channel="pager", number=5, message_id=message_id, places=("77", "@ada"), text="secret", alone=alone
    )


async def write(home: Living, text: str, chat_id: int = 4242) -> None:
    body = {"chat_id": chat_id, "text": text}
    async with home.http.post(home.household.addresses["sandbox"] + "telegram/inbound", json=body) as response:
        assert response.status == 200


async def answered(home: Living, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found := await home.received()) < count:
            await asyncio.sleep(0.02)
    return found


@pytest.mark.parametrize("approvals", [False, True], ids=["approvals off", "approvals on"])
async def test_somebody_who_writes_to_the_bot_gets_one_sentence_a_day(tmp_path: Path, approvals: bool) -> None:
    asking = {"approvals": {"enabled": approvals, "ask_owner": False}}
    async with living(tmp_path, LIFTED, QUICK, asking) as home:
        await write(home, "Is anybody there?")
        (message,) = await answered(home, 1)
        await write(home, "Hello?")
        await write(home, "And I?", chat_id=5151)
        messages = await answered(home, 2)

        assert (message["chat_id"], message["text"]) == ("4242", SENTENCE)
        assert sorted(one["chat_id"] for one in messages) == ["4242", "5151"]
        rows = home.rows("delivery_requests")
        assert [(row["origin_butler"], row["intent"]) for row in rows] == [("messenger", "reply")] * 2


async def test_the_sentence_is_a_reply_on_the_channel_and_in_the_place_it_came_from() -> None:
    post = Post()

    assert await talk(post, FakeClock()).handle(written())

    (envelope,) = post.sent
    assert envelope["delivery"] == {"intent": "reply", "channel": "pager", "message": SENTENCE}
    assert envelope["request_context"] == {
        "request_id": "pager-update-5",
        "source_channel": "pager",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "77",
        "source_thread_identity": "77:9",
    }


async def test_another_day_has_another_key(clock: FakeClock) -> None:
    post = Post()
    handle = talk(post, clock).handle

    await handle(written())
    await handle(written("10"))
    await clock.advance(DAY_SECONDS)
    await handle(written("11"))

    keys = [envelope["idempotency_key"] for envelope in post.sent]
    assert keys[0] == keys[1] != keys[2]


async def test_who_is_not_alone_with_us_is_not_answered() -> None:
    post, book = Post(), Book()

    assert await talk(post, FakeClock(), book).handle(written(alone=False))

    assert post.sent == []
    assert [routed.kind for routed in book.decided] == [RouteKind.IGNORED]


async def test_the_log_has_a_line_and_not_a_word_of_it() -> None:
    with capture_logs() as lines:
        await talk(Post(), FakeClock()).handle(written())

    assert [line["event"] for line in lines] == ["inbound.unhandled"]
    assert "secret" not in json.dumps(lines)
