"""The wiring of the way back: break each stage in turn, and what the asker hears must change accordingly."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.database import sqlite
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.people.model import NewPerson, Person
from postroom.questions.model import PresentationStatus
from postroom.questions.shapes import document
from postroom.questions.waiting import QuestionView
from tests.household.asked_household import HEALTH, SECONDS, ask, parts, phone, press, shown, until
from tests.household.living import LIFTED, QUICK, Living, living


async def heard(house: Living, view: QuestionView, wait_seconds: float = SECONDS) -> dict[str, Any]:
    return document(
        await parts(house).asking.wait(HEALTH, ask_id=view.question.id, key=None, wait_seconds=wait_seconds)
    )


def cards(answer: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(one["channel"], one["status"], one.get("reason")) for one in answer["presentations"]]


async def test_with_nothing_broken_the_asker_has_the_answer_and_the_card_is_closed(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        view = await ask(house)
        await press(house, await phone(house, "Ship it?"), "yes")

        answer = await heard(house, view)

        assert (answer["status"], answer["answer"]["value"]) == ("answered", "yes")
        await shown(house, view, PresentationStatus.CLOSED)


async def test_a_store_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.1)
    async with living(home, LIFTED, QUICK) as house:
        holder = sqlite3.connect(home / "postroom.db", isolation_level=None)
        try:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                await ask(house)
        finally:
            holder.close()

        assert house.rows("questions") == []
        assert await house.texts() == []


async def test_a_person_without_an_address(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        made = NewPerson(name="Anna")
        await house_people(house).create(HOUSEHOLD_OWNER, made, source="api", now_us=parts(house).clock.now_us())

        answer = document(await ask(house, to="Anna"))

        assert cards(answer) == [("telegram", "not_shown", "no address on telegram")]
        assert await house.texts() == []


async def test_a_provider_that_refuses_the_card(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        await house.fault(channel="telegram", times=1, status=400)
        view = await ask(house)
        await shown(house, view, PresentationStatus.FAILED)

        answer = await heard(house, view, wait_seconds=0)

        assert [one[:2] for one in cards(answer)] == [("telegram", "not_shown")]
        assert answer["status"] == "open"


async def test_an_address_that_is_no_longer_verified(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        view = await ask(house)
        card = await phone(house, "Ship it?")
        await house_people(house).change(HOUSEHOLD_OWNER, OWNER, unverified, now_us=parts(house).clock.now_us())
        await press(house, card, "yes")

        async def tried() -> bool:
            return len(await parts(house).store.attempts(view.question.id)) == 1

        await until(tried)
        assert (await heard(house, view, wait_seconds=0))["status"] == "open"


async def test_a_provider_that_refuses_the_edit(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        view = await ask(house)
        card = await phone(house, "Ship it?")
        await shown(house, view, PresentationStatus.SHOWN)
        await house.fault(channel="telegram", times=2, status=400)  # the answer to the press, and the edit
        await press(house, card, "yes")

        answer = await heard(house, view)
        await shown(house, view, PresentationStatus.LEFT)

        assert (answer["status"], answer["answer"]["value"]) == ("answered", "yes")
        assert [one[:2] for one in cards(await heard(house, view, wait_seconds=0))] == [("telegram", "left")]


def house_people(house: Living) -> Any:
    return parts(house).planning.people.book  # type: ignore[attr-defined]


def unverified(person: Person) -> NewPerson:
    addresses = tuple(replace(one, verified_at_us=None) for one in person.addresses)
    return replace(person.as_written, addresses=addresses)
