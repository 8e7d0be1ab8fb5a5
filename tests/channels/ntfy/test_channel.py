"""The channel at a server that is not ours: what arrived is found again, what is pressed is heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.channels.ntfy.server import Server, running
from tests.patience import PATIENCE_SECONDS

from postroom.channels.ntfy.building import NtfyCall
from postroom.channels.ntfy.channel import Ntfy
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message
from postroom.message.inbound import Assurance, Press
from postroom.message.markup import Revision

NOW = datetime.fromtimestamp(1_780_000_010, UTC)
BEFORE = NOW - timedelta(seconds=20)
TOKEN = "tk_secret"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with asyncio.timeout(PATIENCE_SECONDS), running() as one:
        yield one


@pytest.fixture
async def ntfy(server: Server) -> AsyncIterator[Ntfy]:
    channel = Ntfy("ntfy", server.url, TOKEN, "answers", now=lambda: NOW)
    yield channel
    await channel.close()


def part(ntfy: Ntfy, text: str = "Tea is ready", **changes: Any) -> NtfyCall:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "anna", "text": text}
    return ntfy.prepare(Message(**(given | changes)))[0]


async def cut(server: Server, ntfy: Ntfy, call: NtfyCall) -> None:
    server.cut_after_accepting = True
    with pytest.raises(OutcomeUncertain):
        await ntfy.send(call, 5.0)
    server.cut_after_accepting = False


async def test_the_token_goes_with_every_message(server: Server, ntfy: Ntfy) -> None:
    receipt = await ntfy.send(part(ntfy), 5.0)

    assert server.authorization == [f"Bearer {TOKEN}"]
    assert receipt.provider_id == server.topics["anna"][0]["id"]


async def test_an_edit_is_found_only_by_what_it_says(server: Server, ntfy: Ntfy) -> None:
    await ntfy.send(part(ntfy), 5.0)
    edit = part(ntfy, "Closed", revises=Revision(delivery_id=DeliveryId("d1"), provider_ids=("x",)))
    assert await ntfy.find(edit, BEFORE, 5.0) is None

    receipt = await ntfy.send(edit, 5.0)

    assert await ntfy.find(edit, BEFORE, 5.0) == receipt


def no_sequences(server: Server) -> None:
    server.knows_sequences = False


def no_cache(server: Server) -> None:
    server.keeps = False


def no_right_to_read(server: Server) -> None:
    server.refuses_reading = True


@pytest.mark.parametrize(
    ("lacks", "words"),
    [
        (no_sequences, "needs version 2.16"),
        (no_cache, "keeps none at all"),
        (no_right_to_read, "needs access"),
    ],
)
async def test_a_server_that_cannot_say_is_not_taken_at_its_word(
    server: Server, ntfy: Ntfy, lacks: Callable[[Server], None], words: str
) -> None:
    lacks(server)
    call = part(ntfy)
    await cut(server, ntfy, call)

    with pytest.raises(TargetUnavailable, match=words):
        await ntfy.find(call, BEFORE, 5.0)


async def test_what_is_older_than_the_server_remembers_cannot_be_asked_for(ntfy: Ntfy) -> None:
    with pytest.raises(TargetUnavailable, match="no longer keeps"):
        await ntfy.find(part(ntfy), NOW - timedelta(hours=12), 5.0)


async def test_an_unreachable_server_is_only_unavailable() -> None:
    gone = Ntfy("ntfy", "http://127.0.0.1:1", answers_topic="answers")
    for asking in (gone.find(part(gone), BEFORE, 1.0), gone.listen(None, 0), gone.probe(1.0)):
        with pytest.raises(TargetUnavailable):
            await asking
    await gone.close()


async def test_what_was_pressed_while_we_were_away_is_heard_first(server: Server, ntfy: Ntfy) -> None:
    server.take({"topic": "answers", "message": "t0ken anna"})
    heard = await ntfy.listen(None, 0)

    [press] = heard.events
    assert isinstance(press, Press)
    assert (press.token, press.places, press.sender, press.assurance) == ("t0ken", ("anna",), "anna", Assurance.CHANNEL)
    assert heard.everything
    assert (await ntfy.listen(heard.position, 0)).events == ()
    assert server.streams == 0


async def test_what_is_pressed_while_we_wait_is_heard_at_once(server: Server, ntfy: Ntfy) -> None:
    server.take({"topic": "answers", "message": "old0 anna"})
    before = (await ntfy.listen(None, 0)).position
    waiting = asyncio.create_task(ntfy.listen(before, 9.0))
    await server.opened.wait()
    server.take({"topic": "answers", "message": "t0ken anna"})

    heard = await waiting

    assert [one.token for one in heard.events if isinstance(one, Press)] == ["t0ken"]
    assert (heard.position or 0) > (before or 0)


async def test_a_wait_ends_quietly_and_a_cut_does_not(server: Server, ntfy: Ntfy) -> None:
    assert await ntfy.listen(None, 0.05) == await ntfy.listen(None, 0)
    server.ends_streams = True
    with pytest.raises(TargetUnavailable, match="ended the subscription"):
        await ntfy.listen(None, 5.0)
    server.ends_streams = False
    server.take({"topic": "answers", "message": "t0ken anna"})
    assert len((await ntfy.listen(None, 5.0)).events) == 1


async def test_a_topic_we_may_not_read_is_said_so(server: Server, ntfy: Ntfy) -> None:
    server.refuses_reading = True
    with pytest.raises(TargetUnavailable, match="needs access"):
        await ntfy.listen(None, 5.0)


async def test_without_a_token_a_press_proves_less(server: Server) -> None:
    open_to_all = Ntfy("ntfy", server.url, answers_topic="answers")
    server.take({"topic": "answers", "message": "t0ken anna"})
    [press] = (await open_to_all.listen(None, 0)).events
    await open_to_all.close()

    assert press.assurance is Assurance.LOW
    assert server.authorization == []


async def test_without_a_topic_for_answers_it_only_sends(server: Server) -> None:
    channel = Ntfy("ntfy", server.url)

    assert not (channel.capabilities.buttons or channel.capabilities.inbound)
    assert (await channel.listen(None, 0)).events == ()
    assert server.asked == []


async def test_the_probe_says_who_we_are(server: Server, ntfy: Ntfy) -> None:
    assert await ntfy.probe(5.0) == "phil"
    server.accounts = False
    assert await ntfy.probe(5.0) == "anonymous"


async def test_a_press_cannot_be_answered_there(ntfy: Ntfy) -> None:
    assert await ntfy.answer_press("x", "Noted") is False


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ntfy.sh"},
        {"url": "https://user:pass@ntfy.sh"},
        {"url": "https://ntfy.sh?x=1"},
        {"token": "two words"},
        {"token": "tk_a\nb"},
        {"answers_topic": "no/topic"},
    ],
)
def test_what_is_malformed_is_refused_without_repeating_it(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"ntfy|answers_topic") as caught:
        Ntfy("ntfy", **options)
    assert "pass" not in str(caught.value)
    assert "tk_a" not in str(caught.value)
