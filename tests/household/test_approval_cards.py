"""A parked message in a whole household: asked about on the phone, decided there or in the console, sent once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.errors import Refused
from postroom.kernel.values.principal import OPERATOR
from postroom.overview.why_held import sentences
from postroom.questions.model import QuestionStatus, Subject, SubjectKind
from postroom.questions.rules.reading import Given
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_questions import labels, parts, phone, press, until, write

STRANGER = "4711"
ON = {"approvals": {"enabled": True}}


@pytest.fixture(params=["sqlite", "postgres"])
async def house(home: Path, request: pytest.FixtureRequest) -> AsyncIterator[Living]:
    more: dict[str, Any] = {}
    if request.param == "postgres":
        more["database_url"] = request.getfixturevalue("postgres_url")
    async with living(home, LIFTED, QUICK, ON, more) as one:
        yield one


@pytest.fixture
async def small(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK, ON) as one:
        yield one


async def parked(house: Living, **arguments: Any) -> str:
    answer = await house.notify(**{"recipient": STRANGER, "message": "Dinner at eight?", **arguments})
    assert answer["status"] == "pending_approval", answer
    return str(answer["delivery"]["delivery_id"])


async def arrived(house: Living) -> list[dict[str, Any]]:
    """What the stranger has."""
    return [one for one in await house.received() if str(one["chat_id"]) == STRANGER]


async def action(house: Living, action_id: str) -> dict[str, Any]:
    shown = await house.call("messenger", "show_pending_action", {"action_id": action_id}, caller="operator")
    found: dict[str, Any] = shown["action"]
    return found


async def question_status(house: Living, action_id: str) -> QuestionStatus:
    [question] = await parts(house).store.about(Subject(SubjectKind.APPROVAL, action_id))
    return question.status


@pytest.mark.requirement("ask:approval-card", "ask:approval-by-press")
async def test_send_on_the_phone_sends_once_and_the_card_says_who_agreed(house: Living) -> None:
    action_id = await parked(house)
    card = await phone(house, "Approval needed: health wants to send on telegram to 4711 (medium risk).")
    assert labels(card) == ["Send", "Don't send", "Open"]
    assert "Dinner" in card["text"]
    opened = card["reply_markup"]["inline_keyboard"][-1][0]["url"]
    assert opened.endswith(f"/console/approvals/{action_id}")

    await press(house, card, "Send")
    closed = await phone(house, "✅ Sent: approved by ")
    await until(lambda: arrived(house))

    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    assert "via telegram" in closed["text"]
    [message] = await arrived(house)
    assert message["text"] == "Dinner at eight?"
    decided = await action(house, action_id)
    assert (decided["status"], decided["decided_by"]) == ("approved", "person:owner")
    assert [one["type"] for one in decided["events"]] == ["action_queued", "action_approved"]
    assert await question_status(house, action_id) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:approval-by-press")
async def test_do_not_send_on_the_phone_keeps_it_back_and_its_sender_sees_why(small: Living) -> None:
    action_id = await parked(small)
    await press(small, await phone(small, "Approval needed"), "Don't send")
    await phone(small, "🚫 Not sent: rejected by ")

    decided = await action(small, action_id)
    assert (decided["status"], decided["decided_by"]) == ("rejected", "person:owner")
    assert decided["delivery"]["status"] == "failed"
    assert decided["reason"] == "“Don't send” on telegram"
    assert await arrived(small) == []


@pytest.mark.requirement("ask:approval-who")
async def test_a_stranger_and_words_that_are_not_on_the_card_decide_nothing(small: Living) -> None:
    action_id = await parked(small)
    card = await phone(small, "Approval needed")

    await press(small, card, "Send", from_id=int(STRANGER))
    for words in ("ok", "👍", "yes", "approve", "Rather not"):
        await write(small, words, reply_to_message_id=card["message_id"])
    await until(lambda: heard(small, action_id, 6))

    assert (await action(small, action_id))["status"] == "pending"
    kinds = [str(one.verdict.kind) for one in await heard(small, action_id, 6)]
    assert kinds == ["unauthorised", *["invalid"] * 5]
    await write(small, "send", reply_to_message_id=card["message_id"])
    await phone(small, "✅ Sent: approved by ")


async def heard(house: Living, action_id: str, many: int) -> list[Any]:
    [question] = await parts(house).store.about(Subject(SubjectKind.APPROVAL, action_id))
    found = await parts(house).store.attempts(question.id)
    return list(found) if len(found) >= many else []


@pytest.mark.requirement("ask:approval-elsewhere")
@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("approve_action", {}, "✅ Sent: approved by "),
        ("approve_action", {"edits": {"message": "Dinner at nine?"}}, "✅ Sent as edited: approved by "),
        ("reject_action", {"reason": "too late"}, "🚫 Not sent: rejected by "),
    ],
)
async def test_a_decision_elsewhere_closes_the_card(
    small: Living, tool: str, arguments: dict[str, Any], line: str
) -> None:
    action_id = await parked(small)
    card = await phone(small, "Approval needed")

    answer = await small.call("messenger", tool, {"action_id": action_id, **arguments}, caller="operator")
    assert answer["status"] == "ok", answer
    closed = await phone(small, line)

    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    assert await question_status(small, action_id) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:approval-elsewhere", "ask:approval-by-press", "ask:approval-tried")
async def test_the_second_to_decide_is_too_late_wherever_they_are(small: Living) -> None:
    action_id = await parked(small)
    [question] = await until(lambda: parts(small).store.about(Subject(SubjectKind.APPROVAL, action_id)))
    given = Given(value="approve")

    first = await parts(small).asking.answer(OPERATOR, question.id, given, channel="console", event_id="one")
    again = await small.call("messenger", "reject_action", {"action_id": action_id, "reason": "no"}, caller="operator")

    assert str(first.verdict.kind) == "accepted"
    assert again["error"]["fields"][0]["code"] == "already_decided"
    assert (await action(small, action_id))["decided_by"] == "operator"
    story = await parts(small).asking.story(OPERATOR, question.id)
    assert [(one.attempt.channel, str(one.verdict.kind)) for one in story.attempts] == [
        ("console", "accepted"),
        ("tools", "lost_race"),
    ]
    [*_, in_vain] = sentences(story, parts(small).clock.now_us())
    assert " via tools " in in_vain and in_vain.endswith(" was first.")
    await until(lambda: arrived(small))


@pytest.mark.requirement("ask:approval-risk")
async def test_above_the_bound_only_the_console_decides(home: Path) -> None:
    risky = {"approvals": {"enabled": True, "risk": "high"}}
    async with living(home, LIFTED, QUICK, risky) as house:
        action_id = await parked(house)
        card = await phone(house, "(high risk)")
        assert labels(card) == ["Open"]
        assert "decided in the console" in card["text"]

        await write(house, "Send", reply_to_message_id=card["message_id"])
        await until(lambda: heard(house, action_id, 1))

        [refused] = await heard(house, action_id, 1)
        assert (str(refused.verdict.kind), refused.verdict.code) == ("unauthorised", "console_only")
        assert (await action(house, action_id))["status"] == "pending"


async def test_the_question_of_an_approval_cannot_be_taken_back_or_reworded(small: Living) -> None:
    action_id = await parked(small)
    [question] = await until(lambda: parts(small).store.about(Subject(SubjectKind.APPROVAL, action_id)))

    with pytest.raises(Refused):
        await parts(small).asking.cancel(OPERATOR, question.id)
    with pytest.raises(Refused):
        await parts(small).asking.revise(OPERATOR, question.id, {"question": "Fine?"})


async def test_the_card_of_what_was_reworded_or_taken_back_does_not_say_that_no_one_decided_in_time(
    small: Living,
) -> None:
    action_id = await parked(small)
    await phone(small, "Dinner at eight?")
    revised = await small.call("health", "revise", {"delivery_id": action_id, "message": "Dinner at nine?"})
    assert revised["status"] == "awaiting_approval"
    assert "Not sent: its words were changed" in (await closed(small, "Dinner at eight?"))
    await phone(small, "Dinner at nine?")
    await small.call("health", "recall", {"delivery_id": action_id})
    assert "Not sent: it was taken back" in (await closed(small, "Dinner at nine?"))


async def closed(house: Living, words: str) -> str:
    """What the card that showed these words says, when nothing can be pressed on it any more."""

    async def look() -> str | None:
        texts = [one["text"] for one in await cards_on(house) if words in one["text"] and not labels(one)]
        return texts[0] if texts else None

    return await until(look)


async def cards_on(house: Living) -> list[dict[str, Any]]:
    return [one for one in await house.received() if "Approval needed" in one["text"]]


async def counted(house: Living, words: str) -> dict[str, Any]:
    """The newest card, as soon as it says this."""

    async def look() -> dict[str, Any] | None:
        newest = (await cards_on(house))[-1:]
        return newest[0] if newest and words in newest[0]["text"] else None

    return await until(look)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_many_that_wait_are_one_card_with_a_count(
    home: Path, database: str, request: pytest.FixtureRequest
) -> None:
    more = {"database_url": request.getfixturevalue("postgres_url")} if database == "postgres" else {}
    lifted = {"limits": {"channels": {"telegram.bot": 10**6}, "global_per_minute": 10**6}}  # one address has its ten
    async with living(home, lifted, QUICK, ON, more) as house:
        waiting = [await parked(house, message=f"Message {number}") for number in range(8)]
        card = await counted(house, "8 messages wait for approval.")
        assert len(await cards_on(house)) == 1 and "Message 0" in card["text"]
        assert labels(card) == ["Send", "Don't send", "Open"]
        told = [await house.notify(message=f"Alarm {number}") for number in range(10)]
        assert {one["status"] for one in told} == {"ok"}  # the cards took none of the owner's share

        reject = {"action_id": waiting[1], "reason": "no"}
        await house.call("messenger", "reject_action", reject, caller="operator")
        card = await counted(house, "7 messages wait for approval.")
        await press(house, card, "Send")
        following = await counted(house, "6 messages wait for approval.")
        assert "Message 2" in following["text"] and following["message_id"] != card["message_id"]
        for one in waiting[3:]:
            await house.call("messenger", "reject_action", {"action_id": one, "reason": "no"}, caller="operator")

        async def alone() -> bool:
            return "messages wait for approval" not in (await cards_on(house))[-1]["text"]

        await until(alone)
        assert len(await cards_on(house)) == 2


async def test_what_only_the_console_decides_stands_in_no_ones_way(home: Path) -> None:
    risky = {"approvals": {"enabled": True, "risk_by_channel": {"email": "high"}, "ask_channel": "telegram"}}
    async with living(home, LIFTED, QUICK, risky) as house:
        mail = {"channel": "email", "subject": "Hi", "message": "Hello"}
        assert (await house.notify(recipient="stranger@example.org", **mail))["status"] == "pending_approval"
        await phone(house, "(high risk)")
        await parked(house)
        await press(house, await phone(house, "(medium risk)"), "Send")
        await phone(house, "✅ Sent: approved by ")
