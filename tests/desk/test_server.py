"""The server as a whole: other displays, other transports, other servers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from tests.desk.caller import SOURCE, Caller, text_of
from tests.desk.screen import Screen, until
from tests.patience import PATIENCE_SECONDS

from postroom.desk.acts import PopupQuestion
from postroom.desk.model import PopupSettings, from_settings
from postroom.desk.server import BearerOnly, http_app, run_http
from postroom.kernel.acts.declaration import words_of
from postroom.kernel.acts.reading import arguments_schema
from postroom.kernel.values.errors import SettingsError
from postroom.settings import Secret, Settings

SCHEMA = arguments_schema(PopupQuestion)
HEADLESS = "Error: Cannot display popup - no display available. This feature requires a graphical environment."


@pytest.fixture
def silent_display() -> Iterator[str]:
    """Takes connections and never says a word."""
    for number in range(200, 260):
        with socket.socket() as server:
            try:
                server.bind(("127.0.0.1", 6000 + number))
            except OSError:
                continue
            server.listen(8)
            yield f"127.0.0.1:{number}"
            return
    pytest.fail("no free port for a display")


@pytest.mark.requirement("popup:headless")
def test_without_a_display_the_answer_is_the_specified_error(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    for display in ({}, {"DISPLAY": ":987"}):
        desk = Caller({**environ, **display}, tmp_path)
        result = desk.call("Anyone?")
        assert text_of(result) == HEADLESS
        assert result.result().is_error
        assert text_of(desk.call("Anyone?", wait_for_response=False)) == HEADLESS
        desk.stop()


@pytest.mark.requirement("popup:headless")
def test_a_display_that_does_not_answer_is_no_display(tmp_path: Path, silent_display: str) -> None:
    desk = Caller({**os.environ, "DISPLAY": silent_display}, tmp_path, show_seconds=1)
    assert text_of(desk.call("Anyone?")) == HEADLESS
    desk.stop()


@pytest.mark.requirement("popup:timeout")
@pytest.mark.requirement("popup:timeout-value")
def test_a_timeout_waits_for_the_person_who_is_typing_and_keeps_the_words(screen: Screen, tmp_path: Path) -> None:
    desk = Caller(screen.environ, tmp_path, progress_seconds=0.3, typing_grace_seconds=4)
    started = time.monotonic()
    beats: list[float] = []
    call = desk.call("Quick!", timeout=5.0, on_progress=lambda done, total, message: note(beats, done, total, message))
    screen.window("VoiceMode")
    until(lambda: time.monotonic() - started > 2, "a time that the grace carries beyond the timeout")
    screen.type("just a")
    last_key = time.monotonic()
    assert text_of(call) == "No response within 5s timeout"
    assert time.monotonic() - last_key >= 3
    assert time.monotonic() - started > 5.5, "it waited beyond its timeout"
    assert len(beats) >= 5
    assert desk.drafts() == ["just a"]
    desk.stop()


async def note(beats: list[float], done: float, total: float | None, message: str | None) -> None:
    assert total == 5
    assert message == "Waiting for the user's response"
    beats.append(done)


@pytest.mark.requirement("popup:one-at-a-time")
def test_two_servers_share_one_screen(desk: Caller, screen: Screen) -> None:
    other = Caller(screen.environ, desk.home.parent)
    first = desk.call("First?", title="First server")
    screen.window("First server")
    second = other.call("Second?", title="Second server")
    assert text_of(first) == "User cancelled or dismissed the popup"
    screen.window("Second server")
    screen.gone("First server")
    screen.type("hello")
    screen.key("Return")
    assert text_of(second) == "User response: hello"
    other.stop()


def test_a_killed_server_leaves_no_window_and_loses_no_word(screen: Screen, tmp_path: Path) -> None:
    environ = {**screen.environ, "PYTHONPATH": str(SOURCE), "POSTROOM_HOME": str(tmp_path), "HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "postroom.desk"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
        cwd=tmp_path,
    ) as server:
        assert server.stdin
        for line in raw_call("Killed"):
            server.stdin.write(json.dumps(line).encode() + b"\n")
            server.stdin.flush()
        screen.window("Killed")
        screen.type("never lost")
        until(lambda: draft_of(tmp_path) == "never lost", "the draft")
        server.send_signal(signal.SIGKILL)
    screen.gone("Killed")
    assert draft_of(tmp_path) == "never lost"


def raw_call(title: str) -> list[dict[str, object]]:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "notify", "arguments": {"message": "Well?", "title": title}}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]


def draft_of(home: Path) -> str | None:
    files = list((home / "desk" / "drafts").rglob("*.json"))
    return str(json.loads(files[0].read_text())["text"]) if files else None


def test_a_window_that_hangs_is_given_up(screen: Screen, tmp_path: Path) -> None:
    desk = Caller(screen.environ, tmp_path, silence_seconds=1, progress_seconds=0.2)
    call = desk.call("Well?", title="Hangs")
    screen.window("Hangs")
    screen.type("kept")
    until(lambda: desk.drafts() == ["kept"], "the draft")
    os.kill(screen.window_process(), signal.SIGSTOP)
    assert text_of(call).startswith("Error: The popup window failed")
    screen.gone("Hangs")
    assert desk.drafts() == ["kept"]
    desk.stop()


def test_a_log_that_cannot_be_written_costs_no_answer(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "voicemode").write_text("in the way")
    desk = Caller(screen.environ, tmp_path)
    call = desk.call("Well?", title="No log")
    screen.window("No log")
    screen.type("still here")
    screen.key("Return")
    assert text_of(call) == "User response: still here"
    desk.stop()


@pytest.fixture
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: Screen) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environ = {**screen.environ, "PYTHONPATH": str(SOURCE), "POSTROOM_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "postroom.desk", "--http", "--port", str(port)]
    server = subprocess.Popen(command, env=environ, cwd=tmp_path)
    until(lambda: health(port) == 200, "the HTTP server")
    yield port
    server.terminate()
    server.wait(15)


def health(port: int, path: str = "/health", **headers: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


async def test_the_same_tool_over_http(listening: int, screen: Screen) -> None:
    address = f"http://127.0.0.1:{listening}/mcp"
    async with streamable_http_client(address) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        call = asyncio.create_task(session.call_tool("notify", {"message": "Over HTTP?", "title": "HTTP"}))
        await asyncio.to_thread(screen.window, "HTTP")
        screen.type("yes")
        screen.key("Return")
        result = await asyncio.wait_for(call, PATIENCE_SECONDS)
    assert result.content[0].text == "User response: yes"  # type: ignore[union-attr]
    assert health(listening, "/mcp", Host="evil.example") == 421
    assert health(listening, "/mcp", Origin="https://evil.example") == 403
    assert health(listening, "/openapi.json") == 200


async def test_with_a_token_only_its_bearer_gets_in(tmp_path: Path) -> None:
    settings = PopupSettings(home=tmp_path, voicemode=tmp_path, project_path="/p", token=Secret("correct"))
    app = http_app(settings)
    assert isinstance(app, BearerOnly)
    for header, expected in ((b"Bearer wrong", 401), (b"", 401), (b"Bearer correct", None)):
        assert await status(app, header) == expected


async def status(app: BearerOnly, authorization: bytes) -> int | None:
    """None when the request was let through to the server behind, which is not running."""
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": [(b"authorization", authorization)]}
    try:
        await app(scope, receive, send)  # type: ignore[arg-type]
    except (RuntimeError, KeyError):
        return None
    return int(str(sent[0]["status"]))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "desk.example"])
def test_without_a_token_no_other_machine_may_ask(tmp_path: Path, host: str) -> None:
    settings = PopupSettings(home=tmp_path, voicemode=tmp_path, project_path="/p")

    with pytest.raises(SettingsError, match="POSTROOM_DESK__TOKEN"):
        run_http(settings, host=host, port=0)


def test_the_households_settings_name_the_token_and_never_show_it(tmp_path: Path) -> None:
    household = Settings.model_validate({"home": tmp_path, "desk": {"token": "canary-desk-token"}})

    settings = from_settings(household, {}, working_directory=tmp_path, user_home=tmp_path)

    assert settings.token.reveal() == "canary-desk-token"
    assert "canary" not in repr(settings) + household.model_dump_json()


# The tool as an MCP client sees it.

SPECIFIED: dict[str, Any] = {
    "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 10000,
        "description": "The message to display in the popup (1-10,000 characters)",
    },
    "wait_for_response": {
        "type": "boolean",
        "default": True,
        "description": "Whether to wait for user input. If false, just displays the message.",
    },
    "timeout": {
        "type": "number",
        "minimum": 5,
        "maximum": 300,
        "description": "Optional timeout in seconds for user response (5-300 seconds, default: no timeout)",
    },
    "title": {"type": "string", "default": "VoiceMode", "description": "Window title for the popup"},
    "show_history": {
        "type": "boolean",
        "default": True,
        "description": "Whether to show recent conversation history in the popup",
    },
    "chime_enabled": {
        "type": "boolean",
        "default": False,
        "description": "Whether to play sound feedback (disabled by default for silent use)",
    },
    "theme": {
        "type": "string",
        "enum": ["auto", "light", "dark"],
        "default": "auto",
        "description": "Color theme for the popup. 'auto' matches system setting.",
    },
}


@pytest.mark.requirement("popup:schema")
def test_a_client_sees_the_specified_tool(desk: Caller) -> None:
    [tool] = desk.tools()
    assert tool.name == "notify"
    assert tool.description == words_of(PopupQuestion)
    assert tool.input_schema == SCHEMA
    assert tool.output_schema is None


@pytest.mark.requirement("popup:schema")
def test_the_schema_is_the_specified_one_and_more_is_optional() -> None:
    assert words_of(PopupQuestion) == (
        "Display a message in a popup window and optionally wait for user text response. "
        "Use this for silent, text-based conversation instead of voice."
    )
    assert {name: SCHEMA["properties"][name] for name in SPECIFIED} == SPECIFIED
    assert SCHEMA["required"] == ["message"]
    assert SCHEMA["type"] == "object"
    jsonschema_rs.meta.validate(SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "field", "limits"),
    [
        ({"message": ""}, "message", "at least 1 "),
        ({"message": "private " * 2000}, "message", "at most 10000"),
        ({"message": "Hi", "timeout": 4}, "timeout", "at least 5"),
        ({"message": "Hi", "timeout": 301}, "timeout", "at most 300"),
        ({"message": "Hi", "theme": "private"}, "theme", "auto, light or dark"),
        ({}, "message", "is required"),
    ],
    ids=["empty", "long", "short wait", "long wait", "theme", "missing"],
)
@pytest.mark.requirement("popup:message-limits")
@pytest.mark.requirement("popup:timeout-limits")
@pytest.mark.requirement("popup:theme-values")
def test_bad_input_is_an_error_that_names_field_and_range(
    desk: Caller, arguments: dict[str, Any], field: str, limits: str
) -> None:
    result = desk.call_raw(arguments)
    assert result.is_error
    [content] = result.content
    assert content.text.startswith(f"Error: {field}: ")  # type: ignore[union-attr]
    assert limits in content.text  # type: ignore[union-attr]
    assert "private" not in content.text  # type: ignore[union-attr]
