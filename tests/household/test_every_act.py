"""Every kind of caller at every door of every act: what is listed may be called, and what may not is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from postroom.household.ports import visitors
from postroom.kernel.acts.declaration import Act, HttpRoute
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from tests.household.living import LIFTED, QUICK, Living, living
from tests.kernel.acts.declared import every_act

CALLERS = {
    "the operator": OPERATOR,
    "the owner": Principal(Role.PERSON, "owner"),
    "a person": Principal(Role.PERSON, "ada"),
    "a user": Principal(Role.USER, "ben"),
    "a program": Principal(Role.PROGRAM, "ci", person="ada"),
    "a connector": Principal(Role.CONNECTOR, "chatgpt"),
    "a butler": Principal(Role.BUTLER, "health"),
    "the switchboard": Principal(Role.BUTLER, "switchboard"),
    "the messenger": Principal(Role.BUTLER, "messenger"),
    "a butler that is none": Principal(Role.BUTLER, "stranger"),
}
UNKNOWN = {"no_such_argument_at_all": 1}
"""An act complains of it before it does anything, to whoever may do the act."""
ROUTES = [(one, one.declared.route) for one in every_act() if one.declared.route is not None]
TOOLS = {tool.name: one for one in every_act() if (tool := one.declared.tool) is not None}

each_caller = pytest.mark.parametrize("caller", list(CALLERS.values()), ids=list(CALLERS))


def all_on(home: Path) -> Any:
    return living(home, LIFTED, QUICK, {"approvals": {"enabled": True, "ask_owner": False}})


def token_of(house: Living, caller: Principal) -> str:
    house.tokens.ensure([caller])
    return house.tokens.token_of(caller) or ""


@each_caller
async def test_a_caller_is_shown_the_tools_that_they_may_call_and_refused_all_others(
    home: Path, caller: Principal
) -> None:
    async with all_on(home) as house:
        for part in ("health", "switchboard", "messenger", "api"):
            if part != "api" and not visitors(part)(caller):
                continue
            url = house.household.addresses[part].removesuffix("/mcp") + "/mcp"
            headers = {"Authorization": f"Bearer {token_of(house, caller)}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http, terminate_on_close=False)) as client,
            ):
                listed = {one.name for one in (await client.list_tools()).tools}
                called = {name for name in TOOLS if await may_call(client, name)}

            admitted = {name for name, one in TOOLS.items() if one.declared.admits(caller, one.declared.tool, part)}
            assert listed & set(TOOLS) == called
            assert called <= admitted


async def may_call(client: Client, name: str) -> bool:
    """An act's refusal is structured; of a tool that is not here there are only words."""
    try:
        return (await client.call_tool(name, UNKNOWN)).structured_content is not None
    except MCPError:
        return False


@each_caller
async def test_a_route_is_there_for_those_who_may_and_says_to_all_others_that_they_may_not(
    home: Path, caller: Principal
) -> None:
    async with all_on(home) as house:
        headers = {"Authorization": f"Bearer {token_of(house, caller)}"}
        for kind, route in ROUTES:
            status, words = await refused(house, route, headers)

            assert (status == 403 and "may not do this" in words) is not kind.declared.admits(caller), kind
            assert status in (400, 403, 422), kind


async def test_no_route_says_anything_to_a_caller_without_a_token(small: Living) -> None:
    assert {(await refused(small, route, {}))[0] for _, route in ROUTES} == {401}


async def refused(house: Living, route: HttpRoute, headers: dict[str, str]) -> tuple[int, str]:
    url = house.household.addresses["api"] + re.sub(r"\{[^}]*\}", "nothing", route.path)
    asked = house.http.request(route.method, url, params={"no_such_argument_at_all": "1"}, headers=headers)
    async with asked as response:
        return response.status, await response.text()


def test_there_are_acts_of_every_slice_to_walk_over() -> None:
    assert len(ROUTES) >= 30 and len(TOOLS) >= 30
    assert all(issubclass(one, Act) for one in every_act())
