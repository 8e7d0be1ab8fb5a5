"""Coding agents whose hooks asked twice, asked nothing, or took a silence for a word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import Principal, Role
from tests.agents.coding.recorded import recorded
from tests.agents.coding.test_hook import all_wait, hook, join
from tests.household.asked_household import labels, press, until
from tests.museum.house import House
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def joined(house: House) -> AsyncIterator[House]:
    for client in ("claude", "codex"):
        token = house.tokens.create(Principal(Role.PROGRAM, client, person="owner"))
        join(house.settings.home, client, house.household.addresses["api"], token)
    yield house


async def heard(house: House, client: str, event: str, seconds: str = "20", **changes: object) -> str:
    """What the hook prints for an event as the client really sends it."""
    text = json.dumps(json.loads(recorded(client, event)) | changes)
    return await hook(house.settings.home, client, text, "--wait-seconds", seconds, "--finished")


@pytest.mark.exhibit("claude-code-15400")
async def test_a_question_that_two_events_announce_is_one_card_and_is_answered_not_allowed(joined: House) -> None:
    events = ("PreToolUse-AskUserQuestion", "PermissionRequest-AskUserQuestion")
    both = [asyncio.create_task(heard(joined, "claude", one)) for one in events]
    database = await joined.shows("Which database?")
    await all_wait(joined, len(both))
    await press(joined, database, "SQLite")
    features = await joined.shows("Which features?")
    for button in ("Export", "Send"):
        await press(joined, features, button)

    answers = {"Which database?": "SQLite", "Which features?": "Export"}
    for told in await asyncio.gather(*both):
        assert f'"answers": {json.dumps(answers)}' in json.dumps(json.loads(told))
    assert len(await joined.saying("Which database?")) == len(await joined.saying("Which features?")) == 1


@pytest.mark.exhibit("helios-37")
async def test_a_question_without_an_answer_is_left_to_the_terminal_and_never_answered_with_nothing(
    joined: House,
) -> None:
    assert await heard(joined, "claude", "PermissionRequest-AskUserQuestion", "0.1", prompt_id="another") == ""

    _, listed = await joined.rest("GET", "/v1/asks?limit=2")
    assert [(one["status"], one["answer"]) for one in listed["asks"]] == [("cancelled", None)] * 2


@pytest.mark.exhibit("claude-code-15433")
async def test_an_answer_at_the_terminal_ends_the_waiting_hook_and_its_card(joined: House) -> None:
    waiting = asyncio.create_task(heard(joined, "claude", "PermissionRequest", "60"))

    async def asked() -> dict[str, object] | None:
        return next((one for one in await joined.received() if "Allow" in labels(one)), None)

    card = await until(asked)
    await heard(joined, "claude", "PostToolUse")

    assert await asyncio.wait_for(waiting, PATIENCE_SECONDS) == ""

    async def closed() -> bool:
        return not any(labels(one) for one in await joined.received() if one["message_id"] == card["message_id"])

    await until(closed)


@pytest.mark.exhibit("codex-11808")
async def test_an_agent_that_waits_for_a_permission_reaches_the_phone_and_not_only_when_it_is_done(
    joined: House,
) -> None:
    waiting = asyncio.create_task(heard(joined, "codex", "PermissionRequest"))

    async def asked() -> dict[str, object] | None:
        return next((one for one in await joined.received() if "Allow" in labels(one)), None)

    await press(joined, await until(asked), "Allow")

    assert json.loads(await waiting)["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


@pytest.mark.exhibit("claude-code-warp-82")
async def test_an_agent_whose_helpers_still_work_is_not_said_to_be_done(joined: House) -> None:
    helper = {"id": "a1", "type": "subagent", "status": "running", "description": "research", "agent_type": "Explore"}
    server = {"id": "b1", "type": "shell", "status": "running", "description": "server", "command": "npm run dev"}
    words = "The shop is rebuilt."

    await heard(joined, "claude", "Stop", background_tasks=[helper, server], last_assistant_message=words)
    await heard(joined, "claude", "Stop", background_tasks=[server], last_assistant_message=words)
    await heard(joined, "claude", "Stop", last_assistant_message=words)

    await joined.settled()
    told = [str(one["text"]) for one in await joined.saying(words)]
    assert ["is done" in one for one in told] == [False, True]
    assert "still runs in the background" in told[0]


@pytest.mark.exhibit("clawd-on-desk-214")
@pytest.mark.parametrize("client", ["claude", "codex"])
async def test_the_end_of_a_helper_is_not_the_end_of_the_work(joined: House, client: str) -> None:
    await heard(joined, client, "SubagentStop", last_assistant_message=f"The helper of {client} found it.")

    await joined.settled()
    assert await joined.saying(f"The helper of {client} found it.") == []
