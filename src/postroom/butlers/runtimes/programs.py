"""The programs that can run a butler's model: their command lines, their settings and the events they print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from postroom.butlers.model import (
    MAX_ERROR_CHARACTERS,
    TOKEN_VARIABLE,
    Launch,
    Order,
    Runtime,
    ToolCall,
    Transcript,
    as_text,
    cut,
    environment,
)
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.fields import Document

# Events, one per line, among lines that are not ours to understand.


def events(output: bytes) -> Iterator[JsonObject]:
    """A line that is no JSON object, or was cut off, is passed over."""
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, Mapping):
            yield event


def within(event: JsonObject, *names: str) -> JsonObject:
    """A nested object, or an empty one where the shape is another."""
    found: Any = event
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def items(event: JsonObject, *names: str) -> list[JsonObject]:
    found = within(event, *names[:-1]).get(names[-1])
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def text_of(event: JsonObject, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def number(event: JsonObject, name: str) -> int:
    value = event.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# Anthropic's `claude -p`.


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
        asked: dict[str, JsonObject] = {}
        answers: dict[str, JsonObject] = {}
        connected: bool | None = None
        result: JsonObject = {}
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


def _call(use: JsonObject, answer: JsonObject | None) -> ToolCall:
    """The name on the wire is mcp__<server>__<tool>."""
    name = text_of(use, "name")
    return ToolCall(
        tool=name.split("__", 2)[-1],
        arguments=as_text(use.get("input")),
        ok=answer is not None and answer.get("is_error") is not True,
        answer=as_text((answer or {}).get("content")),
    )


def _error(result: JsonObject) -> str | None:
    if not result or result.get("is_error") is False:
        return None
    words = text_of(result, "result") or text_of(result, "subtype") or "the model's turn failed"
    return cut(words, MAX_ERROR_CHARACTERS)


# OpenAI's `codex exec`.

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
                    calls += [_codex_call(item)] if item.get("type") == "mcp_tool_call" else []
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


def _codex_call(item: JsonObject) -> ToolCall:
    result = item.get("result")
    ok = item.get("status") == "completed" and item.get("error") is None
    answer = within(item, "result").get("structured_content") or result if ok else item.get("error")
    return ToolCall(
        tool=text_of(item, "tool"),
        arguments=as_text(item.get("arguments")),
        ok=ok,
        answer=as_text(answer),
    )


def _words(event: JsonObject) -> str:
    return cut(text_of(event, "message"), MAX_ERROR_CHARACTERS)


# Google's `gemini`.

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
        asked: dict[str, JsonObject] = {}
        answers: dict[str, JsonObject] = {}
        result: JsonObject = {}
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
            calls=tuple(_gemini_call(use, answers.get(identity)) for identity, use in asked.items()),
            error=_gemini_error(result, trouble),
            input_tokens=number(stats, "input_tokens"),
            output_tokens=number(stats, "output_tokens"),
        )


def _settings(order: Order) -> Document:
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


def _gemini_call(use: JsonObject, answer: JsonObject | None) -> ToolCall:
    """The name on the wire is mcp_<server>_<tool>, and our server names have no underscore."""
    name = text_of(use, "tool_name")
    answer = answer or {}
    return ToolCall(
        tool=name.split("_", 2)[-1] if name.startswith("mcp_") else name,
        arguments=as_text(use.get("parameters")),
        ok=answer.get("status") == "success",
        answer=as_text(answer.get("output") or within(answer, "error")),
    )


def _gemini_error(result: JsonObject, trouble: str | None) -> str | None:
    if result.get("status") == "success":
        return None
    words = text_of(within(result, "error"), "message") or trouble
    return cut(words, MAX_ERROR_CHARACTERS) if words else None


RUNTIMES: Final[Mapping[str, Runtime]] = {runtime.name: runtime for runtime in (Codex(), Claude(), Gemini())}
