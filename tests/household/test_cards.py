"""Cards on a phone: approvals, questions, and what a press on them does."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from postroom.butlers.wire import document_within
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import Refused
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.markup import Button, ButtonStyle, Markup
from postroom.message.outgoing import Outgoing
from postroom.overview.why_held import sentences
from postroom.questions.model import QuestionStatus, Said, Subject, SubjectKind
from postroom.questions.rules.request import WordsGiven
from tests.household.asked_household import ask, labels, parts, phone, press, until, write
from tests.household.living import ASKING, LIFTED, QUICK, Living, living
from tests.household.processes import command, environment
from tests.questions.wire import KNOWS_TASKS, SHOWS_FORMS, post

# A parked message in a whole household: asked about on the phone, decided there or in the console, sent once.
STRANGER = "4711"


async def parked(approving_house: Living, **arguments: Any) -> str:
    answer = await approving_house.notify(**{"recipient": STRANGER, "message": "Dinner at eight?", **arguments})
    assert answer["status"] == "pending_approval", answer
    return str(answer["delivery"]["delivery_id"])


async def arrived(approving_house: Living) -> list[dict[str, Any]]:
    """What the stranger has."""
    return [one for one in await approving_house.received() if str(one["chat_id"]) == STRANGER]


async def action(approving_house: Living, action_id: str) -> dict[str, Any]:
    shown = await approving_house.call("messenger", "show_pending_action", {"action_id": action_id}, caller="operator")
    found: dict[str, Any] = shown["action"]
    return found


async def question_status(approving_house: Living, action_id: str) -> QuestionStatus:
    [question] = await parts(approving_house).store.about(Subject(SubjectKind.APPROVAL, action_id))
    return question.status


@pytest.mark.requirement("ask:approval-card", "ask:approval-by-press")
async def test_send_on_the_phone_sends_once_and_the_card_says_who_agreed(approving_house: Living) -> None:
    action_id = await parked(approving_house)
    card = await phone(approving_house, "Approval needed: health wants to send on telegram to 4711 (medium risk).")
    assert labels(card) == ["Send", "Don't send", "Open"]
    assert "Dinner" in card["text"]
    opened = card["reply_markup"]["inline_keyboard"][-1][0]["url"]
    assert opened.endswith(f"/console/approvals/{action_id}")

    await press(approving_house, card, "Send")
    closed = await phone(approving_house, "✅ Sent: approved by ")
    await until(lambda: arrived(approving_house))

    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    assert "via telegram" in closed["text"]
    [message] = await arrived(approving_house)
    assert message["text"] == "Dinner at eight?"
    decided = await action(approving_house, action_id)
    assert (decided["status"], decided["decided_by"]) == ("approved", "person:owner")
    assert [one["type"] for one in decided["events"]] == ["action_queued", "action_approved"]
    assert await question_status(approving_house, action_id) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:approval-by-press")
async def test_do_not_send_on_the_phone_keeps_it_back_and_its_sender_sees_why(approving: Living) -> None:
    action_id = await parked(approving)
    await press(approving, await phone(approving, "Approval needed"), "Don't send")
    await phone(approving, "🚫 Not sent: rejected by ")

    decided = await action(approving, action_id)
    assert (decided["status"], decided["decided_by"]) == ("rejected", "person:owner")
    assert decided["delivery"]["status"] == "failed"
    assert decided["reason"] == "“Don't send” on telegram"
    assert await arrived(approving) == []


@pytest.mark.requirement("ask:approval-who")
async def test_a_stranger_and_words_that_are_not_on_the_card_decide_nothing(approving: Living) -> None:
    action_id = await parked(approving)
    card = await phone(approving, "Approval needed")

    await press(approving, card, "Send", from_id=int(STRANGER))
    for words in ("ok", "👍", "yes", "approve", "Rather not"):
        await write(approving, words, reply_to_message_id=card["message_id"])
    await until(lambda: heard(approving, action_id, 6))

    assert (await action(approving, action_id))["status"] == "pending"
    kinds = [str(one.verdict.kind) for one in await heard(approving, action_id, 6)]
    assert kinds == ["unauthorised", *["invalid"] * 5]
    await write(approving, "send", reply_to_message_id=card["message_id"])
    await phone(approving, "✅ Sent: approved by ")


async def heard(approving_house: Living, action_id: str, many: int) -> list[Any]:
    [question] = await parts(approving_house).store.about(Subject(SubjectKind.APPROVAL, action_id))
    found = await parts(approving_house).store.attempts(question.id)
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
    approving: Living, tool: str, arguments: dict[str, Any], line: str
) -> None:
    action_id = await parked(approving)
    card = await phone(approving, "Approval needed")

    answer = await approving.call("messenger", tool, {"action_id": action_id, **arguments}, caller="operator")
    assert answer["status"] == "ok", answer
    closed = await phone(approving, line)

    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    assert await question_status(approving, action_id) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:approval-elsewhere", "ask:approval-by-press", "ask:approval-tried")
async def test_the_second_to_decide_is_too_late_wherever_they_are(approving: Living) -> None:
    action_id = await parked(approving)
    [question] = await until(lambda: parts(approving).store.about(Subject(SubjectKind.APPROVAL, action_id)))
    given = Said(value="approve")

    first = await parts(approving).asking.answer(OPERATOR, question.id, given, channel="console", event_id="one")
    again = await approving.call(
        "messenger", "reject_action", {"action_id": action_id, "reason": "no"}, caller="operator"
    )

    assert str(first.verdict.kind) == "accepted"
    assert again["error"]["fields"][0]["code"] == "already_decided"
    assert (await action(approving, action_id))["decided_by"] == "operator"
    story = await parts(approving).asking.story(OPERATOR, question.id)
    assert [(one.attempt.channel, str(one.verdict.kind)) for one in story.attempts] == [
        ("console", "accepted"),
        ("tools", "lost_race"),
    ]
    [*_, in_vain] = sentences(story, parts(approving).world.clock.now_us())
    assert " via tools " in in_vain and in_vain.endswith(" was first.")
    await until(lambda: arrived(approving))


@pytest.mark.requirement("ask:approval-risk")
async def test_above_the_bound_only_the_console_decides(home: Path) -> None:
    risky = {"approvals": {"enabled": True, "risk": "high"}}
    async with living(home, LIFTED, QUICK, risky) as approving_house:
        action_id = await parked(approving_house)
        card = await phone(approving_house, "(high risk)")
        assert labels(card) == ["Open"]
        assert "decided in the console" in card["text"]

        await write(approving_house, "Send", reply_to_message_id=card["message_id"])
        await until(lambda: heard(approving_house, action_id, 1))

        [refused] = await heard(approving_house, action_id, 1)
        assert (str(refused.verdict.kind), refused.verdict.code) == ("unauthorised", "console_only")
        assert (await action(approving_house, action_id))["status"] == "pending"


async def test_the_question_of_an_approval_cannot_be_taken_back_or_reworded(approving: Living) -> None:
    action_id = await parked(approving)
    [question] = await until(lambda: parts(approving).store.about(Subject(SubjectKind.APPROVAL, action_id)))

    with pytest.raises(Refused):
        await parts(approving).asking.cancel(OPERATOR, question.id)
    with pytest.raises(Refused):
        await parts(approving).asking.revise(OPERATOR, question.id, WordsGiven(question="Fine?"))


async def test_the_card_of_what_was_reworded_or_taken_back_does_not_say_that_no_one_decided_in_time(
    approving: Living,
) -> None:
    action_id = await parked(approving)
    await phone(approving, "Dinner at eight?")
    revised = await approving.call("health", "revise", {"delivery_id": action_id, "message": "Dinner at nine?"})
    assert revised["status"] == "awaiting_approval"
    assert "Not sent: its words were changed" in (await closed(approving, "Dinner at eight?"))
    await phone(approving, "Dinner at nine?")
    await approving.call("health", "recall", {"delivery_id": action_id})
    assert "Not sent: it was taken back" in (await closed(approving, "Dinner at nine?"))


async def closed(approving_house: Living, words: str) -> str:
    """What the card that showed these words says, when nothing can be pressed on it any more."""

    async def look() -> str | None:
        texts = [one["text"] for one in await cards_on(approving_house) if words in one["text"] and not labels(one)]
        return texts[0] if texts else None

    return await until(look)


async def cards_on(approving_house: Living) -> list[dict[str, Any]]:
    return [one for one in await approving_house.received() if "Approval needed" in one["text"]]


async def counted(approving_house: Living, words: str) -> dict[str, Any]:
    """The newest card, as soon as it says this."""

    async def look() -> dict[str, Any] | None:
        newest = (await cards_on(approving_house))[-1:]
        return newest[0] if newest and words in newest[0]["text"] else None

    return await until(look)


async def test_many_that_wait_are_one_card_with_a_count(home: Path, database_of: dict[str, Any]) -> None:
    lifted = {"limits": {"channels": {"telegram.bot": 10**6}, "global_per_minute": 10**6}}  # one address has its ten
    async with living(home, lifted, QUICK, ASKING, database_of) as approving_house:
        waiting = [await parked(approving_house, message=f"Message {number}") for number in range(8)]
        card = await counted(approving_house, "8 messages wait for approval.")
        assert len(await cards_on(approving_house)) == 1 and "Message 0" in card["text"]
        assert labels(card) == ["Send", "Don't send", "Open"]
        told = [await approving_house.notify(message=f"Alarm {number}") for number in range(10)]
        assert {one["status"] for one in told} == {"ok"}  # the cards took none of the owner's share

        reject = {"action_id": waiting[1], "reason": "no"}
        await approving_house.call("messenger", "reject_action", reject, caller="operator")
        card = await counted(approving_house, "7 messages wait for approval.")
        await press(approving_house, card, "Send")
        following = await counted(approving_house, "6 messages wait for approval.")
        assert "Message 2" in following["text"] and following["message_id"] != card["message_id"]
        for one in waiting[3:]:
            await approving_house.call(
                "messenger", "reject_action", {"action_id": one, "reason": "no"}, caller="operator"
            )

        async def alone() -> bool:
            return "messages wait for approval" not in (await cards_on(approving_house))[-1]["text"]

        await until(alone)
        assert len(await cards_on(approving_house)) == 2


async def test_what_only_the_console_decides_stands_in_no_ones_way(home: Path) -> None:
    risky = {"approvals": {"enabled": True, "risk_by_channel": {"email": "high"}, "ask_channel": "telegram"}}
    async with living(home, LIFTED, QUICK, risky) as approving_house:
        mail = {"channel": "email", "subject": "Hi", "message": "Hello"}
        assert (await approving_house.notify(recipient="stranger@example.org", **mail))["status"] == "pending_approval"
        await phone(approving_house, "(high risk)")
        await parked(approving_house)
        await press(approving_house, await phone(approving_house, "(medium risk)"), "Send")
        await phone(approving_house, "✅ Sent: approved by ")


# A card on its way through a whole household: shown with buttons, pressed, edited, and never as a second message.
CARD = Markup(
    buttons=(
        (Button(label="Ship", token="q1:ship", style=ButtonStyle.SUCCESS), Button(label="Don't", token="q1:dont")),
        (Button(label="Open", url="http://127.0.0.1:40200/a/canary"),),
    )
)
LINKS = Markup(buttons=((Button(label="Ship", url="http://127.0.0.1:40200/a/canary"),),))


async def deliver(small: Living, caller: str = "operator", **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"origin_butler": "health", "channel": "telegram", "message": "Ship it?"}
    arguments = {"notify_request": document_within(Outgoing(**(given | changes))), "wait_seconds": 20}
    return await small.call("switchboard", "deliver", arguments, caller=caller)


async def sent(small: Living, **changes: Any) -> DeliveryId:
    answer = await deliver(small, **changes)
    assert answer["status"] == "ok", answer
    return DeliveryId(answer["delivery"]["delivery_id"])


@pytest.mark.requirement("house:buttons-are-the-households-own", "house:telegram-buttons")
async def test_a_card_is_shown_pressed_and_closed(small: Living) -> None:
    card = await sent(small, markup=CARD)
    [shown] = await small.received()
    keys = [[key["text"] for key in row] for row in shown["reply_markup"]["inline_keyboard"]]
    assert keys == [["Ship", "Don't"], ["Open"]]

    press = {"message_id": shown["message_id"], "button": "Ship", "from_id": 1000}
    async with small.http.post(small.household.addresses["sandbox"] + "telegram/press", json=press) as response:
        assert (await response.json())["callback"]["data"] == "q1:ship"
    await sent(small, message="Ship it? Yes, said Ann.", revises=card)

    [closed] = await small.received()
    assert (closed["text"], closed["reply_markup"]) == ("Ship it? Yes, said Ann.", None)
    assert closed["earlier_texts"] == ["Ship it?"]


@pytest.mark.requirement("house:a-revision-is-a-delivery", "house:telegram-edits")
async def test_an_edit_whose_answer_was_lost_is_made_once_and_ends_well(small: Living) -> None:
    card = await sent(small, markup=CARD)
    await small.fault(channel="telegram", mode="accept_then_cut")

    answer = await deliver(small, message="Closed", revises=card)

    assert answer["status"] == "ok", answer
    assert "possible_duplicate" not in answer["delivery"]
    [closed] = await small.received()
    assert (closed["text"], len(closed["edits"])) == ("Closed", 1)


@pytest.mark.requirement("house:telegram-edits")
async def test_every_part_of_a_long_card_is_closed(small: Living) -> None:
    card = await sent(small, message="word " * 1_500, markup=CARD)
    first, last = await small.received()
    assert (first["reply_markup"], bool(last["reply_markup"])) == (None, True)

    await sent(small, message="word " * 1_500 + "\nAnswered by Ann", revises=card)

    first, last = await small.received()
    assert last["reply_markup"] is None
    assert last["text"].endswith("Answered by Ann")


@pytest.mark.requirement("house:email-links")
async def test_a_mail_has_links_and_stays_as_it_was_sent(small: Living) -> None:
    card = await sent(small, channel="email", recipient="ann@e.org", markup=LINKS)

    edited = await deliver(small, channel="email", message="Closed", revises=card)

    [mail] = await small.received("email")
    assert mail["body"] == "Ship it?\n\nShip: http://127.0.0.1:40200/a/canary"
    assert mail["headers"]["X-Auto-Response-Suppress"] == "All"
    assert (edited["status"], edited["error"]["message"]) == ("error", "revises: email cannot edit what was sent")


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_a_butler_sets_no_buttons_edits_nothing_and_reads_no_link(small: Living) -> None:
    card = await sent(small, markup=CARD)

    buttons, edit = await asyncio.gather(
        deliver(small, "health", markup=CARD), deliver(small, "health", message="Closed", revises=card)
    )
    row = next(row for row in small.rows("delivery_requests") if row["id"] == card)
    trace = await small.call(
        "messenger", "messenger_delivery_trace", {"request_id": row["request_id"]}, caller="operator"
    )

    assert [one["error"]["fields"][0]["field"] for one in (buttons, edit)] == ["household"] * 2
    assert "canary" in row["markup"]
    assert "canary" not in str(trace)
    assert "q1:ship" not in str(trace)
    assert card in str(trace)
    assert len(await small.received()) == 1


# A card that may have arrived is sent again; whichever of the two is pressed, both say how it ended.
@pytest.mark.requirement("ask:closed-everywhere")
async def test_the_copy_that_nobody_noted_loses_its_buttons_when_it_is_pressed(small: Living) -> None:
    await small.fault(channel="telegram", times=1, mode="accept_then_cut")
    await ask(small)

    async def both() -> list[dict[str, Any]] | None:
        cards = [one for one in await small.received() if "Ship it?" in one["text"]]
        return cards if len(cards) == 2 and all(labels(one) for one in cards) else None

    first = min(await until(both), key=lambda one: int(one["message_id"]))
    await press(small, first, "yes")

    async def closed() -> bool:
        return all("✅ yes: answered by" in one["text"] and not labels(one) for one in await small.received())

    await until(closed)


# A task, and the form of a call, over the death of the process that gave them away.
HEALTH = Principal(Role.BUTLER, "health")
SHIP = {"name": "ask", "arguments": {"question": "Ship it?", "options": ["yes", "no"]}}
SIGN = {"name": "ask", "arguments": {"question": "Sign it?", "options": ["yes", "no"]}}


@pytest.mark.requirement("ask:tasks", "ask:client-forms")
async def test_a_new_process_answers_for_the_tasks_and_forms_of_one_that_was_killed(tmp_path: Path) -> None:
    variables = environment(tmp_path / "home")

    async def called(part: str, who: Principal, method: str, params: dict[str, Any], able: Any = KNOWS_TASKS) -> Any:
        token = TokenFile(tmp_path / "home" / "tokens.json").token_of(who) or ""
        return (await post(_url(variables, part), token, method, params, able))["result"]

    with command(variables, "up") as process:
        task = await called("health", HEALTH, "tools/call", SHIP)
        form = await called("api", OPERATOR, "tools/call", SIGN, SHOWS_FORMS)
        os.killpg(process.pid, signal.SIGKILL)
    with command(variables, "up"):
        working = await called("health", HEALTH, "tasks/get", {"taskId": task["taskId"]})
        said = {"answer": {"action": "accept", "content": {"answer": "no"}}}
        second = {**SIGN, "requestState": form["requestState"], "inputResponses": said}
        signed = await called("api", OPERATOR, "tools/call", second, SHOWS_FORMS)
        await _answered(tmp_path / "home", _url(variables, "api"), task["taskId"])
        done = await called("health", HEALTH, "tasks/get", {"taskId": task["taskId"]})

    assert (working["status"], working["createdAt"]) == ("working", task["createdAt"])
    assert signed["structuredContent"]["answer"]["value"] == "no"
    assert (done["status"], done["result"]["structuredContent"]["answer"]["value"]) == ("completed", "yes")


async def _answered(home: Path, url: str, ask_id: str) -> None:
    token = TokenFile(home / "tokens.json").token_of(OPERATOR)
    async with httpx2.AsyncClient(timeout=30, headers={"Authorization": f"Bearer {token}"}) as http:
        answer = await http.post(f"{url}/v1/asks/{ask_id}/answer", json={"value": "yes"})
        assert answer.status_code == 200, answer.text


def _url(variables: dict[str, str], part: str) -> str:
    return f"http://127.0.0.1:{variables[f'POSTROOM_PORTS__{part.upper()}']}"
