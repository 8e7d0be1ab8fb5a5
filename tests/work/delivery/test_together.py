"""Messages handed in together: one commit, the order kept, and no one waits for a neighbour that does not come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.work.delivery.world import Parts, World, envelope, generous, living_world

from postroom.domain.ids import IdMint
from postroom.doors.messenger.deliver_envelope import deliver_envelope
from postroom.work.delivery.together import take_seat, together


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


@pytest.fixture
def inserts(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each commit of new deliveries held."""
    sizes: list[int] = []
    coalescer = world.plane.acceptance.ledger._inserts  # type: ignore[attr-defined]
    flush = coalescer._flush

    async def counted(batch: Sequence[Any]) -> Any:
        sizes.append(len(batch))
        return await flush(batch)

    monkeypatch.setattr(coalescer, "_flush", counted)
    return sizes


async def hand_in(world: World, envelopes: Sequence[dict[str, Any]], wait_seconds: float = 0) -> list[dict[str, Any]]:
    mint = IdMint()

    def work(number: int, one: dict[str, Any]) -> Any:
        return lambda: deliver_envelope(world.plane, one, request_id=f"r{number}", wait_seconds=wait_seconds)

    works = [work(*one) for one in enumerate(envelopes)]
    return await together(works, lambda: mint.mint(world.clock.now_us()))


@pytest.mark.requirement("content:notify-many")
async def test_five_hundred_messages_are_one_commit(world: World, inserts: list[int]) -> None:
    answers = await hand_in(world, [envelope(f"m{one}", recipient=str(1000 + one)) for one in range(500)])

    assert inserts == [500]
    assert {one["status"] for one in answers} == {"accepted"}
    assert [row["id"] for row in await world.rows()] == [one["delivery"]["delivery_id"] for one in answers]


async def test_those_that_are_refused_known_or_the_same_keep_no_one_waiting(world: World, inserts: list[int]) -> None:
    await world.send("known", idempotency_key="k")
    inserts.clear()

    answers = await hand_in(
        world,
        [
            envelope("known", idempotency_key="k"),
            envelope("twice", idempotency_key="t"),
            envelope("twice", idempotency_key="t"),
            envelope("other words", idempotency_key="t"),
            envelope("", recipient="5"),
            envelope("fine"),
        ],
    )

    assert [one["status"] for one in answers] == ["ok", "accepted", "accepted", "error", "error", "accepted"]
    assert answers[1]["delivery"]["delivery_id"] == answers[2]["delivery"]["delivery_id"]
    assert answers[3]["error"]["fields"][0]["code"] == "key_reused"
    assert inserts == [2]


async def test_messages_to_one_person_arrive_in_the_order_of_the_list(world: World) -> None:
    await hand_in(world, [envelope(f"{one}") for one in range(40)], wait_seconds=0)
    await world.idle()

    assert [call.text for call in world.telegram.calls] == [str(one) for one in range(40)]


async def test_one_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.work.delivery.together._PATIENCE_SECONDS", 0.0)
    held = asyncio.Event()

    async def quick() -> str:
        seat = take_seat()
        assert seat is not None
        await seat.come()
        held.set()
        return "written"

    async def slow() -> str:
        await held.wait()
        return "late"

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await together([quick, slow], lambda: "id") == ["written", "late"]


async def test_a_seat_is_for_one_message_and_who_comes_alone_has_none() -> None:
    async def work() -> list[bool]:
        return [take_seat() is not None, take_seat() is not None]

    assert take_seat() is None
    assert await together([work, work], lambda: "id") == [[True, False], [True, False]]
