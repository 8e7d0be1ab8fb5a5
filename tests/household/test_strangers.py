"""Who and what should not be there: every port refuses it in words, and nothing of ours fails."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
import pytest_asyncio
from pydantic import WithJsonSchema
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from postroom.household.ports import butler_app
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, any_butler
from postroom.kernel.values.errors import HINTS, Code
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings
from tests.household.living import LIFTED, QUICK, Living, living

# Every MCP port and everybody who should not be there: nothing happens but a refusal.
ENVELOPE = {
    "schema_version": "notify.v1",
    "origin_butler": "general",
    "delivery": {"intent": "send", "channel": "telegram", "message": "Forged", "recipient": "1000"},
}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "health": ("notify", {"channel": "telegram", "message": "Forged"}),
    "general": ("notify", {"channel": "telegram", "message": "Forged"}),
    "switchboard": ("deliver", {"notify_request": ENVELOPE}),
    "messenger": ("route.execute", {"route": {}}),
}
STRANGERS = ["nobody", "wrong token", "butler:other", "user:ann", "connector:chatgpt"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home_life(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        one.tokens.create(Principal(Role.USER, "ann"))
        one.tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
        one.tokens.create(Principal(Role.BUTLER, "other"))
        yield one


REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def by_hand(method: str, **params: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of a call such as no client of ours would send."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": method,
        "Mcp-Name": str(params.get("name", "")),
    }
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


async def send_as(home: Living, part: str, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> Any:
    plain, body = by_hand("tools/call", name=tool, arguments=arguments)
    async with home.http.post(home.household.addresses[part], json=body, headers={**plain, **headers}) as response:
        return response.status, await response.json()


def headers_of(home: Living, who: str) -> dict[str, str]:
    if who == "nobody":
        return {}
    if who == "wrong token":
        return {"Authorization": "Bearer pr_operator_" + "x" * 43}
    role, _, name = who.partition(":")
    return {"Authorization": f"Bearer {home.tokens.token_of(Principal(Role(role), name))}"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("messenger:messenger-channel-ownership")
@pytest.mark.parametrize("part", CALLS)
@pytest.mark.parametrize("who", STRANGERS)
async def test_a_stranger_gets_nothing_but_a_refusal(home_life: Living, part: str, who: str) -> None:
    tool, arguments = CALLS[part]
    sent, logged = len(await home_life.received()), len(home_life.rows("delivery_refusals"))

    status, body = await send_as(home_life, part, headers_of(home_life, who), tool, arguments)

    if who in ("nobody", "wrong token"):
        assert status == 401
    elif (part, who) == ("switchboard", "butler:other"):  # a butler indeed, but the envelope is not its own
        assert body["result"]["structuredContent"]["error"]["fields"][0]["code"] == "origin_mismatch"
        logged += 1
    elif (part, who) == ("messenger", "user:ann"):  # people decide approvals here, and nothing else
        assert body["error"]["message"] == "user:ann may not call route.execute"
    else:
        assert status == 403
    assert len(await home_life.received()) == sent
    assert len(home_life.rows("delivery_refusals")) == logged
    assert home_life.rows("delivery_requests") == []


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("part", [*CALLS, "api"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403)],
    ids=str,
)
async def test_every_port_checks_host_and_origin(
    home_life: Living, part: str, headers: dict[str, str], status: int
) -> None:
    url = home_life.household.addresses[part].removesuffix("/mcp")
    token = {"Authorization": f"Bearer {home_life.token('operator')}"}

    async with home_life.http.get(f"{url}/health", headers={**token, **headers}) as response:
        assert response.status == status


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("part", [*CALLS, "api"])
async def test_every_port_tells_its_health_and_its_interface_and_nothing_secret(home_life: Living, part: str) -> None:
    url = home_life.household.addresses[part].removesuffix("/mcp")

    for path in ("/health", "/openapi.json"):
        async with home_life.http.get(url + path) as response:
            text = await response.text()
            assert response.status == 200
            assert not any(token in text for _, token in _tokens(home_life))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_tool_without_a_rule_can_be_called_by_nobody(home_life: Living) -> None:
    operator = {"Authorization": f"Bearer {home_life.token('operator')}"}

    _, body = await send_as(home_life, "general", operator, "no.such.tool", {})

    assert body["error"]["message"] == "operator may not call no.such.tool"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"{" * 100_000, b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"0" * 1000],
    ids=lambda body: body[:12].decode("latin-1"),
)
async def test_what_is_no_message_is_a_client_error(home_life: Living, body: bytes) -> None:
    headers = {
        "Authorization": f"Bearer {home_life.token('operator')}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with home_life.http.post(home_life.household.addresses["general"], data=body, headers=headers) as response:
        assert 400 <= response.status < 500


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_without_an_end_is_refused(home_life: Living) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 65536

    headers = {"Authorization": f"Bearer {home_life.token('operator')}", "Content-Type": "application/json"}
    async with home_life.http.post(
        home_life.household.addresses["general"], data=endless(), headers=headers
    ) as response:
        assert response.status == 413


def _tokens(home: Living) -> list[tuple[Principal, str]]:
    return [(one, home.tokens.token_of(one) or "-") for one in home.tokens.principals()]


# Headers that repeat arguments: compared where a tool declares them, not looked for where it does not.
class Tokens:
    def verify(self, token: str) -> Principal | None:
        return OPERATOR if token == "good" else None


@pytest.fixture
def declaring_server() -> GuardedServer:
    one = GuardedServer("part", ToolPolicy({"plain": any_butler, "declaring": any_butler}, Tokens()))

    async def plain(region: str) -> dict[str, Any]:
        return {"region": region}

    async def declaring(
        region: Annotated[str, WithJsonSchema({"type": "string", "x-mcp-header": "Region"})],
    ) -> dict[str, Any]:
        return {"region": region}

    one.add_tool(plain)
    one.add_tool(declaring)
    return one


def app_of(declaring_server: GuardedServer) -> ASGIApp:
    return butler_app(declaring_server, Tokens(), Settings(home=Path("unused"), allowed_hosts=("testserver",)))


def call_with(app: ASGIApp, tool: str, header: str | None) -> int:
    plain, body = by_hand("tools/call", name=tool, arguments={"region": "eu"})
    headers = {**plain, "Authorization": "Bearer good"} | ({"Mcp-Param-Region": header} if header else {})
    with TestClient(app) as http:
        return http.post("/mcp", json=body, headers=headers).status_code


@pytest.mark.parametrize(
    ("tool", "header", "status"),
    [
        ("declaring", "eu", 200),
        ("declaring", "us", 400),
        ("declaring", None, 400),
        ("plain", "us", 200),
        ("plain", None, 200),
    ],
)
def test_a_header_counts_for_the_tool_that_declares_it(
    declaring_server: GuardedServer, tool: str, header: str | None, status: int
) -> None:
    assert call_with(app_of(declaring_server), tool, header) == status


def test_the_framework_asks_us_for_the_schema_and_gets_one_only_where_it_matters(
    declaring_server: GuardedServer,
) -> None:
    """Fails when the framework no longer looks where we answer: then each call walks the whole schema again."""
    app, inner = app_of(declaring_server), declaring_server.session_manager.app
    answer = inner.get_tool_input_schema
    assert answer is not None
    assert (answer("plain"), answer("no such tool")) == (None, None)
    assert (answer("declaring") or {})["properties"]["region"]["x-mcp-header"] == "Region"

    asked: list[str] = []

    def listening(name: str) -> Mapping[str, Any] | None:
        asked.append(name)
        return answer(name)

    inner.get_tool_input_schema = listening
    assert call_with(app, "plain", None) == 200
    assert asked == ["plain"]


# Text that no store can hold, in every argument of every tool: refused in words or taken, never a failure of ours.
_SAMPLES = {"string": "abcdefgh", "integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}


async def ask_with(home: Living, url: str, method: str, **params: Any) -> dict[str, Any]:
    headers, body = by_hand(method, **params)
    headers["Authorization"] = f"Bearer {home.token('operator')}"
    async with home.http.post(url, data=json.dumps(body), headers=headers) as response:
        answer: dict[str, Any] = json.loads(await response.text())
        assert response.status < 500, answer
        return answer


def sample(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("anyOf", [schema])[0]
    if kind.get("format") == "uuid":
        return "019b76db-9260-7005-8b8f-02fc93ec3989"
    return kind["enum"][0] if "enum" in kind else _SAMPLES.get(str(kind.get("type")), "x")


def is_our_failure(answer: dict[str, Any]) -> bool:
    result = answer.get("result") or {}
    structured = result.get("structuredContent") or {}
    words = [part.get("text", "") for part in result.get("content", [])]
    return structured.get("error_class") == "internal_error" or words == [HINTS[Code.INTERNAL]]


@pytest.mark.parametrize("odd", ["a\x00bcdefgh", "a\ud800bcdefgh"], ids=["NUL", "half a character"])
@pytest.mark.parametrize("part", ["messenger", "health", "switchboard", "api"])
async def test_no_tool_fails_over_text_that_cannot_be_kept(home: Path, postgres_url: str, part: str, odd: str) -> None:
    async with living(home, {"database_url": postgres_url, "approvals": {"enabled": True}}) as house:
        url = house.household.addresses[part].removesuffix("/mcp") + "/mcp"
        tools = (await ask_with(house, url, "tools/list"))["result"]["tools"]
        failed = []
        for tool in tools:
            name, schema = tool["name"], tool["inputSchema"]
            fine = {one: sample(schema["properties"][one]) for one in schema.get("required", [])}
            fine |= {"wait_seconds": 0} if name in ("ask", "wait") else {}
            for argument in schema.get("properties", {}):
                for value in (odd, {"key": odd}):
                    given = {**fine, argument: value}
                    if is_our_failure(await ask_with(house, url, "tools/call", name=name, arguments=given)):
                        failed.append((name, argument, type(value).__name__))

    assert tools
    assert failed == []
