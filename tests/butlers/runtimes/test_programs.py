"""What holds for every runtime."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.butlers.runtimes.orders import order, recording

from postroom.butlers.model import Runtime, document
from postroom.butlers.runtimes.programs import RUNTIMES, Claude, Codex, Gemini, events, items, number, text_of, within

every_runtime = pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=list(RUNTIMES))
words = st.sampled_from(["type", "item", "message", "content", "result", "status", "error", "stats", "usage", "id"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(
    ["item.completed", "turn.completed", "assistant", "user", "result", "tool_use", "system", "error"]
)


def test_there_are_three() -> None:
    assert {name: runtime.name for name, runtime in RUNTIMES.items()} == {
        "codex": "codex",
        "claude": "claude",
        "gemini": "gemini",
    }


@every_runtime
def test_neither_prompt_nor_token_nor_key_is_on_the_command_line_or_in_a_file(runtime: Runtime) -> None:
    keys = {name: f"canary-{name}" for name in runtime.credential_names}
    launch = runtime.launch(order(credentials=keys))

    for text in (*launch.argv, *launch.files.values(), repr(launch), repr(order(credentials=keys))):
        assert "canary" not in text
    assert launch.stdin == "canary-prompt"
    assert launch.environment["POSTROOM_SESSION_TOKEN"] == "pr_session_canary"


@every_runtime
def test_only_declared_credentials_are_passed_on_and_none_can_replace_ours(runtime: Runtime) -> None:
    first = runtime.credential_names[0]
    launch = runtime.launch(order(credentials={first: "k", "HOME": "/elsewhere", "AWS_SECRET_ACCESS_KEY": "no"}))

    assert launch.environment[first] == "k"
    assert launch.environment["HOME"] == "/s/home"
    assert "AWS_SECRET_ACCESS_KEY" not in launch.environment
    assert "PATH" not in launch.environment


@every_runtime
def test_without_a_model_the_program_chooses(runtime: Runtime) -> None:
    assert "--model" not in runtime.launch(order(model=None)).argv


@every_runtime
def test_noise_between_the_events_is_passed_over(runtime: Runtime) -> None:
    clean = recording(runtime.name)
    noisy = b"WARNING: hello\n\xff\xfe\n[1, 2]\n" + clean.replace(b"\n", b"\nnull\n{broken\n") + b"[" * 20_000

    assert runtime.read(noisy) == runtime.read(clean)


@given(kinds, st.dictionaries(words, values, max_size=4))
def test_nothing_a_program_prints_breaks_the_reading(kind: str, event: dict[str, Any]) -> None:
    for runtime in RUNTIMES.values():
        json.dumps(document(runtime.read(json.dumps({**event, "type": kind}).encode())))


@every_runtime
def test_an_endless_transcript_is_kept_in_part(runtime: Runtime) -> None:
    first, *rest = recording(runtime.name).splitlines(keepends=True)
    flood = first + b"".join(
        line.replace(b"toolu_1", b"t%d" % n).replace(b'_0"', b'%d"' % n) for n in range(500) for line in rest
    )

    kept = document(runtime.read(flood))

    assert len(json.dumps(kept)) < 700_000
    assert len(kept["tool_calls"]) <= 100


def test_the_command_line() -> None:
    launch = Claude().launch(order())

    assert list(launch.argv) == [
        *("claude", "-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--strict-mcp-config", "--mcp-config", "/s/home/mcp.json", "--setting-sources", ""),
        *("--disable-slash-commands", "--tools", "", "--allowedTools", "mcp__general", "--model", "m-1", "--extra"),
    ]
    assert json.loads(launch.files[Path("/s/home/mcp.json")]) == {
        "mcpServers": {
            "general": {
                "type": "http",
                "url": "http://127.0.0.1:40101/mcp",
                "headers": {"Authorization": "Bearer ${POSTROOM_SESSION_TOKEN}"},
            }
        }
    }


def test_what_the_real_program_prints_is_understood() -> None:
    transcript = Claude().read(recording("claude"))

    assert transcript.failure is None
    assert transcript.connected is True
    assert (transcript.text, transcript.input_tokens, transcript.output_tokens) == ("I told them.", 20, 10)
    (made,) = transcript.calls
    assert (made.tool, made.ok) == ("notify", True)
    assert json.loads(made.answer)["status"] == "ok"


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        (b"", "the program ended before the model had finished"),
        (b'{"type":"result","subtype":"error_max_turns","is_error":true}', "error_max_turns"),
        (b'{"type":"result","is_error":true,"result":"Invalid API key"}', "Invalid API key"),
        (
            b'{"type":"system","subtype":"init","mcp_servers":[{"name":"general","status":"failed"}]}\n'
            b'{"type":"result","is_error":false,"result":"ok"}',
            "the model could not reach the butler's own server",
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"mcp__general__notify"}]}}\n'
            b'{"type":"user","message":{"content":[{"tool_use_id":"t","is_error":true,"content":"denied"}]}}\n'
            b'{"type":"result","is_error":false,"result":"ok"}',
            "none of the model's tool calls went through",
        ),
        (b'{"type":"result","is_error":false,"result":"ok"}', None),
    ],
    ids=["nothing", "gave up", "no key", "not connected", "denied", "fine"],
)
def test_the_transcript_decides(output: bytes, failure: str | None) -> None:
    assert Claude().read(output).failure == failure


def lines(*events: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(event) for event in events).encode()


def call(status: str, error: dict[str, str] | None = None) -> dict[str, Any]:
    item = {"type": "mcp_tool_call", "server": "general", "tool": "notify", "arguments": {}, "status": status}
    return {"type": "item.completed", "item": item | {"error": error, "result": None}}


COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}}


def test_codex_the_command_line() -> None:
    launch = Codex().launch(order())
    argv = list(launch.argv)

    assert argv[:15] == [
        *("codex", "exec", "--json", "--color", "never", "--ephemeral", "--skip-git-repo-check"),
        *("--ignore-user-config", "--ignore-rules", "--sandbox", "read-only", "--cd", "/s/work", "--model", "m-1"),
    ]
    assert argv[-2:] == ["--extra", "-"]
    settings = tomllib.loads("\n".join(argv[position + 1] for position, one in enumerate(argv) if one == "-c"))
    assert settings["mcp_servers"] == {
        "general": {
            "url": "http://127.0.0.1:40101/mcp",
            "bearer_token_env_var": "POSTROOM_SESSION_TOKEN",
            "default_tools_approval_mode": "approve",
            "required": True,
            "tool_timeout_sec": 300.0,
        }
    }
    assert settings["approval_policy"] == "never"
    assert settings["features"]["shell_tool"] is False
    assert "--full-auto" not in argv


def test_codex_what_the_real_program_prints_is_understood() -> None:
    transcript = Codex().read(recording("codex"))

    assert transcript.failure is None
    assert (transcript.text, transcript.input_tokens, transcript.output_tokens) == ("I told them.", 20, 10)
    (made,) = transcript.calls
    assert (made.tool, made.ok) == ("notify", True)
    assert json.loads(made.answer)["status"] == "ok"


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        pytest.param(b"", "the program ended before the model had finished", id="nothing"),
        pytest.param(lines({"type": "turn.started"}), "the program ended before the model had finished", id="cut off"),
        pytest.param(
            lines({"type": "turn.failed", "error": {"message": "no such model"}}), "no such model", id="turn failed"
        ),
        pytest.param(lines({"type": "error", "message": "no network"}), "no network", id="error"),
        pytest.param(
            lines(call("failed", {"message": "user cancelled MCP tool call"}), COMPLETED),
            "none of the model's tool calls went through",
            id="refused calls, exit code 0",
        ),
        pytest.param(lines({"type": "error", "message": "reconnecting"}, COMPLETED), None, id="overcome"),
        pytest.param(lines(call("failed", {"message": "x"}), call("completed"), COMPLETED), None, id="second try"),
        pytest.param(lines(COMPLETED), None, id="nothing to do"),
    ],
)
def test_codex_the_transcript_decides(output: bytes, failure: str | None) -> None:
    assert Codex().read(output).failure == failure


def test_the_command_line_and_the_files() -> None:
    launch = Gemini().launch(order())

    assert list(launch.argv) == [
        *("gemini", "--output-format", "stream-json", "--skip-trust", "--extensions", "none"),
        *(
            "--allowed-mcp-server-names",
            "general",
            "--admin-policy",
            "/s/home/policy.toml",
            "--model",
            "m-1",
            "--extra",
        ),
    ]
    settings = json.loads(launch.files[Path("/s/home/.gemini/settings.json")])
    assert settings["mcpServers"] == {
        "general": {
            "type": "http",
            "url": "http://127.0.0.1:40101/mcp",
            "headers": {"Authorization": "Bearer $POSTROOM_SESSION_TOKEN"},
            "timeout": 300_000,
            "trust": True,
        }
    }
    denied, allowed = tomllib.loads(launch.files[Path("/s/home/policy.toml")])["rule"]
    assert (denied["toolName"], denied["decision"]) == ("*", "deny")
    assert (allowed["mcpName"], allowed["decision"]) == ("general", "allow")
    assert allowed["priority"] > denied["priority"]


def test_gemini_what_the_real_program_prints_is_understood() -> None:
    transcript = Gemini().read(recording("gemini"))

    assert transcript.failure is None
    assert (transcript.text, transcript.input_tokens, transcript.output_tokens) == ("I told them.", 20, 10)
    (made,) = transcript.calls
    assert (made.tool, made.ok) == ("notify", True)
    assert json.loads(made.answer)["status"] == "ok"


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        (b"", "the program ended before the model had finished"),
        (b'{"type":"result","status":"error","error":{"message":"quota"}}', "quota"),
        (b'{"type":"error","severity":"error","message":"loop"}', "loop"),
        (b'{"type":"error","severity":"warning","message":"x"}\n{"type":"result","status":"success"}', None),
        (
            b'{"type":"tool_use","tool_name":"mcp_general_notify","tool_id":"1"}\n'
            b'{"type":"tool_result","tool_id":"1","status":"error"}\n{"type":"result","status":"success"}',
            "none of the model's tool calls went through",
        ),
        (b'{"type":"result","status":"success"}', None),
    ],
    ids=["nothing", "refused", "error", "warning", "denied", "fine"],
)
def test_gemini_the_transcript_decides(output: bytes, failure: str | None) -> None:
    assert Gemini().read(output).failure == failure


def test_only_whole_objects_are_events() -> None:
    output = b'{"a": 1}\nhello\n[1]\n\n{"b"\n\xff\n{"c": 2}'

    assert list(events(output)) == [{"a": 1}, {"c": 2}]


def test_a_shape_that_is_not_there_is_empty() -> None:
    event = {"item": {"text": "t", "count": 3, "parts": [{"a": 1}, 5]}, "flag": True}

    assert within(event, "item", "nothing") == within(event, "flag", "x") == {}
    assert items(event, "item", "parts") == [{"a": 1}]
    assert items(event, "flag") == []
    assert (text_of(event, "item"), text_of(within(event, "item"), "text")) == ("", "t")
    assert (number(event, "flag"), number(within(event, "item"), "count")) == (0, 3)
