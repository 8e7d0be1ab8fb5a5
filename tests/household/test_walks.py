"""Four ways through the house, each followed by real words, with the files that somebody opens who reads it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.tree import ROOT
from tests.household.asked_household import phone, press, until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.talking import reply, script, talking
from tests.household.walks import Walk, walking

WORDS = "Zwiebelkuchen"
LISTED = re.compile(r"^\d+\. `([\w/]+\.py)`:", re.MULTILINE)  # CONTRIBUTING lists the files one message passes

# From its acceptance to the provider; what every call of a tool passes at its door; and every card before that.
LEAVING = ("delivery/accept.py", "delivery/dispatcher.py", "delivery/pipeline.py", "channels/telegram/channel.py")
AS_EVERY_CALL = {"questions/doors/tasks.py"}
AS_EVERY_CARD = {"questions/presenter.py", "questions/rules/cards.py"}

ASKED = (
    "questions/acts.py",
    "questions/rules/request.py",
    "questions/doors/tools.py",
    "questions/questions.py",
    "questions/presenter.py",
    "questions/rules/cards.py",
    *LEAVING,
)
ANSWERED = (
    "channels/telegram/updates.py",
    "conversations/inbound.py",
    "questions/hearing.py",
    "questions/rules/judge.py",
    "questions/telling.py",
    "questions/shapes.py",
)
PARKED = ("delivery/accept.py", "approvals/approvals.py", "approvals/store/approvals.py", "approvals/card.py")
DECIDED = (
    "conversations/inbound.py",
    "questions/hearing.py",
    "questions/rules/judge.py",
    "approvals/store/approvals.py",
    "approvals/rules.py",
    "delivery/dispatcher.py",
)
TALKED = (
    "channels/telegram/updates.py",
    "conversations/inbound.py",
    "conversations/talk.py",
    "butlers/routing.py",
    "butlers/wire.py",
    "butlers/switchboard.py",
    "butlers/daemon.py",
    "butlers/sessions.py",
    "butlers/runtimes/process.py",
    "delivery/notify.py",
    "butlers/messenger/server.py",
    "delivery/accept.py",
)


def listed() -> list[str]:
    return LISTED.findall((ROOT / "CONTRIBUTING.md").read_text())


def goes(walk: Walk, named: Sequence[str], beside: Collection[str] = ()) -> None:
    """Each after the one before it; and nobody else hands the words on."""
    on_the_way = iter(walk.passed)
    assert [one for one in named if one not in on_the_way] == [], [*dict.fromkeys(walk.passed)]
    assert walk.hands - {*named, *beside, *AS_EVERY_CALL} == set(), sorted(walk.handed)


def tokens(card: dict[str, Any]) -> list[str]:
    """What the buttons of a card send when they are pressed."""
    rows = card["reply_markup"]["inline_keyboard"]
    return [button["callback_data"] for row in rows for button in row if "callback_data" in button]


@pytest.mark.requirement("house:one-message")
async def test_a_message_passes_the_files_that_contributing_lists_in_that_order(small: Living) -> None:
    await small.notify(message="so that nothing is done for the first time")
    async with walking(small, WORDS) as walk:
        answer = await small.notify(message=WORDS)

    assert answer["status"] == "ok"
    goes(walk, listed(), {"butlers/daemon.py"})
    assert len({*listed(), "butlers/daemon.py"}) <= 10


async def test_a_question_passes_these_files_to_the_phone_and_its_answer_those_to_the_caller(small: Living) -> None:
    question = {"question": f"{WORDS}?", "options": ["yes", "no"], "wait_seconds": 20}
    async with walking(small, WORDS) as out:
        asking = asyncio.create_task(small.call("health", "ask", question))
        card = await phone(small, WORDS)
    async with walking(small, WORDS, *tokens(card)) as back:
        await press(small, card, "yes")
        assert (await asking)["status"] == "answered"

    goes(out, ASKED)
    goes(back, ANSWERED, ASKED)
    assert len({*ASKED, *ANSWERED}) <= 18


async def test_an_approval_on_the_phone_passes_these_files(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"approvals": {"enabled": True}}) as home:
        async with walking(home, WORDS) as out:
            await home.notify(message=WORDS, recipient="4711")
            card = await phone(home, WORDS)
        async with walking(home, WORDS, *tokens(card)) as back:
            await press(home, card, "Send")

            async def sent() -> bool:
                return any(str(one["chat_id"]) == "4711" for one in await home.received())

            await until(sent)

    goes(out, PARKED, {*listed(), "butlers/daemon.py", *AS_EVERY_CARD})
    goes(back, DECIDED, {*LEAVING, *AS_EVERY_CARD})
    assert len({*PARKED, *DECIDED}) <= 11


async def test_words_to_a_butler_and_its_reply_pass_these_files(tmp_path: Path) -> None:
    async with talking(tmp_path / "home", tmp_path, models=["general"]) as house, walking(house, WORDS) as walk:
        await house.write(2001, script(reply(f"{WORDS}.")))
        await house.kept(2001, "answered")

    goes(walk, TALKED, LEAVING)
    assert len({*TALKED}) <= 12
