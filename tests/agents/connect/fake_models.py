"""Model endpoints that ask for one tool call and, when its result is there, say what they saw: no model, no network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(slots=True)
class FakeModel:
    """`tool` and `arguments` of the one call, and the words after it."""

    tool: str
    arguments: dict[str, Any]
    words: str = "The work is done."
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """Anthropic's Messages API."""
        body = await request.json()
        self.requests.append(body)
        offered = [tool["name"] for tool in body.get("tools") or ()]
        if self.tool in offered and "tool_result" not in json.dumps(body["messages"]):
            use = {"type": "tool_use", "id": "toolu_01FAKE", "name": self.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(self.arguments)}
            return await _messages_stream(request, use, delta, "tool_use")
        text = {"type": "text_delta", "text": self.words}
        return await _messages_stream(request, {"type": "text", "text": ""}, text, "end_turn")

    async def responses(self, request: web.Request) -> web.StreamResponse:
        """OpenAI's Responses API."""
        body = await request.json()
        self.requests.append(body)
        if "function_call_output" not in json.dumps(body["input"]):
            item = {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_fake",
                "arguments": json.dumps(self.arguments),
                **self._named(body),
            }
        else:
            content = [{"type": "output_text", "text": self.words, "annotations": []}]
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        return await _responses_stream(request, item)

    def _named(self, body: dict[str, Any]) -> dict[str, Any]:
        """Tools of a server may stand in a space of their own."""
        for tool in body.get("tools") or ():
            inner = [one.get("name") for one in tool.get("tools") or ()]
            if self.tool in inner:
                return {"name": self.tool, "namespace": tool["name"]}
        return {"name": self.tool}


async def _messages_stream(
    request: web.Request, block: dict[str, Any], delta: dict[str, Any], reason: str
) -> web.StreamResponse:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return await _streamed(request, events)


async def _responses_stream(request: web.Request, item: dict[str, Any]) -> web.StreamResponse:
    response = {"id": "resp_fake", "object": "response", "status": "in_progress", "output": []}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return await _streamed(request, events)


async def _streamed(request: web.Request, events: list[dict[str, Any]]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    await response.write_eof()
    return response


@asynccontextmanager
async def fake_model(
    tool: str, arguments: dict[str, Any], words: str = "The work is done."
) -> AsyncIterator[FakeModel]:
    model = FakeModel(tool, arguments, words)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/messages", model.messages)
    app.router.add_post("/v1/responses", model.responses)
    app.router.add_route("*", "/{rest:.*}", _nothing)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()

    model.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield model
    finally:
        await runner.cleanup()


async def _nothing(_request: web.Request) -> web.Response:
    return web.json_response({"data": []})
