"""A model that finds the household learns how to use it before it has a token."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.architecture.tree import ROOT
from tests.household.living import QUICK, Living, living
from tests.questions.wire import post

from postroom.connectors.profile import llms_text


@pytest.mark.requirement("connect:llms-txt")
async def test_it_is_served_without_a_token(home: Path) -> None:
    async with (
        living(home, QUICK, only=["api"]) as there,
        there.http.get(f"{there.household.addresses['api']}/llms.txt") as response,
    ):
        assert (response.status, response.content_type) == (200, "text/plain")
        assert await response.text() == llms_text()


def test_the_documentation_has_the_same_words() -> None:
    assert (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8") == llms_text()
    assert (
        llms_text().startswith("# Postroom\n\n> ") and "Call `ask` once, then `wait`; do not ask again." in llms_text()
    )


async def test_what_it_teaches_is_what_is_taken(home: Path) -> None:
    taught = {
        name: given.split(", ") for name, given in re.findall(r"^- `(\w+)\(([^)]*)\)`", llms_text(), re.MULTILINE)
    }
    async with living(home, QUICK, only=["api", "health"]) as there:
        shown = [tool for part in ("api", "health") for tool in await tools(there, part)]
    taken = {tool["name"]: tool["inputSchema"] for tool in shown}

    asking, telling = {"ask", "wait", "answers", "cancel_ask"}, {"notify", "notify_status", "revise", "recall"}
    assert set(taught) == {*asking, *telling, "send_notification"}
    for name, given in taught.items():
        known = {one.rstrip("?") for one in given} - {"…"}
        assert known <= set(taken[name]["properties"]), name
        assert set(taken[name].get("required", ())) <= {one for one in given if not one.endswith("?")}, name


async def tools(there: Living, part: str) -> list[dict[str, Any]]:
    """As they are listed for the owner."""
    url = there.household.addresses[part].removesuffix("/mcp")
    listed = await post(url, there.token("operator"), "tools/list", {})
    found: list[dict[str, Any]] = listed["result"]["tools"]
    return found
