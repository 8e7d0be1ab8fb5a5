"""The programs themselves, where they are installed: name their folders in POSTROOM_TEST_MODEL_PATH."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.butlers.butler_with_model import butler_with_model
from tests.butlers.runtimes.model_server import ARGUMENTS, LAST_WORDS, model_server

from postroom.butlers.model import SessionStatus
from postroom.butlers.sessions import SessionLimits
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role

PATH = os.environ.get("POSTROOM_TEST_MODEL_PATH", "")
HARMLESS = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "request_user_input"}


def setup(name: str, url: str) -> dict[str, Any]:
    match name:
        case "codex":
            provider = f'model_providers.local={{name="local",base_url="{url}/v1",wire_api="responses"}}'
            return {"model": "gpt-5-codex", "arguments": ["-c", provider, "-c", 'model_provider="local"']}
        case "claude":
            return {"model": "claude-haiku-4-5", "credentials": _keys("ANTHROPIC", "ANTHROPIC_BASE_URL", url)}
        case _:
            return {"model": "gemini-2.5-flash", "credentials": _keys("GEMINI", "GOOGLE_GEMINI_BASE_URL", url)}


def _keys(provider: str, base: str, url: str) -> dict[str, str]:
    return {f"{provider}_API_KEY": "no-such-key", base: url}


@pytest.mark.parametrize("name", ["codex", "claude", "gemini"])
async def test_the_real_program_sees_our_tools_only_and_calls_notify(name: str, home: Path) -> None:
    if shutil.which(name, path=PATH) is None:
        pytest.skip(f"{name} is in no folder of POSTROOM_TEST_MODEL_PATH")
    async with (
        model_server() as model,
        butler_with_model(
            home, f"{PATH}:{os.defpath}", name, SessionLimits(timeout_seconds=60), **setup(name, model.url)
        ) as butler,
    ):
        stored = await butler.sessions.submit("Say hello to the owner.", trigger="trigger", caller=OPERATOR)
        session = await butler.sessions.wait(stored.id, 90.0)
        served = await tools_of(butler.url, home)

    assert session is not None
    assert (session.status, session.error_message) == (SessionStatus.DONE, None)
    assert session.transcript is not None and session.transcript["text"] == LAST_WORDS
    (call,) = session.transcript["tool_calls"]
    assert (call["tool"], call["ok"]) == ("notify", True)
    assert ARGUMENTS["message"] in call["arguments"]
    assert {as_we_name_it(tool) for tool in model.tools - HARMLESS} == served


async def tools_of(url: str, home: Path) -> set[str]:
    token = TokenFile(home / "tokens.json").token_of(Principal(Role.BUTLER, "general"))
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return {as_we_name_it(tool.name) for tool in (await client.list_tools()).tools}


def as_we_name_it(tool: str) -> str:
    """Each program writes the server before the name in its own way, and some know no dots."""
    return re.sub(r"^mcp_+general_+", "", tool).replace(".", "_")
