"""Which first words of a client begin a session in which it can be asked back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from postroom.domain.principal import OPERATOR, PRINCIPAL, Principal, Role
from postroom.doors.guard.form_sessions import FormSessions

BOTH = (b"accept", b"application/json, text/event-stream")
PERSON = Principal(Role.PERSON, "anna")
FORMS: dict[str, Any] = {"method": "initialize", "params": {"capabilities": {"elicitation": {}}}}


async def _goes_to(
    body: bytes,
    who: Principal | None = OPERATOR,
    headers: tuple[tuple[bytes, bytes], ...] = (BOTH,),
    method: str = "POST",
    path: str = "/mcp",
) -> str:
    went: list[tuple[str, bytes]] = []

    def app(name: str) -> Any:
        async def serve(_scope: Scope, receive: Receive, _send: Send) -> None:
            went.append((name, (await receive())["body"]))

        return serve

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(_message: Message) -> None:
        raise AssertionError

    sessions = FormSessions(app("plain"), app("forms"), lambda one: one == "ours")
    scope = {"type": "http", "path": path, "method": method, "headers": list(headers), PRINCIPAL: who}
    await sessions(scope, receive, send)
    assert [said for _, said in went] == [body]
    return went[0][0]


@pytest.mark.parametrize("who", [OPERATOR, PERSON], ids=str)
async def test_a_persons_client_that_can_show_forms_begins_one(who: Principal) -> None:
    assert await _goes_to(json.dumps(FORMS).encode(), who) == "forms"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({**FORMS, "method": "tools/call"}).encode(),
        json.dumps({"method": "initialize", "params": {"capabilities": {}, "about": "elicitation"}}).encode(),
        json.dumps({"method": "initialize", "params": {"capabilities": ["elicitation"]}}).encode(),
        json.dumps(["elicitation"]).encode(),
        b'{"elicitation"',
        b'"elicitation"' + b"[" * 100_000,
        b"",
    ],
)
async def test_other_words_go_on_as_they_came(body: bytes) -> None:
    assert await _goes_to(body) == "plain"


async def test_others_than_people_and_the_newer_protocol_begin_none() -> None:
    body = json.dumps(FORMS).encode()
    for who in (Principal(Role.BUTLER, "health"), Principal(Role.PROGRAM, "p", person="anna"), None):
        assert await _goes_to(body, who) == "plain"
    assert await _goes_to(body, headers=(BOTH, (b"mcp-method", b"initialize"))) == "plain"
    assert await _goes_to(body, headers=((b"accept", b"application/json"),)) == "plain"
    assert await _goes_to(body, path="/v1/asks") == "plain"


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_is_served_where_it_began(method: str) -> None:
    for name, place in ((b"ours", "forms"), (b"other", "plain")):
        assert await _goes_to(b"x", headers=((b"mcp-session-id", name),), method=method) == place
