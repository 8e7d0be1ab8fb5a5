"""Anthropic's `claude -p`: its command line and the events it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.runtime import TOKEN_VARIABLE, Launch, Order, environment
from postroom.domain.transcript import MAX_ERROR_CHARACTERS, ToolCall, Transcript, as_text, cut
from postroom.world.runtimes.json_lines import events, items, number, text_of, within


class Claude:
    name: Final = "claude"
    credential_names: Final = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL")

    def launch(self, order: Order) -> Launch:
        file = order.home / "mcp.json"
        server = {
            "type": "http",
            "url": order.mcp_url,
            "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"},
        }
        argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"]
        argv += ["--strict-mcp-config", "--mcp-config", str(file), "--setting-sources", "", "--disable-slash-commands"]
        argv += ["--tools", "", "--allowedTools", f"mcp__{order.server}"]  # no tools but our server's, and all of those
        argv += ["--model", order.model] if order.model else []
        return Launch(
            argv=[*argv, *order.arguments],
            stdin=order.prompt,
            environment=environment(
                order,
                self.credential_names,
                CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                MCP_TOOL_TIMEOUT=str(round(order.timeout_seconds * 1000)),
            ),
            work=order.work,
            files={file: json.dumps({"mcpServers": {order.server: server}})},
        )

    def read(self, output: bytes) -> Transcript:
        asked: dict[str, Mapping[str, Any]] = {}
        answers: dict[str, Mapping[str, Any]] = {}
        connected: bool | None = None
        result: Mapping[str, Any] = {}
        for event in events(output):
            match event.get("type"):
                case "system" if event.get("subtype") == "init":
                    servers = items(event, "mcp_servers")
                    connected = bool(servers) and all(one.get("status") != "failed" for one in servers)
                case "assistant":
                    uses = [part for part in items(event, "message", "content") if part.get("type") == "tool_use"]
                    asked |= {text_of(part, "id"): part for part in uses}
                case "user":
                    parts = items(event, "message", "content")
                    answers |= {text_of(part, "tool_use_id"): part for part in parts if "tool_use_id" in part}
                case "result":
                    result = event
        usage = within(result, "usage")
        return Transcript(
            finished=bool(result) and result.get("is_error") is False,
            text=text_of(result, "result"),
            calls=tuple(_call(use, answers.get(identity)) for identity, use in asked.items()),
            error=_error(result),
            connected=connected,
            input_tokens=number(usage, "input_tokens"),
            output_tokens=number(usage, "output_tokens"),
        )


def _call(use: Mapping[str, Any], answer: Mapping[str, Any] | None) -> ToolCall:
    """The name on the wire is mcp__<server>__<tool>."""
    name = text_of(use, "name")
    return ToolCall(
        tool=name.split("__", 2)[-1],
        arguments=as_text(use.get("input")),
        ok=answer is not None and answer.get("is_error") is not True,
        answer=as_text((answer or {}).get("content")),
    )


def _error(result: Mapping[str, Any]) -> str | None:
    if not result or result.get("is_error") is False:
        return None
    words = text_of(result, "result") or text_of(result, "subtype") or "the model's turn failed"
    return cut(words, MAX_ERROR_CHARACTERS)
