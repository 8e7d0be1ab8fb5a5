"""A person wrote, and the wrong one heard it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.household.talking import Talking, talking

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN = 2001


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    """Its butlers have no models, and say so to those who write to them."""
    async with talking(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("programs"), models=()) as opened:
        yield opened


@pytest.mark.exhibit("openclaw-150795")
@pytest.mark.parametrize("kind", ["text", "approve"])
async def test_a_question_that_is_open_keeps_no_one_from_speaking_of_other_things(house: Talking, kind: str) -> None:
    whom = {"to": f"Person {ANN}", "channels": ["telegram"], "wait_seconds": 0}
    asked = await house.call("health", "ask", {"question": f"Open, {kind}?", "kind": kind, **whom})
    card = await house.arrived("telegram", f"Open, {kind}?")

    await house.write(ANN, "/general what is on today?")

    known = [one for one in await house.said(ANN) if one["message_id"] <= card["message_id"]]
    heard = (await house.said(ANN, len(known) + 1))[-1]["text"]
    assert "general" in heard and "model" in heard, heard
    told = await house.call("health", "wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})
    assert (told["status"], told["answer"]) == ("open", None)
    await house.call("health", "cancel_ask", {"ask_id": asked["ask_id"]})
