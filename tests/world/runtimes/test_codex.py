from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from tests.world.runtimes.orders import order, recording

from postroom.world.runtimes.codex import Codex


def lines(*events: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(event) for event in events).encode()


def call(status: str, error: dict[str, str] | None = None) -> dict[str, Any]:
    item = {"type": "mcp_tool_call", "server": "general", "tool": "notify", "arguments": {}, "status": status}
    return {"type": "item.completed", "item": item | {"error": error, "result": None}}


COMPLETED = {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}}


def test_the_command_line() -> None:
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


def test_what_the_real_program_prints_is_understood() -> None:
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
def test_the_transcript_decides(output: bytes, failure: str | None) -> None:
    assert Codex().read(output).failure == failure
