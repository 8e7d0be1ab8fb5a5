"""A revised text is approved anew, in a household with real doors: no decision about another text counts for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.approvals.gated_household import Gated, gated_household
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import Principal, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")
GENERAL = Principal(Role.BUTLER, "general")
BOB = "3000"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def gated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gated]:
    home: Path = tmp_path_factory.mktemp("home")
    async with gated_household(home, {"limits": {"recipient_per_minute": 1000, "global_per_minute": 1000}}) as gated:
        yield gated


async def revise(gated: Gated, delivery_id: str, message: str, **more: Any) -> dict[str, Any]:
    return await gated.call(GENERAL, "general", "revise", delivery_id=delivery_id, message=message, **more)


async def recall(gated: Gated, delivery_id: str) -> dict[str, Any]:
    return await gated.call(GENERAL, "general", "recall", delivery_id=delivery_id)


async def parked(gated: Gated, message: str) -> str:
    answer = await gated.notify(channel="telegram", message=message, recipient=BOB)
    assert answer["status"] == "pending_approval"
    return str(answer["delivery"]["delivery_id"])


async def hash_of(gated: Gated, action_id: str) -> str:
    return str((await gated.decide("show_pending_action", action_id=action_id))["action"]["content_hash"])


async def to_bob(gated: Gated) -> list[dict[str, Any]]:
    return [one for one in await gated.received("telegram/messages") if one["chat_id"] == BOB]


async def settled(gated: Gated, delivery_id: str) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            [(status,)] = gated.rows(f"select status from delivery_requests where id = '{delivery_id}'")
            if status in ("delivered", "failed", "dead_lettered"):
                return str(status)
            await asyncio.sleep(0.02)


def questions_about(gated: Gated, action_id: str) -> list[str]:
    found = gated.rows(
        f"select status from questions where subject_kind = 'approval' and subject_id = '{action_id}' order by id"
    )
    return [status for (status,) in found]


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_an_approval_of_the_old_text_counts_for_nothing(gated: Gated) -> None:
    delivery_id = await parked(gated, "Transfer 10")
    old = await hash_of(gated, delivery_id)

    revised = await revise(gated, delivery_id, "Transfer 10000")
    stale = await gated.decide("approve_action", action_id=delivery_id, content_hash=old)
    blind = await gated.decide("approve_action", action_id=delivery_id)
    before = [one["text"] for one in await to_bob(gated)]
    agreed = await gated.decide("approve_action", action_id=delivery_id, content_hash=await hash_of(gated, delivery_id))

    assert (revised["status"], revised["how"]) == ("awaiting_approval", "in_place")
    assert [stale["error"]["fields"][0]["code"], blind["error"]["fields"][0]["code"]] == [
        "hash_mismatch",
        "hash_required",
    ]
    assert not any("Transfer" in text for text in before)
    assert agreed["status"] == "ok"
    assert await settled(gated, delivery_id) == "delivered"
    assert [one["text"] for one in await to_bob(gated) if "Transfer" in one["text"]] == ["Transfer 10000"]


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_the_card_of_the_old_text_closes_and_another_is_asked(gated: Gated) -> None:
    delivery_id = await parked(gated, "A first text")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while questions_about(gated, delivery_id) != ["open"]:
            await asyncio.sleep(0.02)

    await revise(gated, delivery_id, "A second text")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while questions_about(gated, delivery_id) != ["superseded", "open"]:
            await asyncio.sleep(0.02)
    withdrawn = await recall(gated, delivery_id)

    assert (withdrawn["status"], withdrawn["how"]) == ("withdrawn", "in_place")
    assert questions_about(gated, delivery_id) == ["superseded", "cancelled"]
    late = await gated.decide("approve_action", action_id=delivery_id)
    assert late["error"]["fields"][0]["code"] == "already_decided"
    assert await settled(gated, delivery_id) == "failed"


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_of_an_approval_and_a_revision_in_the_same_instant_one_wins(gated: Gated) -> None:
    for number in range(6):
        delivery_id = await parked(gated, f"Race {number}: old")
        old = await hash_of(gated, delivery_id)

        approved, revised = await asyncio.gather(
            gated.decide("approve_action", action_id=delivery_id, content_hash=old),
            revise(gated, delivery_id, f"Race {number}: new"),
        )

        texts = [one["text"] for one in await to_bob(gated) if one["text"].startswith(f"Race {number}")]
        assert f"Race {number}: new" not in texts
        if approved["status"] != "ok":
            assert revised["status"] == "awaiting_approval"
            assert texts == []


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_an_edit_of_what_was_sent_is_parked_and_made_when_it_is_approved(gated: Gated) -> None:
    delivery_id = await parked(gated, "Lunch at noon")
    await gated.decide("approve_action", action_id=delivery_id, content_hash=await hash_of(gated, delivery_id))
    await settled(gated, delivery_id)

    first = await revise(gated, delivery_id, "Lunch at one")
    second = await revise(gated, delivery_id, "Lunch at two")
    shown = [one["text"] for one in await to_bob(gated) if one["text"].startswith("Lunch")]
    edit = second["delivery_id"]
    await gated.decide("approve_action", action_id=edit, content_hash=await hash_of(gated, edit))
    await settled(gated, edit)
    final = [one["text"] for one in await to_bob(gated) if one["text"].startswith("Lunch")]
    gone = await recall(gated, delivery_id)
    [deleted] = [one["is_deleted"] for one in await to_bob(gated) if one["text"].startswith("Lunch")]

    assert [one["status"] for one in (first, second)] == ["awaiting_approval"] * 2
    assert shown == ["Lunch at noon"]
    assert await settled(gated, first["delivery_id"]) == "failed"  # a later text took its place
    assert final == ["Lunch at two"]
    assert (gone["status"], gone["how"], deleted) == ("recalled", "delete", True)
