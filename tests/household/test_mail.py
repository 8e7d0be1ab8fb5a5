"""Answers, replies and bounces that come by e-mail."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.doctor.checks import Finding, look_at_people
from postroom.household.people import opened_people
from postroom.message.inbound import Assurance
from postroom.questions.model import Question, QuestionStatus
from tests.channels.email.incoming.languages import WROTE
from tests.household.asked_household import ask, letter, parts, until
from tests.household.living import LIFTED, QUICK, Living, living

# A question asked by mail and answered by a reply to it, in a whole household with the sandbox's mailbox.
OWNER = "owner@sandbox.example"
FORGED = {"Authentication-Results": "sandbox.example; dmarc=fail header.from=sandbox.example"}
QUOTED = "\n\nOn Mon, 16 Nov 2026 at 09:00, <postroom@sandbox.example> wrote:\n> health asks:\n> Ship it?\n"


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
            return await parts(after).world.store.marks.offset("email") == place

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
    about = await bounce(small, "Dinner is ready", to=OWNER)

    async def news() -> list[Any] | None:
        with sqlite3.connect(small.settings.home / "postroom.db") as connection:
            return connection.execute("SELECT delivery_request_id, kind, words FROM delivery_news").fetchall()

    assert await until(news) == [(about, "bounced", "there is no such address (5.1.1)")]


# A reply by mail reaches whatever the mail was: an intent's question, or a plain notice.
EVE = "eve@sandbox.example"
QUOTED_REPLY = "\n\nOn Mon, 16 Nov 2026 at 09:00, <postroom@sandbox.example> wrote:\n> quoted words\n"


async def known(house: Living, name: str, address: str) -> dict[str, Any]:
    body = {"name": name, "trusted": True, "addresses": [{"channel": "email", "address": address}]}
    return dict((await call(house, "POST", "/v1/people", body))["person"])


@pytest.mark.requirement("mail:answers-intents")
async def test_a_reply_to_an_intents_question_completes_it(small: Living) -> None:
    asked = {"question": "Will you come?", "requested_by": "agent://household/owner"}
    body = {
        "intent_type": "intent.ask.v1",
        "to_agent": (await known(small, "Eve", EVE))["agent_address"],
        "payload": {**asked, "requested_at": "2026-01-01T00:00:00Z"},
    }
    intent_id = (await call(small, "POST", "/v1/intents", body))["intent_id"]
    await reply(small, await letter(small, "Will you come?"), f"Yes, gladly{QUOTED_REPLY}", **{"from": EVE})

    async def completed() -> dict[str, Any] | None:
        found = await call(small, "GET", f"/v1/intents/{intent_id}")
        return found if "COMPLETED" in json.dumps(found) else None

    assert "Yes, gladly" in json.dumps(await until(completed))


@pytest.mark.requirement("mail:original-kept")
async def test_a_reply_to_a_plain_notice_is_kept_with_it(small: Living) -> None:
    await known(small, "Eve", EVE)
    told = await small.notify(channel="email", recipient=EVE, message="Dinner is ready", wait_seconds=20)
    await reply(small, await letter(small, "Dinner is ready"), f"On my way{QUOTED_REPLY}", **{"from": EVE})
    delivery_id = told["delivery"]["delivery_id"]

    async def kept() -> list[dict[str, Any]] | None:
        found = (await call(small, "GET", f"/v1/deliveries/{delivery_id}/trace"))["trace"]
        replies: list[dict[str, Any]] = found["deliveries"][0]["replies"]
        return replies or None

    [one] = await until(kept)
    assert one["sender"] == EVE and one["original"].startswith("On my way") and "> quoted words" in one["original"]


# A mail that comes back closes its address, and all who should know of it do; in a whole household.
BOB = "bob@sandbox.example"


@pytest.fixture
async def known_house(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK, {"url": "https://home.example"}) as one:
        yield one


async def call(known_house: Living, method: str, path: str, body: Any = None) -> dict[str, Any]:
    status, answer = await known_house.api(method, path, body)
    assert status < 300, answer
    return dict(answer)


async def bob(known_house: Living) -> str:
    return str((await known(known_house, "Bob", BOB))["person_id"])


async def sent(known_house: Living, message: str, to: str = BOB) -> dict[str, Any]:
    return await known_house.notify(channel="email", recipient=to, message=message, wait_seconds=20)


async def bounce(known_house: Living, message: str, status: str = "5.1.1", to: str = BOB) -> str:
    marked = str((await letter(known_house, message))["message_id"])
    await report(known_house, marked, to, status)
    return marked.strip("<>").partition(".")[0]


async def report(known_house: Living, about: str, to: str, status: str = "5.1.1", action: str = "failed") -> None:
    body = (
        f"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; {to}\n"
        f"Action: {action}\nStatus: {status}\n\n--b\nContent-Type: text/rfc822-headers\n\n"
        f"Message-ID: {about}\n\n--b--\n"
    )
    kind = 'multipart/report; report-type=delivery-status; boundary="b"'
    headers = {"Content-Type": kind, "Auto-Submitted": "auto-replied"}
    await reply(known_house, {"subject": "x", "message_id": None}, body, in_reply_to="<x@y.example>", headers=headers)


async def address(known_house: Living, person_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await call(known_house, "GET", f"/v1/people/{person_id}"))["person"]["addresses"][0]
    return found


async def closed(known_house: Living, person_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] | None = (await address(known_house, person_id)).get("closed")
        return found

    return await until(look)


@pytest.mark.requirement("mail:bounce-closes", "mail:bounce-told", "mail:reopened")
async def test_an_address_that_is_gone_is_written_to_no_more_until_it_is_opened(known_house: Living) -> None:
    person_id = await bob(known_house)
    assert (await sent(known_house, "The first"))["status"] == "ok"
    delivery_id = await bounce(known_house, "The first")
    mark = await closed(known_house, person_id)
    assert (mark["reason"], mark["words"], mark["delivery_id"]) == (
        "bounced",
        "there is no such address (5.1.1)",
        delivery_id,
    )

    refused = await sent(known_house, "The second")
    assert (refused["status"], refused["error"]["class"]) == ("error", "validation_error")
    assert "came back: there is no such address (5.1.1)" in refused["error"]["message"]
    status = await known_house.call("health", "notify_status", {"delivery_id": delivery_id})
    assert [(one["kind"], one["words"]) for one in status["delivery"]["news"]] == [
        ("bounced", "there is no such address (5.1.1)")
    ]
    [finding] = [one for one in await look_at_people(known_house.settings) if one.subject == "addresses"]
    assert BOB in finding.detail and "--reopen" in finding.advice

    again = await call(
        known_house, "PATCH", f"/v1/people/{person_id}", {"reopen": [{"channel": "email", "address": BOB}]}
    )
    assert again["person"]["addresses"][0].get("closed") is None
    assert (await sent(known_house, "The third"))["status"] == "ok"


@pytest.mark.requirement("mail:bounce-for-now")
async def test_a_full_mailbox_is_noted_and_closes_nothing(known_house: Living) -> None:
    person_id = await bob(known_house)
    await sent(known_house, "The first")
    delivery_id = await bounce(known_house, "The first", "5.2.2")

    async def noted() -> bool:
        answer = await known_house.call("health", "notify_status", {"delivery_id": delivery_id})
        return bool(answer["delivery"]["news"])

    assert await until(noted)
    assert (await address(known_house, person_id)).get("closed") is None
    assert (await sent(known_house, "The second"))["status"] == "ok"


@pytest.mark.requirement("mail:reopened")
async def test_a_proved_mail_from_there_opens_it_and_an_unproved_one_does_not(known_house: Living) -> None:
    person_id = await bob(known_house)
    await sent(known_house, "The first")
    await bounce(known_house, "The first")
    await closed(known_house, person_id)
    card = await letter(known_house, "The first")
    forged = {"Authentication-Results": "sandbox.example; dmarc=fail header.from=sandbox.example"}
    await reply(known_house, card, "I am here", **{"from": BOB}, headers=forged)
    assert (await address(known_house, person_id)).get("closed") is not None
    await reply(known_house, card, "I am here", **{"from": BOB})

    async def opened() -> bool:
        return (await address(known_house, person_id)).get("closed") is None

    assert await until(opened)
    async with opened_people(known_house.settings) as people:
        assert (await people.get(person_id)).addresses[0].closed is None


@pytest.mark.requirement("mail:bounce-told")
async def test_a_subscriber_is_told_of_it_once(known_house: Living) -> None:
    await bob(known_house)
    wanted = {
        "callback_url": "http://127.0.0.1:9/hook",
        "event_types": ["delivery.bounced"],
        "secret": "whsec_" + "A" * 32,
    }
    await call(known_house, "POST", "/v1/webhooks/subscriptions", wanted)
    await sent(known_house, "The first")
    delivery_id = await bounce(known_house, "The first")

    async def told() -> list[dict[str, Any]] | None:
        return known_house.rows("webhook_deliveries") or None

    [notice] = await until(told)
    assert notice["event_type"] == "delivery.bounced" and delivery_id in notice["body"]
    assert "The first" not in notice["body"] and BOB not in notice["body"]


@pytest.mark.requirement("mail:bounce-believed")
async def test_who_sent_a_mail_cannot_close_the_address_it_went_to(known_house: Living) -> None:
    person_id = await bob(known_house)
    told = await sent(known_house, "The first")
    for forged in (told["delivery"]["delivery_id"], told["delivery"]["provider_delivery_id"]):
        await report(known_house, f"<{str(forged).strip('<>').partition('@')[0]}@sandbox.example>", BOB)
    unsubscribe = f"unsubscribe {told['delivery']['delivery_id']}"
    await reply(known_house, {"subject": "x", "message_id": None}, "", in_reply_to="<x@y>", subject=unsubscribe)
    marked = (await letter(known_house, "The first"))["message_id"]
    await report(known_house, marked, "somebody.else@sandbox.example")
    await report(known_house, marked, BOB, "4.2.2", action="delayed")  # the last of them: those before it were read

    async def read() -> list[str]:
        status = await known_house.call("health", "notify_status", {"delivery_id": told["delivery"]["delivery_id"]})
        return [one["kind"] for one in status["delivery"]["news"]]

    assert await until(read) == ["delayed"]
    assert (await address(known_house, person_id)).get("closed") is None
    assert (await sent(known_house, "The second"))["status"] == "ok"
    assert marked not in json.dumps(told)


@pytest.mark.requirement("mail:verified-stays")
async def test_an_address_that_its_owner_has_proved_is_doubted_and_written_to(known_house: Living) -> None:
    assert (await sent(known_house, "The first", OWNER))["status"] == "ok"
    await bounce(known_house, "The first", to=OWNER)

    async def doubted() -> list[Finding]:
        return [one for one in await look_at_people(known_house.settings) if one.subject == "addresses"]

    [finding] = await until(doubted)
    assert OWNER in finding.detail and "doubtful" in finding.detail and "there is no such address" in finding.detail
    [mine] = [
        one for one in (await call(known_house, "GET", "/v1/people/owner"))["person"]["addresses"] if OWNER in str(one)
    ]
    assert mine["doubtful"]["words"] == "there is no such address (5.1.1)" and "closed" not in mine
    assert (await sent(known_house, "The second", OWNER))["status"] == "ok"

    reopened = {"reopen": [{"channel": "email", "address": OWNER}]}
    again = await call(known_house, "PATCH", "/v1/people/owner", reopened)
    assert not [one for one in again["person"]["addresses"] if "doubtful" in one]
