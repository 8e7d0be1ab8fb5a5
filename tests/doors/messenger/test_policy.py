"""Who may call which tool of the messenger, asked of the running server."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError
from tests.doors.messenger.house import ANNA, BEN, CHATGPT, CI, HEALTH, MESSENGER, OWNER, SWITCHBOARD, House, opened

from postroom.butlers.messenger.server import (
    APPROVAL_TOOL_NAMES,
    CHANNEL_TOOL_NAMES,
    READING_TOOL_NAMES,
    REPAIRING_TOOL_NAMES,
    rules,
)
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings

STRANGER = Principal(Role.USER, "without a token")
ALLOWED = {
    "route.execute": {SWITCHBOARD, OPERATOR},
    **dict.fromkeys(CHANNEL_TOOL_NAMES, frozenset({MESSENGER, OPERATOR})),
    **dict.fromkeys(READING_TOOL_NAMES, frozenset({MESSENGER, OPERATOR})),
    **dict.fromkeys(REPAIRING_TOOL_NAMES, frozenset({OWNER, OPERATOR})),
}


async def is_let_in(house: House, tool: str, caller: Principal) -> bool:
    try:
        await house.client.call_tool(tool, {}, meta=house.meta(caller))
    except MCPError as error:
        assert f"may not call {tool}" in error.error.message
        return False
    return True


@pytest.mark.requirement("messenger:messenger-channel-ownership", "messenger:channel-tool-surface")
async def test_every_tool_answers_to_its_own_callers_and_to_nobody_else(settings: Settings) -> None:
    async with opened(settings) as house:
        for tool, allowed in ALLOWED.items():
            for caller in (OPERATOR, MESSENGER, SWITCHBOARD, HEALTH, ANNA, BEN, OWNER, CI, CHATGPT, STRANGER):
                assert await is_let_in(house, tool, caller) is (caller in allowed), (tool, str(caller))


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [
        ([], {OPERATOR, OWNER}),
        (["anna"], {OPERATOR, OWNER, ANNA}),
        (["ben", "anna"], {OPERATOR, OWNER, ANNA, BEN}),
        (["somebody else", "chatgpt", "health"], {OPERATOR, OWNER}),
    ],
    ids=["none named", "one named", "two named", "others named"],
)
async def test_what_waits_is_shown_to_and_decided_by_those_who_are_named(
    settings: Settings, approvers: list[str], allowed: set[Principal]
) -> None:
    chosen = settings.approvals.model_copy(update={"enabled": True, "approvers": approvers})
    async with opened(settings.model_copy(update={"approvals": chosen})) as house:
        for tool in APPROVAL_TOOL_NAMES:
            for caller in (OPERATOR, MESSENGER, HEALTH, ANNA, BEN, OWNER, CI, CHATGPT):
                assert await is_let_in(house, tool, caller) is (caller in allowed), (tool, str(caller))


async def test_the_server_lists_exactly_the_tools_that_have_a_rule(settings: Settings) -> None:
    gated = settings.model_copy(update={"approvals": settings.approvals.model_copy(update={"enabled": True})})
    async with opened(gated) as house:
        listed = (await house.client.list_tools()).tools

        assert {tool.name for tool in listed} == set(rules(()))
        assert len(READING_TOOL_NAMES) + len(REPAIRING_TOOL_NAMES) == 14


async def test_every_tool_describes_itself_its_arguments_and_its_answer(settings: Settings) -> None:
    async with opened(settings) as house:
        for tool in (await house.client.list_tools()).tools:
            assert len(tool.description or "") > 60, tool.name
            assert "  " not in (tool.description or ""), tool.name
            assert tool.output_schema is not None, tool.name
            assert tool.annotations is not None, tool.name
            if tool.name != "route.execute":
                assert "error" in tool.output_schema["properties"], tool.name
                for name, argument in tool.input_schema["properties"].items():
                    assert {"type", "anyOf"} & set(argument), (tool.name, name)


@pytest.mark.parametrize("tool", APPROVAL_TOOL_NAMES)
async def test_while_approvals_are_off_their_tools_say_so(settings: Settings, tool: str) -> None:
    async with opened(settings) as house:
        with pytest.raises(MCPError, match=f"approvals are switched off .* so there is no {tool}"):
            await house.client.call_tool(tool, {"action_id": "x"}, meta=house.meta(OPERATOR))
