"""The driver of the OpenAI Agents SDK where a run pauses more than once, or for more than one call."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext
from structlog.testing import capture_logs
from tests.household.asked_household import press, until
from tests.household.living import QUICK, Living, living
from tests.inbox.api import Api
from tests.patience import PATIENCE_SECONDS

from agents import Agent, FunctionTool, RunConfig, Runner, function_tool
from postroom.agents import notification_tool, send_notification
from postroom.agents.asks import HouseholdAsks, Unanswered
from postroom.agents.openai_agents import drive
from postroom.inbox.inbox import Inbox
from postroom.inbox.model import NotificationQuery

QUIET = RunConfig(tracing_disabled=True)


class Deployments:
    """An agent whose every call of `deploy` needs a person, and what it did."""

    def __init__(self, house: Living, *steps: Any) -> None:
        self.done: list[str] = []
        self._house = house
        self._steps = list(steps)

    async def drive(self, *done_before: Any, wait_seconds: float | None = None) -> str:
        """By a process that has not seen the first steps of the script, because another did them."""

        @function_tool(needs_approval=True)
        def deploy(version: str) -> str:
            self.done.append(version)
            return "Deployed."

        model = ScriptedModel(self._steps[len(done_before) :])
        asks = HouseholdAsks(
            url=self._house.household.addresses["api"].removesuffix("/mcp"),
            token=self._house.token("health"),
            wait_seconds=wait_seconds,
            more={"channels": ["telegram"]},
        )
        agent = Agent(name="releases", tools=[deploy], model=model)
        return str((await drive(agent, "Deploy", run_id="r", asks=asks, run_config=QUIET)).final_output)


async def cards(house: Living, number: int) -> list[dict[str, Any]]:
    async def look() -> list[dict[str, Any]] | None:
        found = [one for one in await house.received() if "Run deploy?" in one["text"]]
        return found if len(found) == number else None

    return await until(look)


@pytest.mark.requirement("drivers:no-stale-approval")
async def test_the_same_call_later_in_the_run_is_asked_about_again(home: Path) -> None:
    async with living(home, QUICK) as house:
        same = [[function_call("deploy", {"version": "1"}, call_id=one)] for one in ("a", "b")]
        run = Deployments(house, *same, [assistant_message("Both.")])
        first = asyncio.create_task(run.drive())
        await press(house, (await cards(house, 1))[0], "Approve")
        await cards(house, 2)
        first.cancel()
        done_first = list(run.done)
        second = asyncio.create_task(run.drive(*same))
        await press(house, (await cards(house, 2))[1], "Approve")

        assert await asyncio.wait_for(second, PATIENCE_SECONDS) == "Both."
        assert (done_first, run.done) == (["1"], ["1", "1"])


async def test_calls_of_one_turn_are_asked_about_together_and_decided_apart(home: Path) -> None:
    async with living(home, QUICK) as house:
        both = [function_call("deploy", {"version": one}, call_id=one) for one in ("1", "2")]
        run = Deployments(house, both, [assistant_message("One.")])
        running = asyncio.create_task(run.drive())
        for card in await cards(house, 2):
            await press(house, card, "Deny" if '"1"' in card["text"] else "Approve")

        assert await asyncio.wait_for(running, PATIENCE_SECONDS) == "One."
        assert run.done == ["2"]


@pytest.mark.requirement("drivers:silence-is-no-answer")
async def test_a_run_without_an_answer_stays_paused(home: Path) -> None:
    async with living(home, QUICK) as house:
        call = [function_call("deploy", {"version": "1"}, call_id="a")]
        run = Deployments(house, call, [assistant_message("Done.")])
        with pytest.raises(Unanswered):
            await run.drive(wait_seconds=0.1)
        with pytest.raises(Unanswered):
            await run.drive(call, wait_seconds=0.1)

        assert run.done == []
        assert len(house.rows("questions")) == 1


# `send_notification` as a function tool.

pytest.importorskip("agents", reason="the openai-agents extra is not installed")

pytestmark = pytest.mark.asyncio(loop_scope="module")

DESCRIPTION = (
    "Send a notification to the user. Use this when the user asks to be reminded about something, when you identify "
    "information worth flagging for later, or when you want to surface a warning. Notifications persist beyond the "
    "current conversation and can be delivered via email if the user has opted in."
)
BAD_MESSAGE = "Message must be between 1 and 500 characters"


def context_of(api: Api, **fields: Any) -> dict[str, Any]:
    return {
        "user_id": "ada",
        "conversation_id": "c1",
        "correlation_id": "k1",
        "postroom": api.inbox,
        **fields,
    }


async def run(context: Any, *calls: Any, tool: FunctionTool = send_notification) -> list[dict[str, Any]]:
    """What the model was told after each of its calls."""
    model = ScriptedModel([list(calls), [assistant_message("Done.")]])
    agent = Agent(name="assistant", model=model, tools=[tool])
    await Runner.run(agent, "remind me", context=context, run_config=RunConfig(tracing_disabled=True))
    model.assert_complete()
    outputs = [item for item in model.calls[1].input if item.get("type") == "function_call_output"]
    return [json.loads(item["output"]) for item in outputs]


async def invoke(context: Any, arguments: str) -> dict[str, Any]:
    called = ToolContext(context=context, tool_name="send_notification", tool_call_id="c1", tool_arguments=arguments)
    return dict(json.loads(await send_notification.on_invoke_tool(called, arguments)))


@pytest.mark.requirement("inbox:tool-name", "inbox:tool-description", "inbox:parameter-message", "inbox:parameter-type")
async def test_a_model_sees_the_contract() -> None:
    assert (send_notification.name, send_notification.description) == ("send_notification", DESCRIPTION)
    schema = send_notification.params_json_schema
    assert (schema["required"], list(schema["properties"])) == (["message"], ["message", "type"])
    assert schema["properties"]["type"]["enum"] == ["reminder", "info", "warning"]
    assert schema["properties"]["type"]["default"] == "info"


@pytest.mark.requirement(
    "inbox:response-success",
    "inbox:context-user-id",
    "inbox:context-conversation-id",
    "inbox:context-correlation-id",
    "inbox:side-effect-row",
    "inbox:side-effect-log",
)
async def test_a_run_leaves_a_notification_for_the_person_of_its_context(api: Api) -> None:
    with capture_logs() as logs:
        call = function_call("send_notification", {"message": "Dentist", "type": "reminder"}, call_id="a")
        (answer,) = await run(context_of(api), call)

    (kept,) = await api.inbox.notes.page("ada", NotificationQuery(), api.inbox.clock.now_us())
    assert answer == {
        "success": True,
        "action": "notification_created",
        "message": "Notification created: Dentist",
        "notification_id": kept.id,
        "type": "reminder",
    }
    assert (kept.message, kept.conversation_id, kept.correlation_id) == ("Dentist", "c1", "k1")
    assert [one["correlation_id"] for one in logs if one["event"] == "notification.created"] == ["k1"]


@pytest.mark.requirement("inbox:response-rate-limited", "inbox:validation-rate-limit")
async def test_a_model_that_calls_forty_times_at_once_leaves_ten(api: Api) -> None:
    calls = [function_call("send_notification", {"message": str(n)}, call_id=f"c{n}") for n in range(40)]
    answers = await run(context_of(api), *calls)

    assert sum(answer["success"] for answer in answers) == 10
    assert [answer for answer in answers if not answer["success"]] == [
        {
            "success": False,
            "action": "rate_limited",
            "message": "Notification rate limit exceeded. Try again later.",
        }
    ] * 30


@pytest.mark.requirement("inbox:response-validation-error", "inbox:validation-message-length", "inbox:validation-type")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param('{"message": ""}', BAD_MESSAGE, id="nothing"),
        pytest.param('{"message": "   \\n"}', BAD_MESSAGE, id="blanks"),
        pytest.param(json.dumps({"message": "x" * 501}), BAD_MESSAGE, id="501 characters"),
        pytest.param("{}", BAD_MESSAGE, id="no message"),
        pytest.param('{"message": 5}', BAD_MESSAGE, id="a number"),
        pytest.param('{"message": null}', BAD_MESSAGE, id="null"),
        pytest.param("no json", BAD_MESSAGE, id="no json"),
        pytest.param("", BAD_MESSAGE, id="no arguments"),
        pytest.param('["message"]', BAD_MESSAGE, id="a list"),
        pytest.param("[" * 100_000, BAD_MESSAGE, id="too deep"),
        pytest.param('{"message": "a\\u0000b"}', "Message must not contain NUL", id="NUL"),
        pytest.param('{"message": "\\ud800"}', "Message is not valid Unicode", id="half a surrogate pair"),
        pytest.param(
            '{"message": "x", "type": "urgent"}', "Type must be one of: reminder, info, warning", id="another type"
        ),
        pytest.param('{"message": "x", "type": 1}', "Type must be one of: reminder, info, warning", id="type a number"),
    ],
)
async def test_wrong_arguments_get_the_contracts_answer(api: Api, arguments: str, message: str) -> None:
    assert await invoke(context_of(api), arguments) == {
        "success": False,
        "action": "validation_error",
        "message": message,
    }


async def test_500_characters_fit(api: Api) -> None:
    assert (await invoke(context_of(api), json.dumps({"message": "x" * 500})))["success"]


@pytest.mark.requirement("inbox:validation-user-id")
@pytest.mark.parametrize(
    "context",
    [{}, {"user_id": None}, {"user_id": " "}, None, object()],
    ids=["empty", "null", "blank", "no context", "an object"],
)
async def test_without_a_user_the_call_is_refused(api: Api, context: Any) -> None:
    assert await invoke(context, '{"message": "Hello"}') == {
        "success": False,
        "action": "validation_error",
        "message": "user_id is required",
    }


async def test_a_model_cannot_choose_whom_to_notify(api: Api) -> None:
    arguments = json.dumps({"message": "Hello", "user_id": "bob", "postroom": "x"})

    assert (await invoke(context_of(api), arguments))["success"]
    assert await api.inbox.notes.page("bob", NotificationQuery(), api.inbox.clock.now_us()) == []


async def test_the_context_may_be_an_object(api: Api) -> None:
    @dataclass
    class Context:
        user_id: str
        postroom: Inbox

    assert (await invoke(Context("ada", api.inbox), '{"message": "Hello"}'))["success"]


async def test_a_tool_may_be_made_for_one_household(api: Api) -> None:
    tool = notification_tool(api.inbox)
    call = function_call("send_notification", {"message": "Hello"}, call_id="a")

    assert (await run({"user_id": "ada"}, call, tool=tool))[0]["success"]


@pytest.mark.requirement("inbox:response-system-error")
async def test_whatever_breaks_is_answered_without_a_word_about_it() -> None:
    class Broken:
        async def send(self, request: object) -> Any:
            raise RuntimeError("password=hunter2 at 10.0.0.5")

    assert await invoke({"user_id": "ada", "postroom": Broken()}, '{"message": "Hello"}') == {
        "success": False,
        "action": "error",
        "message": "Failed to create notification: internal error",
    }


async def test_the_household_runs_without_the_sdk() -> None:
    """The SDK is an extra: whoever does not use it need not have it."""
    program = (
        "import sys; sys.modules['agents'] = None\n"
        "import postroom.household.household, postroom.agents\n"
        "try:\n    postroom.agents.send_notification\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "postroom.agents needs the extra: pip install 'postroom[openai-agents]'"
