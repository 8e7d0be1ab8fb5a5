"""A whole household in one process, and what it imports."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import Tool

from postroom.agents.coding.permission_tool import PERMISSION_TOOL
from postroom.butlers.daemon import CORE_TOOL_NAMES
from postroom.butlers.runtimes.programs import RUNTIMES
from postroom.butlers.store import StoredSessions
from postroom.cli.doctor.checks import look_at_loops
from postroom.household import household as wiring
from postroom.household.butlers import credentials_of
from postroom.household.store import shipped
from postroom.kernel.running.loop import Look, Loop, Loops
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings.roster import parse_butler, shipped_roster
from tests.household.asked_household import until
from tests.household.calling import client
from tests.household.living import LIFTED, PORTS, QUICK, Living, living, settings_for
from tests.household.talking import reply, script, talking
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port


# A household in one process, spoken to by a real MCP client over HTTP.
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.requirement("notify:successful-delivery-response", "notify:origin-butler-set-automatically")
async def test_a_message_travels_the_whole_way(house: Living, mode: str) -> None:
    async with client(house.household.addresses["health"], house.token("health"), mode) as health:
        told = (await health.call_tool("notify", {"channel": "telegram", "message": "Hello"})).structured_content
        mailed = (await health.call_tool("notify", {"channel": "email", "message": "Hi"})).structured_content

    assert told is not None and mailed is not None
    assert (told["status"], told["delivery"]["channel"]) == ("ok", "telegram")
    assert told["delivery"]["delivery_id"] != mailed["delivery"]["delivery_id"]
    assert await house.texts() == ["Hello"]
    assert [mail["body"] for mail in await house.received("email")] == ["Hi"]


async def tools_of(house: Living, part: str, who: str | Principal = "operator") -> list[Tool]:
    url = house.household.addresses[part].removesuffix("/mcp") + "/mcp"
    async with client(url, house.token(who)) as model:
        return (await model.list_tools()).tools


@pytest.mark.requirement("notify:notify-tool-is-a-core-tool", "notify:notify-tool-registration")
async def test_every_butler_has_the_core_tools(small: Living) -> None:
    for name in ("general", "health", "messenger", "switchboard"):
        listed = {tool.name: tool for tool in await tools_of(small, name)}
        asked = listed["notify"].input_schema["properties"]
        assert {"channel", "message", "recipient", "subject", "intent", "emoji", "request_context"} <= set(asked), name
        if name not in ("messenger", "switchboard"):  # these have their own work alone
            assert set(CORE_TOOL_NAMES) <= set(listed), name


FEW_TOOLS = {"health": (18, 17_600), "switchboard": (8, 7_000), "messenger": (30, 26_500), "api": (14, 15_900)}
"""How many and how many bytes; all of it costs each model its context, so each server does its own work alone."""


async def test_every_server_lists_few_tools_in_few_words_to_every_kind_of_caller(small: Living) -> None:
    callers = (
        OPERATOR,
        Principal(Role.PROGRAM, "ci", person="owner"),
        Principal(Role.PERSON, "owner"),
        Principal(Role.CONNECTOR, "chatgpt"),
    )
    for part, (most, most_bytes) in FEW_TOOLS.items():
        for caller in callers if part == "api" else (OPERATOR, Principal(Role.BUTLER, part)):
            listed = await tools_of(small, part, caller)
            assert 0 < len(listed) <= most, (part, caller, [tool.name for tool in listed])
            written = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in listed]
            assert sum(map(len, written)) <= most_bytes, (part, caller)


async def test_a_tool_that_is_no_longer_here_says_what_to_do_instead(small: Living) -> None:
    gone = {
        "health": {"mute": "for people", "withdraw": "recall", "answers": "wait", "schedule_list": "status"},
        "switchboard": {"state_set": "call state_set at a butler's own server", "ask": "call ask at a butler's"},
        "messenger": {"revise": "revise_delivery", "trigger": "call trigger at a butler's own server"},
        "api": {"revise_ask": "cancel_ask", "away": "/away"},
    }
    for part, told in gone.items():
        url = small.household.addresses[part].removesuffix("/mcp") + "/mcp"
        async with client(url, small.token("operator")) as caller:
            for name, words in told.items():
                assert words in await error_of(caller, name, {}), (part, name)


async def test_a_list_of_tools_shows_what_its_caller_may_call(small: Living) -> None:
    callers = (Principal(Role.PROGRAM, "ci", person="owner"), Principal(Role.PERSON, "owner"))
    of_a_program, of_a_person = [{tool.name for tool in await tools_of(small, "api", one)} for one in callers]

    assert "mute" in of_a_person - of_a_program


@pytest.mark.requirement(
    "messenger:messenger-butler-identity-and-runtime",
    "messenger:identity-and-port",
    "messenger:messenger-has-no-schedules-or-skills",
    "messenger:no-custom-skills",
    "messenger:no-scheduled-tasks",
)
async def test_the_messenger_is_what_its_specification_says(home: Path) -> None:
    messenger = {config.name: config for config in shipped(settings_for(home))}["messenger"]

    assert messenger.butler.port == 40104
    assert messenger.butler.description == "Outbound delivery execution plane for Telegram and Email"
    assert (messenger.runtime.type, messenger.butler.runtime.max_concurrent_sessions) == ("codex", 3)
    assert (messenger.butler.db.name, messenger.butler.db.schema_name) == ("butlers", "messenger")
    assert messenger.butler.schedule == ()
    assert sorted(file.name for file in (shipped_roster() / "messenger").iterdir()) == ["butler.toml"]


async def test_a_second_start_on_the_same_data_goes_on(home: Path) -> None:
    key = {"message": "Once", "idempotency_key": "k"}
    async with living(home, QUICK) as one:
        first, earlier = one.tokens.held(), await one.notify(**key)
    async with living(home, QUICK) as one:
        again = await one.notify(**key)
        assert one.tokens.held() == first
        assert again["delivery"]["delivery_id"] == earlier["delivery"]["delivery_id"]
        assert await one.texts() == ["Once"]


async def test_a_reminder_is_kept_by_the_household(small: Living) -> None:
    arguments = {"channel": "telegram", "message": "Stretch", "delay_minutes": 0.0001}
    assert (await small.call("health", "remind", arguments))["status"] == "scheduled"

    async def done() -> bool:
        listed = (await small.call("health", "status", {}))["appointments"]
        return [(row["status"], row["result"]) for row in listed] == [("done", "ok")]

    await until(done)
    assert await small.texts() == ["Stretch"]


async def test_the_messenger_which_keeps_no_appointments_refuses_to_remind(small: Living) -> None:
    arguments = {"channel": "telegram", "message": "Stretch", "delay_minutes": 1}
    async with client(small.household.addresses["messenger"], small.token("messenger")) as messenger:
        listed = {tool.name for tool in (await messenger.list_tools()).tools}
        refused = await messenger.call_tool("remind", arguments)

    assert "notify" in listed and "remind" not in listed
    assert refused.is_error
    assert "keeps no appointments; call remind at a butler's own server" in str(refused.content)


async def test_butlers_are_registered_with_the_switchboard(small: Living) -> None:
    listed = (await small.call("switchboard", "butlers_list", {}, caller="operator"))["butlers"]

    known = {butler["name"]: butler["eligibility"] for butler in listed}
    assert known == {"messenger": "active", "general": "active", "health": "active"}


async def test_a_quarantined_messenger_gets_nothing_and_notify_says_so(small: Living) -> None:
    kept = {"name": "messenger", "reason": "maintenance"}
    await small.call("switchboard", "butler_quarantine", kept, caller="operator")

    answer = await small.notify()

    assert (answer["error_class"], answer["retryable"]) == ("target_unavailable", True)
    assert "maintenance" in answer["error"]["message"]
    assert await small.texts() == []


def speaks_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not speaks_ipv6(), reason="this machine has no IPv6")
async def test_a_household_may_listen_on_ipv6(home: Path) -> None:
    async with living(home, QUICK, {"host": "::1"}) as one:
        answer, arrived = await one.notify(message="Sixth"), await one.texts()
        assert (await one.api("GET", "/health"))[0] == 200

    assert (answer["status"], arrived) == ("ok", ["Sixth"])


async def test_no_tool_of_any_part_drops_an_argument_it_does_not_know(small: Living) -> None:
    for part in ("health", "messenger", "switchboard", "api"):
        url = small.household.addresses[part].removesuffix("/mcp") + "/mcp"
        async with client(url, small.token("operator")) as caller:
            for tool in (await caller.list_tools()).tools:
                if tool.name == PERMISSION_TOOL:
                    continue  # what Claude Code adds to its call in a later version must not end in a refusal
                said = {"message": "Hello"} if tool.name == "send_notification" else {}  # one sentence at a time
                told = await error_of(caller, tool.name, {"no_such": 1, **said})
                assert re.search("Unknown argument no_such|no_such: unknown field", told), (tool.name, told)
                assert "Error executing" not in told, tool.name


async def test_a_missing_argument_is_named_without_the_librarys_words(small: Living) -> None:
    async with client(small.household.addresses["switchboard"], small.token("operator")) as caller:
        answer = await error_of(caller, "route", {"target_butler": "health"})

    assert "prompt: is required" in answer and "ydantic" not in answer


async def error_of(caller: Client, tool: str, arguments: dict[str, Any]) -> str:
    try:
        answer = await caller.call_tool(tool, arguments)
    except MCPError as error:  # who may not call it at all
        return "Unknown argument no_such" if "may not call" in str(error) else str(error)
    return " ".join(one.text for one in answer.content)


# What a household may never need is not in its memory: it is imported for its first use.
PROGRAM = """
import sys
import postroom.household.household
print(*sys.modules)
"""
FOR_THEIR_FIRST_USE = {
    *(
        "alembic",
        "apprise",
        "asyncpg",
        "croniter",
        "jinja2",
        "markdown_it",
        "rapidfuzz",
        "sqlalchemy.dialects.postgresql",
    ),
    *("postroom.channels.webpush.channel", "postroom.channels.apprise.channel"),
}


def test_a_household_on_sqlite_loads_nothing_of_postgres_schedules_markdown_or_web_push() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=60)

    loaded = set(done.stdout.split())
    assert "sqlalchemy.dialects.sqlite" in loaded
    assert loaded & FOR_THEIR_FIRST_USE == set()


# Every loop of a running household goes on after a failure, and health and doctor say which one fails.
_BUTLERS = ("general", "health", "messenger", "switchboard")
APPROVALS = {"approvals": {"enabled": True, "ask_owner": False}}
LOOPS = {
    "attention",
    "attention_audit",
    "clock",
    "confirmations",
    "console_changes",
    "dispatcher",
    "conversations",
    "inbound:email",
    "inbound:forgotten",
    "inbound:telegram",
    "inbox_feed",
    "last_use",
    "notices",
    "people",
    "question_news",
    "sign_in_links",
    "timekeeper",
    "webhooks",
    "questions",
    "worker:pulse",
    *(f"heartbeat:{name}" for name in _BUTLERS if name != "switchboard"),
    *(f"resume:{name}" for name in _BUTLERS),
    *(f"scheduler:{name}" for name in _BUTLERS if name != "messenger"),
    *(f"sessions:{name}" for name in _BUTLERS),
}


class StumblingLoops(Loops):
    """The first look of each loop fails, whichever loops there are; `looks` counts those after it."""

    looks: dict[str, int]

    def running(self, name: str, look: Look, **options: Any) -> AbstractAsyncContextManager[Loop]:
        self.looks = {**getattr(self, "looks", {}), name: -1}

        async def stumble() -> int | None:
            self.looks[name] += 1
            if not self.looks[name]:
                raise LookupError("on purpose")
            return await look()

        return super().running(name, stumble, **options)


@pytest.mark.requirement("house:one-loop")
async def test_a_failure_in_any_loop_of_a_household_ends_none_of_them(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "Loops", StumblingLoops)
    async with living(home, LIFTED, QUICK, APPROVALS, {"database_url": postgres_url}) as alive:
        loops = alive.household.loops
        assert isinstance(loops, StumblingLoops)
        assert {loop.name for loop in loops.all} == LOOPS
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not all(looks >= 1 for looks in loops.looks.values()):
                await asyncio.sleep(0.02)

        assert (await alive.notify())["status"] == "ok"
        figures = await _get(alive, "/metrics")
        assert {name for name in LOOPS if f'kind="LookupError",loop="{name}"' in figures} == LOOPS


async def test_health_and_doctor_name_the_loop_that_fails_until_it_works_again(home: Path, postgres_url: str) -> None:
    ports = {name: free_port() for name in PORTS}
    async with living(home, LIFTED, QUICK, {"database_url": postgres_url, "ports": ports}) as alive:
        roster = shipped(alive.settings)
        assert (await _health(alive, "api"), await look_at_loops(alive.settings, roster)) == (
            {"status": "ok", "part": "api", "household": alive.settings.household_id},
            [],
        )
        async with _without_confirmations(postgres_url):
            _wake(alive, "confirmations")
            told = await _until(alive, "degraded")

            [loop] = told["loops"]
            assert (loop["loop"], loop["error"]) == ("confirmations", "UndefinedTableError")
            assert loop["failures"] >= 1 and loop["since"].endswith("Z")
            assert (await _health(alive, "health"))["status"] == "degraded"
            [finding] = await look_at_loops(alive.settings, roster)
            assert (finding.subject, finding.ok) == ("loop confirmations", False)
            assert "(UndefinedTableError)" in finding.detail
            assert ", first just now" in finding.detail or " ago (" in finding.detail

        assert await _until(alive, "ok") == {
            "status": "ok",
            "part": "api",
            "household": alive.settings.household_id,
        }


@asynccontextmanager
async def _without_confirmations(url: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("alter table shared.email_confirmations rename to elsewhere")
        yield
    finally:
        await connection.execute("alter table if exists shared.elsewhere rename to email_confirmations")
        await connection.close()


def _wake(alive: Living, name: str) -> None:
    [loop] = [one for one in alive.household.loops.all if one.name == name]
    loop.wake.ring()


async def _until(alive: Living, status: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (told := await _health(alive, "api"))["status"] != status:
            await asyncio.sleep(0.02)
        return told


async def _health(alive: Living, part: str) -> dict[str, Any]:
    url = alive.household.addresses[part].removesuffix("/mcp")
    async with alive.http.get(f"{url}/health") as response:
        assert response.status == 200
        told: dict[str, Any] = await response.json()
        return told


async def _get(alive: Living, path: str) -> str:
    async with alive.http.get(alive.household.addresses["api"] + path) as response:
        return await response.text()


# Sessions of models: what their programs log in with, and how they begin.
GENERAL = {"butler": {"name": "general", "port": 0, "db": {"name": "butlers", "schema": "general"}}}


def test_a_key_in_the_households_environment_reaches_the_program_it_is_for() -> None:
    config = parse_butler(GENERAL, {}, file="general/butler.toml")
    everything = {
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": "",
        "OPENAI_API_KEY": "o",
        "BUTLER_TELEGRAM_TOKEN": "t",
    }

    assert credentials_of(config, RUNTIMES["claude"], everything) == {"ANTHROPIC_API_KEY": "k"}
    assert credentials_of(config, RUNTIMES["codex"], everything) == {"OPENAI_API_KEY": "o"}


async def test_a_store_that_is_away_for_a_moment_when_the_doors_have_opened_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recover, tries = StoredSessions.recover, list[str]()

    async def away_at_first(store: StoredSessions, butler: str, *, now_us: int) -> Any:
        tries.append(butler)
        if tries.count(butler) == 1:
            raise StoreUnavailable("ConnectionRefusedError")
        return await recover(store, butler, now_us=now_us)

    monkeypatch.setattr(StoredSessions, "recover", away_at_first)
    async with talking(tmp_path / "home", tmp_path, models=["general"]) as house:
        await house.write(2001, script(reply("I am here.")))
        said = await house.said(2001)

    assert [one["text"] for one in said] == ["I am here."] and tries == ["general", "general"]
