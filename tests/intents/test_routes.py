"""The gateway in a running household, with phones at the other end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.telephone import CHATGPT, GEMINI, OWNER, Telephone, settings_for, telephone

from postroom.intents.gateway import stream
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import StreamEvent
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings.peer import HttpPeer

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN = Principal(Role.USER, "ann")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    TokenFile(settings.tokens_file).create(ANN)
    async with telephone(settings) as opened:
        yield opened


def ask(to_agent: str, question: str = "Late?", **more: Any) -> dict[str, Any]:
    payload = {"question": question, "requested_by": OWNER, "requested_at": "2026-01-01T00:00:00Z"}
    return {
        "intent_type": "intent.ask.v1",
        "to_agent": to_agent,
        "payload": {**payload, **more.pop("payload", {})},
        **more,
    }


def nested(depth: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(depth):
        document = {"in": [document]}
    return document


async def submitted(line: Telephone, body: dict[str, Any], caller: Principal = CHATGPT) -> str:
    answer = await line.post("/v1/intents", body, caller)
    assert answer.status == 200, answer.body
    return str(answer.body["intent_id"])


async def address(line: Telephone, name: str) -> str:
    found = await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": name})
    return str(found.body["agent_address"])


async def asked(line: Telephone, name: str, question: str, **more: Any) -> tuple[str, int]:
    """The intent, and the number of the message on the phone."""
    intent_id = await submitted(line, ask(await address(line, name), question, **more))
    await line.until(intent_id, "DELIVERED")
    chat = {"Bob": "2001", "Maria Rossi": "2002"}[name]
    message = next(one for one in reversed(await line.phone(chat)) if question in one["text"])
    return intent_id, int(message["message_id"])


async def test_a_persons_reply_completes_the_ask(line: Telephone) -> None:
    intent_id, message_id = await asked(line, "Bob", "Will you wait for me?")

    await line.type("2001", "Yes, gladly", message_id)

    done = await line.until(intent_id, "COMPLETED")
    assert (done["status"], done["result"]["answer"], done["result"]["responded_by"]) == (
        "COMPLETED",
        "Yes, gladly",
        await address(line, "Bob"),
    )
    thread = (await line.get(f"/v1/inbox/{intent_id}", CHATGPT)).body["thread"]
    assert [one["message"] for one in thread["messages"]] == ["Yes, gladly"]


async def test_strangers_and_loose_remarks_complete_nothing(line: Telephone) -> None:
    intent_id, message_id = await asked(line, "Bob", "Shall I tell nobody?")
    other_id, other_message = await asked(line, "Maria Rossi", "Are you there?")

    await line.type("2001", "a remark that answers nothing")
    await line.type("9999", "from a stranger")
    await line.type("2002", "Here I am", other_message)  # the same loop has seen the two before when this one counts
    await line.until(other_id, "COMPLETED")

    assert (await line.intent(intent_id))["lifecycle_status"] == "DELIVERED"
    await line.type("2001", "Tell them", message_id)
    await line.until(intent_id, "COMPLETED")


async def test_a_second_answer_changes_nothing(line: Telephone) -> None:
    intent_id, message_id = await asked(line, "Bob", "Once only?")
    other_id, other_message = await asked(line, "Maria Rossi", "Still there?")
    await line.type("2001", "First", message_id)
    await line.until(intent_id, "COMPLETED")

    await line.type("2001", "Second", message_id)
    await line.type("2002", "Yes", other_message)
    await line.until(other_id, "COMPLETED")

    assert (await line.intent(intent_id))["result"]["answer"] == "First"


@pytest.mark.requirement("ask:intent-deciders")
async def test_neither_chatter_nor_the_word_approves_before_the_address_is_proved(line: Telephone) -> None:
    """Until now the word of an unverified contact approved; only a verified address may decide anything."""
    workflow = {"workflow": {"macro_id": "macro.approval.v1"}}
    intent_id, message_id = await asked(line, "Bob", "May I spend 5?", payload=workflow)
    other_id, other_message = await asked(line, "Maria Rossi", "And after that?")

    await line.type("2001", "ok", message_id)
    await line.until(intent_id, "IN_PROGRESS")
    await line.type("2001", "👍", message_id)
    await line.type("2001", "Approve", message_id)
    await line.type("2002", "Seen", other_message)  # the same loop has seen those before when this one counts
    await line.until(other_id, "COMPLETED")

    kept = await line.intent(intent_id)
    assert (kept["lifecycle_status"], kept["result"]) == ("IN_PROGRESS", None)
    thread = (await line.get(f"/v1/inbox/{intent_id}", CHATGPT)).body["thread"]
    assert [one["message"] for one in thread["messages"]] == ["ok", "👍", "Approve"]


async def test_only_the_person_asked_answers_whoever_else_writes_in_the_chat(line: Telephone) -> None:
    intent_id, message_id = await asked(line, "Bob", "Is it you?")
    other_id, other_message = await asked(line, "Maria Rossi", "And you?")

    ways: list[dict[str, Any]] = [
        {"from_id": 6666}, {"from_is_bot": True}, {"forwarded": True}, {"sender_chat_id": -5}, {"via_bot": True},
    ]  # fmt: skip
    for how in ways:
        await line.type("2001", "Not Bob", message_id, **how)
    await line.type("2002", "Here I am", other_message)  # the same loop has seen those before when this one counts
    await line.until(other_id, "COMPLETED")

    assert (await line.intent(intent_id))["lifecycle_status"] == "DELIVERED"
    await line.type("2001", "It is me", message_id, from_id=2001)
    assert (await line.until(intent_id, "COMPLETED"))["result"]["answer"] == "It is me"


async def test_the_stream_of_an_ended_intent_ends_by_itself(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))
    await line.post(f"/v1/inbox/{intent_id}/reply", {"message": "Yes"}, ANN)

    async with asyncio.timeout(PATIENCE_SECONDS):
        text = (await line.get(f"/v1/intents/{intent_id}/events/stream?wait_seconds=60")).body

    events = [chunk.split("event: ")[1].split("\n")[0] for chunk in text.strip().split("\n\n")]
    assert events == ["intent.created", "intent.submitted", "intent.in_progress", "intent.completed", "stream.end"]
    assert json.loads(text.split("data: ")[1].split("\n")[0])["seq"] == 1


@pytest.mark.parametrize("path", ["/v1/intents/{id}/events/stream", "/v1/agents/user/ann/intents/stream"])
async def test_a_stream_without_news_ends_by_itself(line: Telephone, path: str) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))

    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = await line.get(path.replace("{id}", intent_id) + "?wait_seconds=0.2", OPERATOR)

    assert answer.status == 200
    assert answer.body.rstrip().endswith("event: stream.timeout\ndata: {}")


async def test_an_agent_reads_its_post_from_the_stream(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann", "For the stream"))

    text = (await line.get("/v1/agents/user/ann/intents/stream?wait_seconds=0", ANN)).body

    assert intent_id in text and "For the stream" in text
    assert (await line.intent(intent_id))["lifecycle_status"] == "DELIVERED"
    again = (await line.get(f"/v1/agents/user/ann/intents/stream?wait_seconds=0&since={intent_id}", ANN)).body
    assert intent_id not in again


async def test_events_can_be_read_from_where_one_left_off(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))

    events = (await line.get(f"/v1/intents/{intent_id}/events?since=1", CHATGPT)).body["events"]

    assert [(one["seq"], one["event_type"]) for one in events] == [(2, "intent.submitted")]


async def test_an_ended_intent_is_not_ended_twice(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))
    body = {"status": "COMPLETED", "result": {"answer": "Done"}}

    first = await line.post(f"/v1/intents/{intent_id}/resolve", body, ANN)
    second = await line.post(f"/v1/intents/{intent_id}/resolve", {"status": "FAILED"}, ANN)

    assert (first.status, first.body["intent"]["status"], first.body["event"]["event_type"]) == (
        200,
        "COMPLETED",
        "intent.completed",
    )
    assert (second.status, second.body["error"]["code"]) == (409, "illegal_transition")


async def test_a_retry_that_makes_new_ids_answers_with_the_first_intent(line: Telephone) -> None:
    body = ask("agent://user/ann", "Once", idempotency_key="retry-0001")

    first = await submitted(line, {**body, "correlation_id": "01890a5d-ac96-774b-bcce-b302099a8057"})
    second = await submitted(line, {**body, "correlation_id": "01890a5d-ac96-774b-bcce-b302099a8058"})
    other = await line.post("/v1/intents", ask("agent://user/ann", "Twice", idempotency_key="retry-0001"), CHATGPT)

    assert first == second
    assert (other.status, other.body["error"]["code"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param(ask("agent://user/ann", from_agent="agent://household/eve"), 403, "policy_denied", id="sender"),
        pytest.param(ask("nowhere"), 422, "invalid_agent_address", id="address"),
        pytest.param(ask("agent://butler/nobody"), 404, "agent_not_found", id="butler"),
        pytest.param(ask("agent://contact/nobody"), 404, "agent_not_found", id="contact"),
        pytest.param(ask("agent://user/ann", "x" * 2001), 422, "schema_invalid", id="too long"),
        pytest.param(ask("agent://user/ann", intent_type="intent.dance.v1"), 422, "schema_invalid", id="kind"),
        pytest.param(ask("agent://user/ann", deadline_at="2020-01-01T00:00:00Z"), 422, "schema_invalid", id="past"),
        pytest.param(ask("agent://user/ann", payload={"workflow": {"x": 1}}), 422, "macro_invalid", id="macro"),
        pytest.param(
            ask("agent://user/ann", payload={"workflow": {"macro_id": "macro.approval.v1", "owner_agent": "agent://e/e"}}),
            403, "policy_denied", id="owner of the run",
        ),
        pytest.param(
            ask("agent://user/ann", payload={"workflow": {"macro_id": "macro.approval.v1", "x": "y" * 140_000}}),
            413, "too_large", id="size",
        ),
        pytest.param(
            ask("agent://user/ann", payload={"workflow": nested(300)}), 422, "schema_invalid", id="depth"
        ),
        pytest.param({**ask("agent://user/ann"), "colour": "red"}, 422, "schema_invalid", id="unknown field"),
        pytest.param(ask("agent://user/ann", remind_after_seconds=0), 422, "schema_invalid", id="reminder"),
    ],
)  # fmt: skip
async def test_what_cannot_be_taken_in_is_refused(
    line: Telephone, body: dict[str, Any], status: int, code: str
) -> None:
    answer = await line.post("/v1/intents", body, CHATGPT)

    assert (answer.status, answer.body["ok"], answer.body["error"]["code"]) == (status, False, code)


async def test_an_outcome_that_could_not_be_shown_again_is_refused(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))
    body = {"status": "COMPLETED", "result": nested(120)}

    answer = await line.post(f"/v1/intents/{intent_id}/resolve", body, OPERATOR)

    assert (answer.status, answer.body["error"]["code"]) == (422, "schema_invalid")
    assert (await line.get(f"/v1/intents/{intent_id}", CHATGPT)).body["intent"]["result"] is None


async def test_an_id_is_known_in_capitals_too(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))
    await submitted(line, ask("agent://user/ann"))

    for path in (f"/v1/intents/{intent_id.upper()}", f"/v1/inbox/{intent_id.upper()}"):
        assert (await line.get(path, CHATGPT)).status == 200
    pages = [(await line.get(f"/v1/inbox?cursor={one}", CHATGPT)).body for one in (intent_id, intent_id.upper())]
    assert pages[0] == pages[1]


async def test_another_connector_sees_nothing_of_it(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann"))
    eve = Principal(Role.USER, "eve")
    line.tokens.create(eve)

    for path in (f"/v1/intents/{intent_id}", f"/v1/intents/{intent_id}/events", f"/v1/inbox/{intent_id}"):
        assert (await line.get(path, eve)).status == 404
    assert (await line.get(f"/v1/intents/{intent_id}", GEMINI)).status == 200  # the same household's owner
    assert (await line.get("/v1/inbox?owner_agent=agent://user/ann", GEMINI)).status == 403


async def test_only_a_persons_token_decides_what_was_put_to_that_person(line: Telephone) -> None:
    """A user's token may be a script's, so it answers and does not decide."""
    ann, ci = Principal(Role.PERSON, "ann"), Principal(Role.PROGRAM, "ci", person="ann")
    line.tokens.ensure([ann, ci])
    workflow = {"workflow": {"macro_id": "macro.approval.v1"}}
    intent_id = await submitted(line, ask("agent://user/ann", "May I?", payload=workflow))

    for caller in (ANN, ci, CHATGPT):
        for verb, body in (("approve", {}), ("reject", {}), ("reply", {"message": "yes"})):
            refused = await line.post(f"/v1/inbox/{intent_id}/{verb}", body, caller)
            assert refused.status == 403, (str(caller), verb, refused.body)
    assert (await line.intent(intent_id))["lifecycle_status"] != "COMPLETED"

    assert (await line.post(f"/v1/inbox/{intent_id}/approve", {}, ann)).status == 200
    assert (await line.intent(intent_id))["result"]["decision"] == "approved"


async def test_a_program_sends_no_intents_and_sees_no_contacts(line: Telephone) -> None:
    ci = Principal(Role.PROGRAM, "ci", person="owner")
    line.tokens.revoke(Principal(Role.PROGRAM, "ci", person="ann"))
    line.tokens.ensure([ci])
    bob = await address(line, "Bob")
    chosen = {"owner_agent": OWNER, "query": "Bob", "agent_address": bob}

    answers = [
        await line.post("/v1/intents", ask(bob), ci),
        await line.get("/v1/inbox", ci),
        await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Bob"}, ci),
        await line.post("/contacts/confirm", chosen, ci),
        await line.get("/contacts", ci),
        await line.get("/v1/webhooks/subscriptions", ci),
    ]

    assert [one.status for one in answers] == [403] * len(answers), [one.body for one in answers]


async def test_the_key_may_come_as_an_api_key(line: Telephone) -> None:
    headers = {"x-api-key": str(line.tokens.token_of(CHATGPT))}

    async with line.session.get(line.url("api") + "/v1/macros", headers=headers) as response:
        macros = (await response.json())["macros"]

    assert [one["macro_id"] for one in macros] == [
        "macro.approval.v1",
        "macro.remind_then_escalate.v1",
        "macro.ask_first_answer.v1",
    ]


async def test_only_people_subscribe_and_nobody_reads_the_secret(line: Telephone) -> None:
    body = {
        "callback_url": "http://127.0.0.1:1/hook",
        "event_types": ["inbox.reply_received"],
        "secret": "0123456789abcdef",
    }

    refused = await line.post("/v1/webhooks/subscriptions", body, CHATGPT)
    saved = await line.post("/v1/webhooks/subscriptions", body, ANN)
    listed = await line.get("/v1/webhooks/subscriptions", ANN)

    assert refused.status == 403
    assert saved.status == 200
    assert "0123456789abcdef" not in json.dumps([saved.body, listed.body])
    gone = await line.call(
        "DELETE", "api", f"/v1/webhooks/subscriptions/{saved.body['subscription']['subscription_id']}", caller=ANN
    )
    assert gone.status == 200
    for url in ("ftp://x", "http://user:pw@x/", "http:///x", "http://x y"):
        assert (await line.post("/v1/webhooks/subscriptions", {**body, "callback_url": url}, ANN)).status == 422


async def test_assistants_find_their_tools_at_the_same_port(line: Telephone) -> None:
    peer = HttpPeer("postroom", line.url("api") + "/mcp", str(line.tokens.token_of(CHATGPT)))
    try:
        sent = await peer.call("send_message", {"message": "Over MCP", "recipient_name": "Bob"}, 20)
        await line.until(sent["delivery"]["intent_id"], "DELIVERED")
        status = await peer.call("get_intent_status", {"intent_id": sent["delivery"]["intent_id"]}, 20)
    finally:
        await peer.close()

    assert (sent["decision_mode"], status["lifecycle_status"]) == ("sent", "DELIVERED")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
async def test_what_json_has_no_word_for_is_refused_with_its_place(line: Telephone, number: float) -> None:
    body = ask(OWNER, "How many?", payload={"workflow": {"params": {"many": number}}})

    refused = await line.post("/v1/intents", body)

    assert refused.status == 422
    assert refused.body["error"]["fields"][0]["field"] == "payload.workflow.params.many"


@pytest.mark.requirement("house:asker-never-answers")
@pytest.mark.parametrize("connector", [CHATGPT, GEMINI], ids=["itself", "another one of the same sender"])
async def test_a_connector_does_not_answer_what_it_asked_and_the_owner_does(
    line: Telephone, connector: Principal
) -> None:
    intent_id = await submitted(line, ask(OWNER, "May I order it?"))
    acts: dict[str, dict[str, Any]] = {
        f"/v1/inbox/{intent_id}/reply": {"message": "Yes"},
        f"/v1/inbox/{intent_id}/delegate": {"delegate_to": "agent://user/ann"},
        f"/v1/intents/{intent_id}/resolve": {"status": "COMPLETED", "result": {"answer": "Yes"}},
    }

    refused = [await line.post(path, body, connector) for path, body in acts.items()]
    correlation = (await line.intent(intent_id))["correlation_id"]
    reply = {"answer": "Yes", "status": "answered", "responded_by": OWNER, "responded_at": "2026-01-01T00:00:00Z"}
    await submitted(
        line,
        {"intent_type": "intent.reply.v1", "to_agent": OWNER, "correlation_id": correlation, "payload": reply},
        connector,
    )

    assert [one.status for one in refused] == [403, 403, 403]
    assert (await line.intent(intent_id))["result"] is None
    done = await line.post(f"/v1/inbox/{intent_id}/reply", {"message": "Yes"}, OPERATOR)
    assert (done.status, done.body["intent"]["result"]["responded_by"]) == (200, OWNER)


async def test_who_answered_is_who_acted_and_not_for_whom(line: Telephone) -> None:
    by_connector = await submitted(line, ask(OWNER, "For the assistant?"), ANN)
    by_operator = await submitted(line, ask("agent://user/ann", "For Ann?"))
    claimed = {"answer": "Done", "responded_by": "agent://user/ann"}

    await line.post(f"/v1/inbox/{by_connector}/reply", {"message": "Yes"}, CHATGPT)
    path = f"/v1/intents/{by_operator}/resolve?owner_agent=agent://user/ann"
    await line.post(path, {"status": "COMPLETED", "result": claimed}, OPERATOR)

    for intent_id, actor in ((by_connector, "connector:chatgpt"), (by_operator, OWNER)):
        thread = (await line.get(f"/v1/inbox/{intent_id}")).body["thread"]
        assert thread["intent"]["result"]["responded_by"] == actor
        assert [one["author"] for one in thread["messages"]] == [actor]
        assert thread["timeline"][-1]["actor"] == actor


async def test_an_answer_that_comes_as_a_reply_names_who_sent_it(line: Telephone) -> None:
    intent_id = await submitted(line, ask("agent://user/ann", "By reply?"))
    correlation = (await line.intent(intent_id))["correlation_id"]
    reply = {"answer": "Yes", "status": "answered", "responded_by": OWNER, "responded_at": "2026-01-01T00:00:00Z"}

    await submitted(
        line,
        {"intent_type": "intent.reply.v1", "to_agent": OWNER, "correlation_id": correlation, "payload": reply},
        ANN,
    )

    assert (await line.intent(intent_id))["result"]["responded_by"] == "agent://user/ann"


@pytest.mark.requirement("house:only-people-approve")
@pytest.mark.parametrize(
    ("to_agent", "params", "field"),
    [
        pytest.param(OWNER, {"approver": "agent://butler/health"}, "payload.workflow.params.approver", id="butler"),
        pytest.param(OWNER, {"approver": "agent://x/y"}, "payload.workflow.params.approver", id="agent"),
        pytest.param("agent://x/y", {}, "to_agent", id="recipient"),
        pytest.param(OWNER, {"escalate_to": "agent://x/y"}, "payload.workflow.params.escalate_to", id="afterwards"),
    ],
)  # fmt: skip
async def test_only_a_person_can_be_an_approver(
    line: Telephone, to_agent: str, params: dict[str, Any], field: str
) -> None:
    workflow = {"workflow": {"macro_id": "macro.approval.v1", "params": params}}

    answer = await line.post("/v1/intents", ask(to_agent, "May I?", payload=workflow), CHATGPT)

    assert (answer.status, answer.body["error"]["code"]) == (422, "macro_invalid")
    assert [one["field"] for one in answer.body["error"]["fields"]] == [field]


# What a stream writes.


async def test_every_event_is_strict_json_whatever_was_stored_before() -> None:
    clock = FakeClock()

    async def fetch() -> tuple[list[StreamEvent], bool]:
        return [StreamEvent(name="intent.completed", id="1", data={"payload": {"score": float("nan")}})], True

    written = [str(part) async for part in stream(fetch, Signal(), clock, 1.0).body_iterator]

    assert [json.loads(part.partition("data: ")[2], parse_constant=refuse) for part in written] == [
        {"payload": {"score": None}},
        {},
    ]


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")
