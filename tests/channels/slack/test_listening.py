from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.channels.slack.fake_slack import FakeSlack, envelope, pressed, said
from tests.patience import PATIENCE_SECONDS

from postroom.channels.slack.channel import Slack
from postroom.channels.slack.listening import inbound_event, pressed_in
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message
from postroom.message.inbound import Flag, InboundMessage, Listened, Press


def heard(event: dict[str, Any]) -> InboundMessage:
    message = inbound_event("work", envelope("e1", event))
    assert isinstance(message, InboundMessage)
    return message


def test_a_direct_message_is_known_by_its_own_id_and_by_the_person() -> None:
    message = heard(said("Yes &amp; no"))

    assert message == InboundMessage(
        channel="work",
        number=0,
        message_id="1700000001.000200",
        places=("D1", "U1"),
        sender="U1",
        text="Yes & no",
        alone=True,
        said_at_us=1_700_000_001_000_200,
    )
    assert message.event_id == "message:D1:1700000001.000200"


def test_the_same_event_has_the_same_name_however_often_it_comes() -> None:
    again = envelope("e2", said(), retry_attempt=1, retry_reason="timeout")
    mention = said(type="app_mention", channel="C1", channel_type=None)

    assert inbound_event("work", again) == heard(said())
    assert heard(mention).event_id == heard(said(channel="C1", channel_type="channel")).event_id


def test_an_answer_in_a_thread_names_the_message_that_began_it() -> None:
    assert heard(said(thread_ts="1700000000.000100")).replies_to == "1700000000.000100"
    assert heard(said(thread_ts="1700000001.000200")).replies_to is None


def test_in_a_channel_nobody_is_alone_with_us_and_our_name_is_no_part_of_the_answer() -> None:
    message = heard(said("<@UBOT> yes", channel="C1", channel_type="channel"))

    assert (message.places, message.alone, message.sender, message.text) == (("C1",), False, "U1", "yes")


@pytest.mark.parametrize(
    ("more", "flags"),
    [
        ({"bot_id": "B1"}, {Flag.BOT}),
        ({"bot_id": "B1", "subtype": "bot_message", "user": None}, {Flag.BOT, Flag.AUTOMATIC}),
        ({"bot_profile": {"id": "B1"}}, {Flag.BOT}),
        ({"user": "USLACKBOT"}, {Flag.BOT}),
        ({"subtype": "channel_join"}, {Flag.AUTOMATIC}),
        ({"attachments": [{"is_share": True}]}, {Flag.FORWARDED}),
    ],
)
def test_what_a_person_did_not_write_themselves_is_nobodys_answer(more: dict[str, Any], flags: set[Flag]) -> None:
    message = heard(said(**more))

    assert message.flags == flags
    assert message.author is None
    assert not message.alone


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message"])
def test_some_subtypes_are_a_persons_own_words(subtype: str) -> None:
    assert heard(said(subtype=subtype)).author == "U1"


@pytest.mark.parametrize(
    "frame",
    [
        envelope("e", said(subtype="message_changed", hidden=True)),
        envelope("e", said(subtype="message_deleted")),
        envelope("e", said(type="reaction_added")),
        envelope("e", said(channel="general")),
        envelope("e", said(ts="yesterday")),
        envelope("e", said(channel=None)),
        {"type": "events_api", "payload": {"event": [1]}},
        {"type": "events_api"},
        {"type": "slash_commands", "payload": {"command": "/ask"}},
        {"type": "interactive", "payload": {"type": "view_submission"}},
        {"type": "interactive", "payload": {"type": "block_actions", "actions": [7]}},
        pressed("e", channel=None, container=None),
        pressed("e", value=None),
        {},
    ],
)
def test_everything_else_says_nothing(frame: dict[str, Any]) -> None:
    assert inbound_event("work", frame) is None


@pytest.mark.requirement("house:slack-presses")
def test_a_press_says_who_where_and_what() -> None:
    press = inbound_event("work", pressed("e1"))

    assert press == Press(
        channel="work",
        event_id="press:D1:1700000000.000100:U1:1700000002.000300",
        callback_id="D1:U1:",
        places=("D1", "U1"),
        sender="U1",
        token="q1:yes",
        message_id="1700000000.000100",
    )
    assert "q1:yes" not in repr(press)


def test_a_press_in_a_channel_is_somebodys_in_particular() -> None:
    press = inbound_event("work", pressed("e1", channel={"id": "C1"}, user={"id": "U2"}))

    assert isinstance(press, Press)
    assert (press.places, press.sender) == (("C1",), "U2")


def test_a_press_without_a_person_has_no_sender() -> None:
    press = inbound_event("work", pressed("e1", user={"id": "ada"}))

    assert isinstance(press, Press)
    assert (press.sender, press.places) == (None, ("D1",))
    assert pressed_in(press.callback_id) is None


@pytest.mark.requirement("talk:groups")
def test_in_a_channel_it_is_written_to_us_when_it_names_us() -> None:
    named = heard(said("<@UBOT> yes", channel="C1", channel_type="channel"))
    mention = heard(said(type="app_mention", channel="C1", channel_type=None))
    other = heard(said("<@UOTHER> yes", channel="C1", channel_type="channel"))

    assert (named.addressed, mention.addressed, other.addressed) == (True, True, False)


SOON = 0.05


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
