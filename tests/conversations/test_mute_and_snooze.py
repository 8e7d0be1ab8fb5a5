"""At the phone: a notice is acknowledged, put off and muted by the person it is for, and by no stranger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.household.asked_household import labels, phone, press, until, write
from tests.household.living import LIFTED, QUICK, Living, living

from postroom.attention.model import NoticeState

pytestmark = pytest.mark.asyncio(loop_scope="module")
STRANGER = "666"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as alive:
        yield alive


async def asking(house: Living, words: str, butler: str = "health") -> tuple[str, dict[str, Any]]:
    """A notice that waits to be acknowledged, and its card."""
    answer = await house.notify(butler=butler, message=words, needs_ack=True)
    assert answer["status"] == "ok", answer
    return str(answer["notice_id"]), await phone(house, words)


async def state(house: Living, notice_id: str) -> NoticeState:
    view = await house.attention.notice(notice_id)
    assert view is not None
    return view.state


async def becomes(house: Living, notice_id: str, wanted: NoticeState) -> None:
    async def look() -> bool:
        return await state(house, notice_id) is wanted

    await until(look)


@pytest.mark.requirement("attention:buttons")
async def test_a_notice_that_needs_it_has_buttons_and_ok_acknowledges_it(house: Living) -> None:
    notice_id, card = await asking(house, "Take your pills")
    plain = await house.notify(message="Nothing to press")

    assert labels(card) == ["OK", "Later", "Mute today"]
    assert labels(await phone(house, "Nothing to press")) == [] and plain["status"] == "ok"
    await press(house, card, "OK", from_id=int(STRANGER))
    await press(house, card, "OK")
    await becomes(house, notice_id, NoticeState.ACKNOWLEDGED)


@pytest.mark.requirement("attention:buttons")
async def test_a_strangers_press_changes_nothing(house: Living) -> None:
    notice_id, card = await asking(house, "Not for strangers")
    for button in labels(card):
        await press(house, card, button, from_id=int(STRANGER))
    marker, after = await asking(house, "After the stranger")
    await press(house, after, "OK")
    await becomes(house, marker, NoticeState.ACKNOWLEDGED)  # presses are heard in order, so the stranger's are over

    assert await state(house, notice_id) is NoticeState.WAITING
    assert (await house.notify(message="Health still speaks"))["status"] == "ok"


@pytest.mark.requirement("attention:buttons")
async def test_later_puts_it_off_and_mute_today_silences_its_agent(house: Living) -> None:
    notice_id, card = await asking(house, "Call the plumber")
    await press(house, card, "Later")
    await becomes(house, notice_id, NoticeState.HELD)

    other, loud = await asking(house, "I am general", butler="general")
    await press(house, loud, "Mute today")
    await becomes(house, other, NoticeState.ACKNOWLEDGED)
    answer = await house.notify(butler="general", message="Still general")
    assert (answer["status"], answer["reasons"]) == ("muted", ["muted"]), answer
    await house.attention.unmute("owner", agent="general")


@pytest.mark.requirement("attention:buttons")
async def test_words_of_the_person_mute_and_snooze_and_are_confirmed(house: Living) -> None:
    notice_id, _ = await asking(house, "Water the garden")

    await write(house, "/snooze 2h")
    await phone(house, "Shown again at")
    await becomes(house, notice_id, NoticeState.HELD)
    await write(house, "/mute general 1h")
    await phone(house, "Muted general until")
    assert (await house.notify(butler="general", message="Hush"))["reasons"] == ["muted"]
    await write(house, "/mute helth 1h")
    await phone(house, "Nothing has come to you under that name so far.")
    assert not [one for one in await house.received() if "Muted general" in one["text"] and "so far" in one["text"]]
    await write(house, "/mute general for a very long time")
    await write(house, "/mute a b")
    await phone(house, "Write /snooze 2h")
    await house.attention.unmute("owner", agent="general")


@pytest.mark.requirement("attention:buttons")
@pytest.mark.parametrize("length", ["99999999999h", "-5h", "1.5h"])
async def test_a_length_that_is_none_is_not_taken_for_the_name_of_an_agent(house: Living, length: str) -> None:
    before = len([one for one in await house.received() if "Write /snooze 2h" in one["text"]])
    await write(house, f"/mute {length}")
    await until(partial(said_again, house, before))
    assert not [one for one in await house.received() if f"Muted {length}" in one["text"]]


async def said_again(house: Living, before: int) -> bool:
    return len([one for one in await house.received() if "Write /snooze 2h" in one["text"]]) > before


@pytest.mark.requirement("attention:buttons")
async def test_a_reply_mutes_and_puts_off_what_it_replies_to_and_no_other(house: Living) -> None:
    mine, card = await asking(house, "Air the kitchen")
    other, _ = await asking(house, "The last of all", butler="general")

    await write(house, "/snooze 2h", reply_to_message_id=card["message_id"])
    await becomes(house, mine, NoticeState.HELD)
    await write(house, "/mute 1h", reply_to_message_id=card["message_id"])
    await phone(house, "Muted health until")
    assert (await house.notify(message="Hush"))["reasons"] == ["muted"]
    assert (await house.notify(butler="general", message="Not hushed"))["status"] == "ok"
    assert await state(house, other) is NoticeState.WAITING
    await house.attention.unmute("owner", agent="health")


@pytest.mark.requirement("attention:buttons")
async def test_without_a_policy_the_last_message_is_put_off_and_its_sender_muted(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as plain:
        await plain.notify(message="The washing is done")
        await write(plain, "/snooze 2h")
        await phone(plain, "Shown again at")
        [again] = await plain.attention.notices("owner", "held", 5)
        assert (again.agent, again.state, again.text) == ("health", NoticeState.HELD, "The washing is done")

        await write(plain, "/mute 1h")
        await phone(plain, "Muted health until")
        assert (await plain.notify(message="Hush"))["reasons"] == ["muted"]


@pytest.mark.requirement("attention:buttons")
async def test_what_is_muted_is_not_promised_to_be_shown_again(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as plain:
        await plain.notify(message="The washing is done")
        card = (await asking(plain, "Take your pills", "general"))[1]
        for agent, message in (("health", await phone(plain, "The washing is done")), ("general", card)):
            await write(plain, f"/mute {agent} 1h")
            await phone(plain, f"Muted {agent} until")
            await write(plain, "/snooze 2h", reply_to_message_id=message["message_id"])
            await phone(plain, f"What {agent} said there is muted, so it is not shown again")

        assert not [one for one in await plain.received() if "Shown again at" in one["text"]]


@pytest.mark.requirement("attention:buttons")
async def test_words_of_a_stranger_and_in_a_group_mute_nothing(house: Living) -> None:
    await write(house, "/mute health 1d", from_id=STRANGER)
    await write(house, "/mute health 1d", chat_id=STRANGER, from_id=STRANGER)
    await write(house, "/mute health 1d", forwarded=True)
    await write(house, "/mute general 1m")
    await phone(house, "Muted general until")

    assert (await house.notify(message="Still heard"))["status"] == "ok"
