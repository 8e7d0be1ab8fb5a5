from __future__ import annotations

import re

import jsonschema_rs
from tests.programs.sandbox.client import Client, letter

from postroom.programs.sandbox.control import Control
from postroom.programs.sandbox.faults import FaultChannel, Mode
from postroom.programs.sandbox.openapi import DOCUMENT

NOT_DATA = {("GET", "/"), ("GET", "/sandbox"), ("GET", "/sandbox/"), ("GET", "/openapi.json")}
RAW = {("GET", "/sandbox/email/messages/{id}/raw"), ("GET", "/sandbox/files/{sha256}")}


def check(path: str, verb: str, status: str, answer: dict[str, object]) -> None:
    """The document's own schema for this answer, with its references."""
    response = DOCUMENT["paths"][path][verb]["responses"][status]
    if reference := response.get("$ref"):
        response = DOCUMENT["components"]["responses"][reference.rpartition("/")[2]]
    schema = {**response["content"]["application/json"]["schema"], "components": DOCUMENT["components"]}
    jsonschema_rs.validate(schema, answer)


def test_every_control_route_is_in_the_document(client: Client) -> None:
    sandbox = client.sandbox
    control = Control(ledger=sandbox.ledger, faults=sandbox.faults, clock=None, news=None, token="1:a")  # type: ignore[arg-type]
    served = {(route.method, route.path) for route in control.routes()} - NOT_DATA - RAW

    written = {(verb.upper(), path) for path, operations in DOCUMENT["paths"].items() for verb in operations}

    assert written == served


def test_every_reference_leads_somewhere() -> None:
    for target in re.findall(r"'\$ref': '#/components/(\w+)/(\w+)'", str(DOCUMENT)):
        assert target[1] in DOCUMENT["components"][target[0]]


def test_every_channel_and_way_to_misbehave_is_in_the_document() -> None:
    fault = DOCUMENT["components"]["schemas"]["Fault"]["properties"]

    assert fault["channel"]["enum"] == list(FaultChannel)
    assert fault["mode"]["enum"] == list(Mode)


async def test_the_document_is_served(client: Client) -> None:
    async with client.http.get("/openapi.json") as answer:
        document = await answer.json()

    assert document == DOCUMENT
    assert "SANDBOX" in document["info"]["title"]


async def test_real_answers_fit_the_document(client: Client) -> None:
    sent = (await client.bot("sendMessage", chat_id=42, text="Hello"))["result"]["message_id"]
    await client.bot("sendChatAction", chat_id=42, action="typing")
    await client.mail(letter(Message_ID="<d1@example.com>"))
    person = {
        "/sandbox/telegram/inbound": {"chat_id": 42, "text": "Hi", "reply_to_message_id": sent},
        "/sandbox/telegram/reaction": {"chat_id": 42, "message_id": sent, "emoji": "👍"},
        "/sandbox/telegram/callback": {"chat_id": 42, "message_id": sent, "data": "yes"},
        "/sandbox/email/inbound": {"from": "ada@example.com", "to": "bot@example.com", "subject": "Re", "body": "Yes"},
        "/sandbox/faults": {"channel": "telegram", "status": 429, "retry_after": 5},
    }
    for path, body in person.items():
        check(path, "post", "200", await client.post(path, body))
        check(path, "post", "422", await client.post(path, {"nonsense": True}))

    for path, operations in DOCUMENT["paths"].items():
        if "get" in operations:
            answer = await client.get(path)
            assert answer.get("count") != 0
            check(path, "get", "200", answer)
        if "delete" in operations:
            check(path, "delete", "200", await client.delete(path))
