"""The channel against the sandbox's Slack, over real sockets: everything a household does with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from tests.fakes.record import FaceMessage
from tests.fakes.server import Fakes
from tests.patience import PATIENCE_SECONDS

from postroom.channels.slack.channel import Slack
from postroom.kernel.values.errors import OutcomeUncertain, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Format, Intent, Message, Receipt
from postroom.message.inbound import InboundMessage, Listened, Press
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

CARD = Markup(
    buttons=(
        (Button(label="Yes & now", token="q1:yes", style=ButtonStyle.PRIMARY), Button(label="No", token="q1:no")),
        (Button(label="Open", url="https://home.example/a"),),
    )
)
HOSTILE = "<!channel> *bold* & <https://evil.example|home>"


def made(sandbox: Fakes) -> Slack:
    return Slack("slack", "xoxb-sandbox", "xapp-sandbox", f"{sandbox.bot_api_url}/api")


@pytest.fixture
async def slack(sandbox: Fakes) -> AsyncIterator[Slack]:
    slack = made(sandbox)
    yield slack
    await slack.close()


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {
        "delivery_id": DeliveryId("d1"),
        "intent": Intent.SEND,
        "address": "U1",
        "text": "Ship it?",
    }
    return Message(**(given | changes))


async def send(slack: Slack, **changes: Any) -> list[Receipt]:
    return [await slack.send(part, 5.0) for part in slack.prepare(message(**changes))]


async def post(sandbox: Fakes, path: str, body: dict[str, Any]) -> dict[str, Any]:
    async with aiohttp.ClientSession() as http, http.post(f"{sandbox.bot_api_url}/sandbox/{path}", json=body) as answer:
        assert answer.status == 200, await answer.text()
        told: dict[str, Any] = await answer.json()
        return told


def shown(sandbox: Fakes) -> list[FaceMessage]:
    return list(sandbox.faces["slack"].ledger.messages(from_person=False))


def labels(sandbox: Fakes, message: FaceMessage) -> list[str]:
    return [button.label for button in sandbox.faces["slack"].buttons(message)]


def edit(receipts: list[Receipt]) -> Revision:
    ids = tuple(one.provider_id for one in receipts)
    return Revision(delivery_id=DeliveryId("d1"), provider_ids=ids, conversation=receipts[-1].conversation)


async def hear(slack: Slack, position: int | None = None) -> Listened:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await slack.listen(position, 10.0)


async def test_a_person_is_written_to_in_their_direct_message_and_sees_the_very_text(
    sandbox: Fakes, slack: Slack
) -> None:
    [receipt] = await send(slack, text=HOSTILE)
    [seen] = shown(sandbox)

    assert receipt == Receipt(seen.message_id, conversation="D1")
    assert (seen.place, seen.text) == ("D1", HOSTILE)
    assert "<" not in seen.body["text"]
    assert (seen.body["unfurl_links"], seen.body["unfurl_media"]) == (False, False)


async def test_a_long_text_arrives_whole_in_several_messages(sandbox: Fakes, slack: Slack) -> None:
    text = " ".join(f"word{number}&" for number in range(2000))
    receipts = await send(slack, text=text, address="C1")

    assert len(receipts) == len(shown(sandbox)) > 3
    assert " ".join(one.text for one in shown(sandbox)) == text


async def test_a_reply_and_a_reaction_stand_at_what_the_person_wrote(sandbox: Fakes, slack: Slack) -> None:
    said = await post(sandbox, "slack/inbound", {"place": "U1", "text": "Is it done?"})
    thread = said["message_id"]
    for address in ("D1", "U1"):
        await send(slack, intent=Intent.REPLY, address=address, thread=thread, text="Yes")
        await send(slack, intent=Intent.REACT, address=address, thread=thread, emoji="👍")

    assert [one.thread for one in shown(sandbox)] == [thread, thread]
    [asked] = sandbox.faces["slack"].ledger.messages(from_person=True)
    assert list(asked.reactions) == ["+1"]


@pytest.mark.requirement("house:slack-presses")
async def test_a_card_is_shown_pressed_answered_ticked_and_closed(sandbox: Fakes, slack: Slack) -> None:
    await slack.listen(None, 0.05)
    receipts = await send(slack, markup=CARD)
    [card] = shown(sandbox)
    assert labels(sandbox, card) == ["Yes & now", "No", "Open"]

    told = await post(sandbox, "slack/press", {"message_id": card.message_id, "button": "Yes & now"})
    heard = await hear(slack)
    [press] = heard.events

    assert told["press"]["is_listened_to"]
    assert isinstance(press, Press)
    assert (press.token, press.sender, press.places) == ("q1:yes", "U1", ("D1", "U1"))
    assert await slack.answer_press(press.callback_id, "✅ Yes")
    assert await slack.answer_press(press.callback_id, "Too late.", alert=True)
    assert [one.text for one in shown(sandbox)] == ["Ship it?", "Too late."]

    ticked = Markup(buttons=((Button(label="☑ Yes", token="q1:yes"),),))
    for _ in range(2):
        await send(slack, text="", markup=ticked, revises=edit(receipts))
    assert (shown(sandbox)[0].text, labels(sandbox, shown(sandbox)[0])) == ("Ship it?", ["☑ Yes"])
    for _ in range(2):
        await send(slack, text="Closed: *yes*", revises=edit(receipts))
    assert (shown(sandbox)[0].text, labels(sandbox, shown(sandbox)[0])) == ("Closed: *yes*", [])
    assert await slack.listen(heard.position, 0.05) == Listened()


async def test_what_people_write_is_heard_with_who_and_where(sandbox: Fakes, slack: Slack) -> None:
    [card] = await send(slack, address="C1")
    await post(sandbox, "slack/inbound", {"channel": "C1", "from_id": "U2", "text": "Hm & so"})
    answer = {"from_id": "U2", "text": "@postroom yes", "reply_to_message_id": card.provider_id}
    await post(sandbox, "slack/inbound", {"channel": "C1", **answer})
    await post(sandbox, "slack/inbound", {"channel": "C1", "from_id": "U3", "from_is_bot": True, "text": "beep"})

    position, events = None, []
    while len(events) < 4:
        heard = await hear(slack, position)
        position, events = heard.position, [*events, *heard.events]
    plain, reply, mention, beep = (one for one in events if isinstance(one, InboundMessage))

    assert (plain.text, plain.author, plain.places, plain.replies_to) == ("Hm & so", "U2", ("C1",), None)
    assert (reply.text, reply.replies_to) == ("yes", card.provider_id)
    assert mention.event_id == reply.event_id
    assert (beep.author, beep.sender) == (None, None)


@pytest.mark.requirement("house:slack-acknowledged-after-handling")
async def test_a_process_that_dies_before_it_acknowledged_hears_the_person_again(sandbox: Fakes, slack: Slack) -> None:
    await post(sandbox, "slack/inbound", {"place": "U1", "text": "Yes"})
    dying = made(sandbox)
    first = await hear(dying)
    await dying.close()
    second = await hear(slack)
    await slack.listen(second.position, 0.05)

    assert [one.event_id for one in first.events] == [one.event_id for one in second.events]


@pytest.mark.requirement("house:slack-found-again")
@pytest.mark.parametrize("address", ["U1", "C1"])
async def test_a_message_whose_answer_was_cut_off_is_found_even_after_a_crash(
    sandbox: Fakes, slack: Slack, address: str
) -> None:
    began = datetime.now(UTC)
    await post(sandbox, "faults", {"channel": "slack", "mode": "accept_then_cut"})
    with pytest.raises(OutcomeUncertain):
        await send(slack, address=address)

    after_the_crash = made(sandbox)
    [part] = after_the_crash.prepare(message(address=address))
    found = await after_the_crash.find(part, began, 5.0)
    [never_sent] = after_the_crash.prepare(message(address=address, delivery_id=DeliveryId("d2")))
    absent = await after_the_crash.find(never_sent, began, 5.0)
    await after_the_crash.close()

    [seen] = shown(sandbox)
    assert found == Receipt(seen.message_id, conversation=seen.place)
    assert absent is None


async def test_a_reply_whose_answer_was_cut_off_is_found_in_its_thread(sandbox: Fakes, slack: Slack) -> None:
    [root] = await send(slack, address="C1")
    await post(sandbox, "faults", {"channel": "slack", "mode": "accept_then_cut"})
    reply = message(delivery_id=DeliveryId("d2"), address="C1", intent=Intent.REPLY, thread=root.provider_id)
    [part] = slack.prepare(reply)
    with pytest.raises(OutcomeUncertain):
        await slack.send(part, 5.0)

    assert await slack.find(part, datetime.now(UTC) - timedelta(seconds=30), 5.0) == Receipt(
        shown(sandbox)[-1].message_id, conversation="C1"
    )


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"status": 429, "retry_after": 9}, ProviderThrottled),
        ({"status": 503}, TargetUnavailable),
        ({"mode": "refuse"}, OutcomeUncertain),
    ],
)
async def test_a_fault_keeps_nothing(
    sandbox: Fakes, slack: Slack, fault: dict[str, Any], raises: type[Exception]
) -> None:
    await post(sandbox, "faults", {"channel": "slack", **fault})
    with pytest.raises(raises) as caught:
        await send(slack)

    assert shown(sandbox) == []
    if raises is ProviderThrottled:
        assert getattr(caught.value, "retry_after_seconds", None) == 9.0
    await send(slack)
    assert len(shown(sandbox)) == 1


async def test_an_edit_that_was_cut_off_is_made_and_may_be_made_again(sandbox: Fakes, slack: Slack) -> None:
    receipts = await send(slack, markup=CARD)
    await post(sandbox, "faults", {"channel": "slack", "mode": "accept_then_cut"})
    with pytest.raises(OutcomeUncertain):
        await send(slack, text="Closed", revises=edit(receipts))
    await send(slack, text="Closed", revises=edit(receipts))

    assert [(one.text, len(one.earlier)) for one in shown(sandbox)] == [("Closed", 1)]


@pytest.mark.requirement("house:slack-refusals")
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("CARCHIVED", "is archived"),
        ("CNOTIN", "invite it there"),
        ("CUNKNOWN", "knows no such channel"),
        ("UNODM", "Messages tab"),
    ],
)
async def test_a_place_that_refuses_says_why(sandbox: Fakes, slack: Slack, address: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        await send(slack, address=address)


async def test_the_credentials_are_tried_without_sending(sandbox: Fakes, slack: Slack) -> None:
    assert await slack.probe(5.0) == "@postroom in Sandbox"
    assert shown(sandbox) == []


@pytest.mark.requirement("content:slack-formatted", "content:no-injection")
async def test_markdown_is_taken_shown_and_kept_when_only_buttons_change(sandbox: Fakes, slack: Slack) -> None:
    source = f"**Ship** [it](https://ci.example/1)?\n\n> q\n\n```\ncode\n```\n{HOSTILE}"
    receipts = await send(slack, text=source, format=Format.MARKDOWN, markup=CARD)
    [kept] = shown(sandbox)

    assert kept.text.startswith("Ship it (ci.example)?\nq\ncode\n<!channel> bold &")
    assert [block["type"] for block in kept.body["blocks"]] == ["rich_text", "actions"]
    await send(slack, text="", revises=edit(receipts))
    [now] = shown(sandbox)
    assert now.body["blocks"] == kept.body["blocks"][:1]
    await send(slack, text="**Shipped**", format=Format.MARKDOWN, revises=edit(receipts))
    [then] = shown(sandbox)
    assert then.body["blocks"][0]["elements"][0]["elements"] == [
        {"type": "text", "text": "Shipped", "style": {"bold": True}}
    ]
