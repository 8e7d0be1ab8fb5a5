"""`permission_prompt` as Claude Code calls it: the payloads are those of its version 2.1.197."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import HEALTH, PROGRAM, Askers, askers

from postroom.agents.coding.card import AgentWish
from postroom.agents.coding.permission_tool import Asker
from postroom.kernel.values.principal import OPERATOR, Principal

pytestmark = pytest.mark.asyncio(loop_scope="module")
BASH: dict[str, Any] = {
    "tool_name": "Bash",
    "input": {"command": "touch done.txt", "description": "Make a file"},
    "tool_use_id": "toolu_01FAKE",
}
COLOUR: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue, dark", "description": "b"}],
    "multiSelect": False,
}
SIZES = {**COLOUR, "question": "Which sizes?", "multiSelect": True}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Askers]:
    async with askers(tmp_path_factory.mktemp("home")) as opened:
        yield opened


async def prompted(house: Askers, who: Principal = PROGRAM, **call: Any) -> dict[str, Any]:
    async with house.client("api", who) as client:
        result = await client.call_tool("permission_prompt", {**BASH, **call})
    assert result.structured_content is None and len(result.content) == 1
    answer: dict[str, Any] = json.loads(result.content[0].text)
    return answer


async def asked(house: Askers, words: str) -> dict[str, Any]:
    """The open question that says so, once it is there."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            for one in (await house.get("/v1/asks?status=open", OPERATOR)).body["asks"]:
                if words in one["asked"]["question"] + str(one["asked"]["context"]):
                    return dict(one)
            await asyncio.sleep(0.02)


async def answered(house: Askers, words: str, body: dict[str, Any]) -> dict[str, Any]:
    one = await asked(house, words)
    assert (await house.answer(one["ask_id"], body)).status == 200
    return one


@pytest.mark.requirement("connect:permission-tool")
async def test_a_yes_is_the_input_unchanged_and_the_card_shows_it_whole(house: Askers) -> None:
    command = "curl -H 'Authorization: Bearer abcdefghijklmnop' x\u202e.example"
    wish = {"command": command, "description": "Fetch"}
    waiting = asyncio.create_task(prompted(house, input=wish, tool_use_id="toolu_1", later_field={"new": True}))
    one = await answered(house, "Fetch", {"value": "allow"})

    assert await waiting == {"behavior": "allow", "updatedInput": wish}
    assert one["asked"]["question"] == "Claude Code wants to run a command."
    assert "U+202E" in one["asked"]["context"] and "abc•••" in one["asked"]["context"]
    assert [option["label"] for option in one["asked"]["options"]] == ["Allow", "Deny"]


@pytest.mark.requirement("connect:permission-tool")
async def test_the_same_use_again_joins_and_has_the_same_answer(house: Askers) -> None:
    calls = [asyncio.create_task(prompted(house, tool_use_id="toolu_2")) for _ in range(2)]
    await answered(house, "touch done.txt", {"value": "deny"})
    first, second = await asyncio.gather(*calls)

    assert first == second == await prompted(house, tool_use_id="toolu_2")
    assert (first["behavior"], "said no" in first["message"]) == ("deny", True)


@pytest.mark.requirement("connect:permission-tool")
async def test_questions_are_answered_in_the_clients_own_labels(house: Askers) -> None:
    wish = {"questions": [COLOUR, SIZES]}
    waiting = asyncio.create_task(prompted(house, tool_name="AskUserQuestion", input=wish, tool_use_id="toolu_3"))
    await answered(house, "Which colour?", {"text": "Green"})
    await answered(house, "Which sizes?", {"selected": ["0", "1"]})

    answers = {"Which colour?": "Green", "Which sizes?": "Red, Blue, dark"}
    assert await waiting == {"behavior": "allow", "updatedInput": {**wish, "answers": answers}}


@pytest.mark.requirement("connect:permission-tool")
async def test_a_plan_is_allowed_or_goes_back_with_words(house: Askers) -> None:
    wish = {"plan": "1. Begin"}
    first = asyncio.create_task(prompted(house, tool_name="ExitPlanMode", input=wish, tool_use_id="toolu_4"))
    await answered(house, "has a plan", {"text": "Begin later"})
    told = await first
    second = asyncio.create_task(prompted(house, tool_name="ExitPlanMode", input=wish, tool_use_id="toolu_5"))
    await answered(house, "has a plan", {"value": "allow"})

    assert (told["behavior"], "Begin later" in told["message"]) == ("deny", True)
    assert await second == {"behavior": "allow", "updatedInput": wish}


@pytest.mark.requirement("connect:permission-tool")
async def test_every_doubt_is_a_no_that_says_whether_a_person_spoke(house: Askers) -> None:
    waiting = asyncio.create_task(prompted(house, tool_use_id="toolu_6"))
    await answered(house, "touch done.txt", {"declined": True})
    declined, garbage = await waiting, await prompted(house, input="rm", tool_use_id="toolu_7")
    long = await prompted(house, input={"command": "x" * 30_000}, tool_use_id="toolu_8")
    nothing = await prompted(house, tool_name="AskUserQuestion", input={"questions": []})

    assert {one["behavior"] for one in (declined, garbage, long, nothing)} == {"deny"}
    assert "would rather not" in declined["message"] and "required" in garbage["message"]
    assert "No person was asked" in long["message"]


@pytest.mark.requirement("connect:permission-tool")
async def test_silence_is_a_no_that_no_person_gave_and_the_card_is_closed(house: Askers) -> None:
    asker = Asker(asking=house.parts.asking, who=HEALTH, key="permit:silence", progress=None, wait_seconds=0.1)
    told = await asker.decided(AgentWish(who="Claude Code", tool="Write", tool_input={"file_path": "/silent"}))
    closed = (await house.get("/v1/asks?idempotency_key=permit:silence:0")).body["asks"]

    assert told["behavior"] == "deny" and "No person answered" in told["message"]
    assert [one["status"] for one in closed] == ["cancelled"]


@pytest.mark.requirement("connect:ready-prompts")
async def test_prompts_are_served_on_the_assistants_server_and_on_a_butlers(house: Askers) -> None:
    for part, who in (("api", PROGRAM), ("health", HEALTH)):
        async with house.client(part, who) as client:
            listed = await client.list_prompts()
            got = await client.get_prompt("ask_before", {"act": "publish"})

        assert {one.name for one in listed.prompts} >= {"use_when_blocked", "ask_before", "what_did_i_miss"}
        assert got.messages[0].content.text.startswith("Before you publish, ask me with Postroom.")
