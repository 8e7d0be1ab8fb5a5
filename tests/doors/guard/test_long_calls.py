"""Which calls are answered as a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from postroom.doors.guard.long_calls import LongCalls

BOTH = "application/json, text/event-stream"


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
        ("stream", called("ask"), {"accept": BOTH}),
        ("stream", called("wait"), {"accept": BOTH}),
        ("stream", b"", {"accept": BOTH, "Mcp_Method": "tools/call", "Mcp_Name": "ask"}),
        ("json", called("notify"), {"accept": BOTH}),
        ("json", called("ask"), {"accept": "application/json"}),
        ("json", called("ask", "prompts/get"), {"accept": BOTH}),
        ("json", called("ask"), {"accept": BOTH, "Mcp_Method": "tools/call", "Mcp_Name": "notify"}),
        ("json", called("ask"), {"accept": BOTH, "Mcp_Method": "tools/list"}),
        ("json", b'not JSON "ask"', {"accept": BOTH}),
        ("json", b'["ask"]', {"accept": BOTH}),
        ("json", b'{"method": "notifications/cancelled", "params": {"requestId": {"id": [1]}}}', {"accept": BOTH}),
        ("json", b'{"method": "tools/call", "params": {"name": ["ask"]}}', {"accept": BOTH}),
        ("json", b'{"method": "tools/call", "params": "ask", "x": "ask"}', {"accept": BOTH}),
    ],
)
@pytest.mark.requirement("ask:progress")
async def test_calls_that_wait_for_people_stream_and_all_others_do_not(
    way: str, body: bytes, headers: dict[str, str]
) -> None:
    assert await served(body, **headers) == (way, body)


@pytest.mark.parametrize(("method", "path"), [("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/v1/asks")])
async def test_nothing_else_is_looked_at(method: str, path: str) -> None:
    assert await served(called("ask"), method, path, accept=BOTH) == ("json", called("ask"))
