"""What agents ask people through intents, in a whole household: a card, one answer, one end for all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update
from tests.butlers.runtimes.installed import install
from tests.household.living import LIFTED, QUICK
from tests.household.living import settings_for as whole_settings
from tests.patience import PATIENCE_SECONDS
from tests.telephone import CHATGPT, OWNER, PEOPLE, Telephone, settings_for, telephone

from postroom.household.store import connect_store, shipped
from postroom.intents.model import subject_of
from postroom.intents.store import intents
from postroom.kernel.database.moments import moments
from postroom.kernel.values.moments import Reason
from postroom.kernel.values.principal import OPERATOR
from postroom.questions.model import QuestionStatus
from postroom.settings import Settings
from postroom.settings.roster import RuntimeKind

OWNER_CHAT = "1000"
APPROVAL = {"macro_id": "macro.approval.v1"}
NO_ANSWER = {"channel": "telegram", "delay_seconds": 60}


@pytest.fixture(params=["sqlite", "postgres"])
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    more: dict[str, Any] = {"contacts": PEOPLE}
    if request.param == "postgres":
        more["database_url"] = request.getfixturevalue("postgres_url")
    return whole_settings(tmp_path / "home", LIFTED, QUICK, more)


@pytest.fixture
async def line(settings: Settings) -> AsyncIterator[Telephone]:
    async with telephone(settings) as opened:
        yield opened


async def its_next_step_is_due(settings: Settings, intent_id: str) -> None:
    """As if the time until then had passed, once the first step is done; the household looks every two seconds."""
    store = connect_store(settings)
    past_the_first = (intents.c.id == intent_id, intents.c.position > 0)
    due = update(intents).where(*past_the_first).values(next_at=1)
    step = moments.c.reason.not_in([Reason.GO_ON, Reason.LOOK_AFTER])
    found = update(moments).where(moments.c.id == intent_id, step).values(due_at=1, look_at=1)

    def work(connection: Connection) -> int:
        return connection.execute(due).rowcount and connection.execute(found).rowcount

    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await store.database.write(work):
                await asyncio.sleep(0.02)
    finally:
        await store.database.close()


async def asked(line: Telephone, question: str = "May I spend 5?", workflow: dict[str, Any] | None = APPROVAL) -> str:
    payload: dict[str, Any] = {"question": question, "requested_by": OWNER, "requested_at": "2026-01-01T00:00:00Z"}
    payload |= {"workflow": workflow} if workflow else {}
    body = {"intent_type": "intent.ask.v1", "to_agent": OWNER, "payload": payload}
    answer = await line.post("/v1/intents", body, CHATGPT)
    assert answer.status == 200, answer.body
    return str(answer.body["intent_id"])


async def shown(line: Telephone, words: str, chat: str = OWNER_CHAT) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := [one for one in await line.phone(chat) if words in one["text"]]):
            await asyncio.sleep(0.02)
    return found[0]


async def pressed(line: Telephone, card: dict[str, Any], button: str, **how: Any) -> None:
    body = {"message_id": card["message_id"], "button": button, **how}
    answer = await line.call("POST", "sandbox", "/sandbox/telegram/press", body, caller=None)
    assert answer.status == 200, answer.body


def labels(card: dict[str, Any]) -> list[str]:
    return [key["text"] for row in (card.get("reply_markup") or {}).get("inline_keyboard", []) for key in row]


@pytest.mark.requirement("ask:intent-approvals")
@pytest.mark.parametrize(("button", "decision"), [("Approve", "approved"), ("Deny", "rejected")])
async def test_a_press_decides_the_intent_and_closes_the_card(line: Telephone, button: str, decision: str) -> None:
    intent_id = await asked(line)
    card = await shown(line, "May I spend 5?")
    assert labels(card) == ["Approve", "Deny", "Rather not"]
    await line.until(intent_id, "DELIVERED")

    await pressed(line, card, button, from_id=6666)
    await line.type(OWNER_CHAT, "ok", int(card["message_id"]))
    await line.type(OWNER_CHAT, "👍", int(card["message_id"]))
    await pressed(line, card, button)

    done = await line.until(intent_id, "COMPLETED")
    assert (done["result"]["decision"], done["result"]["responded_by"]) == (decision, OWNER)
    closed = await shown(line, f"✅ {button}: answered by ")
    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    thread = (await line.get(f"/v1/inbox/{intent_id}", CHATGPT)).body["thread"]
    assert [one["message"] for one in thread["messages"]] == [decision]


@pytest.mark.requirement("ask:intent-approvals")
@pytest.mark.parametrize(("word", "decision"), [("approve", "approved"), ("Deny", "rejected"), ("reject", "rejected")])
async def test_the_exact_word_decides_by_reply(line: Telephone, word: str, decision: str) -> None:
    intent_id = await asked(line)
    card = await shown(line, "May I spend 5?")

    await line.type(OWNER_CHAT, word, int(card["message_id"]))

    assert (await line.until(intent_id, "COMPLETED"))["result"]["decision"] == decision


@pytest.mark.requirement("ask:intent-approvals")
async def test_what_ends_the_intent_elsewhere_closes_the_card_and_a_press_is_too_late(line: Telephone) -> None:
    intent_id = await asked(line)
    card = await shown(line, "May I spend 5?")

    answer = await line.post(f"/v1/intents/{intent_id}/resolve", {"status": "CANCELED"}, CHATGPT)
    assert answer.status == 200, answer.body
    closed = await shown(line, "✖️ Taken back")

    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
    asking = line.household.asking
    assert asking is not None
    [question] = await asking.store.about(subject_of(intent_id))
    assert question.status is QuestionStatus.CANCELLED


@pytest.mark.requirement("ask:intent-questions")
async def test_the_first_answer_counts_and_the_other_persons_card_says_so(line: Telephone) -> None:
    bob = str((await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Bob"})).body["agent_address"])
    workflow = {"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": [OWNER, bob]}}
    intent_id = await asked(line, "Who has the key?", workflow=workflow)
    card = await shown(line, "Who has the key?")
    letter = await shown(line, "Who has the key?", chat="2001")

    await line.type("2001", "I have", int(letter["message_id"]))

    done = await line.until(intent_id, "COMPLETED")
    assert (done["result"]["answer"], done["result"]["responded_by"]) == ("I have", bob)
    closed = await shown(line, "✅ I have: answered by ")
    assert (closed["message_id"], labels(closed)) == (card["message_id"], [])


@pytest.mark.requirement("ask:intent-questions")
async def test_a_reply_to_the_card_is_the_answer_of_the_ask(line: Telephone) -> None:
    intent_id = await asked(line, "When is dinner?", workflow=None)
    card = await shown(line, "When is dinner?")
    await line.type(OWNER_CHAT, "Not me", int(card["message_id"]), from_id=6666)

    await line.type(OWNER_CHAT, "At eight", int(card["message_id"]))

    done = await line.until(intent_id, "COMPLETED")
    assert done["result"] | {"responded_at": ""} == {
        "answer": "At eight",
        "status": "answered",
        "responded_by": OWNER,
        "responded_at": "",
    }
    await shown(line, "✅ At eight: answered by ")


async def asked_patiently(line: Telephone, **params: Any) -> str:
    """Each step is far away, until a test says that it is due."""
    given = {"remind_after_seconds": 3600, "max_reminders": 0, "step_deadline_seconds": 7200, **params}
    workflow = {"macro_id": "macro.remind_then_escalate.v1", "params": given}
    return await asked(line, "Who feeds the cat?", workflow=workflow)


async def reminded(line: Telephone, settings: Settings, **params: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The intent, its card and the message that followed it."""
    intent_id = await asked_patiently(line, **params)
    card = await shown(line, "Who feeds the cat?")
    await line.until(intent_id, "DELIVERED")
    await its_next_step_is_due(settings, intent_id)
    return intent_id, card, await shown(line, "still waits for an answer to “Who feeds the cat?”")


async def events(line: Telephone, intent_id: str) -> list[str]:
    found = (await line.get(f"/v1/intents/{intent_id}/events")).body["events"]
    return [one["event_type"].removeprefix("intent.") for one in found]


async def noted(line: Telephone, intent_id: str, event: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while event not in await events(line, intent_id):
            await asyncio.sleep(0.02)


@pytest.mark.requirement("ask:intent-reminders")
async def test_a_reminder_answers_the_card_and_does_not_ask_again(line: Telephone, settings: Settings) -> None:
    intent_id, card, reminder = await reminded(line, settings, max_reminders=1)

    assert reminder["reply_to_message_id"] == card["message_id"]
    await line.until(intent_id, "DELIVERED")
    said = [one["text"] for one in await line.phone(OWNER_CHAT) if "cat" in one["text"]]
    assert len(said) == 2 and not any("A reminder:" in one for one in said)
    await line.type(OWNER_CHAT, "I do", int(reminder["message_id"]))
    assert (await line.until(intent_id, "COMPLETED"))["result"]["answer"] == "I do"
    assert set(await events(line, intent_id)) == {
        "created", "submitted", "delivered", "reminder", "in_progress", "completed",
    }  # fmt: skip
    asking = line.household.asking
    assert asking is not None
    [question] = await asking.store.about(subject_of(intent_id))
    assert question.reminded_at_us is not None


@pytest.mark.requirement("ask:intent-reminders")
async def test_an_escalation_to_one_who_has_the_card_reminds_them_of_it(line: Telephone, settings: Settings) -> None:
    intent_id, card, reminder = await reminded(line, settings, escalate_to=OWNER)

    assert reminder["reply_to_message_id"] == card["message_id"]
    asking = line.household.asking
    assert asking is not None
    assert len(await asking.store.about(subject_of(intent_id))) == 1
    await noted(line, intent_id, "escalated")
    await its_next_step_is_due(settings, intent_id)
    await line.until(intent_id, "TIMED_OUT")
    assert sorted(await events(line, intent_id)) == ["created", "delivered", "escalated", "submitted", "timed_out"]


@pytest.mark.requirement("ask:intent-reminders")
async def test_one_without_a_card_is_reminded_by_letter(line: Telephone) -> None:
    bob = str((await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Bob"})).body["agent_address"])
    params = {"remind_after_seconds": 1, "max_reminders": 1, "step_deadline_seconds": 300}
    workflow = {"macro_id": "macro.remind_then_escalate.v1", "params": params}
    payload = {"question": "Come?", "requested_by": OWNER, "requested_at": "2026-01-01T00:00:00Z"}
    body = {"intent_type": "intent.ask.v1", "to_agent": bob, "payload": payload | {"workflow": workflow}}
    assert (await line.post("/v1/intents", body, CHATGPT)).status == 200

    assert (await shown(line, "A reminder: Come?", chat="2001")).get("reply_to_message_id") is None


@pytest.mark.requirement("ask:intent-deciders")
async def test_an_approver_who_has_not_proved_the_address_hears_so(line: Telephone) -> None:
    bob = str((await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Bob"})).body["agent_address"])
    intent_id = await asked(line, workflow={**APPROVAL, "params": {"approver": bob}})
    letter = await shown(line, "May I spend 5?", chat="2001")
    assert "has to be verified first" in letter["text"]

    await line.type("2001", "approve", int(letter["message_id"]))

    await shown(line, "this address is not verified yet", chat="2001")
    assert (await line.intent(intent_id))["result"] is None


@pytest.mark.requirement("ask:intent-reminders")
async def test_one_whose_card_is_still_on_its_way_is_not_asked_again(line: Telephone, settings: Settings) -> None:
    assert (await line.call("POST", "sandbox", "/sandbox/faults", NO_ANSWER, caller=None)).status == 200
    intent_id = await asked_patiently(line, escalate_to=OWNER)
    await shown(line, "Who feeds the cat?")  # at the provider, who has not said so yet
    await its_next_step_is_due(settings, intent_id)

    await noted(line, intent_id, "escalated")

    assert line.household.asking is not None
    [question] = await line.household.asking.store.about(subject_of(intent_id))
    assert question.reminded_at_us is None


# What is asked of a butler, and what was asked before a restart.


@pytest.mark.parametrize(
    ("said", "heard"),
    [("At noon", "At noon"), ("At \x00 \ud800", "At \ufffd \ufffd")],
    ids=["plain", "in characters that no store can hold"],
)
async def test_a_butlers_model_answers_an_assistant(tmp_path: Path, said: str, heard: str) -> None:
    settings = settings_for(tmp_path / "home")
    path = install(tmp_path / "bin", ["codex"])
    roster = [
        one.model_copy(update={"runtime": RuntimeKind(type="codex")}) if one.name == "health" else one
        for one in shipped(settings)
    ]
    question = json.dumps({"steps": [], "say": said})
    async with telephone(settings, roster=roster, environment={"PATH": path}) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": question}
        sent = await line.adapt(body, CHATGPT)

        done = await line.until(sent.body["delivery"]["intent_id"], "COMPLETED", "FAILED")

    assert (done["lifecycle_status"], done["result"]) == (
        "COMPLETED",
        {
            "answer": heard,
            "status": "answered",
            "responded_by": "agent://butler/health",
            "responded_at": done["result"]["responded_at"],
        },
    )


async def test_a_butler_whose_model_cannot_start_fails_the_ask_with_a_reason(tmp_path: Path) -> None:
    async with telephone(settings_for(tmp_path), environment={"PATH": ""}) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": "Are you there?"}
        sent = await line.adapt(body, CHATGPT)

        failed = await line.until(sent.body["delivery"]["intent_id"], "FAILED")

    assert (failed["status"], failed["result"]["error"]["code"]) == ("FAILED", "delivery_failed")


async def test_a_butler_without_a_model_is_asked_again_later(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    roster = [one.model_copy(update={"runtime": RuntimeKind(type="none")}) for one in shipped(settings)]
    async with telephone(settings, roster=roster) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": "Are you there?"}
        sent = await line.adapt(body, CHATGPT)

        waiting = await line.until(sent.body["delivery"]["intent_id"], "WAITING")

        assert waiting["waiting_reason"] == "WAITING_FOR_TOOL"
        stopped = await line.post(f"/v1/intents/{waiting['intent_id']}/resolve", {"status": "CANCELED"}, OPERATOR)
        assert stopped.body["intent"]["lifecycle_status"] == "CANCELED"


# What was asked before a restart is answered after it.


async def test_an_answer_given_while_we_were_away_is_heard_when_we_are_back(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with telephone(settings) as line:
        answer = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Wait?"}, CHATGPT)
        intent_id = answer.body["delivery"]["intent_id"]
        await line.until(intent_id, "DELIVERED")
        message_id = (await line.phone("2001"))[-1]["message_id"]
    async with telephone(settings, "sandbox") as line:
        await line.type("2001", "I will", message_id)

    async with telephone(settings) as line:
        done = await line.until(intent_id, "COMPLETED")
        assert done["result"]["answer"] == "I will"
        assert len(await line.phone("2001")) == 1


async def test_a_provider_in_trouble_delays_an_ask_and_never_loses_it(tmp_path: Path) -> None:
    async with telephone(settings_for(tmp_path)) as line:
        fault = {"channel": "telegram", "times": 1, "status": 503}
        await line.call("POST", "sandbox", "/sandbox/faults", fault, None)

        answer = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Wait?"}, CHATGPT)

        await line.until(answer.body["delivery"]["intent_id"], "DELIVERED")
        assert len(await line.phone("2001")) == 1
