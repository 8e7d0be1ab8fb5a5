"""`Idempotency-Key` in a running household: the same call again is answered again and does nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from sqlalchemy import update
from tests.telephone import CHATGPT, GEMINI, OWNER, Answer, Telephone, settings_for, telephone

from postroom.household.ports import answered_by_key
from postroom.household.store import open_store
from postroom.kernel.guard.answered_once import idempotency_keys
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN = Principal(Role.USER, "ann")

KEPT: Final = "the answer is kept under the caller's key"
OWN_KEY: Final = "the key becomes the key of the thing itself"
NOTHING: Final = "creates nothing, so a key has nothing to guard"

# Every POST of the API and of the adapters stands here: a new one fails the test below until somebody has decided.
ROUTES: Final = {
    "api /contacts": KEPT,
    "api /contacts/confirm": KEPT,
    "api /contacts/import": KEPT,
    "api /contacts/resolve": NOTHING,
    "api /contacts/{contact_id}/aliases": KEPT,
    "api /confirm/{secret}": NOTHING,
    "api /a/{token}": NOTHING,
    "api /v1/asks": OWN_KEY,
    "api /v1/asks/{ask_id}/answer": KEPT,
    "api /channels/{account}/press": NOTHING,
    "api /v1/asks/{ask_id}/cancel": KEPT,
    "api /v1/asks/{ask_id}/revise": KEPT,
    "api /v1/deliveries/{delivery_id}/recall": OWN_KEY,
    "api /v1/deliveries/{delivery_id}/revise": OWN_KEY,
    "api /v1/notify": OWN_KEY,
    "api /v1/uploads": OWN_KEY,
    "api /v1/people": KEPT,
    "api /v1/people/{person}/pair": OWN_KEY,
    "api /v1/people/{person}/mute": KEPT,
    "api /v1/people/{person}/unmute": KEPT,
    "api /v1/people/{person}/away": KEPT,
    "api /v1/people/{person}/attention/preview": NOTHING,
    "api /v1/notices/{notice_id}/ack": KEPT,
    "api /v1/notices/{notice_id}/snooze": KEPT,
    "api /v1/notices/{notice_id}/withdraw": KEPT,
    "api /v1/notices/withdraw": KEPT,
    "api /v1/approvals/{action_id}/approve": KEPT,
    "api /v1/approvals/{action_id}/reject": KEPT,
    "api /v1/intents": OWN_KEY,
    "api /v1/intents/{intent_id}/resolve": KEPT,
    "api /v1/intents/{intent_id}/resume": KEPT,
    "api /v1/inbox/{thread_id}/reply": KEPT,
    "api /v1/inbox/{thread_id}/approve": KEPT,
    "api /v1/inbox/{thread_id}/reject": KEPT,
    "api /v1/inbox/{thread_id}/delegate": KEPT,
    "api /v1/webhooks/subscriptions": KEPT,
    "chatgpt /v1/adapt": OWN_KEY,
    "chatgpt /v1/resolve": NOTHING,
    "gemini /v1/adapt": OWN_KEY,
    "gemini /v1/resolve": NOTHING,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    TokenFile(settings.tokens_file).create(ANN)
    async with telephone(settings) as opened:
        yield opened


async def keyed(
    line: Telephone, path: str, body: Any, key: str, caller: Principal = OPERATOR, part: str = "api"
) -> Answer:
    return await line.call("POST", part, path, body, caller, {"Idempotency-Key": key})


def ask(question: str, **more: Any) -> dict[str, Any]:
    payload = {"question": question, "requested_by": OWNER, "requested_at": "2026-01-01T00:00:00Z"}
    return {"intent_type": "intent.ask.v1", "to_agent": "agent://contact/x", "payload": payload, **more}


async def bob(line: Telephone) -> str:
    found = await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Bob"})
    return str(found.body["agent_address"])


async def named(line: Telephone, name: str) -> int:
    page = await line.get("/contacts?limit=200")
    return sum(one["name"] == name for one in page.body["contacts"])


@pytest.mark.requirement("house:idempotency-everywhere")
async def test_every_post_route_is_decided_upon_and_says_so_in_its_document(line: Telephone) -> None:
    found: dict[str, bool] = {}
    for part in ("api", "chatgpt", "gemini"):
        for path, methods in (await line.get("/openapi.json", part=part)).body["paths"].items():
            if operation := methods.get("post"):
                found[f"{part} {path}"] = "Idempotency-Key" in {one["name"] for one in operation.get("parameters", [])}

    assert found == {route: decided is not NOTHING for route, decided in ROUTES.items()}
    paths = {route.removeprefix("api "): decided for route, decided in ROUTES.items() if route.startswith("api ")}
    assert {path: answered_by_key(path) for path in paths} == {path: paths[path] is KEPT for path in paths}


@pytest.mark.requirement("drivers:header-not-ignored")
@pytest.mark.parametrize(
    ("method", "part", "path"),
    [
        ("POST", "api", "/contacts/resolve"),
        ("POST", "chatgpt", "/v1/resolve"),
        ("POST", "gemini", "/v1/resolve"),
        ("PATCH", "api", "/v1/people/owner"),
        ("DELETE", "api", "/v1/webhooks/subscriptions/x"),
    ],
)
async def test_a_key_that_would_not_be_honoured_is_refused(line: Telephone, method: str, part: str, path: str) -> None:
    caller = {"chatgpt": CHATGPT, "gemini": GEMINI}.get(part, OPERATOR)

    refused = await line.call(method, part, path, {}, caller, {"Idempotency-Key": "k-unused"})

    assert (refused.status, refused.body["error"]["code"]) == (400, "idempotency_key_invalid")
    assert refused.body["error"]["fields"][0]["field"] == "Idempotency-Key"


async def test_a_contact_is_made_once_and_the_first_answer_is_given_again(line: Telephone) -> None:
    first = await keyed(line, "/contacts", {"name": "Once Only", "aliases": ["O"]}, "k-contact")
    again = await keyed(line, "/contacts", {"aliases": ["O"], "name": "Once Only"}, "k-contact")

    assert (first.status, again) == (201, first)
    assert await named(line, "Once Only") == 1


async def test_without_a_key_two_calls_make_two_things(line: Telephone) -> None:
    for _ in range(2):
        assert (await line.post("/contacts", {"name": "Twice"})).status == 201

    assert await named(line, "Twice") == 2


async def test_other_content_or_another_route_under_the_same_key_is_refused(line: Telephone) -> None:
    made = await keyed(line, "/contacts", {"name": "Mallory"}, "k-other")
    path = f"/contacts/{made.body['contact']['contact_id']}/aliases"

    for place, body in (("/contacts", {"name": "Malory"}), (path, {"alias": "M"})):
        refused = await keyed(line, place, body, "k-other")
        assert (refused.status, refused.body["error"]["code"]) == (409, "idempotency_key_reused")


async def test_another_callers_key_is_another_key(line: Telephone) -> None:
    mine = await keyed(line, "/contacts", {"name": "Shared"}, "k-shared")
    hers = await keyed(line, "/contacts", {"name": "Not shared"}, "k-shared", ANN)

    assert (mine.status, hers.status) == (201, 201)


async def test_calls_at_the_same_moment_make_one_thing(line: Telephone) -> None:
    calls = [keyed(line, "/contacts", {"name": "Crowd"}, "k-crowd") for _ in range(8)]

    answers = await asyncio.gather(*calls)

    assert len({str(one) for one in answers}) == 1 and answers[0].status == 201
    assert await named(line, "Crowd") == 1


async def test_a_refusal_uses_no_key_up(line: Telephone) -> None:
    wrong = await keyed(line, "/contacts", {"name": "   "}, "k-mended")
    right = await keyed(line, "/contacts", {"name": "Mended"}, "k-mended")

    assert (wrong.status, right.status) == (422, 201)


@pytest.mark.parametrize("key", ["   ", "x" * 256, "schlüssel"], ids=["blank", "too long", "not ASCII"])
@pytest.mark.parametrize("path", ["/contacts", "/v1/intents"])
async def test_a_key_that_is_none_is_refused(line: Telephone, path: str, key: str) -> None:
    body = {"name": "Nobody"} if path == "/contacts" else ask("Anybody?", to_agent=await bob(line))

    refused = await keyed(line, path, body, key)

    assert (refused.status, refused.body["error"]["code"]) == (400, "idempotency_key_invalid")
    assert refused.body["error"]["fields"][0]["field"] == "Idempotency-Key"


async def test_an_intent_is_sent_once_and_its_first_receipt_given_again(line: Telephone) -> None:
    body = ask("Three copies?", to_agent=await bob(line))
    first = await keyed(line, "/v1/intents", body, "axme-1", CHATGPT)
    await line.until(first.body["intent_id"], "DELIVERED")

    again = await keyed(line, "/v1/intents", body, "axme-1", CHATGPT)
    other = await keyed(line, "/v1/intents", ask("Another?", to_agent=await bob(line)), "axme-1", CHATGPT)

    assert (again, first.status) == (first, 200)
    assert (other.status, other.body["error"]["code"]) == (409, "idempotency_key_reused")
    assert sum("Three copies?" in one["text"] for one in await line.phone("2001")) == 1


@pytest.mark.parametrize("key", ["k", "l" * 255, "intents-key-of-usual-length"])
async def test_an_intents_key_may_be_shorter_or_longer_than_its_field(line: Telephone, key: str) -> None:
    body = ask(f"Length {len(key)}?", to_agent=await bob(line))

    calls = [await keyed(line, "/v1/intents", body, key, CHATGPT) for _ in range(2)]

    assert calls[0].status == 200 and calls[0] == calls[1]


async def test_header_and_field_must_agree(line: Telephone) -> None:
    body = ask("Agreed?", to_agent=await bob(line), idempotency_key="field-key-1")
    by_field = await line.post("/v1/intents", body, CHATGPT)

    both = await keyed(line, "/v1/intents", body, "field-key-1", CHATGPT)
    apart = await keyed(line, "/v1/intents", body, "another-key", CHATGPT)

    assert both.body["intent_id"] == by_field.body["intent_id"]
    assert (apart.status, apart.body["error"]["fields"][0]["field"]) == (400, "idempotency_key")


async def test_copies_of_an_intent_at_the_same_moment_become_one(line: Telephone) -> None:
    body = ask("At once?", to_agent=await bob(line))

    answers = await asyncio.gather(*(keyed(line, "/v1/intents", body, "burst-1", CHATGPT) for _ in range(6)))

    assert len({str(one) for one in answers}) == 1 and answers[0].status == 200


@pytest.mark.parametrize("caller", [CHATGPT, GEMINI], ids=str)
async def test_an_assistants_call_is_sent_once(line: Telephone, caller: Principal) -> None:
    key = f"k-adapt-{caller.name}"  # a key belongs to whom one speaks for, as the field always did
    sender = {"chatgpt": "requester_agent", "gemini": "sender_agent"}[caller.name]
    body = {sender: OWNER, "recipient_name": "Bob", "message": f"Once from {caller.name}"}
    first = await keyed(line, "/v1/adapt", body, key, caller, caller.name)
    await line.until(first.body["delivery"]["intent_id"], "DELIVERED")

    again = await keyed(line, "/v1/adapt", body, key, caller, caller.name)
    other = await keyed(line, "/v1/adapt", {**body, "message": "Other"}, key, caller, caller.name)
    apart = await keyed(line, "/v1/adapt", {**body, "idempotency_key": "of-the-field"}, key, caller, caller.name)

    assert (again, first.body["decision_mode"]) == (first, "sent")
    assert (other.status, apart.status) == (409, 400)
    assert sum(f"Once from {caller.name}" in one["text"] for one in await line.phone("2001")) == 1


async def test_what_asked_for_a_choice_sent_nothing_so_the_choice_may_bear_the_same_key(line: Telephone) -> None:
    body = {"requester_agent": OWNER, "recipient_name": "Anna", "message": "Which one?"}
    asked = await keyed(line, "/v1/adapt", body, "k-choice", CHATGPT, "chatgpt")
    chosen = asked.body["resolution"]["candidates"][0]
    confirmed = {**body, "confirm_send": True, "resolution_token": chosen["resolution_token"]}

    sent = await keyed(line, "/v1/adapt", confirmed, "k-choice", CHATGPT, "chatgpt")

    assert (asked.body["decision_mode"], sent.body["decision_mode"]) == ("needs_disambiguation", "sent")


async def test_an_act_is_done_once_and_answered_as_at_first(line: Telephone) -> None:
    sent = await line.post("/v1/intents", ask("Cancel once?", to_agent=OWNER), OPERATOR)
    path = f"/v1/intents/{sent.body['intent_id']}/resolve"

    first = await keyed(line, path, {"status": "CANCELED"}, "k-cancel")
    again = await keyed(line, path, {"status": "CANCELED"}, "k-cancel")
    bare = await line.post(path, {"status": "CANCELED"})

    assert (first.status, again, bare.status) == (200, first, 409)


async def test_after_a_restart_the_key_still_holds(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with telephone(settings, "api") as line:
        first = await keyed(line, "/contacts", {"name": "Restarted"}, "k-restart")
    async with telephone(settings, "api") as line:
        again = await keyed(line, "/contacts", {"name": "Restarted"}, "k-restart")

        assert again == first and await named(line, "Restarted") == 1


async def test_a_crash_between_making_and_keeping_the_answer_makes_no_second_thing(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with telephone(settings, "api") as line:
        first = await keyed(line, "/contacts", {"name": "Crashed"}, "k-crash")
    async with open_store(settings) as store:  # as if we had died before the answer was written down
        await store.database.write(lambda c: c.execute(update(idempotency_keys).values(status=None, body=None)))
    async with telephone(settings, "api") as line:
        again = await keyed(line, "/contacts", {"name": "Crashed"}, "k-crash")

        assert again == first and await named(line, "Crashed") == 1
