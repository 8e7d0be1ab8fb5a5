"""Two bots in one household, each at a provider of its own: what belongs to one never comes by the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from postroom.household.wiring.store import HouseholdAsked
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import NewPerson, Person, PersonAddress
from postroom.questions.model import QuestionStatus
from postroom.sandbox.server import Sandbox, serve
from tests.household.asked_household import OWNER_CHAT, SECONDS, ask, labels, parts, phone, press, until
from tests.household.living import LIFTED, QUICK, Living, living

REAL = {"sandbox": False, "approvals": {"enabled": False}, "owner": {"name": "Olivia", "telegram_chat_id": OWNER_CHAT}}


@dataclass(frozen=True, slots=True)
class Phone:
    """The owner's, at one of the two providers; the chat has the same number on both."""

    house: Living
    sandbox: Sandbox

    async def received(self) -> list[dict[str, Any]]:
        async with self.house.http.get(f"{self.sandbox.bot_api_url}/sandbox/telegram/messages") as response:
            messages: list[dict[str, Any]] = (await response.json())["messages"]
            return messages

    async def texts(self) -> list[str]:
        return [one["text"] for one in await self.received()]

    async def shows(self, words: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            return next((one for one in await self.received() if words in one["text"]), None)

        return await until(look)

    async def press(self, card: dict[str, Any], button: str) -> None:
        await self._do("press", {"message_id": card["message_id"], "button": button})

    async def write(self, text: str, **more: Any) -> None:
        await self._do("inbound", {"chat_id": OWNER_CHAT, "text": text, **more})

    async def _do(self, what: str, body: dict[str, Any]) -> None:
        async with self.house.http.post(f"{self.sandbox.bot_api_url}/sandbox/telegram/{what}", json=body) as response:
            assert response.status == 200, await response.text()


@dataclass(frozen=True, slots=True)
class TwoBots:
    house: Living
    home: Phone
    work: Phone


@pytest.fixture
async def bots(home: Path) -> AsyncIterator[TwoBots]:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(serve(token=token)) for token in ("1:home", "2:work")]
        work = {"kind": "telegram", "token": "2:work", "api_base_url": other.bot_api_url}
        accounts = {"telegram": {"token": "1:home", "api_base_url": one.bot_api_url}, "channels": {"work": work}}
        house = await stack.enter_async_context(living(home, LIFTED, QUICK, REAL, accounts))
        await has_address(house, "work", rank=1)
        yield TwoBots(house, Phone(house, one), Phone(house, other))


async def has_address(house: Living, channel: str, rank: int, address: str = OWNER_CHAT) -> None:
    people = parts(house).planning.people
    assert isinstance(people, HouseholdAsked)

    def more(person: Person) -> NewPerson:
        place = PersonAddress(channel=channel, address=address, rank=rank, verified_at_us=1)
        others = [replace(one, rank=one.rank + 1) for one in person.addresses]
        return replace(person.as_written, addresses=(place, *others))

    await people.book.change(HOUSEHOLD_OWNER, "owner", more, now_us=parts(house).clock.now_us())


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_each_sends_by_its_own_bot(bots: TwoBots) -> None:
    answers = [await bots.house.notify(channel=name, message=f"by {name}") for name in ("telegram", "work")]

    assert [one["delivery"]["channel"] for one in answers] == ["telegram", "work"]
    assert (await bots.home.texts(), await bots.work.texts()) == (["by telegram"], ["by work"])


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_a_card_is_answered_where_it_was_pressed_and_closed_on_both(bots: TwoBots) -> None:
    asked = asyncio.create_task(ask(bots.house, channels=["telegram", "work"], wait_seconds=SECONDS))
    at_home, at_work = await bots.home.shows("Ship it?"), await bots.work.shows("Ship it?")

    await bots.work.press(at_work, "yes")
    question = (await asyncio.wait_for(asked, SECONDS)).question

    assert question.status is QuestionStatus.ANSWERED and question.answered_by is not None
    assert question.answered_by.channel == "work"
    closed = [await one.shows("✅ yes: answered by") for one in (bots.home, bots.work)]
    assert [one["message_id"] for one in closed] == [at_home["message_id"], at_work["message_id"]]
    assert [labels(one) for one in closed] == [[], []]


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_a_reply_answers_the_card_of_its_own_account(bots: TwoBots) -> None:
    first = await ask(bots.house, question="At home?", channels=["telegram"], options=["yes", "no"])
    second = await ask(bots.house, question="At work?", channels=["work"], options=["yes", "no"])
    at_home, at_work = await bots.home.shows("At home?"), await bots.work.shows("At work?")
    assert at_home["message_id"] == at_work["message_id"]

    await bots.work.write("no", reply_to_message_id=at_work["message_id"])
    await bots.work.shows("✅ no: answered by")

    found = [await parts(bots.house).store.get(one.question.id) for one in (first, second)]
    assert [one.status for one in found if one] == [QuestionStatus.OPEN, QuestionStatus.ANSWERED]


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_both_are_heard_and_each_from_its_own_place(bots: TwoBots) -> None:
    for one in (bots.home, bots.work):
        await one.write("hello?")
    for one in (bots.home, bots.work):
        await one.shows("Which butler do you mean?")

    async def offsets() -> bool:
        marks = parts(bots.house).marks
        return None not in [await marks.offset(name) for name in ("telegram", "work")]

    assert await until(offsets)


@pytest.mark.requirement("chan:auto")
async def test_auto_is_the_owners_first_account_and_the_answer_names_it(bots: TwoBots) -> None:
    sent = await bots.house.notify(channel="auto", message="as you like it")
    url = bots.house.household.addresses["api"] + "/v1/notify"
    headers = {"Authorization": f"Bearer {bots.house.token('health')}"}
    body = {"message": "over HTTP", "channel": "auto"}
    async with bots.house.http.post(url, json=body, headers=headers) as response:
        over_http = await response.json()
    envelope = {
        "schema_version": "notify.v1",
        "origin_butler": "health",
        "delivery": {"intent": "send", "channel": "auto", "message": "perhaps"},
    }
    rehearsed = await bots.house.call("messenger", "messenger_dry_run", {"notify_request": envelope}, caller="operator")

    assert (sent["status"], sent["delivery"]["channel"]) == ("ok", "work")
    assert over_http["delivery"]["channel"] == "work"
    assert rehearsed["channel_adapter"] == "work.bot"
    assert await bots.work.texts() == ["as you like it", "over HTTP"]
    assert await bots.home.texts() == []


@pytest.mark.requirement("chan:auto")
async def test_auto_for_a_person_nobody_knows_is_refused_by_field(bots: TwoBots) -> None:
    answer = await bots.house.notify(channel="auto", recipient="Nobody", message="hello")

    assert answer["status"] == "error"
    assert "delivery.channel" in answer["error_message"]
    assert await bots.work.texts() == [] == await bots.home.texts()


async def test_both_are_listed_with_their_kind_and_health(bots: TwoBots) -> None:
    headers = {"Authorization": f"Bearer {bots.house.token('operator')}"}
    async with bots.house.http.get(bots.house.household.addresses["api"] + "/v1/channels", headers=headers) as found:
        listed = (await found.json())["channels"]

    told = {one["name"]: (one["kind"], one["configured"], one["health"]["circuit"]) for one in listed}
    assert told["telegram"] == told["work"] == ("telegram", True, "closed")
    assert told["email"][:2] == ("email", False)


@pytest.mark.requirement("chan:sandbox-accounts")
async def test_in_the_sandbox_two_bots_share_a_phone_and_not_what_is_pressed_there(home: Path) -> None:
    work = {"work": {"kind": "telegram", "token": "unused there"}}
    async with living(home, LIFTED, QUICK, {"sandbox": True, "channels": work}) as house:
        await has_address(house, "work", rank=1)
        asked = asyncio.create_task(ask(house, channels=["work"], wait_seconds=SECONDS))
        await press(house, await phone(house, "Ship it?"), "yes")
        question = (await asyncio.wait_for(asked, SECONDS)).question
        answer = await house.notify(channel="work", message="by work")

    assert question.answered_by is not None and question.answered_by.channel == "work"
    assert (answer["status"], answer["delivery"]["channel"]) == ("ok", "work")
