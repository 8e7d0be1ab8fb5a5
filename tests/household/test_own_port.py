"""Every MCP port and everybody who should not be there: nothing happens but a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import Principal, Role
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = pytest.mark.asyncio(loop_scope="module")
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


async def post(home: Living, part: str, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    plain = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    async with home.http.post(home.household.addresses[part], json=body, headers={**plain, **headers}) as response:
        return response.status, await response.json()


def headers_of(home: Living, who: str) -> dict[str, str]:
    if who == "nobody":
        return {}
    if who == "wrong token":
        return {"Authorization": "Bearer pr_operator_" + "x" * 43}
    role, _, name = who.partition(":")
    return {"Authorization": f"Bearer {home.tokens.token_of(Principal(Role(role), name))}"}


@pytest.mark.requirement("messenger:messenger-channel-ownership")
@pytest.mark.parametrize("part", CALLS)
@pytest.mark.parametrize("who", STRANGERS)
async def test_a_stranger_gets_nothing_but_a_refusal(home_life: Living, part: str, who: str) -> None:
    tool, arguments = CALLS[part]
    sent, logged = len(await home_life.received()), len(home_life.rows("delivery_refusals"))

    status, body = await post(home_life, part, headers_of(home_life, who), tool, arguments)

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


@pytest.mark.parametrize("part", [*CALLS, "api"])
async def test_every_port_tells_its_health_and_its_interface_and_nothing_secret(home_life: Living, part: str) -> None:
    url = home_life.household.addresses[part].removesuffix("/mcp")

    for path in ("/health", "/openapi.json"):
        async with home_life.http.get(url + path) as response:
            text = await response.text()
            assert response.status == 200
            assert not any(token in text for _, token in _tokens(home_life))


async def test_a_tool_without_a_rule_can_be_called_by_nobody(home_life: Living) -> None:
    operator = {"Authorization": f"Bearer {home_life.token('operator')}"}

    _, body = await post(home_life, "general", operator, "no.such.tool", {})

    assert body["error"]["message"] == "operator may not call no.such.tool"


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
