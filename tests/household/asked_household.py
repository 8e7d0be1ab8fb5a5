"""Ask in a living household, and be the person at the sandbox's phone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from postroom.household.questions import AskingParts
from postroom.kernel.acts.reading import made
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role
from postroom.people.model import NewPerson, Person, PersonAddress
from postroom.questions.acts import AskPeople
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import PresentationStatus
from postroom.questions.shapes import QuestionView
from tests.household.living import Living
from tests.patience import PATIENCE_SECONDS

HEALTH = Principal(Role.BUTLER, "health")
OWNER_CHAT = "1000"
SECONDS = 20.0
OWNERS = {"slack": "U0OWNER01", "discord": "user:100000000000000001", "ntfy": "owners-topic"}
Found = TypeVar("Found")


def parts(house: Living) -> AskingParts:
    assert house.household.asking is not None
    return house.household.asking


async def ask(house: Living, *, wait_seconds: float = 0, **arguments: Any) -> QuestionView:
    request = made(
        AskPeople, **{"question": "Ship it?", "options": ["yes", "no"], "channels": ["telegram"], **arguments}
    ).request()
    return await parts(house).asking.ask(HEALTH, request, wait_seconds=wait_seconds)


async def until(look: Callable[[], Awaitable[Found | None]]) -> Found:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await look()):
            await asyncio.sleep(0.02)
        return found


async def has_address(house: Living, channel: str, rank: int, address: str = OWNER_CHAT) -> None:
    people = parts(house).planning.people
    assert isinstance(people, AskedPeople)

    def more(person: Person) -> NewPerson:
        place = PersonAddress(channel=channel, address=address, rank=rank, verified_at_us=1)
        others = [replace(one, rank=one.rank + 1) for one in person.addresses]
        return replace(person.as_written, addresses=(place, *others))

    await people.book.change(HOUSEHOLD_OWNER, "owner", more, now_us=parts(house).world.clock.now_us())


async def phone(house: Living, words: str) -> dict[str, Any]:
    """The message on the phone that says this, as soon as there is one."""

    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received() if words in one["text"]), None)

    return await until(look)


async def letter(house: Living, words: str) -> dict[str, Any]:
    """The mail in the sandbox's mailbox that says this, as soon as there is one."""

    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received("email") if words in one["body"]), None)

    return await until(look)


def link_in(mail: dict[str, Any]) -> str:
    """To the page of the question that this mail is about."""
    found = re.search(r"http\S+/a/\S+", mail["body"].replace("=\n", ""))
    assert found is not None, mail["body"]
    return found[0]


async def behind(house: Living, mail: dict[str, Any]) -> str:
    """What the page says that the link in a mail leads to."""
    async with house.http.get(link_in(mail)) as response:
        return await response.text()


async def press(house: Living, message: dict[str, Any], button: str, **more: Any) -> dict[str, Any]:
    body = {"message_id": message["message_id"], "button": button, **more}
    async with house.http.post(house.played_at + "telegram/press", json=body) as response:
        assert response.status == 200, await response.text()
        pressed: dict[str, Any] = await response.json()
        return pressed


async def press_beside(house: Living, message: dict[str, Any], button: str) -> None:
    """What is not among the answers stands behind the card's small button."""
    await press(house, message, "…")
    opened = partial(_has, house, message, button)
    await press(house, await until(opened), button)


async def _has(house: Living, message: dict[str, Any], button: str) -> dict[str, Any] | None:
    mine = (one for one in await house.received() if one["message_id"] == message["message_id"])
    return next((one for one in mine if button in labels(one)), None)


async def write(house: Living, text: str, **more: Any) -> None:
    body = {"chat_id": OWNER_CHAT, "text": text, **more}
    async with house.http.post(house.played_at + "telegram/inbound", json=body) as response:
        assert response.status == 200, await response.text()


async def shown(house: Living, view: QuestionView, status: PresentationStatus) -> None:
    async def look() -> bool:
        return [one.status for one in await parts(house).world.store.presentations.of(view.question.id)] == [status]

    await until(look)


def labels(message: dict[str, Any]) -> list[str]:
    markup = message.get("reply_markup") or {}
    return [button["text"] for row in markup.get("inline_keyboard", []) for button in row]
