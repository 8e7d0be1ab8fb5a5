"""Google's `gemini`: its command line, its settings files and the events it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.runtime import TOKEN_VARIABLE, Launch, Order, environment
from postroom.domain.transcript import MAX_ERROR_CHARACTERS, ToolCall, Transcript, as_text, cut
from postroom.world.runtimes.json_lines import events, number, text_of, within

# The program's own tools read files and the web; a denied tool is not even shown to the model.
_POLICY: Final = """\
[[rule]]
toolName = "*"
decision = "deny"
priority = 100

[[rule]]
mcpName = "{server}"
toolName = "*"
decision = "allow"
priority = 200
"""


class Gemini:
    name: Final = "gemini"
    credential_names: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL")

    def launch(self, order: Order) -> Launch:
        policy = order.home / "policy.toml"
        argv = ["gemini", "--output-format", "stream-json", "--skip-trust", "--extensions", "none"]
        argv += ["--allowed-mcp-server-names", order.server, "--admin-policy", str(policy)]
        argv += ["--model", order.model] if order.model else []
        return Launch(
            argv=[*argv, *order.arguments],
            stdin=order.prompt,
            environment=environment(order, self.credential_names),
            work=order.work,
            files={
                order.home / ".gemini" / "settings.json": json.dumps(_settings(order)),
                policy: _POLICY.format(server=order.server),
            },
        )

    def read(self, output: bytes) -> Transcript:
        texts: list[str] = []
        asked: dict[str, Mapping[str, Any]] = {}
        answers: dict[str, Mapping[str, Any]] = {}
        result: Mapping[str, Any] = {}
        trouble: str | None = None
        for event in events(output):
            match event.get("type"):
                case "message" if event.get("role") == "assistant":
                    texts.append(text_of(event, "content"))
                case "tool_use":
                    asked[text_of(event, "tool_id")] = event
                case "tool_result":
                    answers[text_of(event, "tool_id")] = event
                case "error" if event.get("severity") != "warning":
                    trouble = text_of(event, "message")
                case "result":
                    result = event
        stats = within(result, "stats")
        return Transcript(
            finished=result.get("status") == "success",
            text="".join(texts),
            calls=tuple(_call(use, answers.get(identity)) for identity, use in asked.items()),
            error=_error(result, trouble),
            input_tokens=number(stats, "input_tokens"),
            output_tokens=number(stats, "output_tokens"),
        )


def _settings(order: Order) -> dict[str, Any]:
    server = {
        "type": "http",
        "url": order.mcp_url,
        "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"},
        "timeout": round(order.timeout_seconds * 1000),
        "trust": True,
    }
    return {
        "mcpServers": {order.server: server},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }


def _call(use: Mapping[str, Any], answer: Mapping[str, Any] | None) -> ToolCall:
    """The name on the wire is mcp_<server>_<tool>, and our server names have no underscore."""
    name = text_of(use, "tool_name")
    answer = answer or {}
    return ToolCall(
        tool=name.split("_", 2)[-1] if name.startswith("mcp_") else name,
        arguments=as_text(use.get("parameters")),
        ok=answer.get("status") == "success",
        answer=as_text(answer.get("output") or within(answer, "error")),
    )


def _error(result: Mapping[str, Any], trouble: str | None) -> str | None:
    if result.get("status") == "success":
        return None
    words = text_of(within(result, "error"), "message") or trouble
    return cut(words, MAX_ERROR_CHARACTERS) if words else None
