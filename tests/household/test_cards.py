"""A card on its way through a whole household: shown with buttons, pressed, edited, and never as a second message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.butlers.wire import document_within
from postroom.kernel.values.ids import DeliveryId
from postroom.message.markup import Button, ButtonStyle, Markup
from postroom.message.outgoing import Outgoing
from tests.household.living import LIFTED, QUICK, Living, living

CARD = Markup(
    buttons=(
        (Button(label="Ship", token="q1:ship", style=ButtonStyle.SUCCESS), Button(label="Don't", token="q1:dont")),
        (Button(label="Open", url="http://127.0.0.1:40200/a/canary"),),
    )
)
LINKS = Markup(buttons=((Button(label="Ship", url="http://127.0.0.1:40200/a/canary"),),))


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Living]:
    async with living(tmp_path, LIFTED, QUICK) as one:
        yield one


async def deliver(home: Living, caller: str = "operator", **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"origin_butler": "health", "channel": "telegram", "message": "Ship it?"}
    arguments = {"notify_request": document_within(Outgoing(**(given | changes))), "wait_seconds": 20}
    return await home.call("switchboard", "deliver", arguments, caller=caller)


async def sent(home: Living, **changes: Any) -> DeliveryId:
    answer = await deliver(home, **changes)
    assert answer["status"] == "ok", answer
    return DeliveryId(answer["delivery"]["delivery_id"])


@pytest.mark.requirement("house:buttons-are-the-households-own", "house:telegram-buttons")
async def test_a_card_is_shown_pressed_and_closed(home: Living) -> None:
    card = await sent(home, markup=CARD)
    [shown] = await home.received()
    keys = [[key["text"] for key in row] for row in shown["reply_markup"]["inline_keyboard"]]
    assert keys == [["Ship", "Don't"], ["Open"]]

    press = {"message_id": shown["message_id"], "button": "Ship", "from_id": 1000}
    async with home.http.post(home.household.addresses["sandbox"] + "telegram/press", json=press) as response:
        assert (await response.json())["callback"]["data"] == "q1:ship"
    await sent(home, message="Ship it? Yes, said Ann.", revises=card)

    [closed] = await home.received()
    assert (closed["text"], closed["reply_markup"]) == ("Ship it? Yes, said Ann.", None)
    assert closed["earlier_texts"] == ["Ship it?"]


@pytest.mark.requirement("house:a-revision-is-a-delivery", "house:telegram-edits")
async def test_an_edit_whose_answer_was_lost_is_made_once_and_ends_well(home: Living) -> None:
    card = await sent(home, markup=CARD)
    await home.fault(channel="telegram", mode="accept_then_cut")

    answer = await deliver(home, message="Closed", revises=card)

    assert answer["status"] == "ok", answer
    assert "possible_duplicate" not in answer["delivery"]
    [closed] = await home.received()
    assert (closed["text"], len(closed["edits"])) == ("Closed", 1)


@pytest.mark.requirement("house:telegram-edits")
async def test_every_part_of_a_long_card_is_closed(home: Living) -> None:
    card = await sent(home, message="word " * 1_500, markup=CARD)
    first, last = await home.received()
    assert (first["reply_markup"], bool(last["reply_markup"])) == (None, True)

    await sent(home, message="word " * 1_500 + "\nAnswered by Ann", revises=card)

    first, last = await home.received()
    assert last["reply_markup"] is None
    assert last["text"].endswith("Answered by Ann")


@pytest.mark.requirement("house:email-links")
async def test_a_mail_has_links_and_stays_as_it_was_sent(home: Living) -> None:
    card = await sent(home, channel="email", recipient="ann@e.org", markup=LINKS)

    edited = await deliver(home, channel="email", message="Closed", revises=card)

    [mail] = await home.received("email")
    assert mail["body"] == "Ship it?\n\nShip: http://127.0.0.1:40200/a/canary"
    assert mail["headers"]["X-Auto-Response-Suppress"] == "All"
    assert (edited["status"], edited["error"]["message"]) == ("error", "revises: email cannot edit what was sent")


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_a_butler_sets_no_buttons_edits_nothing_and_reads_no_link(home: Living) -> None:
    card = await sent(home, markup=CARD)

    buttons, edit = await asyncio.gather(
        deliver(home, "health", markup=CARD), deliver(home, "health", message="Closed", revises=card)
    )
    row = next(row for row in home.rows("delivery_requests") if row["id"] == card)
    trace = await home.call(
        "messenger", "messenger_delivery_trace", {"request_id": row["request_id"]}, caller="operator"
    )

    assert [one["error"]["fields"][0]["field"] for one in (buttons, edit)] == ["household"] * 2
    assert "canary" in row["markup"]
    assert "canary" not in str(trace)
    assert "q1:ship" not in str(trace)
    assert card in str(trace)
    assert len(await home.received()) == 1
