"""Socket Mode against a websocket of the tests' own: what is heard, when it is acknowledged, and what breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.world.channels.slack.fake_slack import FakeSlack, envelope, pressed, said

from postroom.domain.delivery import Intent, Message
from postroom.domain.errors import TargetUnavailable
from postroom.domain.ids import DeliveryId
from postroom.domain.inbound_message import InboundMessage, Listened, Press
from postroom.world.channels.slack.channel import Slack

SOON = 0.05


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


def made(fake: FakeSlack) -> Slack:
    return Slack("slack", "xoxb-1", "xapp-1", fake.url)


@pytest.fixture
async def slack(fake: FakeSlack) -> AsyncIterator[Slack]:
    slack = made(fake)
    yield slack
    await slack.close()


async def hear(fake: FakeSlack, slack: Slack, *frames: dict[str, Any], position: int | None = None) -> Listened:
    """Everything that these frames bring, in one look."""
    waiting = asyncio.create_task(slack.listen(position, 10.0))
    await fake.connected()
    for frame in frames:
        await fake.push(frame)
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await waiting


def texts(heard: Listened) -> list[str | None]:
    return [one.text for one in heard.events if isinstance(one, InboundMessage)]


@pytest.mark.requirement("house:slack-acknowledged-after-handling")
async def test_what_was_heard_is_acknowledged_by_the_next_look(fake: FakeSlack, slack: Slack) -> None:
    heard = await hear(fake, slack, envelope("e1", said("Yes")))

    assert texts(heard) == ["Yes"]
    assert heard.position is not None
    assert fake.acknowledged == []
    assert await slack.listen(heard.position, SOON) == Listened()
    await fake.until(lambda: fake.acknowledged == ["e1"])
    assert fake.tokens[0] == "Bearer xapp-1"


@pytest.mark.requirement("house:slack-acknowledged-after-handling")
async def test_what_was_not_handled_is_given_again_and_not_acknowledged(fake: FakeSlack, slack: Slack) -> None:
    heard = await hear(fake, slack, envelope("e1", said("Yes")))
    again = [await slack.listen(position, SOON) for position in (None, 5)]

    assert again == [heard, heard]
    assert fake.acknowledged == []


async def test_positions_grow_over_restarts_whatever_the_clock_says(fake: FakeSlack) -> None:
    far = 9_000_000_000_000_000
    slack = made(fake)
    heard = await hear(fake, slack, envelope("e1", said("One")), envelope("e2", said("Two", ts="2.2")), position=far)
    if len(heard.events) == 1:
        heard = await slack.listen(heard.position, 10.0)
    await slack.close()

    assert heard.position is not None
    assert heard.position > far


@pytest.mark.requirement("house:slack-presses")
async def test_a_press_is_heard(fake: FakeSlack, slack: Slack) -> None:
    [press] = (await hear(fake, slack, pressed("e1"))).events

    assert isinstance(press, Press)
    assert (press.token, press.sender, press.places) == ("q1:yes", "U1", ("D1", "U1"))


async def test_what_is_for_nobody_is_acknowledged_at_once(fake: FakeSlack, slack: Slack) -> None:
    frames = [
        {"envelope_id": "e1", "type": "slash_commands", "payload": {"command": "/ask"}},
        envelope("e2", said(subtype="message_changed")),
        pressed("e3", value=None),
        {"type": "something_new"},
        envelope("e4", said("Yes")),
    ]
    heard = await hear(fake, slack, *frames)

    assert texts(heard) == ["Yes"]
    await fake.until(lambda: fake.acknowledged == ["e1", "e2", "e3"])


@pytest.mark.requirement("house:slack-acknowledged-after-handling")
@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_connection_is_renewed_before_it_ends_and_nothing_is_lost(
    fake: FakeSlack, slack: Slack, reason: str
) -> None:
    first = await hear(fake, slack, envelope("e1", said("One")))
    waiting = asyncio.create_task(slack.listen(first.position, 10.0))
    await fake.until(lambda: fake.acknowledged == ["e1"])
    await fake.push({"type": "disconnect", "reason": reason})
    await fake.connected(2)
    await fake.push(envelope("e2", said("Two", ts="2.2")), socket=0)
    second = await waiting
    waiting = asyncio.create_task(slack.listen(second.position, 10.0))
    await fake.until(lambda: "e2" in fake.acknowledged)
    await fake.sockets[0].close()
    await fake.push(envelope("e3", said("Three", ts="3.3")))
    third = await waiting

    assert [texts(one) for one in (first, second, third)] == [["One"], ["Two"], ["Three"]]
    assert fake.opened == 2


@pytest.mark.requirement("house:slack-acknowledged-after-handling")
async def test_a_connection_that_breaks_is_opened_again_in_the_same_look(fake: FakeSlack, slack: Slack) -> None:
    first = await hear(fake, slack, envelope("e1", said("One")))
    await fake.sockets[0].close()
    waiting = asyncio.create_task(slack.listen(first.position, 10.0))
    await fake.connected(2)
    await fake.push(envelope("e1-again", said("One"), retry_attempt=1, retry_reason="timeout"))
    second = await waiting

    assert [one.event_id for one in second.events] == [one.event_id for one in first.events]


async def test_a_process_that_dies_before_it_acknowledged_is_given_the_event_again(fake: FakeSlack) -> None:
    dying = made(fake)
    await hear(fake, dying, envelope("e1", said("Yes")))
    await dying.close()

    slack = made(fake)
    waiting = asyncio.create_task(slack.listen(None, 10.0))
    await fake.connected(2)
    await fake.push(envelope("e2", said("Yes"), retry_attempt=1))
    heard = await waiting
    await slack.listen(heard.position, SOON)
    await fake.until(lambda: fake.acknowledged == ["e2"])
    await slack.close()

    assert texts(heard) == ["Yes"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [("link_disabled", "Socket Mode is turned off"), ("too_many_websockets", "too many programs listen")],
)
async def test_a_connection_that_slack_does_not_want_says_why(
    fake: FakeSlack, slack: Slack, reason: str, words: str
) -> None:
    with pytest.raises(TargetUnavailable, match=words):
        await hear(fake, slack, {"type": "disconnect", "reason": reason})


async def test_a_connection_that_is_closed_again_and_again_is_an_outage(fake: FakeSlack, slack: Slack) -> None:
    waiting = asyncio.create_task(slack.listen(None, 10.0))
    for count in range(1, 6):
        await fake.until(lambda count=count: fake.opened >= count or waiting.done())
        if waiting.done():
            break
        await fake.sockets[-1].close()
    with pytest.raises(TargetUnavailable, match="again and again"):
        await waiting


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"ok": False, "error": "invalid_auth"}, "does not accept our token"),
        ({"ok": False, "error": "missing_scope", "needed": "connections:write"}, "connections:write"),
        ({"ok": True}, "named no event connection"),
        ({"ok": True, "url": "https://slack.example/link"}, "named no event connection"),
        ({"ok": True, "url": "ws://127.0.0.1:1/link?ticket=canary"}, "could not be opened"),
    ],
)
async def test_when_no_connection_can_be_opened_it_says_why_and_shows_no_ticket(
    fake: FakeSlack, slack: Slack, answer: dict[str, Any], words: str
) -> None:
    fake.answers["apps.connections.open"] = [answer]

    with pytest.raises(TargetUnavailable, match=words) as caught:
        await slack.listen(None, 1.0)
    assert "canary" not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"


async def test_nonsense_on_the_wire_is_passed_over(fake: FakeSlack, slack: Slack) -> None:
    waiting = asyncio.create_task(slack.listen(None, 10.0))
    await fake.connected()
    await fake.sockets[0].send_str("not json")
    await fake.sockets[0].send_bytes(b"\x00")
    await fake.sockets[0].send_str("[1]")
    await fake.push(envelope("e1", said("Yes")))

    assert texts(await waiting) == ["Yes"]


async def test_an_answer_to_what_was_said_in_a_thread_goes_to_that_thread(fake: FakeSlack, slack: Slack) -> None:
    await hear(fake, slack, envelope("e1", said("Yes", thread_ts="1700000000.000100")))
    reply = {"delivery_id": DeliveryId("d1"), "intent": Intent.REPLY, "text": "Thanks", "thread": "1700000001.000200"}
    for address in ("D1", "U1"):
        [part] = slack.prepare(Message(**reply, address=address))  # type: ignore[arg-type]
        await slack.send(part, 5.0)

    assert [body["thread_ts"] for body in fake.called("chat.postMessage")] == ["1700000000.000100"] * 2
