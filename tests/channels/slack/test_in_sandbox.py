"""The channel against the sandbox's Slack, over real sockets: everything a household does with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.channels.given import message_to, post
from tests.fakes.record import FaceMessage
from tests.fakes.server import Fakes
from tests.patience import PATIENCE_SECONDS

from postroom.channels.slack.channel import Slack
from postroom.kernel.values.errors import OutcomeUncertain, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Format, Receipt
from postroom.message.inbound import Listened, Press
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


async def send(slack: Slack, address: str = "U1", **changes: Any) -> list[Receipt]:
    return [await slack.send(part, 5.0) for part in slack.prepare(message_to(address, **changes))]


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
    [part] = after_the_crash.prepare(message_to(address))
    found = await after_the_crash.find(part, began, 5.0)
    [never_sent] = after_the_crash.prepare(message_to(address, delivery_id=DeliveryId("d2")))
    absent = await after_the_crash.find(never_sent, began, 5.0)
    await after_the_crash.close()

    [seen] = shown(sandbox)
    assert found == Receipt(seen.message_id, conversation=seen.place)
    assert absent is None


REFUSED = {
    "CARCHIVED": "is archived",
    "CNOTIN": "invite it there",
    "CUNKNOWN": "knows no such channel",
    "UNODM": "Messages tab",
}


@pytest.mark.requirement("house:slack-refusals")
async def test_a_place_that_refuses_says_why(slack: Slack) -> None:
    for address, words in REFUSED.items():
        with pytest.raises(ValidationError, match=words):
            await send(slack, address=address)


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
