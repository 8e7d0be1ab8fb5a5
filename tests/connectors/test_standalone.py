"""An adapter by itself, as a process of its own under uvicorn."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port
from tests.telephone import OWNER, settings_for, telephone

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role

MODULES = {"chatgpt": "chatgpt_action_adapter", "gemini": "gemini_extension_adapter"}


@asynccontextmanager
async def alone(name: str, home: Path, api_url: str) -> AsyncIterator[str]:
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "POSTROOM_HOME": str(home),
        "POSTROOM_CONNECTORS": f'{{"{name}": {{"household_url": "{api_url}"}}}}',
    }
    module = f"postroom.connectors.{MODULES[name]}.main:app"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "uvicorn", module, "--port", str(port), env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in process.stderr:
                if b"Uvicorn running" in line:
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.communicate()


@pytest.mark.parametrize(("name", "sender"), [("chatgpt", "requester_agent"), ("gemini", "sender_agent")])
async def test_an_adapter_runs_alone_and_says_when_the_household_is_away(
    tmp_path: Path, name: str, sender: str
) -> None:
    settings = settings_for(tmp_path)
    async with (
        telephone(settings) as line,
        alone(name, tmp_path, line.url("api")) as url,
        aiohttp.ClientSession() as http,
    ):
        token = TokenFile(settings.tokens_file).token_of(Principal(Role.CONNECTOR, name))
        headers = {"Authorization": f"Bearer {token}"}
        body = {sender: OWNER, "recipient_name": "Bob", "message": "Hello from afar"}
        async with http.post(f"{url}/v1/adapt", json=body, headers=headers) as response:
            answer = await response.json()
        assert (response.status, answer["decision_mode"]) == (200, "sent")
        await line.until(answer["delivery"]["intent_id"], "DELIVERED")
        async with http.get(f"{url}/health") as response:
            health = await response.json()
        assert (health["status"], health["part"]) == ("ok", name)


async def test_a_household_that_cannot_be_reached_is_told_in_the_usual_shape(tmp_path: Path, free_port: int) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
    headers = {"Authorization": f"Bearer {token}"}
    body = {"requester_agent": OWNER, "recipient_name": "Bob", "message": "Anybody?"}

    async with (
        alone("chatgpt", tmp_path, f"http://127.0.0.1:{free_port}") as url,
        aiohttp.ClientSession() as http,
        http.post(f"{url}/v1/adapt", json=body, headers=headers) as response,
    ):
        answer = await response.json()

    assert (response.status, answer["ok"]) == (503, False)
    assert (answer["error"]["code"], answer["error"]["retryable"]) == ("upstream_unavailable", True)
