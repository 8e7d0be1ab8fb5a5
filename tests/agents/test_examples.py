"""The examples run as they are, against a real household, wherever their packages are installed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.agents.messages_api import messages_api
from tests.household.living import QUICK, living
from tests.inbox.api import Api, running_api

from postroom.inbox.model import NotificationQuery
from postroom.kernel.values.principal import Principal, Role

ROOT = Path(__file__).parents[2]
ARGUMENTS = {"message": "The dentist is at nine", "type": "reminder"}


@pytest.fixture
async def api(home: Path) -> AsyncIterator[Api]:
    """Of this home, where a process finds it by itself."""
    async with running_api(home) as api:
        yield api


def interpreter(package: str) -> str:
    """Ours when it has the package, else the examples' own."""
    try:
        if find_spec(package) is not None:
            return sys.executable
    except ModuleNotFoundError:
        pass
    own = ROOT / ".venv" / "examples" / "bin" / "python"
    if not own.exists():
        pytest.skip(f"{package} is not installed; `make test` installs it")
    return str(own)


async def run(api: Api, home: Path, example: str, package: str, *options: str, **more: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "POSTROOM_HOME": str(home),
        "POSTROOM_URL": api.url,
        "POSTROOM_TOKEN": api.tokens.create(Principal(Role.PROGRAM, "assistant", person="ada")),
        **more,
    }
    process = await asyncio.create_subprocess_exec(
        interpreter(package),
        str(ROOT / "examples" / f"{example}.py"),
        *options,
        env=environment,
        cwd=home,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 90)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def check(api: Api, output: str) -> None:
    (kept,) = await api.inbox.notes.page("ada", NotificationQuery(), api.inbox.clock.now_us())
    assert (kept.message, kept.type) == ("The dentist is at nine", "reminder")
    assert kept.id in output
    assert "Noted." in output


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("example", "package"),
    [
        ("openai_agents_tool", "agents"),
        ("langchain_mcp", "langchain_mcp_adapters"),
        ("pydantic_ai_mcp", "pydantic_ai"),
        ("google_adk_mcp", "google.adk"),
    ],
)
async def test_an_example_leaves_a_notification(api: Api, home: Path, example: str, package: str) -> None:
    await check(api, await run(api, home, example, package, "--offline"))


@pytest.mark.timeout(120)
async def test_the_claude_agent_sdk_leaves_a_notification(api: Api, home: Path) -> None:
    """It has no scripted model, so a scripted API answers it."""
    async with messages_api("mcp__postroom__send_notification", ARGUMENTS) as url:
        output = await run(
            api,
            home,
            "claude_agent_sdk_mcp",
            "claude_agent_sdk",
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="scripted",
            CLAUDE_CONFIG_DIR=str(home),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            ENABLE_TOOL_SEARCH="false",  # all tools are offered at once
        )

    await check(api, output)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_says_what_it_needs(example: Path) -> None:
    lines = example.read_text().splitlines()

    assert lines[0] == "# /// script"
    assert lines[1].startswith("# dependencies = [")


@pytest.mark.timeout(120)
async def test_plain_mcp_needs_nothing_but_the_official_client(home: Path) -> None:
    async with living(home, QUICK) as household:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(ROOT / "examples" / "plain_mcp.py"),
            "The kettle is on",
            env={
                "PATH": os.environ["PATH"],
                "POSTROOM_TOKEN": household.token("health"),
                "BUTLER_URL": household.household.addresses["health"],
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 90)
        texts = await household.texts()

    assert process.returncode == 0, output.decode()
    assert texts == ["The kettle is on"]
    assert b"notify" in output and b"'status': 'ok'" in output
