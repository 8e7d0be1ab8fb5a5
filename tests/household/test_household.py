"""A household in one process, spoken to by a real MCP client over HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from postroom.agents.coding.permission_tool import PERMISSION_TOOL
from postroom.butlers.tools import CORE_TOOL_NAMES
from postroom.household.household import running
from postroom.household.wiring.console import RunningHousehold
from postroom.household.wiring.store import parts_of
from postroom.settings import Settings
from postroom.settings.load import load

FREE_PORTS = {f"POSTROOM_PORTS__{part}": "0" for part in Settings.model_fields["ports"].annotation.model_fields}  # type: ignore[union-attr]


def settings_for(home: Path, **more: str) -> Settings:
    environment = {"POSTROOM_HOME": str(home), "POSTROOM_DELIVERY__TELEGRAM_CHAT_INTERVAL_SECONDS": "0"}
    settings, _ = load({**environment, **{key.upper(): value for key, value in FREE_PORTS.items()}, **more})
    return settings


@asynccontextmanager
async def household(home: Path, **more: str) -> AsyncIterator[RunningHousehold]:
    settings = settings_for(home, **more)
    async with running(settings, parts_of(settings)) as one:
        yield one


def tokens(home: Path) -> dict[str, Any]:
    return json.loads((home / "tokens.json").read_text())


@asynccontextmanager
async def client(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as one,
    ):
        yield one


async def sandbox(one: RunningHousehold, path: str) -> list[dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.get(one.addresses["sandbox"] + path) as response:
        return (await response.json())["messages"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.requirement("notify:successful-delivery-response", "notify:origin-butler-set-automatically")
async def test_a_message_travels_the_whole_way(
    home: Path, mode: str, database: str, request: pytest.FixtureRequest
) -> None:
    more = {}
    if database == "postgres":
        more["POSTROOM_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    async with household(home, **more) as one:
        async with client(one.addresses["health"], tokens(home)["butlers"]["health"], mode) as health:
            told = (await health.call_tool("notify", {"channel": "telegram", "message": "Hello"})).structured_content
            mailed = (await health.call_tool("notify", {"channel": "email", "message": "Hi"})).structured_content

        assert told is not None and mailed is not None
        assert (told["status"], told["delivery"]["channel"]) == ("ok", "telegram")
        assert told["delivery"]["delivery_id"] != mailed["delivery"]["delivery_id"]
        assert [message["text"] for message in await sandbox(one, "telegram/messages")] == ["Hello"]
        assert [mail["body"] for mail in await sandbox(one, "email/messages")] == ["Hi"]


@pytest.mark.requirement("notify:notify-tool-is-a-core-tool", "notify:notify-tool-registration")
async def test_every_butler_has_the_core_tools(home: Path) -> None:
    async with household(home) as one:
        for name, token in tokens(home)["butlers"].items():
            async with client(one.addresses[name], token) as butler:
                listed = {tool.name for tool in (await butler.list_tools()).tools}
            keeps_none = {"remind"} if name == "messenger" else set()  # it has no scheduler
            assert set(CORE_TOOL_NAMES) - keeps_none <= listed, name
            assert not keeps_none & listed, name


@pytest.mark.requirement(
    "messenger:messenger-butler-identity-and-runtime",
    "messenger:identity-and-port",
    "messenger:messenger-has-no-schedules-or-skills",
    "messenger:no-custom-skills",
    "messenger:no-scheduled-tasks",
)
async def test_the_messenger_is_what_its_specification_says(home: Path) -> None:
    from postroom.household.wiring.store import shipped
    from postroom.settings.roster import shipped_roster

    messenger = {config.name: config for config in shipped(settings_for(home))}["messenger"]

    assert messenger.butler.port == 40104
    assert messenger.butler.description == "Outbound delivery execution plane for Telegram and Email"
    assert (messenger.runtime.type, messenger.butler.runtime.max_concurrent_sessions) == ("codex", 3)
    assert (messenger.butler.db.name, messenger.butler.db.schema_name) == ("butlers", "messenger")
    assert messenger.butler.schedule == ()
    assert sorted(file.name for file in (shipped_roster() / "messenger").iterdir()) == ["butler.toml"]


async def test_a_second_start_on_the_same_data_goes_on(home: Path) -> None:
    async with household(home):
        first = tokens(home)
    async with household(home) as one:
        assert tokens(home) == first
        async with client(one.addresses["health"], first["butlers"]["health"]) as health:
            key = {"channel": "telegram", "message": "Once", "idempotency_key": "k"}
            earlier = (await health.call_tool("notify", key)).structured_content
    async with household(home) as one:
        async with client(one.addresses["health"], first["butlers"]["health"]) as health:
            again = (await health.call_tool("notify", key)).structured_content
        assert again is not None and earlier is not None
        assert again["delivery"]["delivery_id"] == earlier["delivery"]["delivery_id"]
        assert len(await sandbox(one, "telegram/messages")) == 1


async def test_a_reminder_is_kept_by_the_household(home: Path) -> None:
    async with household(home) as one:
        async with client(one.addresses["health"], tokens(home)["butlers"]["health"]) as health:
            arguments = {"channel": "telegram", "message": "Stretch", "delay_minutes": 0.0001}
            answer = (await health.call_tool("remind", arguments)).structured_content
            assert answer is not None and answer["status"] == "scheduled"
            listed: dict[str, Any] = {"appointments": []}
            for _ in range(200):
                listed = (await health.call_tool("schedule_list", {})).structured_content or {}
                if [row["status"] for row in listed["appointments"]] == ["done"]:
                    break
        assert [row["result"] for row in listed["appointments"]] == ["ok"]
        assert [message["text"] for message in await sandbox(one, "telegram/messages")] == ["Stretch"]


async def test_the_messenger_which_keeps_no_appointments_refuses_to_remind(home: Path) -> None:
    async with household(home) as one:
        async with client(one.addresses["messenger"], tokens(home)["butlers"]["messenger"]) as messenger:
            listed = {tool.name for tool in (await messenger.list_tools()).tools}
            arguments = {"channel": "telegram", "message": "Stretch", "delay_minutes": 1}
            refused = await messenger.call_tool("remind", arguments)
        assert "notify" in listed and "remind" not in listed
        assert refused.is_error
        assert "keeps no appointments; call remind at a butler's own server" in str(refused.content)


async def test_butlers_are_registered_with_the_switchboard(home: Path) -> None:
    async with household(home) as one:
        async with client(one.addresses["switchboard"], tokens(home)["operator"]) as board:
            listed = (await board.call_tool("butlers_list", {})).structured_content
        assert listed is not None
        known = {butler["name"]: butler["eligibility"] for butler in listed["butlers"]}
        assert known == {"messenger": "active", "general": "active", "health": "active"}


async def test_a_quarantined_messenger_gets_nothing_and_notify_says_so(home: Path) -> None:
    async with household(home) as one:
        made = tokens(home)
        async with client(one.addresses["switchboard"], made["operator"]) as board:
            await board.call_tool("butler_quarantine", {"name": "messenger", "reason": "maintenance"})
        async with client(one.addresses["health"], made["butlers"]["health"]) as health:
            answer = (await health.call_tool("notify", {"channel": "telegram", "message": "x"})).structured_content
        assert answer is not None
        assert (answer["error_class"], answer["retryable"]) == ("target_unavailable", True)
        assert "maintenance" in answer["error"]["message"]
        assert await sandbox(one, "telegram/messages") == []


def speaks_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine has no IPv6")
async def test_a_household_may_listen_on_ipv6(home: Path) -> None:
    async with household(home, POSTROOM_HOST="::1") as one:
        async with client(one.addresses["health"], tokens(home)["butlers"]["health"]) as health:
            answer = await health.call_tool("notify", {"channel": "telegram", "message": "Sixth"})
        arrived = await sandbox(one, "telegram/messages")
        async with aiohttp.ClientSession() as session, session.get(f"{one.addresses['api']}/health") as response:
            assert response.status == 200
    assert answer.structured_content is not None and answer.structured_content["status"] == "ok"
    assert [message["text"] for message in arrived] == ["Sixth"]


async def test_no_tool_of_any_part_drops_an_argument_it_does_not_know(home: Path) -> None:
    async with household(home) as one:
        for part in ("health", "messenger", "switchboard", "api"):
            url = one.addresses[part] + ("/mcp" if part == "api" else "")
            async with client(url, tokens(home)["operator"]) as caller:
                for tool in (await caller.list_tools()).tools:
                    if tool.name == PERMISSION_TOOL:
                        continue  # what Claude Code adds to its call in a later version must not end in a refusal
                    told = await error_of(caller, tool.name, {"no_such": 1})
                    assert "Unknown argument no_such" in told and "Error executing" not in told, tool.name


async def test_a_missing_argument_is_named_without_the_librarys_words(home: Path) -> None:
    async with household(home) as one, client(one.addresses["switchboard"], tokens(home)["operator"]) as caller:
        answer = await error_of(caller, "route", {"target_butler": "health"})

    assert answer == "prompt: is required"


async def error_of(caller: Client, tool: str, arguments: dict[str, Any]) -> str:
    try:
        answer = await caller.call_tool(tool, arguments)
    except MCPError as error:  # who may not call it at all
        return "Unknown argument no_such" if "may not call" in str(error) else str(error)
    return " ".join(one.text for one in answer.content)
