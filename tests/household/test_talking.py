"""The history of a conversation, words that answer a question, and who is known."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.questions.model import PresentationStatus, Question
from postroom.questions.rules.request import WordsGiven
from tests.cli.command import postroom_beside
from tests.fakes.server import serve
from tests.household.asked_household import HEALTH, ask, parts, shown, until
from tests.household.calling import client, get, post
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.talking import SECONDS, Talking, accounts_everywhere, reply, script, talking
from tests.telephone import CHATGPT

pytestmark = pytest.mark.asyncio(loop_scope="module")


# What a person wrote, what answered it and what they were asked: one history, over HTTP and on the command line.
@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("history")
    async with talking(folder / "home", folder) as one:
        yield one


async def read(house: Talking, path: str, who: Principal = OPERATOR) -> tuple[int, Any]:
    return await house.api("GET", path, who=who)


def person_at(house: Talking, chat: int) -> str:
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:
        asked = "SELECT person_id FROM person_addresses WHERE channel = 'telegram' AND address = ?"
        return str(connection.execute(asked, (str(chat),)).fetchone()[0])


async def history(house: Talking, chat: int, more: str = "") -> list[dict[str, Any]]:
    status, body = await read(house, f"/v1/people/{person_at(house, chat)}/history{more}")
    assert status == 200, body
    found: list[dict[str, Any]] = body["history"]
    return found


@pytest.mark.requirement("talk:history")
async def test_a_message_its_answer_and_a_command_stand_in_one_history(house: Talking) -> None:
    words = "/general " + script(reply("At noon."))
    await house.write(2001, words)
    await house.kept(2001, "answered")
    await house.write(2001, "/help")
    await house.kept(2001, "answered", "handled")
    await house.said(2001, 2)

    found = await history(house, 2001)

    assert [(one["kind"], one["direction"]) for one in found if one["kind"] == "message"] == [("message", "in")] * 2
    by_kind = {(one["kind"], one["origin_butler"]): one for one in found}
    asked, answer = by_kind["message", "general"], by_kind["delivery", "general"]
    assert (asked["status"], asked["reason"], asked["words"]) == ("answered", "general is named in it", "kept")
    assert asked["replies"] == [answer["delivery_id"]] and asked["delivery_id"] is None and asked["session_id"]
    assert (answer["excerpt"], answer["direction"]) == ("At noon.", "out")
    command = by_kind["message", None]
    assert (command["status"], command["reason"], command["words"]) == ("handled", "it is a command", "not_kept")
    assert {one["id"] for one in await history(house, 2001, "?butler=general")} == {asked["id"], answer["id"]}
    assert await history(house, 2001, "?channel=email") == []
    pages, cursor = list[dict[str, Any]](), ""
    for _ in range(len(found)):
        _, body = await read(house, f"/v1/people/{person_at(house, 2001)}/history?limit=1{cursor}")
        pages, cursor = pages + body["history"], f"&cursor={body['next_cursor']}"
    assert pages == found and body["next_cursor"] is None


@pytest.mark.requirement("talk:history")
async def test_the_command_line_shows_both_ways_and_says_which_words_are_gone(house: Talking) -> None:
    await house.write(2002, "/general " + script(reply("Hello\x1b[31m\nthere.")))
    await house.kept(2002, "answered")
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:  # as `postroom prune` does in the end
        connection.execute("UPDATE inbound_messages SET text = NULL WHERE place = '2002'")

    here = ("--home", str(house.settings.home))
    shown = await postroom_beside("people", "history", "Person 2002", *here)
    by_butler = await postroom_beside("people", "history", "Person 2002", "--butler", "health", *here)
    listed = await postroom_beside(
        "people", "history", "Person 2002", "--channel", "telegram", "--limit", "1", "--json", *here
    )

    answer, asked = shown.out.splitlines()
    assert "telegram  delivered  general: Hello" in answer and "\x1b" not in answer
    assert "telegram  answered  Person 2002 to general: [words erased] (general is named in it)" in asked
    assert by_butler.out == "Nothing was said with Person 2002.\n"
    [one] = json.loads(listed.out)
    assert (one["kind"], one["direction"], one["words"]) == ("delivery", "out", "kept")


@pytest.mark.requirement("talk:history")
async def test_a_question_is_one_line_with_its_answer(house: Talking) -> None:
    question = (await ask(house, question="Tea\nor coffee?", options=["tea", "coffee"])).question
    assert (await house.api("POST", f"/v1/asks/{question.id}/answer", {"value": "tea"}))[0] == 200

    found = await history(house, 1000)

    assert [one["kind"] for one in found if "coffee" in one["excerpt"]] == ["question"]
    [line] = [one for one in found if one["question_id"] == question.id]
    assert (line["excerpt"], line["status"]) == ("Tea or coffee?", "answered")
    assert (line["answer"], line["direction"]) == ("tea", "out")


@pytest.mark.requirement("talk:history-own")
async def test_people_read_their_own_history_and_no_other_caller_reads_any(house: Talking) -> None:
    own = person_at(house, 2003)
    others = [Principal(Role.PERSON, person_at(house, 2004)), Principal(Role.BUTLER, "health")]
    others += [Principal(Role.PROGRAM, "ci", person=own), Principal(Role.CONNECTOR, "claude")]

    assert (await read(house, f"/v1/people/{own}/history", Principal(Role.PERSON, own)))[0] == 200
    assert [(await read(house, f"/v1/people/{own}/history", one))[0] for one in others] == [403] * 4
    for odd in ("?butler=%00", "?channel=%00", "?cursor=%00", "?butler=" + "x" * 65, "?limit=0"):
        assert (await read(house, f"/v1/people/{own}/history{odd}"))[0] == 422, odd


# What a person writes is an answer only where they say so; everything else reaches a butler, whatever is open.
PLACES = {"telegram": "1000", "slack": "U7", "discord": "user:7"}
PERSONS = {"telegram": "owner", "slack": "Eve", "discord": "Eve"}
ALLOW_OR_DENY = [{"value": "allow", "label": "Allow"}, {"value": "deny", "label": "Deny"}]
PERMISSION = {"question": "May it run a command?", "options": ALLOW_OR_DENY, "allow_text": False}
CHOICE = {"question": "May I delete the old backups?", "options": ["yes", "no"]}
TEXT = {"question": "When shall we leave?", "kind": "text", "options": None}
APPROVAL = {"question": "Delete them now?", "kind": "approve", "options": None}
everywhere = pytest.mark.parametrize("channel", PLACES)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answering_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("words")
    models = ["general"]
    async with (
        serve() as services,
        talking(folder / "home", folder, accounts_everywhere(services), models=models) as one,
    ):
        yield one


class Chat:
    """One person on one channel."""

    def __init__(self, answering_house: Talking, channel: str) -> None:
        self.house, self.channel, self.place = answering_house, channel, PLACES[channel]

    async def asked(self, **question: Any) -> tuple[str, dict[str, Any]]:
        """The question's id and its card."""
        wish = {"to": [PERSONS[self.channel]], "channels": [self.channel], **question}
        view = await ask(self.house, **wish)
        await shown(self.house, view, PresentationStatus.SHOWN)
        return view.question.id, await self.house.arrived(self.channel, wish["question"])

    async def write(self, text: str, to: dict[str, Any] | None = None) -> None:
        where = {"chat_id": self.place} if self.channel == "telegram" else {"place": self.place}
        answers = {"reply_to_message_id": to["message_id"]} if to else {}
        await self.house.post(f"{self.channel}/inbound", {**where, "text": text, **answers})

    async def press_beside(self, card: dict[str, Any], button: str) -> None:
        """What is not among the answers stands behind the card's small button."""
        await self.press(card, "…")
        await until(partial(self.has, card, button))
        await self.press(card, button)

    async def has(self, card: dict[str, Any], button: str) -> bool:
        found = await self.house.received(self.channel)
        return any(one["message_id"] == card["message_id"] and button in str(one) for one in found)

    async def press(self, card: dict[str, Any], button: str) -> None:
        by = {} if self.channel == "telegram" else {"from_id": self.place.removeprefix("user:")}
        await self.house.post(f"{self.channel}/press", {"message_id": card["message_id"], "button": button, **by})

    async def butler_answers(self, words: str) -> None:
        """A message to the butler, not in reply to anything."""
        await self.write(script(reply(words, channel=self.channel)))
        await self.house.arrived(self.channel, words)

    async def question(self, ask_id: str) -> Question:
        found = await parts(self.house).store.get(ask_id)
        assert found is not None
        return found

    async def answer(self, ask_id: str) -> str | None:
        async def look() -> Question | None:
            question = await self.question(ask_id)
            return None if question.is_open else question

        answer = (await asyncio.wait_for(until(look), SECONDS)).answer
        assert answer is not None
        return answer.text or answer.value


@pytest.mark.requirement("ask:own-words")
@pytest.mark.parametrize(
    ("channel", "question", "bare"),
    [
        pytest.param("telegram", CHOICE, "yes", id="a choice"),
        pytest.param("telegram", TEXT, "at noon", id="own words"),
        pytest.param("telegram", APPROVAL, "Approve", id="an approval"),
        pytest.param("telegram", PERMISSION, "1", id="a permission"),
        pytest.param("slack", CHOICE, "yes", id="slack"),
        pytest.param("discord", CHOICE, "yes", id="discord"),
    ],
)
async def test_words_to_the_butler_are_no_answer_while_a_question_is_open(
    answering_house: Talking, channel: str, question: dict[str, Any], bare: str
) -> None:
    chat = Chat(answering_house, channel)
    ask_id, _ = await chat.asked(**question | {"question": f"{question['question']} ({bare}, {channel})"})
    await chat.write(bare)
    await chat.butler_answers(f"Dinner at eight, after {bare} on {channel}.")
    assert (await chat.question(ask_id)).is_open
    assert await parts(answering_house).store.attempts(ask_id) == []


@pytest.mark.requirement("ask:own-words")
@everywhere
async def test_the_exact_word_as_a_reply_approves_and_a_number_does_not(answering_house: Talking, channel: str) -> None:
    chat = Chat(answering_house, channel)
    ask_id, card = await chat.asked(**PERMISSION | {"question": f"May it run a command, on {channel}?"})
    await chat.write("1", card)
    await answering_house.arrived(channel, "Press a button, or reply with exactly “Allow” or “Deny”.")
    await chat.write("allow", card)
    assert await chat.answer(ask_id) == "allow"


@pytest.mark.requirement("ask:own-words")
@everywhere
async def test_after_other_the_next_message_answers_and_the_one_after_it_reaches_the_butler(
    answering_house: Talking, channel: str
) -> None:
    chat = Chat(answering_house, channel)
    ask_id, card = await chat.asked(question=f"Which tea, on {channel}?", options=["green", "black"])
    other, _ = await chat.asked(question=f"Which cake, on {channel}?", options=["plum", "apple"])
    await chat.press_beside(card, "✏️ Other")
    await answering_house.arrived(
        channel, f"Your answer to “Which tea, on {channel}?”: write it as your next message here."
    )
    await chat.write("white, please")
    assert await chat.answer(ask_id) == "white, please"
    await chat.butler_answers(f"After that, on {channel}.")
    assert (await chat.question(other)).is_open


@pytest.mark.requirement("ask:own-words")
@everywhere
async def test_a_message_between_other_and_the_answer_was_the_next_one(answering_house: Talking, channel: str) -> None:
    chat = Chat(answering_house, channel)
    ask_id, card = await chat.asked(question=f"Which road, on {channel}?", options=["left", "right"])
    await chat.press_beside(card, "✏️ Other")
    box = await answering_house.arrived(channel, f"Your answer to “Which road, on {channel}?”")
    await chat.write("/status")
    await chat.butler_answers(f"The road is long, on {channel}.")
    assert (await chat.question(ask_id)).is_open
    if channel != "slack":  # there a reply goes to the root of the thread, which is the card
        await chat.write("straight on", box)
    else:
        await chat.write("straight on", card)
    assert await chat.answer(ask_id) == "straight on"


@pytest.mark.requirement("ask:own-words")
async def test_a_mail_that_replies_to_nothing_is_for_the_butler_and_a_reply_to_the_card_answers(
    answering_house: Talking,
) -> None:
    mail = {"from": "eve@example.org", "to": "postroom@sandbox.example", "subject": "Today"}
    view = await ask(
        answering_house, to=["Eve"], channels=["email"], question="By which train?", kind="text", options=None
    )
    card = await answering_house.arrived("email", "By which train?")
    await answering_house.post(
        "email/inbound", mail | {"body": script(reply("By mail, dinner at eight.", channel="email"))}
    )
    await answering_house.arrived("email", "By mail, dinner at eight.")
    assert (await Chat(answering_house, "telegram").question(view.question.id)).is_open
    await answering_house.post("email/inbound", mail | {"body": "The early one", "in_reply_to": card["message_id"]})
    assert await Chat(answering_house, "telegram").answer(view.question.id) == "The early one"


@pytest.mark.requirement("ask:own-words")
@everywhere
@pytest.mark.parametrize("replies", [False, True], ids=["the next message", "a reply to the box"])
async def test_words_for_a_question_that_was_changed_after_other_are_no_answer_to_the_new_one(
    answering_house: Talking, channel: str, replies: bool
) -> None:
    if replies and channel == "slack":
        return  # there a reply goes to the root of the thread, which is the card with its new words
    chat, name = Chat(answering_house, channel), f"on {channel}, {'by reply' if replies else 'next'}"
    ask_id, card = await chat.asked(question=f"Which cake, {name}?", options=["plum", "apple"])
    await chat.press_beside(card, "✏️ Other")
    box = await answering_house.arrived(channel, f"Your answer to “Which cake, {name}?”")
    await parts(answering_house).asking.revise(HEALTH, ask_id, WordsGiven(question=f"May I pay 900, {name}?"))
    await answering_house.arrived(channel, f"May I pay 900, {name}?")
    await chat.write(f"yes, {name}", box if replies else None)
    heard = await until(partial(parts(answering_house).store.attempts, ask_id))
    assert [one.verdict.reason for one in heard] == ["the question has changed; please look at it again"]
    await answering_house.arrived(channel, "The question has changed; please look at it again.")
    assert (await chat.question(ask_id)).is_open
    await chat.write("no, never", card)
    assert await chat.answer(ask_id) == "no, never"


# What callers learn of who is known, by the names they write to: nothing that is not theirs to know.
NOBODY = "Nobody Anywhere"
KNOWN = {
    "Anna": ("member", "2001"),
    "Ben": ("member", "2002"),
    "Carla": ("contact", "2003"),  # trusted
    "Dora": ("contact", "2004"),
    "Edgar": ("contact", "2005"),
}
CAST = ("anna", "dora", "annas program", "doras program", "an old token")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def known_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        for name, (role, chat) in KNOWN.items():
            there = [{"channel": "telegram", "address": chat}]
            body = {"name": name, "role": role, "addresses": there, "trusted": name == "Carla"}
            status, made, _ = await post(one, "/v1/people", body, token=one.token("operator"))
            assert status == 201, made
        yield one


async def id_of(known_house: Living, name: str) -> str:
    _, found = await get(known_house, f"/v1/people?q={name}", token=known_house.token("operator"))
    return str(found["people"][0]["person_id"])


async def token(known_house: Living, who: str) -> str:
    anna, dora = await id_of(known_house, "Anna"), await id_of(known_house, "Dora")
    cast = {
        "anna": Principal(Role.PERSON, anna),
        "dora": Principal(Role.PERSON, dora),
        "annas program": Principal(Role.PROGRAM, "backup", person=anna),
        "doras program": Principal(Role.PROGRAM, "shop", person=dora),
        "an old token": Principal(Role.USER, dora),
        "the owner": Principal(Role.PERSON, OWNER),
        "the owners program": Principal(Role.PROGRAM, "ci", person=OWNER),
        "a butler": Principal(Role.BUTLER, "health"),
        "an assistant": CHATGPT,
        "the operator": OPERATOR,
    }
    return known_house.token(cast[who])


async def asked(known_house: Living, who: str, **body: Any) -> tuple[int, dict[str, Any]]:
    body = {"question": "Tea?", "options": ["yes", "no"], "wait_seconds": 0, **body}
    status, answer, _ = await post(known_house, "/v1/asks", body, token=await token(known_house, who))
    return status, answer


async def told(known_house: Living, who: str, **body: Any) -> tuple[int, dict[str, Any]]:
    status, answer, _ = await post(
        known_house, "/v1/notify", {"message": "Hi", **body}, token=await token(known_house, who)
    )
    return status, {name: value for name, value in answer.items() if name != "request_context"}


def but_for(answer: tuple[int, dict[str, Any]], name: str) -> str:
    """What is left of it without the name that its caller gave."""
    return str(answer).replace(name, "…")


@pytest.mark.parametrize("who", CAST)
async def test_who_asks_somebody_that_is_not_theirs_hears_what_they_hear_of_nobody(
    known_house: Living, who: str
) -> None:
    nobody = await asked(known_house, who, to=NOBODY)
    assert nobody[0] == 422

    others = ["Carla", "Edgar", "2003", await id_of(known_house, "Edgar")]
    others += [] if who == "anna" else ["Ben"]
    for name in others:
        assert but_for(await asked(known_house, who, to=name), name) == but_for(nobody, NOBODY)
    near = await asked(known_house, who, to="Carlo")
    assert but_for(near, "Carlo") == but_for(nobody, NOBODY)  # it says not either who is called almost so
    escalated = [
        await asked(known_house, who, to="owner", escalate_to=name, escalate_after_seconds=60)
        for name in (NOBODY, "Edgar")
    ]
    assert but_for(escalated[0], NOBODY) == but_for(escalated[1], "Edgar")


@pytest.mark.parametrize("who", ["annas program", "doras program"])
async def test_who_asks_by_a_tool_hears_of_somebody_that_is_not_theirs_what_they_hear_of_nobody(
    known_house: Living, who: str
) -> None:
    heard = []
    async with client(known_house.household.addresses["api"] + "/mcp", await token(known_house, who)) as assistant:
        for name in (NOBODY, "Edgar", "Carla", await id_of(known_house, "Edgar")):
            given = {"question": "Tea?", "options": ["yes", "no"], "recipient": name, "wait_seconds": 0}
            answer = (await assistant.call_tool("ask", given)).structured_content
            heard.append(str(answer).replace(name, "…"))

    assert len(set(heard)) == 1 and "unknown_person" in heard[0], heard


@pytest.mark.parametrize(
    ("who", "to"),
    [
        *[(who, "owner") for who in CAST],
        ("anna", "Ben"),
        ("annas program", "Anna"),
        ("doras program", "Dora"),
        *[(who, "Edgar") for who in ("the owner", "the owners program", "a butler", "an assistant", "the operator")],
    ],
)
async def test_who_asks_somebody_of_their_own_is_heard(known_house: Living, who: str, to: str) -> None:
    status, answer = await asked(known_house, who, to=to, question=f"Tea, {to}, says {who}?")
    assert status == 201, answer


@pytest.mark.parametrize("who", ["the owner", "the owners program", "a butler", "an assistant", "the operator"])
async def test_the_owner_and_the_owners_agents_hear_who_was_meant(known_house: Living, who: str) -> None:
    status, answer = await asked(known_house, who, to="Edgr")
    assert status == 422 and "did you mean “Edgar”?" in str(answer)


@pytest.mark.parametrize("who", ["annas program", "doras program"])
@pytest.mark.parametrize("channel", [None, "telegram", "auto", "email"])
async def test_a_program_that_writes_to_others_hears_what_it_hears_of_nobody(
    known_house: Living, who: str, channel: str | None
) -> None:
    more = {} if channel is None else {"channel": channel}
    before = len(await known_house.received())
    nobody = await told(known_house, who, to=NOBODY, **more)
    assert nobody[0] == 400 and "unknown_recipient" in str(nobody)
    for name in ("Ben", "Carla", "Edgar", "2003", "2005", "9999", "zoe@example.org", await id_of(known_house, "Edgar")):
        assert await told(known_house, who, to=name, **more) == nobody
    assert len(await known_house.received()) == before
    last = known_house.rows("delivery_refusals")[-1]["origin_butler"]
    assert last == ("program:backup" if who == "annas program" else "program:shop")  # on the record, as any other


@pytest.mark.parametrize("to", [None, "Anna", "anna", "2001"])
async def test_a_program_writes_to_its_own_person_by_name_and_by_address(known_house: Living, to: str | None) -> None:
    status, answer = await told(known_house, "annas program", **({} if to is None else {"to": to}))
    assert (status, answer["status"]) == (202, "pending_approval"), answer  # her address is not verified
    [action] = [one for one in known_house.rows("delivery_requests") if one["id"] == answer["action_id"]]
    assert (action["origin_butler"], action["target_identity"]) == ("program:backup", "2001")


@pytest.mark.parametrize("to", ["owner", "1000"])
async def test_a_program_of_somebody_writes_to_the_owner(known_house: Living, to: str) -> None:
    status, answer = await told(known_house, "doras program", to=to)
    assert (status, answer["status"]) == (200, "ok"), answer


async def test_a_contact_of_its_persons_name_gets_nothing_of_what_a_program_writes(known_house: Living) -> None:
    body = {"name": "Anna", "addresses": [{"channel": "telegram", "address": "2099"}], "trusted": True}
    made = (await post(known_house, "/v1/people", body, token=known_house.token("operator")))[1]["person"]["person_id"]
    try:
        await told(known_house, "annas program", to="Anna", message="For Anna alone")
        assert "For Anna alone" not in str(await known_house.received())
    finally:
        assert (await known_house.api("DELETE", f"/v1/people/{made}"))[0] == 200


@pytest.mark.parametrize("field", ["delegate", "escalation"])
async def test_wishes_for_ones_own_post_name_only_whom_one_reaches(known_house: Living, field: str) -> None:
    dora = await id_of(known_house, "Dora")
    answers = []
    for name in (NOBODY, "Edgar"):
        path, body = f"/v1/people/{dora}/away", {"until": "2999-01-01T00:00:00Z", "delegate": name}
        if field == "escalation":
            path, body = f"/v1/people/{dora}/attention/preview", {"escalation": [{"after": "5m", "person": name}]}
        status, answer, _ = await post(known_house, path, body, token=await token(known_house, "dora"))
        answers.append(but_for((status, answer), name))
    assert answers[0] == answers[1] and "(422," in answers[0]
