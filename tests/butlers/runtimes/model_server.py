"""The interfaces of three model providers, with one model behind them that calls `notify` and is then content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

ARGUMENTS = {"channel": "telegram", "message": "hello from the model"}
LAST_WORDS = "I told them."


class Model:
    """Remembers the tools it was shown, which must be ours and no others."""

    def __init__(self) -> None:
        self.url = ""
        self.tools: set[str] = set()

    async def openai(self, request: web.Request) -> web.Response:
        body = await request.json()
        tools = [(tool.get("name"), tool.get("tools", [])) for tool in body.get("tools", [])]
        named = {(space, one["name"]) for space, inner in tools for one in inner}
        self.tools |= {name for _, name in named} | {str(name) for name, inner in tools if name and not inner}
        if any(item.get("type") == "function_call_output" for item in body["input"]):
            content = [{"type": "output_text", "text": LAST_WORDS, "annotations": []}]
            item = {"type": "message", "id": "m1", "role": "assistant", "content": content}
        else:
            space = next(space for space, name in named if name == "notify")
            call = {"call_id": "c1", "name": "notify", "namespace": space, "arguments": json.dumps(ARGUMENTS)}
            item = {"type": "function_call", "id": "f1", **call}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return _stream(
            [
                {"type": "response.created", "response": {"id": "r1"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
            ]
        )

    async def anthropic(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.tools |= {tool["name"] for tool in body.get("tools", [])}
        contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
        answered = any(part.get("type") == "tool_result" for content in contents for part in content)
        name = next((tool["name"] for tool in body.get("tools", []) if tool["name"].endswith("notify")), None)
        if name and not answered:
            block: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)}
            reason = "tool_use"
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": LAST_WORDS}
            reason = "end_turn"
        message = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        return _stream(
            [
                {"type": "message_start", "message": message | {"usage": {"input_tokens": 10, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
        )

    async def google(self, request: web.Request) -> web.Response:
        body = await request.json()
        names = [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        self.tools |= set(names)
        answered = any("functionResponse" in part for one in body["contents"] for part in one.get("parts", []))
        name = next((one for one in names if one.endswith("notify")), None)
        part = {"functionCall": {"name": name, "args": ARGUMENTS}} if name and not answered else {"text": LAST_WORDS}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        return _stream([answer]) if "stream" in request.path else web.json_response(answer)


def _stream(events: Iterable[dict[str, Any]]) -> web.Response:
    lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    text = "".join(f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True))
    return web.Response(text=text, content_type="text/event-stream")


@asynccontextmanager
async def model_server() -> AsyncIterator[Model]:
    model = Model()
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/responses", model.openai)
    app.router.add_post("/v1/messages", model.anthropic)
    app.router.add_post("/{version}/models/{call:.*}", model.google)
    async with TestServer(app) as server:
        model.url = str(server.make_url("")).rstrip("/")
        yield model
