"""Which first words of a client begin a session in which it can be asked back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from postroom.kernel.guard.long_calls import FormSessions, LongCalls
from postroom.kernel.values.principal import OPERATOR, PRINCIPAL, Principal, Role

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


LONG_CALLS_BOTH = "application/json, text/event-stream"


def called(name: str, method: str = "tools/call") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name}}).encode()


async def served(body: bytes, method: str = "POST", path: str = "/mcp", **headers: str) -> tuple[str, bytes]:
    """By which of the two ways, and the body that arrived there."""
    seen: list[tuple[str, bytes]] = []

    def way(name: str) -> Any:
        async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
            seen.append((name, (await receive())["body"]))

        return app

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(_message: Message) -> None:
        return None

    named = [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": named}
    await LongCalls(way("json"), way("stream"), ("ask", "wait"))(scope, receive, send)
    return seen[0]


@pytest.mark.parametrize(
    ("way", "body", "headers"),
    [
        ("stream", called("ask"), {"accept": LONG_CALLS_BOTH}),
        ("stream", called("wait"), {"accept": LONG_CALLS_BOTH}),
        ("stream", b"", {"accept": LONG_CALLS_BOTH, "Mcp_Method": "tools/call", "Mcp_Name": "ask"}),
        ("json", called("notify"), {"accept": LONG_CALLS_BOTH}),
        ("json", called("ask"), {"accept": "application/json"}),
        ("json", called("ask", "prompts/get"), {"accept": LONG_CALLS_BOTH}),
        ("json", called("ask"), {"accept": LONG_CALLS_BOTH, "Mcp_Method": "tools/call", "Mcp_Name": "notify"}),
        ("json", called("ask"), {"accept": LONG_CALLS_BOTH, "Mcp_Method": "tools/list"}),
        ("json", b'not JSON "ask"', {"accept": LONG_CALLS_BOTH}),
        ("json", b'["ask"]', {"accept": LONG_CALLS_BOTH}),
        (
            "json",
            b'{"method": "notifications/cancelled", "params": {"requestId": {"id": [1]}}}',
            {"accept": LONG_CALLS_BOTH},
        ),
        ("json", b'{"method": "tools/call", "params": {"name": ["ask"]}}', {"accept": LONG_CALLS_BOTH}),
        ("json", b'{"method": "tools/call", "params": "ask", "x": "ask"}', {"accept": LONG_CALLS_BOTH}),
    ],
)
@pytest.mark.requirement("ask:progress")
async def test_calls_that_wait_for_people_stream_and_all_others_do_not(
    way: str, body: bytes, headers: dict[str, str]
) -> None:
    assert await served(body, **headers) == (way, body)


@pytest.mark.parametrize(("method", "path"), [("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/v1/asks")])
async def test_nothing_else_is_looked_at(method: str, path: str) -> None:
    assert await served(called("ask"), method, path, accept=LONG_CALLS_BOTH) == ("json", called("ask"))
