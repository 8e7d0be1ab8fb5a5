"""Questions over HTTP: as scripts, people and other machines meet them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import (
    ANNA,
    BEN,
    CHATGPT,
    GENERAL,
    HEALTH,
    OLGA,
    PROGRAM,
    SHIP,
    USER,
    Askers,
)

from postroom.kernel.values.principal import OPERATOR, Principal

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/asks", SHIP),
    ("GET", "/v1/asks", None),
    ("GET", "/v1/asks/stream", None),
    ("GET", "/v1/asks/{id}", None),
    ("GET", "/v1/answers", None),
    ("POST", "/v1/asks/{id}/cancel", {}),
    ("POST", "/v1/asks/{id}/revise", {"question": "Other?"}),
    ("POST", "/v1/asks/{id}/answer", {"value": "yes"}),
]


@pytest.mark.requirement("ask:rest")
async def test_a_question_is_asked_read_waited_for_and_listed(house: Askers) -> None:
    made = await house.post("/v1/asks", {"question": "Deploy?", "kind": "approve", "state": {"build": 7}})
    ask_id = made.body["ask_id"]
    waiting = asyncio.create_task(house.get(f"/v1/asks/{ask_id}?wait_seconds=30"))
    await house.until_waiting(ask_id)
    answered = await house.answer(ask_id, {"value": "approve"})
    told = await waiting

    assert (made.status, made.body["status"], made.body["joined"]) == (201, "open", False)
    assert (made.body["asked"]["question"], made.body["asked"]["asked_by"]) == ("Deploy?", "butler:health")
    assert (answered.status, told.status, told.body["answer"]["value"]) == (200, 200, "approve")
    assert (told.body["state"], answered.body["state"]) == ({"build": 7}, None)
    listed = await house.get("/v1/asks?status=answered&limit=1")
    assert [one["ask_id"] for one in listed.body["asks"]] == [ask_id] and listed.body["next_cursor"] == ask_id
    assert ask_id not in str((await house.get("/v1/asks?status=open")).body)
    assert ask_id in str((await house.get("/v1/answers")).body)


@pytest.mark.requirement("content:questions-formatted")
async def test_a_question_in_markdown_is_formatted_on_the_phone_and_stays_so_when_revised(house: Askers) -> None:
    body = {"question": "**Ship** it?", "context": "a_b_c", "options": ["yes"], "format": "markdown"}
    made = await house.post("/v1/asks", {**body, "channels": ["telegram"]})
    ask_id = made.body["ask_id"]

    assert made.body["asked"]["format"] == "markdown"
    card = await _on_the_phone(house, "Ship it?")
    assert [(one["type"], one["offset"]) for one in card["entities"]] == [("bold", card["text"].index("Ship"))]
    assert "a_b_c" in card["text"]
    revised = await house.post(f"/v1/asks/{ask_id}/revise", {"question": "**Ship** it now?"})
    assert revised.body["asked"]["format"] == "markdown"
    assert (await _on_the_phone(house, "Ship it now?"))["message_id"] == card["message_id"]
    refused = await house.post("/v1/asks", {"question": "a", "format": "html"})
    assert (refused.status, "format" in str(refused.body)) == (422, True)


async def _on_the_phone(house: Askers, words: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            told = await house.line.call("GET", "sandbox", "/sandbox/telegram/messages?limit=500", caller=None)
            for message in told.body["messages"]:
                if words in message["text"]:
                    return dict(message)
            await asyncio.sleep(0.05)


@pytest.mark.requirement("ask:rest")
async def test_a_key_in_header_or_body_makes_one_question(house: Askers) -> None:
    first = await house.post("/v1/asks", {"question": "Once?"}, Idempotency_Key="r-1")
    again = await house.post("/v1/asks", {"question": "Once?", "idempotency_key": "r-1"})
    other = await house.post("/v1/asks", {"question": "Twice?"}, Idempotency_Key="r-1")
    mixed = await house.post("/v1/asks", {"question": "Once?", "idempotency_key": "r-2"}, Idempotency_Key="r-1")

    assert (first.status, again.status, again.body["joined"]) == (201, 200, True)
    assert again.body["ask_id"] == first.body["ask_id"]
    assert (other.status, other.body["error"]["code"], other.body["ask_id"]) == (
        409,
        "key_reused",
        first.body["ask_id"],
    )
    assert (mixed.status, mixed.body["error"]["fields"][0]["code"]) == (422, "key_mismatch")


async def test_a_question_is_found_by_the_key_of_its_asker_and_no_other(house: Askers) -> None:
    made = await house.post("/v1/asks", {"question": "Found?"}, Idempotency_Key="r-found")
    mine = await house.get("/v1/asks?idempotency_key=r-found")
    other = await house.get("/v1/asks?idempotency_key=r-found", GENERAL)
    owner = await house.get("/v1/asks?idempotency_key=r-found", OPERATOR)

    assert [one["ask_id"] for one in mine.body["asks"]] == [made.body["ask_id"]]
    assert mine.body["next_cursor"] is None
    assert other.body["asks"] == owner.body["asks"] == []


async def test_a_former_name_is_taken_and_the_answer_says_what_it_is_called_now(house: Askers) -> None:
    asked = await house.ask(question="Formerly?", to="anna")
    over_http = await house.post("/v1/asks", {"question": "Formerly over HTTP?", "to": "anna"})
    looked = await house.get(f"/v1/asks/{over_http.body['ask_id']}?wait=0")

    assert asked["renamed"] == {"to": "recipient"}
    assert (over_http.status, over_http.body["asked"]["to"][0]["name"], looked.status) == (201, "anna", 200)


async def test_what_is_wrong_is_said_by_field(house: Askers) -> None:
    wrong = await house.post("/v1/asks", {"question": "Q?", "optoins": ["a"], "wait_seconds": 200, "urgency": "loud"})
    too_long = await house.post("/v1/asks", {"question": "Q?", "wait_seconds": 281})
    no_object = await house.post("/v1/asks", ["Q?"])
    bad_wait = await house.get("/v1/asks/x?wait_seconds=281")
    bad_status = await house.get("/v1/asks?status=maybe")

    assert (wrong.status, wrong.body["error"]["code"]) == (422, "validation_error")
    assert {one["field"] for one in wrong.body["error"]["fields"]} == {"optoins", "urgency"}
    assert [one["field"] for one in too_long.body["error"]["fields"]] == ["wait_seconds"]
    assert [one.status for one in (no_object, bad_wait, bad_status)] == [422, 422, 422]


@pytest.mark.parametrize("state", ["[" * 50_000 + "]" * 50_000, "9" * 5_000], ids=["too deep", "too long a number"])
async def test_a_body_that_cannot_be_read_is_refused_in_our_words(house: Askers, state: str) -> None:
    headers = {"Authorization": f"Bearer {house.token(HEALTH)}", "Content-Type": "application/json"}
    body = f'{{"question": "Q?", "state": {state}}}'
    url = f"{house.line.url('api')}/v1/asks"
    async with aiohttp.ClientSession(headers=headers) as http, http.post(url, data=body) as answer:
        refused = (await answer.json())["error"]
    assert (answer.status, refused["code"]) == (400, "invalid_json")
    assert refused["message"] == "the body is not JSON, or nests too deep to be read"


async def test_a_question_is_changed_and_taken_back(house: Askers) -> None:
    ask_id = (await house.post("/v1/asks", {"question": "Before?"})).body["ask_id"]

    revised = await house.post(f"/v1/asks/{ask_id}/revise", {"question": "After?", "deadline_seconds": 60})
    cancelled = await house.post(f"/v1/asks/{ask_id}/cancel", {"reason": "not needed"})
    bare = await house.post(f"/v1/asks/{ask_id}/cancel", None)
    too_late = await house.post(f"/v1/asks/{ask_id}/revise", {"question": "Again?"})

    assert (revised.body["asked"]["question"], revised.body["asked"]["revision"]) == ("After?", 2)
    assert (cancelled.body["status"], cancelled.body["asked"]["reason"]) == ("cancelled", "not needed")
    assert (bare.status, bare.body["status"]) == (200, "cancelled")
    assert (too_late.status, too_late.body["error"]["code"]) == (409, "illegal_transition")


@pytest.mark.requirement("ask:rest-answer")
async def test_the_second_answer_is_late_and_shows_how_it_ended(house: Askers) -> None:
    asked = (await house.post("/v1/asks", {**SHIP, "question": "Race?", "to": ["anna", "ben"]})).body

    first = await house.answer(asked["ask_id"], {"value": "yes"}, ANNA)
    second = await house.answer(asked["ask_id"], {"value": "no"}, BEN)

    assert first.body["answered_by"] == {
        "person_id": "anna",
        "name": "anna",
        "channel": "api",
        "assurance": "signed_in",
    }
    assert (second.status, second.body["ok"]) == (409, False)
    assert (second.body["ask"]["answer"]["value"], second.body["ask"]["answered_by"]["person_id"]) == ("yes", "anna")


@pytest.mark.requirement("ask:rest-answer")
async def test_an_answer_is_exactly_one_thing_that_fits_the_question(house: Askers) -> None:
    asked = (await house.post("/v1/asks", {**SHIP, "question": "Fits?", "allow_text": False})).body["ask_id"]

    for body in ({}, {"value": "yes", "text": "yes"}, {"vaule": "yes"}, {"value": "perhaps"}, {"declined": False}):
        refused = await house.answer(asked, body)
        assert (refused.status, refused.body["error"]["code"]) == (422, "validation_error"), body
    assert "choose one of" in (await house.answer(asked, {"value": "perhaps"})).body["error"]["message"]
    declined = await house.answer(asked, {"declined": True})
    assert (declined.status, declined.body["status"], declined.body["answer"]) == (200, "declined", None)


@pytest.mark.parametrize(
    ("ask", "answer", "told"),
    [
        ({"options": ["a", "b", "c"], "multiple": True}, {"selected": ["c", "a"]}, {"selected": ["a", "c"]}),
        ({}, {"text": "in my own words"}, {"text": "in my own words"}),
        (
            {"form": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
            {"fields": {"n": 3}},
            {"fields": {"n": 3}},
        ),
    ],
    ids=["several", "text", "form"],
)
async def test_each_kind_of_question_has_its_kind_of_answer(
    house: Askers, ask: dict[str, Any], answer: dict[str, Any], told: dict[str, Any]
) -> None:
    asked = (await house.post("/v1/asks", {"question": "Which kind?", **ask})).body["ask_id"]

    found = (await house.answer(asked, answer)).body["answer"]

    assert found == {"value": None, "text": None, "selected": [], "fields": {}, **told}


@pytest.mark.requirement("ask:rest-answer")
async def test_only_a_person_who_was_asked_answers(house: Askers) -> None:
    asked = (await house.post("/v1/asks", {**SHIP, "question": "Only Anna?", "to": "anna"})).body["ask_id"]
    mine = (await house.post("/v1/asks", {**SHIP, "question": "Anna asks", "to": ["ben", "anna"]}, ANNA)).body["ask_id"]

    for who in (HEALTH, GENERAL, PROGRAM, CHATGPT, USER):
        assert (await house.answer(asked, {"value": "yes"}, who)).status == 403, who
    assert (await house.answer(asked, {"value": "yes"}, BEN)).status == 404
    assert (await house.answer(mine, {"value": "yes"}, ANNA)).status == 403  # whoever asks does not answer
    assert (await house.answer(asked, {"value": "yes"}, ANNA)).status == 200
    assert (await house.answer(mine, {"value": "no"}, BEN)).status == 200


async def test_an_answer_under_a_key_is_given_once(house: Askers) -> None:
    asked = (await house.post("/v1/asks", {**SHIP, "question": "Keyed answer?"})).body["ask_id"]
    path = f"/v1/asks/{asked}/answer"

    first = await house.post(path, {"value": "yes"}, OPERATOR, Idempotency_Key="a-1")
    again = await house.post(path, {"value": "yes"}, OPERATOR, Idempotency_Key="a-1")

    assert (first.status, again) == (200, first)


@pytest.mark.requirement("ask:who-asks")
async def test_askers_see_their_own_people_what_asks_them_and_the_owner_all(house: Askers) -> None:
    of_health = (await house.post("/v1/asks", {**SHIP, "question": "For Anna", "to": "anna"})).body["ask_id"]
    of_anna = (await house.post("/v1/asks", {**SHIP, "question": "From Anna", "to": "ben"}, ANNA)).body["ask_id"]

    async def seen(who: Principal, more: str = "") -> set[str]:
        page = (await house.get(f"/v1/asks?limit=200{more}", who)).body["asks"]
        return {one["ask_id"] for one in page} & {of_health, of_anna}

    assert await seen(HEALTH) == {of_health}
    assert await seen(ANNA) == {of_health, of_anna}
    assert await seen(ANNA, "&mine=true") == {of_health}
    assert await seen(BEN) == {of_anna}
    assert await seen(OPERATOR) == await seen(OLGA) == {of_health, of_anna}
    for who in (GENERAL, PROGRAM, CHATGPT, USER):
        assert await seen(who) == set()
        for ask_id in (of_health, of_anna):
            assert (await house.get(f"/v1/asks/{ask_id}", who)).status == 404
            for act, body in (("cancel", {}), ("revise", {"question": "Hm?"})):
                assert (await house.post(f"/v1/asks/{ask_id}/{act}", body, who)).status == 404
    for act, body in (("cancel", {}), ("revise", {"question": "Hm?"})):  # being asked is no right to change it
        assert (await house.post(f"/v1/asks/{of_health}/{act}", body, ANNA)).status == 404
    assert (await house.post(f"/v1/asks/{of_health}/cancel", {}, OLGA)).body["status"] == "cancelled"


@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=[f"{one[0]} {one[1]}" for one in ROUTES])
@pytest.mark.requirement("ask:who-asks")
async def test_no_route_opens_without_a_token_of_the_household(
    house: Askers, method: str, path: str, body: Any
) -> None:
    tokens = [None, "pr_wrong", house.session_token("health")]
    for token in tokens:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        found = await house.line.call(method, "api", path.replace("{id}", "x"), body, None, headers)
        assert found.status == 401, token


@pytest.mark.requirement("ask:client-gone")
async def test_a_caller_that_goes_away_ends_its_wait_and_not_the_question(house: Askers) -> None:
    asked = (await house.post("/v1/asks", {**SHIP, "question": "Gone?"})).body["ask_id"]
    headers = {"Authorization": f"Bearer {house.token(HEALTH)}"}
    async with aiohttp.ClientSession() as caller:
        url = f"{house.line.url('api')}/v1/asks/{asked}?wait_seconds=60"
        call = asyncio.create_task(caller.get(url, headers=headers))
        await house.until_waiting(asked)
        call.cancel()
    await house.until_left(asked)

    assert (await house.get(f"/v1/asks/{asked}")).body["status"] == "open"


# ---- the stream ----


Told = tuple[str, int, dict[str, Any]]


class Reader:
    def __init__(self, content: Any) -> None:
        self._content = content

    async def next(self) -> Told:
        event: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in self._content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                elif "data" in event:
                    return event["event"], int(event["id"]), json.loads(event["data"])
        raise AssertionError("the stream ended")


@asynccontextmanager
async def reading(house: Askers, who: Principal, last: int | None = None) -> AsyncIterator[Reader]:
    headers = {"Authorization": f"Bearer {house.token(who)}"} | ({"Last-Event-ID": str(last)} if last else {})
    async with house.line.session.get(house.line.url("api") + "/v1/asks/stream", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Reader(response.content)


@pytest.mark.requirement("ask:stream")
async def test_events_arrive_in_order_and_a_later_stream_goes_on_where_one_stopped(house: Askers) -> None:
    async with reading(house, HEALTH) as reader:
        asked = (await house.post("/v1/asks", {**SHIP, "question": "Streamed?"})).body["ask_id"]
        opened = await reader.next()
        await house.post(f"/v1/asks/{asked}/revise", {"question": "Streamed again?"})
        revised = await reader.next()
    await house.answer(asked, {"value": "yes"})
    async with reading(house, HEALTH, last=revised[1]) as reader:
        answered = await reader.next()
    async with reading(house, HEALTH, last=opened[1]) as reader:
        again = [await reader.next(), await reader.next()]

    assert [one[0] for one in (opened, revised, answered)] == ["ask.opened", "ask.revised", "ask.answered"]
    assert opened[2]["asked"]["question"] == "Streamed?" and answered[2]["answer"]["value"] == "yes"
    assert [one[:2] for one in again] == [revised[:2], answered[:2]]


@pytest.mark.requirement("ask:stream")
async def test_declined_and_cancelled_are_told_and_others_questions_are_not(house: Askers) -> None:
    async with reading(house, ANNA) as anna, reading(house, GENERAL) as general, reading(house, OPERATOR) as owner:
        not_hers = (await house.post("/v1/asks", {**SHIP, "question": "For Ben", "to": "ben"})).body["ask_id"]
        hers = (await house.post("/v1/asks", {**SHIP, "question": "For Anna", "to": "anna"}, GENERAL)).body["ask_id"]
        await house.answer(not_hers, {"declined": True}, BEN)
        await house.post(f"/v1/asks/{hers}/cancel", {}, GENERAL)
        seen = {name: [await one.next() for _ in range(2)] for name, one in (("anna", anna), ("general", general))}
        all_of_them = [(await owner.next())[0] for _ in range(4)]

    for told in seen.values():
        assert [(name, body["ask_id"]) for name, _, body in told] == [("ask.opened", hers), ("ask.cancelled", hers)]
    assert all_of_them == ["ask.opened", "ask.opened", "ask.declined", "ask.cancelled"]
