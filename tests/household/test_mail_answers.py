"""A question asked by mail and answered by a reply to it, in a whole household with the sandbox's mailbox."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.message.inbound import Assurance
from postroom.questions.model import Question, QuestionStatus
from tests.household.asked_household import ask, parts, until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.world.channels.mail_listening.languages import WROTE

OWNER = "owner@sandbox.example"
FORGED = {"Authentication-Results": "sandbox.example; dmarc=fail header.from=sandbox.example"}
QUOTED = "\n\nOn Mon, 16 Nov 2026 at 09:00, <postroom@sandbox.example> wrote:\n> health asks:\n> Ship it?\n"


@pytest.fixture(params=["sqlite", "postgres"])
async def house(home: Path, request: pytest.FixtureRequest) -> AsyncIterator[Living]:
    more: dict[str, Any] = {}
    if request.param == "postgres":
        more["database_url"] = request.getfixturevalue("postgres_url")
    async with living(home, LIFTED, QUICK, more) as one:
        yield one


@pytest.fixture
async def small(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK) as one:
        yield one


async def letter(house: Living, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received("email") if words in one["body"]), None)

    return await until(look)


async def reply(house: Living, to: dict[str, Any], body: str, **more: Any) -> None:
    mail = {"from": OWNER, "to": "postroom@sandbox.example", "subject": f"Re: {to['subject']}", "body": body}
    mail |= {"in_reply_to": to["message_id"], **more}
    async with house.http.post(house.household.addresses["sandbox"] + "email/inbound", json=mail) as response:
        assert response.status == 200, await response.text()


async def question_of(house: Living, ask_id: str) -> Question:
    found = await parts(house).store.get(ask_id)
    assert found is not None
    return found


async def answered(house: Living, ask_id: str) -> Question:
    async def look() -> Question | None:
        found = await question_of(house, ask_id)
        return None if found.is_open else found

    return await until(look)


async def attempted(house: Living, ask_id: str, count: int) -> list[str]:
    async def look() -> list[str] | None:
        made = [one.verdict.code for one in await parts(house).store.attempts(ask_id)]
        return made if len(made) >= count else None

    return await until(look)


@pytest.mark.requirement("mail:answers-questions")
async def test_a_reply_to_the_mail_answers_and_a_mail_says_so(house: Living) -> None:
    view = await ask(house, channels=["email"])
    card = await letter(house, "1. yes\n2. no")
    assert "Reply with a number or the words." in card["body"] and "/a/" in card["body"]
    await reply(house, card, f"2{QUOTED}")
    question = await answered(house, view.question.id)

    assert question.answer is not None and question.answer.value == "no"
    assert question.answered_by is not None
    assert (question.answered_by.person_id, question.answered_by.channel) == ("owner", "email")
    assert question.answered_by.assurance is Assurance.CHANNEL
    closing = await letter(house, "✅ no: answered by")
    assert "Ship it?" in closing["body"]


@pytest.mark.requirement("mail:unproved-reply")
async def test_a_forged_reply_answers_nothing_and_an_automatic_one_is_not_even_spoken_of(small: Living) -> None:
    view = await ask(small, channels=["email"], kind="approve", options=None)
    card = await letter(small, "Reply with exactly “Approve” or “Deny”.")
    await reply(small, card, "Approve", headers=FORGED)
    await letter(small, "It is not proved that this came from you")
    await reply(small, card, "Approve", headers={"Auto-Submitted": "auto-replied"})
    await reply(small, card, "Approve", **{"from": "mallory@example.org"})
    assert await attempted(small, view.question.id, 2) == ["unverified", "automatic"]
    assert (await question_of(small, view.question.id)).status is QuestionStatus.OPEN
    await reply(small, card, "approve\n\nThanks,\nSandbox owner")
    question = await answered(small, view.question.id)

    assert question.answer is not None and question.answer.value == "approve"


@pytest.mark.requirement("mail:once")
async def test_a_mail_that_is_shown_again_after_a_crash_is_judged_once(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as before:
        view = await ask(before, channels=["email"])
        card = await letter(before, "Ship it?")
        await reply(before, card, "yes")
        await answered(before, view.question.id)
        await letter(before, "✅ yes: answered by")
    with sqlite3.connect(home / "postroom.db") as connection:  # as if it had died before it noted how far it had read
        place = connection.execute("SELECT position FROM inbound_offsets WHERE source = 'email'").fetchone()[0]
        connection.execute("UPDATE inbound_offsets SET position = ? WHERE source = 'email'", (place - 1,))
    async with living(home, LIFTED, QUICK) as after:

        async def read_again() -> bool:
            return await parts(after).marks.offset("email") == place

        await until(read_again)
        assert len(await parts(after).store.attempts(view.question.id)) == 1
        assert len([one for one in await after.received("email") if "✅" in one["body"]]) == 1


@pytest.mark.requirement("mail:own-words")
async def test_an_answer_by_a_mail_program_of_any_language_has_none_of_its_words(small: Living) -> None:
    view = await ask(small, channels=["email"], kind="text", options=None, question="What is missing?")
    for language in ("norwegian", "hebrew", "chinese", "hungarian"):
        card = await letter(small, view.question.wording.question)
        quote = WROTE[language].format(own="postroom@sandbox.example")
        await reply(small, card, f"Tea, and {language} bread.\n\n{quote}\n> {view.question.wording.question}\n")
        question = await answered(small, view.question.id)
        assert question.answer is not None and question.answer.text == f"Tea, and {language} bread."
        view = await ask(small, channels=["email"], kind="text", options=None, question=f"And after {language}?")


@pytest.mark.requirement("mail:hostile")
async def test_a_strangers_mail_that_is_made_to_be_slow_holds_up_no_answer(small: Living) -> None:
    view = await ask(small, channels=["email"])
    card = await letter(small, "Ship it?")
    slow = '--b\nContent-Type: text/plain; x="' + ";" * 180_000 + "\n\nno\n--b--\n"
    headers = {"Content-Type": 'multipart/mixed; boundary="b"'}
    for _ in range(3):
        await reply(small, card, slow, **{"from": "mallory@example.org"}, headers=headers)
    await reply(small, card, "yes")
    question = await answered(small, view.question.id)

    assert question.answer is not None and question.answer.value == "yes"


@pytest.mark.requirement("mail:bounce")
async def test_a_bounce_is_kept_with_the_delivery_it_is_about(small: Living) -> None:
    await small.notify(channel="email", message="Dinner is ready")
    marked = (await letter(small, "Dinner is ready"))["message_id"]
    report = (
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n"
        f"Final-Recipient: rfc822; {OWNER}\n"
        "Action: failed\nStatus: 5.1.1\n\n--b\nContent-Type: text/rfc822-headers\n\n"
        f"Message-ID: {marked}\n\n--b--\n"
    )
    kind = 'multipart/report; report-type=delivery-status; boundary="b"'
    mail = {"subject": "Undelivered", "message_id": None}
    headers = {"Content-Type": kind, "Auto-Submitted": "auto-replied"}
    await reply(small, mail, report, in_reply_to="<x@y.example>", headers=headers)

    async def news() -> list[Any] | None:
        with sqlite3.connect(small.settings.home / "postroom.db") as connection:
            return connection.execute("SELECT delivery_request_id, kind, words FROM delivery_news").fetchall()

    assert await until(news) == [(marked.strip("<>").partition(".")[0], "bounced", "there is no such address (5.1.1)")]
