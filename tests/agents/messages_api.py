"""As much of a hosted model's Messages API as one scripted conversation needs, on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class MessagesApi:
    """Calls the tool it is told to, once it is offered, so many times; then says that it is done."""

    def __init__(self, tool: str, arguments: dict[str, Any], times: int) -> None:
        self._times = times
        self._tool = tool
        self._arguments = arguments
        self.url = ""

    async def messages(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        answer = self._answer(body)
        if not body.get("stream"):
            return web.json_response(_message([answer], "end_turn"))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in _events(answer):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        offered = {tool.get("name") for tool in body.get("tools", [])}
        called = _blocks(body, "tool_use")
        if self._tool in offered and sum(_is_whole(one) for one in _blocks(body, "tool_result")) < self._times:
            return {"type": "tool_use", "id": f"toolu_{len(called)}", "name": self._tool, "input": self._arguments}
        return {"type": "text", "text": "Noted."}


def _blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    contents = [one["content"] for one in body["messages"] if isinstance(one["content"], list)]
    return [block for content in contents for block in content if block["type"] == kind]


def _is_whole(result: dict[str, Any]) -> bool:
    """A tool that was cut off by the end of its process is called again."""
    return "interrupted" not in json.dumps(result["content"])


def _message(content: list[dict[str, Any]], stop_reason: str | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(answer: dict[str, Any]) -> list[dict[str, Any]]:
    if answer["type"] == "tool_use":
        start: dict[str, Any] = {**answer, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer["input"])}
        reason = "tool_use"
    else:
        start, delta, reason = {**answer, "text": ""}, {"type": "text_delta", "text": answer["text"]}, "end_turn"
    return [
        {"type": "message_start", "message": _message([], None)},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


@asynccontextmanager
async def messages_api(tool: str, arguments: dict[str, Any], times: int = 1) -> AsyncIterator[str]:
    """The URL to name as the API's base."""
    async with _served(MessagesApi(tool, arguments, times).messages) as url:
        yield url


@asynccontextmanager
async def silent_api() -> AsyncIterator[str]:
    """One that takes every question and answers none."""

    async def silence(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    async with _served(silence) as url:
        yield url


@asynccontextmanager
async def _served(messages: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/v1/messages", messages)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
