"""Who is calling a FastAPI route, and whether they may."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from postroom.kernel.guard.http import MAX_BODY_BYTES, Caller, FormSessions, Guard, LongCalls
from postroom.kernel.guard.tools import butler
from postroom.kernel.values.principal import OPERATOR, PRINCIPAL, Principal, Role

HEALTH = Principal(Role.BUTLER, "health")
TOKENS = {"good-operator": OPERATOR, "good-health": HEALTH}


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return TOKENS.get(token)


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()

    @app.get("/me")
    async def me(caller: Caller) -> str:
        return str(caller)

    @app.get("/open")
    async def opened(caller: Caller) -> str:
        return str(caller)

    return TestClient(Guard(app, verifier=Tokens(), public=["/open"], hosts=["testserver"]))


@pytest.mark.parametrize(
    ("path", "token", "status", "body"),
    [
        ("/me", "good-health", 200, "butler:health"),
        ("/me", "good-operator", 200, "operator"),
        ("/me", "wrong", 401, None),
        ("/open", "wrong", 401, None),
    ],
)
def test_a_route_knows_its_caller(client: TestClient, path: str, token: str, status: int, body: str | None) -> None:
    response = client.get(path, headers={"Authorization": f"Bearer {token}"})

    assert response.status_code == status
    if body:
        assert response.json() == body


@dataclass(slots=True)
class Door:
    """Answers 200 with the number of bytes it was sent, and remembers who came."""

    callers: list[Any] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            self.callers.append(scope["type"])
            return
        self.callers.append(scope.get(PRINCIPAL))
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/a/token", "null", 200),
        ("/a/token", "https://evil.example", 403),
        ("/mcp", "null", 403),
        ("/abc", "null", 403),
    ],
)
async def test_only_pages_that_hide_their_address_may_have_no_origin(path: str, origin: str, status: int) -> None:
    guard = Guard(Door(), verifier=Tokens(), own_doors=("/a",), without_referrer=("/a",))

    assert (await ask(guard, [("origin", origin), ("content-length", "0")], path=path))[0] == status


async def ask(
    guard: Guard,
    headers: Sequence[tuple[str, str]] = (),
    *,
    path: str = "/mcp",
    body: Sequence[bytes] = (b"",),
    host: str | None = "127.0.0.1:40100",
    kind: str = "http",
) -> tuple[int, dict[str, str]]:
    sent: list[Message] = []
    waiting = [
        {"type": "http.request", "body": part, "more_body": place + 1 < len(body)} for place, part in enumerate(body)
    ]

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    every = [*([("host", host)] if host is not None else []), *headers]
    raw = [(name.encode(), value.encode("latin-1")) for name, value in every]
    await guard({"type": kind, "method": "POST", "path": path, "headers": raw}, receive, send)
    if kind == "websocket":
        return sent[0]["code"], {}
    answer_headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer_headers


BEARER = ("authorization", "Bearer good-operator")


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def guard(door: Door) -> Guard:
    return Guard(door, verifier=Tokens(), hosts=["Post.Example"], origins=["https://console.example"])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:40100", 200),
        ("localhost", 200),
        ("localhost:1", 200),
        ("LOCALHOST:40100", 200),
        ("[::1]", 200),
        ("[::1]:40100", 200),
        ("post.example", 200),
        ("POST.example:443", 200),
        (None, 421),
        ("", 421),
        (" ", 421),
        ("evil.example", 421),
        ("evil.example:40100", 421),
        ("localhost.evil.example", 421),
        ("evil.example#localhost", 421),
        ("localhost@evil.example", 421),
        ("evil.example@localhost", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.1.nip.io", 421),
        ("localhost.", 421),
        ("127.1", 421),
        ("0x7f.1", 421),
        ("2130706433", 421),
        ("0.0.0.0", 421),
        ("127.0.0.2", 421),
        ("::1", 421),
        ("[::ffff:127.0.0.1]", 421),
        ("localhost:80:90", 421),
        ("localhost:", 421),
        ("localhost:http", 421),
        ("localhost:\u00b2", 421),
        ("localhost evil.example", 421),
        ("localhost,evil.example", 421),
        ("http://localhost", 421),
        ("post.example.evil", 421),
    ],
)
async def test_only_names_of_this_machine_are_served(guard: Guard, door: Door, host: str | None, status: int) -> None:
    assert (await ask(guard, [BEARER], host=host))[0] == status
    assert len(door.callers) == (status == 200)


async def test_two_hosts_are_none(guard: Guard, door: Door) -> None:
    assert (await ask(guard, [("host", "127.0.0.1:40100"), BEARER]))[0] == 421
    assert door.callers == []


@pytest.mark.parametrize(
    ("origins", "status"),
    [
        ([], 200),
        (["http://127.0.0.1:40100"], 200),
        (["https://127.0.0.1:40100"], 200),
        (["HTTP://127.0.0.1:40100"], 200),
        (["https://console.example"], 200),
        (["null"], 403),
        ([""], 403),
        (["http://127.0.0.1"], 403),
        (["http://127.0.0.1:40101"], 403),
        (["http://localhost:40100"], 403),
        (["http://evil.example"], 403),
        (["http://127.0.0.1:40100.evil.example"], 403),
        (["http://evil.example/http://127.0.0.1:40100"], 403),
        (["http://127.0.0.1:40100/"], 403),
        (["file://"], 403),
        (["chrome-extension://abc"], 403),
        (["https://console.example.evil"], 403),
        (["http://127.0.0.1:40100", "http://evil.example"], 403),
        (["http://evil.example", "http://127.0.0.1:40100"], 403),
    ],
    ids=str,
)
async def test_only_own_pages_may_ask(guard: Guard, door: Door, origins: list[str], status: int) -> None:
    assert (await ask(guard, [*(("origin", origin) for origin in origins), BEARER]))[0] == status
    assert len(door.callers) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([BEARER], 200),
        ([("authorization", "bearer good-operator")], 200),
        ([("authorization", "Bearer   good-operator ")], 200),
        ([("x-api-key", "good-operator")], 200),
        ([], 401),
        ([("authorization", "")], 401),
        ([("authorization", "Bearer")], 401),
        ([("authorization", "Bearer wrong")], 401),
        ([("authorization", "Basic good-operator")], 401),
        ([("authorization", "good-operator")], 401),
        ([("authorization", "Bearer good-operator good-operator")], 401),
        ([("authorization", "Bearer wrong"), ("x-api-key", "good-operator")], 401),
        ([("authorization", "Basic x"), ("x-api-key", "good-operator")], 401),
        ([("x-api-key", "")], 401),
        ([("cookie", "token=good-operator")], 401),
    ],
    ids=str,
)
async def test_a_token_is_needed(guard: Guard, door: Door, headers: list[tuple[str, str]], status: int) -> None:
    answered, told = await ask(guard, headers)

    assert answered == status
    assert door.callers == ([OPERATOR] if status == 200 else [])
    assert ("www-authenticate" in told) is (status == 401)


@pytest.mark.parametrize("path", ["/health", "/openapi.json"])
async def test_public_paths_need_none_but_the_same_host_and_origin(guard: Guard, door: Door, path: str) -> None:
    assert (await ask(guard, path=path))[0] == 200
    assert (await ask(guard, path=path, host="evil.example"))[0] == 421
    assert (await ask(guard, [("origin", "http://evil.example")], path=path))[0] == 403
    assert door.callers == [None]


@pytest.mark.parametrize("path", ["/health/", "/healthx", "//health", "/health/../mcp", "/HEALTH", ""])
async def test_only_exactly_those_paths_are_public(guard: Guard, path: str) -> None:
    assert (await ask(guard, path=path))[0] == 401


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("0", 200),
        (str(MAX_BODY_BYTES), 200),
        (str(MAX_BODY_BYTES + 1), 413),
        ("9" * 5000, 413),
        ("-1", 413),
        ("1e3", 413),
        ("\u00b2", 413),
        ("", 413),
    ],
)
async def test_a_body_that_says_it_is_too_large_is_not_read(guard: Guard, door: Door, length: str, status: int) -> None:
    assert (await ask(guard, [BEARER, ("content-length", length)]))[0] == status
    assert len(door.callers) == (status == 200)


@pytest.mark.parametrize("more", [[], [("transfer-encoding", "chunked"), ("content-length", "5")]], ids=["", "both"])
async def test_a_body_that_says_nothing_is_counted_as_it_comes(
    guard: Guard, door: Door, more: list[tuple[str, str]]
) -> None:
    part = b"x" * 65536
    assert (await ask(guard, [BEARER, *more], body=[part] * 16))[0] == 200
    assert len(door.bodies[0]) == MAX_BODY_BYTES

    assert (await ask(guard, [BEARER, *more], body=[part] * 16 + [b"x"]))[0] == 413
    assert len(door.bodies) == 1


async def test_a_body_that_breaks_off_reaches_nobody(guard: Guard, door: Door) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        """Nobody is there to hear it."""

    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer good-operator")]
    await guard({"type": "http", "path": "/mcp", "headers": headers}, receive, send)

    assert door.callers == []


async def test_a_websocket_is_closed_and_the_lifespan_passes(guard: Guard, door: Door) -> None:
    assert (await ask(guard, [BEARER], kind="websocket"))[0] == 1008
    assert door.callers == []

    async def nothing() -> Message:
        return {}

    async def send(_message: Message) -> None:
        """Not used."""

    await guard({"type": "lifespan"}, nothing, send)
    assert door.callers == ["lifespan"]


async def test_a_valid_token_of_somebody_else_is_forbidden(door: Door) -> None:
    guard = Guard(door, verifier=Tokens(), allow=butler("general", "switchboard"))

    assert (await ask(guard, [("authorization", "Bearer good-health")]))[0] == 403
    assert (await ask(guard, [BEARER]))[0] == 200
    assert door.callers == [OPERATOR]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/console/", 200),
        ("/console/deliveries/x", 200),
        ("/console", 401),
        ("/consolex", 401),
        ("/v1/console/", 401),
        ("//console/", 401),
        ("/Console/", 401),
    ],
)
async def test_a_door_that_asks_for_itself_is_reached_without_a_token_below_its_path_alone(
    path: str, status: int
) -> None:
    guard = Guard(Door(), verifier=Tokens(), own_doors=("/console",))

    assert (await ask(guard, path=path))[0] == status


async def test_hosts_and_origins_are_checked_before_a_door_that_asks_for_itself() -> None:
    guard = Guard(Door(), verifier=Tokens(), own_doors=("/console",))

    assert (await ask(guard, path="/console/", host="evil.example"))[0] == 421
    assert (await ask(guard, [("origin", "https://evil.example")], path="/console/"))[0] == 403


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
