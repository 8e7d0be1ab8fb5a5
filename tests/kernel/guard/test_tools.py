"""The way in from the same process: fewer steps than over a wire, the same guard and the same answers."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest
from mcp import Client
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from pydantic import Field
from tests.support.spans import recording

from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, any_butler, butler, caller
from postroom.kernel.values.errors import HINTS, Code, StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, TOKEN_META, Principal

_unseen = TracerProvider(sampler=ALWAYS_OFF).get_tracer("unseen")


class Tokens:
    def __init__(self) -> None:
        self.known = {"good": OPERATOR}
        self.asked = 0

    def verify(self, token: str) -> Principal | None:
        self.asked += 1
        return self.known.get(token)


class Colour(StrEnum):
    RED = "red"


def server(tokens: Tokens) -> GuardedServer:
    rules = dict.fromkeys(("who", "shapes", "several", "crash", "riddle"), any_butler)
    one = GuardedServer("part", ToolPolicy({**rules, "others": butler("general")}, tokens))

    async def who(context: Context[Any, Any], times: Annotated[int, Field(ge=0, le=3)] = 1) -> dict[str, Any]:
        return {"who": [str(caller(context, tokens))] * times}

    async def shapes() -> dict[str, Any]:
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        return {"pair": (1, 2), "colour": Colour.RED, "inner": {"moment": moment, "nothing": None}}

    async def several() -> list[int]:
        return [1, 2]

    async def crash() -> dict[str, Any]:
        raise RuntimeError("secret words")

    async def riddle() -> dict[str, Any]:
        return {"what": object()}

    for tool in (who, shapes, several, crash, riddle):
        one.add_tool(tool)
    one.add_tool(who, name="others")
    one.add_tool(who, name="unruly")
    return one


@pytest.mark.parametrize("tool", ["who", "shapes", "several"])
async def test_an_answer_from_inside_is_the_one_a_client_gets(tool: str) -> None:
    one = server(Tokens())
    async with Client(one) as client:
        over_the_wire = await client.call_tool(tool, {}, meta={TOKEN_META: "good"})  # type: ignore[arg-type]

    inside = await one.from_inside("good", tool, {})

    assert inside == over_the_wire.structured_content
    assert repr(inside) == repr(over_the_wire.structured_content)  # a tuple and an enum would pass for equal


@pytest.mark.parametrize("traced", [True, False], ids=["somebody traces", "nobody traces"])
@pytest.mark.parametrize(
    ("token", "tool", "said"),
    [
        ("bad", "who", "nobody may not call who"),
        ("", "who", "nobody may not call who"),
        ("good", "unruly", "operator may not call unruly"),
        ("good", "no such tool", "operator may not call no such tool"),
    ],
)
async def test_who_may_not_call_does_not(token: str, tool: str, said: str, traced: bool) -> None:
    one = server(Tokens())
    recording()
    tracer = trace.get_tracer("test") if traced else _unseen
    with tracer.start_as_current_span("around"), pytest.raises(MCPError, match=said):
        await one.from_inside(token, tool, {})


async def test_a_token_is_looked_up_once_in_a_call_and_anew_in_the_next() -> None:
    tokens = Tokens()
    one = server(tokens)

    assert await one.from_inside("good", "who", {"times": 2}) == {"who": ["operator", "operator"]}
    assert tokens.asked == 1
    tokens.known.clear()
    with pytest.raises(MCPError, match="nobody may not call who"):
        await one.from_inside("good", "who", {})


@pytest.mark.parametrize("tool", ["crash", "riddle"])
async def test_a_tool_that_breaks_tells_no_more_than_over_the_wire(tool: str) -> None:
    one = server(Tokens())
    async with Client(one) as client:
        result = await client.call_tool(tool, {}, meta={TOKEN_META: "good"})  # type: ignore[arg-type]
    assert result.is_error

    with pytest.raises(ToolError) as broken:
        await one.from_inside("good", tool, {})
    assert str(broken.value) == result.content[0].text  # type: ignore[union-attr]
    assert str(broken.value) == HINTS[Code.INTERNAL]


async def test_a_database_that_is_away_is_said_to_be_that() -> None:
    one = server(Tokens())

    async def lost() -> dict[str, Any]:
        raise StoreUnavailable("the database cannot be reached")

    one.add_tool(lost)
    one.policy.allow({"lost": any_butler})
    async with Client(one) as client:
        result = await client.call_tool("lost", {}, meta={TOKEN_META: "good"})  # type: ignore[arg-type]
    told = result.content[0].text  # type: ignore[union-attr]
    assert "the database cannot be reached" in told and "`postroom doctor` checks the database" in told


async def test_a_tool_that_was_taken_away_is_gone() -> None:
    one = server(Tokens())
    assert await one.from_inside("good", "several", {}) == {"result": [1, 2]}
    one.remove_tool("several")
    with pytest.raises(ToolError, match="Unknown tool"):
        await one.from_inside("good", "several", {})


async def test_of_two_tools_with_one_name_the_first_answers_here_and_there() -> None:
    one = server(Tokens())

    async def who() -> dict[str, Any]:
        return {"who": "somebody else"}

    one.add_tool(who)
    async with Client(one) as client:
        over_the_wire = await client.call_tool("who", {}, meta={TOKEN_META: "good"})  # type: ignore[arg-type]
    assert await one.from_inside("good", "who", {}) == over_the_wire.structured_content == {"who": ["operator"]}


@pytest.mark.parametrize(
    "answer", [{"instead": "of it"}, CallToolResult(content=[], structured_content={"a": 1}), None]
)
async def test_whoever_else_stands_in_the_way_is_met_from_inside_too(answer: HandlerResult) -> None:
    one = server(Tokens())

    async def gate(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        return answer if (ctx.params or {})["name"] == "who" else await call_next(ctx)

    one.middleware.append(gate)
    with _unseen.start_as_current_span("around"):
        expected = answer.structured_content if isinstance(answer, CallToolResult) else answer
        assert await one.from_inside("good", "who", {}) == expected
        assert await one.from_inside("good", "several", {}) == {"result": [1, 2]}


async def test_a_span_is_made_when_somebody_keeps_it_or_when_there_is_none() -> None:
    exporter, one = recording(), server(Tokens())

    await one.from_inside("good", "who", {})
    with trace.get_tracer("test").start_as_current_span("kept"):
        await one.from_inside("good", "who", {})
    with _unseen.start_as_current_span("unseen"):
        await one.from_inside("good", "who", {})

    names = [span.name for span in exporter.get_finished_spans()]
    assert names == ["tools/call who", "tools/call who", "kept"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"times": 9}, "times: must be at most 3"),
        ({"times": -1}, "times: must be at least 0"),
        ({"times": "many"}, "times: must be a whole number"),
        ({"times": None}, "times: must be a whole number"),
    ],
    ids=str,
)
async def test_a_wrong_argument_is_answered_in_our_words_on_either_way_in(arguments: dict[str, Any], told: str) -> None:
    one = server(Tokens())
    async with Client(one) as client:
        answer = await client.call_tool("who", arguments, meta={TOKEN_META: "good"})
    with pytest.raises(ToolError) as raised:
        await one.from_inside("good", "who", arguments)

    assert (answer.is_error, [one.text for one in answer.content], str(raised.value)) == (True, [told], told)


async def test_a_prompt_that_is_not_there_or_lacks_an_argument_is_the_callers_mistake() -> None:
    one = server(Tokens())

    @one.prompt()
    def greeting(name: str) -> str:
        return f"Hello, {name}"

    async with Client(one) as client:
        assert (await client.get_prompt("greeting", {"name": "Ann"})).messages
        for name in ("none", "greeting"):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name)
            assert refused.value.error.code == INVALID_PARAMS, name
