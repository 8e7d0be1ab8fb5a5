"""Questions as forms in the clients of people: one more place, in both eras of the protocol, and never the truth."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import ANNA, HEALTH, LEGACY, MODERN, PROGRAM, SHIP, Askers, askers, structured
from tests.questions.wire import SHOWS_FORMS, begin, call, said_in

from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.questions import telling

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("ask:client-forms")]
both_protocols = pytest.mark.parametrize("mode", [MODERN, LEGACY])


class Person:
    """Sits before a client and fills in what it shows."""

    def __init__(self, *answers: ElicitResult | None) -> None:
        self.answers = list(answers)
        self.shown: list[ElicitRequestFormParams] = []
        self.sees = asyncio.Event()
        self.gone = asyncio.Event()

    async def __call__(self, _context: Any, params: Any) -> ElicitResult:
        self.shown.append(params)
        self.sees.set()
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            return answer
        try:
            await asyncio.Event().wait()  # thinks
        finally:
            self.gone.set()
        raise AssertionError


def accept(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


async def _asked(
    house: Askers, person: Person, mode: str, who: Principal = OPERATOR, tool: str = "ask", **asked: Any
) -> dict[str, Any]:
    arguments = {**SHIP, "wait_seconds": 20, **asked} if tool == "ask" else asked
    part = "health" if who == HEALTH else "api"
    async with house.client(part, who, mode, elicitation_callback=person) as client, asyncio.timeout(PATIENCE_SECONDS):
        return structured(await client.call_tool(tool, arguments))


@both_protocols
async def test_a_form_in_the_persons_own_client_answers(house: Askers, mode: str) -> None:
    person = Person(accept(answer="yes"))
    told = await _asked(house, person, mode, question=f"A form, {mode}?", context="It is late.")

    assert (told["status"], told["answer"]["value"], told["joined"]) == ("answered", "yes", False)
    by = told["answered_by"]
    assert (by["person_id"], by["channel"], by["assurance"]) == ("owner", "client", "low")
    form = person.shown[0]
    assert "A form," in form.message and "It is late." in form.message
    assert [one["const"] for one in form.requested_schema["properties"]["answer"]["oneOf"]] == ["yes", "no"]
    assert form.requested_schema["required"] == ["answer"]


@both_protocols
@pytest.mark.parametrize(
    ("asked", "content", "found"),
    [
        ({"options": None}, {"answer": "in my words"}, {"text": "in my words"}),
        ({"options": ["a", "b", "c"], "multiple": True}, {"answer": ["c", "a"]}, {"selected": ["a", "c"]}),
        (
            {
                "options": None,
                "form": {"type": "object", "title": "T", "properties": {"n": {"type": "integer", "minimum": 1}}},
            },
            {"n": 3},
            {"fields": {"n": 3}},
        ),
    ],
    ids=["text", "several", "form"],
)
async def test_every_kind_that_is_no_permission_has_its_form(
    house: Askers, mode: str, asked: dict[str, Any], content: dict[str, Any], found: dict[str, Any]
) -> None:
    told = await _asked(house, Person(accept(**content)), mode, question=f"Kind, {mode}, {content}?", **asked)

    assert told["status"] == "answered" and found.items() <= told["answer"].items()


@both_protocols
async def test_what_is_no_answer_is_shown_again_with_what_is_wrong(house: Askers, mode: str) -> None:
    person = Person(accept(answer="perhaps"), accept(answer="no"))
    told = await _asked(house, person, mode, question=f"Again, {mode}?", allow_text=False)

    assert (told["answer"]["value"], len(person.shown)) == ("no", 2)
    assert "choose one of" in person.shown[1].message


@both_protocols
@pytest.mark.parametrize(
    "closed",
    [ElicitResult(action="decline"), ElicitResult(action="cancel"), ElicitResult(action="accept", content={})],
    ids=["decline", "cancel", "empty"],
)
async def test_a_form_that_is_closed_is_no_ones_word(house: Askers, mode: str, closed: ElicitResult) -> None:
    person = Person(closed)
    question = f"Closed, {mode}, {closed.action}, {closed.content}?"
    told = await _asked(house, person, mode, question=question, wait_seconds=0.2)

    assert (told["status"], told["answer"], len(person.shown)) == ("open", None, 1)
    story = await house.parts.store.attempts(told["ask_id"])
    assert list(story) == []


async def test_an_answer_from_elsewhere_takes_the_form_away(house: Askers) -> None:
    person = Person(None)
    call_ = asyncio.create_task(
        _asked(house, person, LEGACY, question="Who is first?", idempotency_key="k-race", wait_seconds=60)
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        await person.sees.wait()
        found = await house.tool("wait", {"idempotency_key": "k-race", "wait_seconds": 0}, OPERATOR, "api")
        await house.answer(found["ask_id"], {"value": "no"}, OPERATOR)
        told = await call_
        await person.gone.wait()

    assert (told["answer"]["value"], told["answered_by"]["channel"]) == ("no", "api")


async def test_a_form_that_comes_too_late_is_kept_and_the_first_answer_stands(house: Askers) -> None:
    asked = {"name": "ask", "arguments": {**SHIP, "question": "Too late?", "wait_seconds": 20}}
    first = (await call(house, OPERATOR, "api", "tools/call", asked, SHOWS_FORMS))["result"]
    ask_id = next(
        one["ask_id"] for one in (await house.get("/v1/asks", OPERATOR)).body["asks"] if _is(one, "Too late?")
    )
    await house.answer(ask_id, {"value": "no"}, OPERATOR)
    again = _second(asked, first["requestState"], {"action": "accept", "content": {"answer": "yes"}})
    told = (await call(house, OPERATOR, "api", "tools/call", again, SHOWS_FORMS))["result"]["structuredContent"]

    assert first["resultType"] == "input_required" and list(first["inputRequests"]) == ["answer"]
    assert told["answer"]["value"] == "no"
    kept = [(one.attempt.channel, str(one.verdict.kind)) for one in await house.parts.store.attempts(ask_id)]
    assert kept == [("api", "accepted"), ("client", "lost_race")]


async def test_the_state_of_a_round_is_sealed_for_its_caller_and_its_call(house: Askers) -> None:
    asked = {"name": "ask", "arguments": {**SHIP, "question": "Sealed?", "wait_seconds": 20}}
    state = (await call(house, OPERATOR, "api", "tools/call", asked, SHOWS_FORMS))["result"]["requestState"]
    yes = {"action": "accept", "content": {"answer": "yes"}}
    other = {"name": "ask", "arguments": {**SHIP, "question": "Another?", "wait_seconds": 20}}
    tries = [
        (OPERATOR, _second(asked, state[:-2] + "xx", yes)),
        (OPERATOR, _second(other, state, yes)),
        (ANNA, _second(asked, state, yes)),
    ]
    found = [await call(house, who, "api", "tools/call", params, SHOWS_FORMS) for who, params in tries]
    missing = await call(house, OPERATOR, "api", "tools/call", {**asked, "requestState": state}, SHOWS_FORMS)

    assert [one["error"]["code"] for one in found] == [-32602] * 3 and "Sealed?" not in state
    assert missing["result"]["resultType"] == "input_required"


@both_protocols
async def test_agents_are_shown_no_form(house: Askers, mode: str) -> None:
    for who in (HEALTH, PROGRAM):
        person = Person(accept(answer="yes"))
        told = await _asked(house, person, mode, who, question=f"For agents, {mode}, {who}?", wait_seconds=0.2)
        assert (told["status"], person.shown) == ("open", []), who


@both_protocols
@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "approve", "options": None},
        {"secret": True, "options": None},
        {"preview": "none"},
        {"to": "anna"},
        {"channels": ["telegram"]},
    ],
    ids=["permission", "secret", "hidden", "another person", "named place"],
)
async def test_some_questions_are_never_put_into_a_client(house: Askers, mode: str, asked: dict[str, Any]) -> None:
    person = Person(accept(answer="yes"))
    told = await _asked(house, person, mode, question=f"Never, {mode}, {asked}?", wait_seconds=0.2, **asked)

    assert (told["status"], person.shown) == ("open", [])


@both_protocols
async def test_a_person_who_waits_for_what_asks_them_is_shown_it(house: Askers, mode: str) -> None:
    asked = await house.ask(question=f"Anna, {mode}?", to="anna")
    person = Person(accept(answer="no"))
    told = await _asked(house, person, mode, ANNA, "wait", ask_id=asked["ask_id"], wait_seconds=20)

    assert (told["answer"]["value"], told["answered_by"]["person_id"]) == ("no", "anna")
    assert "health asks" in person.shown[0].message


async def test_new_words_are_shown_before_an_answer_counts(house: Askers) -> None:
    asked = await house.ask(question="Old words?", to="anna")
    waits = {"name": "wait", "arguments": {"ask_id": asked["ask_id"], "wait_seconds": 20}}
    state = (await call(house, ANNA, "api", "tools/call", waits, SHOWS_FORMS))["result"]["requestState"]
    await house.post(f"/v1/asks/{asked['ask_id']}/revise", {"question": "New words?"})
    yes = {"action": "accept", "content": {"answer": "yes"}}
    again = (await call(house, ANNA, "api", "tools/call", _second(waits, state, yes), SHOWS_FORMS))["result"]

    assert "New words?" in again["inputRequests"]["answer"]["params"]["message"]


async def test_no_other_caller_speaks_in_a_persons_session(house: Askers) -> None:
    session_id = await begin(house, OPERATOR, {"elicitation": {}})

    assert await said_in(house, ANNA, session_id) == 404
    assert await said_in(house, OPERATOR, session_id) == 202


async def test_a_household_may_do_without(tmp_path: Path) -> None:
    async with askers(tmp_path / "home", {"ask": {"in_client": False}}) as house:
        person = Person(accept(answer="yes"))
        told = await _asked(house, person, LEGACY, question="Off?", wait_seconds=0.2)

    assert (told["status"], person.shown) == ("open", [])


@pytest.mark.requirement("ask:client-gone")
async def test_a_call_that_is_cancelled_under_its_form_ends_the_wait_and_not_the_question(house: Askers) -> None:
    """By `notifications/cancelled`: the session goes on."""
    asked, person = await house.ask(question="Cancelled?", to="anna"), Person(None)
    async with (
        house.client("api", ANNA, LEGACY, elicitation_callback=person) as client,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        waits = {"ask_id": asked["ask_id"], "wait_seconds": 280}
        call_ = asyncio.create_task(client.call_tool("wait", waits))
        await person.sees.wait()
        await house.until_waiting(asked["ask_id"])
        call_.cancel()
        await house.until_left(asked["ask_id"])
        await person.gone.wait()
        told = structured(await client.call_tool("wait", {**waits, "wait_seconds": 0}))

    assert told["status"] == "open"


@pytest.mark.requirement("ask:progress")
async def test_progress_arrives_beside_a_form(house: Askers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PROGRESS_SECONDS", 0.05)
    monkeypatch.setattr(telling, "LOOK_SECONDS", 0.02)
    asked, person, seen = await house.ask(question="Progress beside?", to="anna"), Person(None), list[float]()

    async def progressed(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)
        if len(seen) == 3:
            await house.answer(asked["ask_id"], {"value": "no"}, OPERATOR)

    async with (
        house.client("api", ANNA, LEGACY, elicitation_callback=person) as client,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        waits = {"ask_id": asked["ask_id"], "wait_seconds": 60}
        told = structured(await client.call_tool("wait", waits, progress_callback=progressed))

    assert told["status"] == "answered" and seen == sorted(set(seen)) and len(person.shown) == 1


def _is(one: dict[str, Any], question: str) -> bool:
    return bool(one["asked"]["question"] == question)


def _second(asked: dict[str, Any], state: str, said: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "requestState": state, "inputResponses": {"answer": said}}
