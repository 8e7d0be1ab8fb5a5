"""Both adapters in a running household, with a phone at the other end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port
from tests.telephone import CHATGPT, GEMINI, OWNER, Answer, Telephone, settings_for, telephone

from postroom.connectors.profile import CHATGPT as CHATGPT_FACE
from postroom.connectors.profile import GEMINI as GEMINI_FACE
from postroom.connectors.profile import Face
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    async with telephone(settings_for(tmp_path_factory.mktemp("home"))) as opened:
        yield opened


@pytest.fixture(params=[CHATGPT_FACE, GEMINI_FACE], ids=lambda face: str(face.name))
def face(request: pytest.FixtureRequest) -> Face:
    chosen: Face = request.param
    return chosen


async def said(line: Telephone, face: Face, **body: Any) -> Answer:
    caller = CHATGPT if face is CHATGPT_FACE else GEMINI
    return await line.adapt({face.wire("from_agent"): OWNER, "message": "The train is late", **body}, caller)


@pytest.mark.requirement(
    "intent:chatgpt-endpoint",
    "intent:gemini-endpoint",
    "intent:chatgpt-requester-agent",
    "intent:gemini-sender-agent",
    "intent:chatgpt-recipient-name",
    "intent:gemini-recipient-name",
    "intent:decision-shape",
    "intent:decision-sent",
    "intent:delivery-receipt",
)
async def test_an_exact_name_is_sent_to_the_right_phone(line: Telephone, face: Face) -> None:
    before = len(await line.phone("2001"))

    answer = await said(line, face, recipient_name="bob")

    body = answer.body
    assert (answer.status, body["ok"], body["decision_mode"]) == (200, True, "sent")
    assert {name: body["resolution"][name] for name in ("resolved", "matched_alias", "match_type")} == {
        "resolved": True,
        "matched_alias": "Bob",
        "match_type": "exact",
    }
    assert body["envelope"]["from_agent"] == OWNER
    assert body["envelope"]["to_agent"] == body["resolution"]["agent_address"]
    receipt = body["delivery"]
    assert (receipt["submitted"], receipt["via"], receipt["status"]) == (True, "gateway", "accepted")
    assert receipt["intent_id"] == body["envelope"]["intent_id"]
    assert receipt["created_at"].endswith("Z")
    await line.until(receipt["intent_id"], "DELIVERED")
    phone = await line.phone("2001")
    assert len(phone) == before + 1
    assert "The train is late" in phone[-1]["text"]


@pytest.mark.requirement("intent:chatgpt-target-agent", "intent:gemini-recipient-agent")
async def test_an_address_goes_straight_there(line: Telephone, face: Face) -> None:
    found = await said(line, face, recipient_name="李明", resolve_only=True)
    address = found.body["resolution"]["agent_address"]

    answer = await said(line, face, **{face.wire("to_agent"): address})

    assert (answer.body["decision_mode"], answer.body["resolution"]["match_type"]) == ("sent", "explicit")
    assert answer.body["envelope"]["to_agent"] == address
    await line.until(answer.body["delivery"]["intent_id"], "DELIVERED")


@pytest.mark.requirement("intent:chatgpt-resolve-only", "intent:gemini-resolve-only", "intent:decision-resolved")
async def test_resolving_only_sends_nothing(line: Telephone, face: Face) -> None:
    before = len((await line.get("/v1/inbox?limit=200")).body["threads"])

    certain = await said(line, face, recipient_name="Bob", resolve_only=True)
    likely = await said(line, face, recipient_name="Marta Rossi", resolve_only=True)

    assert (certain.body["decision_mode"], certain.body["delivery"], certain.body["envelope"]) == (
        "resolved",
        None,
        None,
    )
    assert (likely.body["decision_mode"], likely.body["resolution"]["resolved"]) == ("needs_confirmation", False)
    assert len((await line.get("/v1/inbox?limit=200")).body["threads"]) == before


@pytest.mark.parametrize(
    ("name", "mode", "candidates"),
    [
        ("Marta Rossi", "needs_confirmation", 1),
        ("Anna", "needs_disambiguation", 2),
        ("Zaphod Beeblebrox", "contact_not_found", 0),
    ],
)
@pytest.mark.parametrize("confirm_send", [False, True])
async def test_nobody_is_written_to_by_likeness(
    line: Telephone, face: Face, name: str, mode: str, candidates: int, confirm_send: bool
) -> None:
    answer = await said(line, face, recipient_name=name, confirm_send=confirm_send)

    assert (answer.status, answer.body["decision_mode"], answer.body["delivery"]) == (200, mode, None)
    shown = answer.body["resolution"]["candidates"]
    assert len(shown) == candidates
    assert all(one["why"] and one["hint"] and one["resolution_token"] for one in shown)


async def test_a_name_that_several_have_offers_who_has_more_to_that_name_too(line: Telephone, face: Face) -> None:
    name = {"chatgpt": "Kim", "gemini": "Lou"}[face.name]
    people = {f"{name} Stone": [], name: [], f"{name} Berg": [name]}
    for place, (whole, aliases) in enumerate(people.items()):
        contact = {"name": whole, "aliases": aliases, "telegram_chat_id": f"5{len(face.name)}{place}"}
        await line.post("/contacts", contact)

    answer = await said(line, face, recipient_name=name)

    offered = [one["display_name"] for one in answer.body["resolution"]["candidates"]]
    assert (answer.body["decision_mode"], answer.body["delivery"]) == ("needs_disambiguation", None)
    assert offered == [name, f"{name} Berg", f"{name} Stone"]


@pytest.mark.requirement(
    "intent:two-phase-confirmation",
    "intent:chatgpt-confirm-send",
    "intent:gemini-confirm-send",
    "intent:confirmation-persisted",
    "intent:confirmation-remembered",
)
async def test_a_choice_that_a_person_confirmed_is_sent_and_remembered(line: Telephone, face: Face) -> None:
    name = {"chatgpt": "Ana Schmitd", "gemini": "Anna Shmidt"}[face.name]
    first = await said(line, face, recipient_name=name, resolve_only=True)
    chosen = first.body["resolution"]["candidates"][0]
    assert chosen["display_name"] == "Anna Schmidt"

    second = await said(line, face, recipient_name=name, confirm_send=True, resolution_token=chosen["resolution_token"])
    third = await said(line, face, recipient_name=name)

    assert second.body["decision_mode"] == "sent"
    assert (third.body["decision_mode"], third.body["resolution"]["match_type"]) == ("sent", "memory")
    remembered = (await line.get("/contacts/memory")).body["memory"]
    assert chosen["agent_address"] in [one["agent_address"] for one in remembered if one["query"] == name.lower()]


@pytest.mark.requirement("intent:chatgpt-confirm-send", "intent:gemini-confirm-send")
async def test_a_confirmed_address_is_remembered_for_a_name_like_its_own_or_the_answer_says_why_not(
    line: Telephone, face: Face
) -> None:
    contact = {"name": f"Berta Kowalski {face.name}", "telegram_chat_id": f"4{len(face.name)}01"}
    address = (await line.post("/contacts", contact)).body["contact"]["agent_address"]
    to = {face.wire("to_agent"): address, "confirm_send": True}

    alike = await said(line, face, recipient_name=f"berta kowalsky {face.name}", **to)
    unlike = await said(line, face, recipient_name="the plumber from the market", **to)
    unconfirmed = await said(line, face, **{**to, "confirm_send": False, "recipient_name": "the plumber"})
    again = await said(line, face, recipient_name=f"berta kowalsky {face.name}")
    nobody = await said(line, face, recipient_name="the plumber from the market")

    assert [one.body["decision_mode"] for one in (alike, unlike, again)] == ["sent"] * 3
    assert alike.body["confirmation"] == {"remembered": True, "why": None}
    assert unlike.body["confirmation"]["remembered"] is False
    assert "alias" in unlike.body["confirmation"]["why"]
    assert unconfirmed.body["confirmation"] is None
    assert (again.body["resolution"]["match_type"], nobody.body["decision_mode"]) == ("memory", "contact_not_found")


async def test_a_token_of_ones_own_making_confirms_nothing(line: Telephone, face: Face) -> None:
    answer = await said(
        line, face, recipient_name="Marya Rossi", confirm_send=True, resolution_token="made-up-by-a-model.0"
    )

    assert answer.body["decision_mode"] == "needs_confirmation"


async def test_a_name_that_moved_between_confirming_and_sending_is_refused(line: Telephone, face: Face) -> None:
    contact = {"name": f"Clara Weiss {face.name}", "telegram_chat_id": "3001"}
    made = (await line.post("/contacts", contact)).body["contact"]
    query = f"Klara Weiss {face.name}"
    shown = await said(line, face, recipient_name=query)
    token = shown.body["resolution"]["resolution_token"]
    await line.call("PUT", "api", f"/contacts/{made['contact_id']}", {**contact, "telegram_chat_id": "6666"})

    answer = await said(line, face, recipient_name=query, confirm_send=True, resolution_token=token)

    assert (answer.status, answer.body["ok"], answer.body["error"]["code"]) == (409, False, "resolution_stale")
    assert await line.phone("6666") == []


async def test_a_confirmed_name_that_then_moved_is_asked_about_again(line: Telephone, face: Face) -> None:
    contact = {"name": f"Dora Weiss {face.name}", "telegram_chat_id": "3002"}
    made = (await line.post("/contacts", contact)).body["contact"]
    query = f"Tora Weiss {face.name}"
    token = (await said(line, face, recipient_name=query)).body["resolution"]["resolution_token"]
    await line.post("/contacts/confirm", {"owner_agent": OWNER, "query": query, "resolution_token": token})
    await line.call("PUT", "api", f"/contacts/{made['contact_id']}", {**contact, "telegram_chat_id": "6667"})

    answer = await said(line, face, recipient_name=query)

    assert (answer.body["decision_mode"], await line.phone("6667")) == ("needs_confirmation", [])


async def test_a_repeated_call_sends_once(line: Telephone, face: Face) -> None:
    again = {"recipient_name": "李明", face.wire("call_id"): f"call-{face.name}", "message": f"once {face.name}"}

    first, second = await said(line, face, **again), await said(line, face, **again)

    assert first.body["delivery"]["intent_id"] == second.body["delivery"]["intent_id"]
    await line.until(first.body["delivery"]["intent_id"], "DELIVERED")
    assert sum(f"once {face.name}" in one["text"] for one in await line.phone("2003")) == 1


@pytest.mark.requirement("intent:normalized-errors")
@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        pytest.param({}, 422, "recipient_required", "recipient_name", id="nobody named"),
        pytest.param({"recipient_name": "Bob", "message": "x" * 2001}, 422, "schema_invalid", "question", id="long"),
        pytest.param({"recipient_name": "Bob", "colour": 1}, 422, "schema_invalid", "colour", id="unknown field"),
        pytest.param({"recipient_name": ""}, 422, "schema_invalid", "recipient_name", id="empty name"),
        pytest.param({"recipient_name": "B", "correlation_id": "x"}, 422, "schema_invalid", "correlation_id", id="id"),
        pytest.param(
            {"recipient_name": "Bob", "workflow_macro_id": "macro.dance.v1"}, 422, "macro_invalid", "workflow.macro_id",
            id="unknown macro",
        ),
        pytest.param({"recipient_name": "a\ud800"}, 422, "schema_invalid", "recipient_name", id="half a character"),
    ],
)  # fmt: skip
async def test_bad_input_is_told_by_code_and_field(
    line: Telephone, face: Face, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    answer = await said(line, face, **body)

    assert (answer.status, answer.body["ok"], answer.body["error"]["code"]) == (status, False, code)
    assert answer.body["error"]["message"]
    assert [item["field"].endswith(field) for item in answer.body["error"]["fields"]] == [True]


async def test_what_is_not_json_is_told(line: Telephone, face: Face) -> None:
    caller = CHATGPT if face is CHATGPT_FACE else GEMINI
    headers = {"Authorization": f"Bearer {line.tokens.token_of(caller)}"}

    async with line.session.post(line.url(face.name) + "/v1/adapt", data=b"{", headers=headers) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize(
    ("caller", "status", "code"),
    [
        pytest.param(None, 401, "auth_failed", id="nobody"),
        pytest.param(Principal(Role.BUTLER, "general"), 403, "policy_denied", id="a butler"),
    ],
)
async def test_strangers_are_turned_away(
    line: Telephone, face: Face, caller: Principal | None, status: int, code: str
) -> None:
    body = {face.wire("from_agent"): OWNER, "recipient_name": "Bob", "message": "x"}

    answer = await line.post("/v1/adapt", body, caller, part=face.name)

    assert (answer.status, answer.body["ok"], answer.body["error"]["code"]) == (status, False, code)


async def test_a_connector_speaks_for_its_own_agents_only(line: Telephone, face: Face) -> None:
    answer = await said(line, face, **{face.wire("from_agent"): "agent://household/eve", "recipient_name": "Bob"})

    assert (answer.status, answer.body["error"]["code"]) == (403, "policy_denied")


async def test_a_key_in_the_other_header_works_too(line: Telephone, face: Face) -> None:
    caller = CHATGPT if face is CHATGPT_FACE else GEMINI
    headers = {"x-api-key": str(line.tokens.token_of(caller))}
    body = {face.wire("from_agent"): OWNER, "recipient_name": "Bob", "resolve_only": True}

    async with line.session.post(line.url(face.name) + "/v1/adapt", json=body, headers=headers) as response:
        assert (await response.json())["decision_mode"] == "resolved"


async def test_resolving_has_an_operation_of_its_own(line: Telephone, face: Face) -> None:
    caller = CHATGPT if face is CHATGPT_FACE else GEMINI
    body = {face.wire("from_agent"): OWNER, "recipient_name": "Bob"}

    answer = await line.post("/v1/resolve", body, caller, part=face.name)
    smuggled = await line.post("/v1/resolve", {**body, "message": "hi"}, caller, part=face.name)

    assert answer.body["decision_mode"] == "resolved"
    assert smuggled.status == 422


async def test_health_is_open_to_all(line: Telephone, face: Face) -> None:
    answer = await line.get("/health", None, part=face.name)

    assert answer.status == 200
    assert (answer.body["status"], answer.body["part"]) == ("ok", face.name)


async def test_the_openapi_document_suits_an_action(line: Telephone, face: Face) -> None:
    document = (await line.get("/openapi.json", None, part=face.name)).body

    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    operations = {path: value["post"] for path, value in document["paths"].items() if "post" in value}
    assert {path: one["x-openai-isConsequential"] for path, one in operations.items()} == {
        "/v1/adapt": True,
        "/v1/resolve": False,
    }
    for operation in operations.values():
        assert operation["operationId"]
        assert len(operation["summary"]) <= 300 and len(operation.get("description", "")) <= 300
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert all(0 < len(one["description"]) <= 700 for one in schema["properties"].values())
        assert operation["security"] == [{"bearer": []}]


async def test_an_operator_may_use_an_adapter(line: Telephone, face: Face) -> None:
    body = {face.wire("from_agent"): OWNER, "recipient_name": "Bob", "resolve_only": True}

    assert (await line.post("/v1/adapt", body, OPERATOR, part=face.name)).body["decision_mode"] == "resolved"


# An adapter by itself.

MODULES = {"chatgpt": "chatgpt_action_adapter", "gemini": "gemini_extension_adapter"}


@asynccontextmanager
async def alone(name: str, home: Path, api_url: str) -> AsyncIterator[str]:
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "POSTROOM_HOME": str(home),
        "POSTROOM_CONNECTORS": f'{{"{name}": {{"household_url": "{api_url}"}}}}',
    }
    module = f"postroom.connectors.{MODULES[name]}.main:app"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "uvicorn", module, "--port", str(port), env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in process.stderr:
                if b"Uvicorn running" in line:
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.communicate()


@pytest.mark.parametrize(("name", "sender"), [("chatgpt", "requester_agent"), ("gemini", "sender_agent")])
async def test_an_adapter_runs_alone_and_says_when_the_household_is_away(
    tmp_path: Path, name: str, sender: str
) -> None:
    settings = settings_for(tmp_path)
    async with (
        telephone(settings) as line,
        alone(name, tmp_path, line.url("api")) as url,
        aiohttp.ClientSession() as http,
    ):
        token = TokenFile(settings.tokens_file).token_of(Principal(Role.CONNECTOR, name))
        headers = {"Authorization": f"Bearer {token}"}
        body = {sender: OWNER, "recipient_name": "Bob", "message": "Hello from afar"}
        async with http.post(f"{url}/v1/adapt", json=body, headers=headers) as response:
            answer = await response.json()
        assert (response.status, answer["decision_mode"]) == (200, "sent")
        await line.until(answer["delivery"]["intent_id"], "DELIVERED")
        async with http.get(f"{url}/health") as response:
            health = await response.json()
        assert (health["status"], health["part"]) == ("ok", name)


async def test_a_household_that_cannot_be_reached_is_told_in_the_usual_shape(tmp_path: Path, free_port: int) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
    headers = {"Authorization": f"Bearer {token}"}
    body = {"requester_agent": OWNER, "recipient_name": "Bob", "message": "Anybody?"}

    async with (
        alone("chatgpt", tmp_path, f"http://127.0.0.1:{free_port}") as url,
        aiohttp.ClientSession() as http,
        http.post(f"{url}/v1/adapt", json=body, headers=headers) as response,
    ):
        answer = await response.json()

    assert (response.status, answer["ok"]) == (503, False)
    assert (answer["error"]["code"], answer["error"]["retryable"]) == ("upstream_unavailable", True)
