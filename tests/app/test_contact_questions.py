"""In a whole household: an assistant is not sure whom a name means, the owner says it, and the phone stays silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.domain.principal import OWNER as OWNER_ID
from postroom.domain.principal import Principal, Role
from postroom.world.peers.http import HttpPeer
from tests.app.living import LIFTED, QUICK, settings_for
from tests.patience import PATIENCE_SECONDS
from tests.telephone import CHATGPT, OWNER, PEOPLE, Telephone, telephone

_OWNER_CHAT = "1000"
pytestmark = pytest.mark.requirement("ask:contact-questions")


@pytest.fixture(params=["sqlite", "postgres"])
async def line(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Telephone]:
    more: dict[str, Any] = {"contacts": PEOPLE}
    if request.param == "postgres":
        more["database_url"] = request.getfixturevalue("postgres_url")
    async with telephone(settings_for(tmp_path / "home", LIFTED, QUICK, more)) as opened:
        yield opened


async def looked_up(line: Telephone, door: str) -> str:
    """How sure the assistant may be about “Anna”, through each of its doors."""
    if door == "rest":
        body = {"owner_agent": OWNER, "query": "Anna"}
        return str((await line.post("/contacts/resolve", body, CHATGPT)).body["decision_mode"])
    if door == "adapter":
        body = {"requester_agent": OWNER, "recipient_name": "Anna", "message": "Come?"}
        answer = (await line.adapt(body)).body
        assert answer["delivery"] is None
        return str(answer["decision_mode"])
    peer = HttpPeer("api", line.url("api") + "/mcp", str(line.tokens.token_of(CHATGPT)))
    try:
        return str((await peer.call("resolve_contact", {"name": "Anna"}, PATIENCE_SECONDS))["decision_mode"])
    finally:
        await peer.close()


@pytest.mark.parametrize("door", ["rest", "adapter", "mcp"])
async def test_the_owner_says_whom_a_name_means_and_it_is_remembered(line: Telephone, door: str) -> None:
    assert await looked_up(line, door) == "needs_disambiguation"

    [question] = (await line.get("/v1/asks?status=open")).body["asks"]
    answer_path = f"/v1/asks/{question['ask_id']}/answer"
    schmidt = await line.post("/contacts/resolve", {"owner_agent": OWNER, "query": "Anna Schmidt"})
    chosen = str(schmidt.body["agent_address"])
    assert question["presentations"] == []
    assert (await line.post(answer_path, {"value": chosen}, CHATGPT)).status == 403
    owner = Principal(Role.PERSON, OWNER_ID)
    line.tokens.ensure([owner])
    assert (await line.post(answer_path, {"value": chosen}, owner)).status == 200

    async with asyncio.timeout(PATIENCE_SECONDS):
        while await looked_up(line, "rest") != "resolved":
            await asyncio.sleep(0.02)
    [memory] = (await line.get("/contacts/memory")).body["memory"]
    assert (memory["agent_address"], memory["confirm_count"]) == (chosen, 1)
    assert await line.phone(_OWNER_CHAT) == []
