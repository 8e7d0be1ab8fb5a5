"""The clients' own programs read what we wrote, ask on the phone, and go on when the person presses."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.connect.fake_models import fake_model
from tests.agents.connect.real_clients import real_client
from tests.agents.connect.terminal import terminal
from tests.cli.command import postroom_beside
from tests.household.living import LIFTED, QUICK, Living, living
from tests.services.ports import free_port

PATIENCE = 60
KEY = "sk-fake-0123456789ab"
# What each of them says of our entry, as it was recorded with the versions in the fixtures' README.
READ_BACK = {
    "claude": (["mcp", "list"], "postroom: ", "Connected"),
    "codex": (["mcp", "list"], "postroom ", "enabled"),
    "gemini": (["mcp", "list"], "postroom: ", "(stdio)"),
    "opencode": (["mcp", "list"], "postroom ", "connected"),
}


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """A household, and an account with an empty home and a project."""
    port = free_port()
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "POSTROOM_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("POSTROOM_PORTS__API", str(port))
    monkeypatch.setenv("DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    monkeypatch.setenv("GEMINI_CLI_TRUST_WORKSPACE", "true")
    monkeypatch.chdir(tmp_path / "shop")
    async with living(home, QUICK, LIFTED, {"ports": {"api": port}}) as household:
        yield household


@pytest.mark.requirement("connect:read-back")
@pytest.mark.parametrize("client", READ_BACK)
async def test_the_client_reads_back_what_was_written(there: Living, client: str) -> None:
    words, name, state = READ_BACK[client]
    program = real_client(client)
    await postroom_beside("connect", client, "--yes")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(program, *words, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    async with asyncio.timeout(PATIENCE):
        out, _ = await process.communicate()

    assert name in out.decode() and state in out.decode() and f"bridge {client}" in out.decode(), out.decode()


def test_what_the_clients_say_is_recorded_for_each_that_can_list() -> None:
    assert set(READ_BACK) == {"claude", "codex", "gemini", "opencode"}


@pytest.mark.requirement("connect:read-back")
def test_entries_are_as_the_clients_documentation_shows_them() -> None:
    """For those that are not here: the fields each of them documents for a server that is started."""
    from postroom.agents.connect.clients import CLIENTS, Places, Scope, Starts

    places = Places(home=Path("/h"), project=Path("/p"), environment={}, platform="linux")
    starts = Starts(program=("/bin/postroom",))
    entries = {name: one.targets(places, Scope.USER, starts)[0].entry for name, one in CLIENTS.items()}

    assert entries == {
        "claude": {"type": "stdio", "command": "/bin/postroom", "args": ["bridge", "claude"]},
        "codex": {"command": "/bin/postroom", "args": ["bridge", "codex"], "tool_timeout_sec": 300},
        "gemini": {"command": "/bin/postroom", "args": ["bridge", "gemini"]},
        "cursor": {"command": "/bin/postroom", "args": ["bridge", "cursor"]},
        "vscode": {"type": "stdio", "command": "/bin/postroom", "args": ["bridge", "vscode"]},
        "claude-desktop": {"command": "/bin/postroom", "args": ["bridge", "claude-desktop"]},
        "opencode": {"type": "local", "command": ["/bin/postroom", "bridge", "opencode"], "enabled": True},
    }


async def allow(there: Living, words: str) -> dict[str, Any]:
    """The person presses on the card that says so, once it is there."""
    async with asyncio.timeout(PATIENCE):
        while True:
            shown = [one for one in await there.received() if words in one["text"] and one.get("reply_markup")]
            if shown:
                break
            await asyncio.sleep(0.1)
    body = {"message_id": shown[-1]["message_id"], "button": "Allow"}
    async with there.http.post(there.household.addresses["sandbox"] + "telegram/press", json=body) as response:
        assert response.status == 200
    return shown[-1]


async def until(path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not path.exists():
            await asyncio.sleep(0.1)


@pytest.mark.requirement("connect:end-to-end")
async def test_claude_code_runs_the_command_when_the_person_taps(there: Living, tmp_path: Path) -> None:
    claude, shop = real_client("claude"), tmp_path / "shop"
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(shop): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (tmp_path / ".claude.json").write_text(json.dumps(known))
    await postroom_beside("connect", "claude", "--yes")
    async with fake_model("Bash", {"command": "touch done.txt", "description": "Make a file"}) as model:
        own = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY, "TERM": "xterm-256color"}
        async with terminal([claude, "make the file"], shop, {**os.environ, **own}) as screen:
            card = await allow(there, "touch done.txt")
            await until(shop / "done.txt")
            async with asyncio.timeout(PATIENCE):
                while "Allowed by PermissionRequest hook" not in screen.text:
                    await asyncio.sleep(0.1)

    assert "Claude Code in shop on " in card["text"]


@pytest.mark.requirement("connect:end-to-end", "connect:headless-resumed")
async def test_claude_code_without_a_screen_ends_and_is_resumed_by_the_tap(there: Living, tmp_path: Path) -> None:
    claude, shop = real_client("claude"), tmp_path / "shop"
    await postroom_beside("connect", "claude", "--yes")
    async with fake_model("Bash", {"command": "touch done.txt", "description": "Make a file"}) as model:
        own = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY}
        words = [sys.executable, "-m", "postroom", "headless", "--", claude, "-p", "make the file"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, env={**os.environ, **own}, stdout=pipe, stderr=pipe)
        await allow(there, "touch done.txt")
        async with asyncio.timeout(PATIENCE):
            out, error = await process.communicate()

    assert (process.returncode, out) == (0, b"The work is done.\n"), error
    assert b"Claude Code waits for an answer to Bash" in error
    assert (shop / "done.txt").exists() and len(await there.received()) == 1


@pytest.mark.requirement("connect:end-to-end")
async def test_codex_runs_the_command_when_the_person_taps(there: Living, tmp_path: Path) -> None:
    codex, shop = real_client("codex"), tmp_path / "shop"
    wish = {"cmd": "touch done.txt", "sandbox_permissions": "require_escalated", "justification": "make the file"}
    async with fake_model("exec_command", wish) as model:
        (tmp_path / ".codex").mkdir()
        (tmp_path / ".codex" / "config.toml").write_text(
            'model = "gpt-5.1"\nmodel_provider = "fake"\napproval_policy = "on-request"\n'
            'sandbox_mode = "read-only"\ncheck_for_update_on_startup = false\n\n'
            f'[model_providers.fake]\nname = "fake"\nbase_url = "{model.url}/v1"\nenv_key = "FAKE_KEY"\n'
            f'wire_api = "responses"\n\n[projects."{shop}"]\ntrust_level = "trusted"\n'
        )
        await postroom_beside("connect", "codex", "--yes")
        own = {"FAKE_KEY": "x", "TERM": "xterm-256color"}
        words = [codex, "--dangerously-bypass-hook-trust", "make the file"]
        async with terminal(words, shop, {**os.environ, **own}) as screen:
            card = await allow(there, "touch done.txt")
            await until(shop / "done.txt")
            async with asyncio.timeout(PATIENCE):
                while "The work is done." not in screen.text:
                    await asyncio.sleep(0.1)

    assert "Codex in shop on " in card["text"]


@pytest.mark.requirement("connect:end-to-end")
async def test_a_stubbed_model_calls_our_tool_when_it_is_offered() -> None:
    """The harness itself, without a client: one call, then words."""
    import aiohttp

    async with fake_model("ask", {"question": "Ship it?"}) as model, aiohttp.ClientSession() as http:
        first = {"tools": [{"name": "ask"}], "messages": []}
        async with http.post(f"{model.url}/v1/messages", json=first) as response:
            assert "tool_use" in await response.text()
        async with http.post(f"{model.url}/v1/responses", json={"input": []}) as response:
            assert "function_call" in await response.text()
