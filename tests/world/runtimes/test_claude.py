from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.world.runtimes.orders import order, recording

from postroom.world.runtimes.claude import Claude


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
