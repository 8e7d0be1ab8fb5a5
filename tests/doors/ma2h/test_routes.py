"""MA2H in a running household: what an agent of any author and the people it asks see of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.doors.asks.askers import ANNA, GENERAL, HEALTH, OLGA, PROGRAM, Askers
from tests.doors.ma2h.envelopes import ask, envelope, soon, task
from tests.patience import PATIENCE_SECONDS
from tests.telephone import Answer

from postroom.domain.principal import OPERATOR, Principal

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCHEMES = ["bearer", "apikey"]


async def submitted(house: Askers, body: dict[str, Any], who: Principal = HEALTH) -> dict[str, Any]:
    made = await house.post("/v1/messages", body, who)
    assert made.status == 202, made.body
    found: dict[str, Any] = made.body
    return found


async def polled(house: Askers, made: dict[str, Any], query: str = "", who: Principal = HEALTH) -> Answer:
    return await house.get(f"/v1/messages/{made['id']}{query}", who)


async def resolved(house: Askers, made: dict[str, Any], who: Principal | None = OLGA, **body: Any) -> Answer:
    return await house.post(f"/v1/messages/{made['id']}/resolve", body, who)


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["error"]["code"]


@pytest.mark.requirement("connect:ma2h-discovery")
async def test_discovery_needs_no_token_and_offers_only_what_there_is(house: Askers) -> None:
    told = await house.get("/.well-known/ma2h", None)

    assert (told.status, told.body["ma2h_version"], told.body["auth_schemes"]) == (200, "0.5", SCHEMES)
    assert told.body["callback_auth_schemes"] == told.body["signature_algs"] == []
    absent = ("inbound", "ack", "presence", "sessions", "inter_agent")
    assert [told.body[name]["enabled"] for name in absent] == [False] * 5


@pytest.mark.requirement("connect:ma2h-ask")
async def test_an_ask_is_answered_by_a_person_and_polled_by_its_agent(house: Askers) -> None:
    sent = ask(state={"sealed": "v1"}, body="**Green**.", priority="high", client_ref="mine", tags=["release"])
    made = await submitted(house, sent)
    waiting = asyncio.create_task(polled(house, made, "?wait=30"))
    await house.until_waiting(made["id"].removeprefix("msg_"))
    opened = await polled(house, made)
    done = await resolved(house, made, resolution="answered", value="hold", comment="Not on a Friday.")
    told = (await waiting).body

    assert made["status"] == "open" and made["poll_url"].endswith(f"/v1/messages/{made['id']}")
    assert made["review_url"].endswith(f"/console/questions/{made['id'].removeprefix('msg_')}")
    assert (opened.status, opened.body["status"], "response" in opened.body) == (200, "open", False)
    assert (done.status, done.body["status"]) == (200, "answered")
    assert sent.items() <= told.items() and told["status"] == "answered"
    response = told["response"]
    assert response["in_reply_to"] == made["id"] and response["agent"] == {"id": "health", "run_id": "run-1"}
    assert response["resolution_id"] == done.body["resolution_id"] and response["resolution_id"].startswith("res_")
    assert (response["resolution"], response["defaulted"], response["state"]) == ("answered", False, {"sealed": "v1"})
    detail = response["response"]
    assert (detail["value"], detail["actor"], detail["comment"]) == ("hold", "human:owner", "Not on a Friday.")
    assert (await polled(house, made)).body == told


@pytest.mark.requirement("connect:ma2h-ask")
async def test_the_card_on_the_phone_shows_the_words_and_its_press_is_the_answer(house: Askers) -> None:
    made = await submitted(house, ask(title="Ship *2.4*?", request={"permissions": {"allow_ignore": False}}))
    card = await _on_the_phone(house, "Ship *2.4*?")
    labels = [one["text"] for row in card["reply_markup"]["inline_keyboard"] for one in row]
    declined = await resolved(house, made, resolution="declined")
    press = {"message_id": card["message_id"], "button": "Ship now"}
    await house.line.call("POST", "sandbox", "/sandbox/telegram/press", press, None)
    told = await polled(house, made, "?wait=30")

    assert labels == ["Ship now", "Hold"]  # no "Rather not": the agent did not allow it
    assert code(declined) == (422, "invalid_field")
    assert told.body["response"]["response"]["value"] == "ship"


@pytest.mark.requirement("connect:ma2h-ask")
async def test_confirm_and_input_have_their_own_values(house: Askers) -> None:
    confirm, form = await submitted(house, ask("confirm")), await submitted(house, ask("input"))
    wrong = await resolved(house, form, resolution="answered", value={"tell": True})
    text = await resolved(house, form, resolution="answered", value="words")
    await resolved(house, confirm, resolution="answered", value="approve")
    await resolved(house, form, resolution="answered", value={"note": "n", "tell": True}, comment="so")

    assert code(wrong) == code(text) == (422, "invalid_field")
    assert (await polled(house, confirm)).body["response"]["response"]["value"] == "approve"
    answer = (await polled(house, form)).body["response"]["response"]
    assert (answer["value"], answer["comment"]) == ({"note": "n", "tell": True}, "so")


@pytest.mark.requirement("connect:ma2h-ask")
async def test_a_refusal_to_answer_is_kept_with_its_comment(house: Askers) -> None:
    made = await submitted(house, ask())
    await resolved(house, made, resolution="declined", comment="Ask Ben.")
    response = (await polled(house, made)).body["response"]

    assert (response["resolution"], response["response"]["comment"]) == ("declined", "Ask Ben.")
    assert "value" not in response["response"]


@pytest.mark.requirement("connect:ma2h-task")
async def test_a_task_is_completed_with_its_checklist_or_dismissed(house: Askers) -> None:
    done, not_done = await submitted(house, task()), await submitted(house, task(title="Other"))
    card = await _on_the_phone(house, "Rotate the *key*.")  # before its end is written over it
    wrong = await resolved(house, done, resolution="answered", value="completed")
    items = [{"text": "Make one", "done": True}, {"text": "Store it", "done": False}]
    ended = await resolved(house, done, resolution="completed", checklist=items, comment="Mostly.")
    await resolved(house, not_done, resolution="dismissed")
    cancelled = await house.post(f"/v1/messages/{done['id']}/cancel", None)

    assert code(wrong) == (422, "invalid_field") and ended.body["status"] == "completed"
    response = (await polled(house, done)).body["response"]
    assert (response["response"]["checklist"], response["response"]["comment"]) == (items, "Mostly.")
    assert "value" not in response["response"]
    assert (await polled(house, not_done)).body["status"] == "dismissed"
    assert code(cancelled) == (400, "validation_error")
    assert "- [ ] Make one" in card["text"] and "A call works." in card["text"]


@pytest.mark.requirement("connect:ma2h-notify")
async def test_a_notify_is_delivered_once_and_can_be_looked_at(house: Askers) -> None:
    sent = envelope("notify", title="Backup done", body="All **well**.", idempotency_key="n-1")
    made = await submitted(house, sent)
    again = await submitted(house, sent)
    other = await house.post("/v1/messages", {**sent, "body": "Not well."})
    card = await _on_the_phone(house, "Backup done")
    told = await polled(house, made)

    assert made == again and (made["status"], "review_url" in made) == ("delivered", False)
    assert code(other) == (409, "idempotency_conflict")
    assert card["text"] == "Backup done\n\nAll well." and await _count(house, "Backup done") == 1
    assert (told.status, told.body) == (200, {**sent, "id": made["id"], "status": "delivered"})
    assert (await polled(house, made, "?since=2026-01-01T00:00:00Z")).status == 304
    assert code(await polled(house, made, who=GENERAL)) == (404, "not_found")
    assert (await house.post(f"/v1/messages/{made['id']}/cancel", None)).status == 400


@pytest.mark.requirement("connect:ma2h-once")
async def test_the_same_key_is_the_same_message_whatever_the_run(house: Askers) -> None:
    sent = ask()
    made = await submitted(house, sent)
    later = {**sent, "created_at": "2026-02-02T00:00:00Z", "agent": {**sent["agent"], "run_id": "run-2"}}
    again = await submitted(house, later)
    other_words = await house.post("/v1/messages", {**sent, "title": "Ship that?"})
    other_tags = await house.post("/v1/messages", {**sent, "tags": ["new"]})
    other_agent = await submitted(house, {**sent, "agent": {**sent["agent"], "id": "health/night"}})
    await resolved(house, made, resolution="answered", value="ship")

    assert again == made and other_agent["id"] != made["id"]
    assert code(other_words) == code(other_tags) == (409, "idempotency_conflict")
    assert (await submitted(house, later))["status"] == "answered"
    assert (await polled(house, made)).body["agent"]["run_id"] == "run-1"


@pytest.mark.requirement("connect:ma2h-once")
async def test_the_header_is_the_key_or_must_agree_with_it(house: Askers) -> None:
    sent = ask()
    key = sent.pop("idempotency_key")
    missing = await house.post("/v1/messages", sent)
    first = await house.post("/v1/messages", sent, Idempotency_Key=key)
    again = await house.post("/v1/messages", {**sent, "idempotency_key": key})
    mixed = await house.post("/v1/messages", {**sent, "idempotency_key": "x"}, Idempotency_Key=key)

    assert code(missing) == code(mixed) == (400, "validation_error")
    assert (first.status, again.body["id"]) == (202, first.body["id"])


@pytest.mark.requirement("connect:ma2h-ends")
async def test_a_cancelled_ask_says_so_and_a_late_cancel_learns_the_real_outcome(house: Askers) -> None:
    open_one, answered = await submitted(house, ask()), await submitted(house, ask())
    await resolved(house, answered, resolution="answered", value="ship")
    first = await house.post(f"/v1/messages/{open_one['id']}/cancel", None)
    again = await house.post(f"/v1/messages/{open_one['id']}/cancel", None)
    late = await house.post(f"/v1/messages/{answered['id']}/cancel", None)
    after = await resolved(house, open_one, resolution="answered", value="hold")
    second = await resolved(house, answered, who=OPERATOR, resolution="answered", value="hold")

    assert (
        (first.status, first.body) == (again.status, again.body) == (200, {"id": open_one["id"], "status": "cancelled"})
    )
    assert code(late) == (409, "already_terminal")
    assert (late.body["id"], late.body["status"], late.body["resolution"]) == (answered["id"], "answered", "answered")
    assert code(after) == code(second) == (409, "already_terminal")
    assert (after.body["status"], second.body["resolution"]) == ("cancelled", "answered")
    response = (await polled(house, open_one)).body["response"]
    assert (response["resolution"], response["response"]["actor"]) == ("cancelled", "agent:health")


@pytest.mark.requirement("connect:ma2h-ends")
async def test_silence_ends_with_the_default_and_says_that_no_person_acted(house: Askers) -> None:
    until = soon(0.8)
    made = await submitted(house, ask(request={"default_on_expire": "hold"}, expires_at=until))
    plain = await submitted(house, ask(expires_at=until))
    told = await _until_over(house, made)
    late = await resolved(house, made, resolution="answered", value="ship")
    cancelled = await house.post(f"/v1/messages/{made['id']}/cancel", None)
    response, without = told["response"], (await _until_over(house, plain))["response"]

    assert (told["status"], told["expires_at"]) == ("expired", until)
    assert (response["defaulted"], response["response"]["value"]) == (True, "hold")
    assert response["response"]["actor"] == without["response"]["actor"] == "system:default_on_expire"
    assert (without["resolution"], without["defaulted"], "value" in without["response"]) == ("expired", False, False)
    assert code(late) == code(cancelled) == (409, "already_terminal") and cancelled.body["status"] == "expired"


@pytest.mark.requirement("connect:ma2h-who")
async def test_messages_of_others_do_not_exist_and_only_asked_people_resolve(house: Askers) -> None:
    made = await submitted(house, ask(request={"allowed_resolvers": ["human:anna"]}))
    foreign = [
        await polled(house, made, who=GENERAL),
        await polled(house, made, who=OPERATOR),
        await house.post(f"/v1/messages/{made['id']}/cancel", None, GENERAL),
        await resolved(house, made, who=Principal(ANNA.role, "ben"), resolution="declined"),
        await house.get("/v1/messages/msg_unknown"),
        await house.get("/v1/messages/unknown"),
    ]
    agents = [await resolved(house, made, who=one, resolution="answered", value="ship") for one in (HEALTH, PROGRAM)]
    forged = await resolved(house, made, who=ANNA, resolution="answered", value="ship", actor="human:owner")

    assert {code(one) for one in foreign} == {(404, "not_found")}
    assert {code(one) for one in agents} == {(403, "not_authorized")}
    assert forged.status == 200
    assert (await polled(house, made)).body["response"]["response"]["actor"] == "human:anna"


@pytest.mark.requirement("connect:ma2h-who")
async def test_a_token_speaks_for_its_own_agent_and_no_token_for_none(house: Askers) -> None:
    sent = ask(agent={"id": "other", "run_id": "r", "runtime": "cli"})
    own = [await house.post("/v1/messages", sent, who) for who in (HEALTH, PROGRAM)]
    below = ask(agent={"id": "backup/nightly", "run_id": "r", "runtime": "cli"})
    nobody = [
        await house.post("/v1/messages", sent, None),
        await house.get("/v1/messages/msg_x", None),
        await house.post("/v1/messages/msg_x/resolve", {"resolution": "declined"}, None),
    ]

    assert {code(one) for one in own} == {(403, "agent_id_mismatch")}
    assert (await house.post("/v1/messages", below, PROGRAM)).status == 202
    assert (await house.post("/v1/messages", sent, OPERATOR)).status == 202
    assert {code(one) for one in nobody} == {(401, "unauthenticated")}
    refused = await house.post("/v1/messages", envelope("notify", agent={**sent["agent"], "id": "anna"}), ANNA)
    assert code(refused) == (403, "not_authorized")


async def test_a_question_that_came_another_way_is_no_message(house: Askers) -> None:
    asked = await house.post("/v1/asks", {"question": "Other?", "state": {"ma2h": {"type": "ask"}}})

    assert code(await house.get(f"/v1/messages/msg_{asked.body['ask_id']}")) == (404, "not_found")


async def test_since_answers_304_while_nothing_has_changed(house: Askers) -> None:
    made = await submitted(house, ask())
    now = soon(0)
    unchanged, wrong = await polled(house, made, f"?since={now}"), await polled(house, made, "?since=yesterday")
    await resolved(house, made, resolution="answered", value="ship")

    assert unchanged.status == 304 and code(wrong) == (400, "validation_error")
    assert (await polled(house, made, f"?since={now}&wait=100")).body["status"] == "answered"


async def _until_over(house: Askers, made: dict[str, Any]) -> dict[str, Any]:
    """Nothing ends before what was sent in time has been read, which takes the channels a while: here they have."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (told := (await polled(house, made, "?wait=0.3")).body)["status"] == "open":
            for channel in ("telegram", "email", "slack", "discord", "ntfy"):
                await house.parts.listening.looked(channel, house.parts.clock.now_us(), everything=True)
    found: dict[str, Any] = told
    return found


async def _messages(house: Askers) -> list[dict[str, Any]]:
    told = await house.line.call("GET", "sandbox", "/sandbox/telegram/messages?limit=500", caller=None)
    return list(told.body["messages"])


async def _count(house: Askers, words: str) -> int:
    return sum(words in one["text"] for one in await _messages(house))


async def _on_the_phone(house: Askers, words: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            for message in await _messages(house):
                if words in message["text"]:
                    return message
            await asyncio.sleep(0.05)
