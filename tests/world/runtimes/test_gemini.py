from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from tests.world.runtimes.orders import order, recording

from postroom.world.runtimes.gemini import Gemini


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


def test_what_the_real_program_prints_is_understood() -> None:
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
def test_the_transcript_decides(output: bytes, failure: str | None) -> None:
    assert Gemini().read(output).failure == failure
