"""OpenAI's `codex exec`: its command line and the events it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.runtime import TOKEN_VARIABLE, Launch, Order, environment
from postroom.domain.transcript import MAX_ERROR_CHARACTERS, ToolCall, Transcript, as_text, cut
from postroom.world.runtimes.json_lines import events, number, text_of, within

# A butler's model acts through its butler alone. Names an older program does not know are ignored by it.
_OFF: Final = ("shell_tool", "unified_exec", "multi_agent", "goals", "apps", "plugins", "view_image", "skill_search")


class Codex:
    name: Final = "codex"
    credential_names: Final = ("CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_HOME")

    def launch(self, order: Order) -> Launch:
        settings = {
            f"mcp_servers.{order.server}.url": order.mcp_url,
            f"mcp_servers.{order.server}.bearer_token_env_var": TOKEN_VARIABLE,
            # without this every call is refused for want of a person to ask, and the program still exits with 0
            f"mcp_servers.{order.server}.default_tools_approval_mode": "approve",
            f"mcp_servers.{order.server}.required": True,
            f"mcp_servers.{order.server}.tool_timeout_sec": round(order.timeout_seconds, 3),
            "approval_policy": "never",
            "web_search": "disabled",
            "shell_environment_policy.inherit": "none",
            "history.persistence": "none",
            **{f"features.{feature}": False for feature in _OFF},
        }
        argv = ["codex", "exec", "--json", "--color", "never", "--ephemeral", "--skip-git-repo-check"]
        argv += ["--ignore-user-config", "--ignore-rules", "--sandbox", "read-only", "--cd", str(order.work)]
        argv += ["--model", order.model] if order.model else []
        for key, value in settings.items():
            argv += ["-c", f"{key}={json.dumps(value)}"]  # what JSON writes for these values is also TOML
        return Launch(
            argv=[*argv, *order.arguments, "-"],
            stdin=order.prompt,
            environment=environment(order, self.credential_names),
            work=order.work,
        )

    def read(self, output: bytes) -> Transcript:
        texts: list[str] = []
        calls: list[ToolCall] = []
        finished, error, used = False, None, (0, 0)
        for event in events(output):
            match event.get("type"):
                case "item.completed":
                    item = within(event, "item")
                    texts += [text_of(item, "text")] if item.get("type") == "agent_message" else []
                    calls += [_call(item)] if item.get("type") == "mcp_tool_call" else []
                case "turn.started":
                    finished = False
                case "turn.completed":
                    finished, error = True, None  # trouble on the way that was overcome is no failure
                    usage = within(event, "usage")
                    used = (number(usage, "input_tokens"), number(usage, "output_tokens"))
                case "turn.failed":
                    finished, error = False, _words(within(event, "error")) or "the model's turn failed"
                case "error":
                    error = _words(event) or error
        return Transcript(
            finished=finished,
            text=texts[-1] if texts else "",
            calls=tuple(calls),
            error=error,
            input_tokens=used[0],
            output_tokens=used[1],
        )


def _call(item: Mapping[str, Any]) -> ToolCall:
    result = item.get("result")
    ok = item.get("status") == "completed" and item.get("error") is None
    answer = within(item, "result").get("structured_content") or result if ok else item.get("error")
    return ToolCall(
        tool=text_of(item, "tool"),
        arguments=as_text(item.get("arguments")),
        ok=ok,
        answer=as_text(answer),
    )


def _words(event: Mapping[str, Any]) -> str:
    return cut(text_of(event, "message"), MAX_ERROR_CHARACTERS)
