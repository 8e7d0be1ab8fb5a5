"""A question is on one channel of a person at a time: the next one has it when nobody answers, or the first fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.ids import seconds
from postroom.questions.model import PresentationStatus
from postroom.questions.waiting import QuestionView
from tests.household.asked_household import OWNER_CHAT, ask, parts, phone, press, until
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = pytest.mark.requirement("ask:one-channel-at-a-time")
SOON: dict[str, Any] = {"questions": {"next_channel_seconds": 0.3}}


async def asked(house: Living, **more: Any) -> QuestionView:
    return await ask(house, **{"channels": None, **more})


async def where(house: Living, view: QuestionView) -> dict[str, PresentationStatus]:
    return {one.channel: one.status for one in await parts(house).presentations.of(view.question.id)}


async def shown_on(house: Living, view: QuestionView, *channels: str) -> None:
    async def look() -> bool:
        found = await where(house, view)
        return all(found.get(one) is PresentationStatus.SHOWN for one in channels)

    await until(look)


async def test_the_first_channel_has_it_alone_and_an_answer_there_is_all_the_others_ever_hear(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        view = await asked(house)
        card = await phone(house, "Ship it?")
        await shown_on(house, view, "telegram")
        assert (await where(house, view))["email"] is PresentationStatus.PLANNED
        await press(house, card, "yes")
        await phone(house, "✅ yes")

        assert (await where(house, view))["email"] is PresentationStatus.LEFT
        assert await house.received("email") == []


async def test_who_does_not_answer_is_asked_on_the_next_channel_after_a_while(home: Path) -> None:
    async with living(home, LIFTED, QUICK, SOON) as house:
        view = await asked(house)
        await shown_on(house, view, "telegram", "email")

        assert [one["subject"] for one in await house.received("email")] == ["Question: Ship it?"]


async def test_named_channels_are_all_rung_at_once(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        view = await asked(house, channels=["telegram", "email"])
        await shown_on(house, view, "telegram", "email")


async def test_when_the_first_channel_fails_for_good_the_next_has_it_at_once(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        await house.fault(channel="telegram", times=1, status=400)
        view = await asked(house)
        await shown_on(house, view, "email")

        assert (await where(house, view))["telegram"] is PresentationStatus.FAILED


async def test_a_persons_own_escalation_says_when_and_where_it_goes_next(home: Path) -> None:
    steps = {"attention": {"escalation": [{"after_seconds": 1800, "channel": "email"}]}}
    async with living(home, LIFTED, QUICK, SOON, steps) as house:
        view = await asked(house)
        await shown_on(house, view, "telegram")
        mail = next(one for one in await parts(house).presentations.of(view.question.id) if one.channel == "email")

        assert mail.due_at_us == view.question.created_at_us + seconds(1800)


@pytest.mark.parametrize("has_address", [True, False], ids=["the only channel fails", "no address at all"])
async def test_when_nobody_can_be_reached_those_whom_it_is_passed_on_to_are_asked_at_once(
    home: Path, has_address: bool
) -> None:
    bob = {"name": "Bob"} | ({"telegram_chat_id": "2001"} if has_address else {})
    async with living(home, LIFTED, QUICK, {"contacts": [bob]}) as house:
        if has_address:
            await house.fault(channel="telegram", times=1, status=400)
        await asked(house, to="Bob", escalate_to="owner", escalate_after_seconds=3600)
        card = await phone(house, "Ship it?")

        assert card["chat_id"] == OWNER_CHAT
