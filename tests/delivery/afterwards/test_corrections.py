"""Revise and recall: in place before a message is sent, by edit, delete or a word in the thread after."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.delivery.world import World
from tests.patience import PATIENCE_SECONDS

from postroom.approvals.store.steps import ParkedDeliveries
from postroom.channels.apprise.kind import APPRISE
from postroom.channels.telegram.kind import TELEGRAM
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.rules import (
    CorrectionAct,
    CorrectionAnswer,
    CorrectionStatus,
    How,
    read_correction,
)
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.delivery.store.tables import delivery_corrections
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import IdMint

MINT = IdMint()


def corrections(world: World) -> Corrections:
    return Corrections(plane=world.plane, record=StoredCorrections(world.database, MINT.mint, ParkedDeliveries()))


async def correct(
    world: World,
    act: CorrectionAct,
    delivery_id: str,
    message: str | None = None,
    *,
    sender: str | None = "health",
    actor: str = "butler:health",
    wait_seconds: float = 0,
    by: Corrections | None = None,
    **more: Any,
) -> CorrectionAnswer:
    given = {"act": str(act), "delivery_id": delivery_id, "message": message, **more}
    asked = read_correction(given, actor=actor, sender=sender)
    answer = await (by or corrections(world)).correct(asked, request_id="again", wait_seconds=wait_seconds)
    await world.idle()
    return answer


async def revise(world: World, delivery_id: str, message: str, **more: Any) -> CorrectionAnswer:
    return await correct(world, CorrectionAct.REVISE, delivery_id, message, **more)


async def recall(world: World, delivery_id: str, **more: Any) -> CorrectionAnswer:
    return await correct(world, CorrectionAct.RECALL, delivery_id, **more)


async def sent(world: World, message: str = "Dinner at 8", **fields: Any) -> str:
    answer = await world.send(message, **fields)
    return str(answer["delivery"]["delivery_id"])


async def waiting(world: World, message: str = "Dinner at 8", **fields: Any) -> str:
    """Stored and not sent: the provider could not be reached, and the next try is later."""
    world.telegram.script.append(TargetUnavailable("away"))
    return await sent(world, message, **fields)


@pytest.mark.requirement("content:not-yet-sent-is-changed-in-place")
async def test_what_has_not_been_sent_is_worded_anew_in_place(world: World) -> None:
    delivery_id = await waiting(world, idempotency_key="dinner-tonight")

    answer = await revise(world, delivery_id, "Dinner at 9")
    again = await world.send("Dinner at 8", idempotency_key="dinner-tonight")
    await world.advance(60)

    assert (answer.status, answer.how, answer.delivery_id) == (CorrectionStatus.REVISED, How.IN_PLACE, delivery_id)
    assert again["delivery"]["delivery_id"] == delivery_id  # the key stays bound to what was asked first
    assert world.telegram.texts == ["Dinner at 8", "Dinner at 9"]
    [kept] = await world.rows(delivery_corrections)
    assert (kept["act"], kept["how"], kept["version"], kept["actor"]) == ("revise", "in_place", 2, "butler:health")
    assert "Dinner" not in str(kept)


@pytest.mark.requirement("content:not-yet-sent-is-withdrawn-in-place")
async def test_what_has_not_been_sent_is_withdrawn_and_the_waiting_caller_hears_it(world: World) -> None:
    world.telegram.script.append(TargetUnavailable("away"))
    caller = world.start_sending("Dinner at 8", wait_seconds=120)
    await world.idle()
    [row] = await world.rows()

    answer = await recall(world, row["id"])
    heard = await asyncio.wait_for(caller, PATIENCE_SECONDS)
    await world.advance(60)

    assert (answer.status, answer.how) == (CorrectionStatus.WITHDRAWN, How.IN_PLACE)
    assert (heard["status"], heard["delivery"]["status"]) == ("error", "failed")
    assert "withdrawn by its sender" in heard["error_message"]
    assert world.telegram.texts == ["Dinner at 8"]  # the try before; none after
    assert world.plane.acceptance.limits.held == []  # type: ignore[attr-defined]


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
async def test_a_recall_deletes_every_part_once_however_often_it_is_asked(world: World) -> None:
    delivery_id = await sent(world, "Dinner|at 8")

    first = await recall(world, delivery_id, wait_seconds=5)
    again = await recall(world, delivery_id, wait_seconds=5)
    late = await revise(world, delivery_id, "Dinner at 9")

    [gone] = world.telegram.calls[2:]
    assert gone.message.revises is not None
    assert (gone.message.revises.deletes, gone.message.revises.provider_ids) == (True, ("1", "2"))
    assert (first.status, first.how) == (CorrectionStatus.RECALLED, How.DELETE)
    assert again == first
    assert late.status is CorrectionStatus.TOO_LATE


@pytest.mark.requirement("content:too-late-is-said")
async def test_where_nothing_can_be_done_it_is_too_late(world: World) -> None:
    delivery_id = await sent(world)
    world.telegram.capabilities = APPRISE

    answers = [await revise(world, delivery_id, "Dinner at 9"), await recall(world, delivery_id)]

    assert [one.status for one in answers] == [CorrectionStatus.TOO_LATE] * 2
    assert len(await world.rows()) == 1


@pytest.mark.requirement("content:too-late-is-said")
async def test_a_provider_that_refuses_to_delete_makes_it_too_late(world: World) -> None:
    delivery_id = await sent(world)
    world.telegram.script.append(ValidationError("Telegram answered 400: message can't be deleted for everyone"))

    answer = await recall(world, delivery_id, wait_seconds=5)

    assert answer.status is CorrectionStatus.TOO_LATE
    assert "can't be deleted" in answer.said


async def test_a_recall_on_a_channel_that_only_edits_leaves_a_word(world: World) -> None:
    delivery_id = await sent(world)
    world.telegram.capabilities = replace(TELEGRAM, deletes=False)

    answer = await recall(world, delivery_id, wait_seconds=5)

    assert (answer.status, answer.how) == (CorrectionStatus.RECALLED, How.EDIT)
    assert world.telegram.texts[-1] == "This message was recalled by its sender."


@pytest.mark.requirement("content:being-sent-is-waited-for")
async def test_what_is_being_sent_is_waited_for_and_then_edited(world: World) -> None:
    going = asyncio.Event()
    world.telegram.script.append(going)
    delivery_id = await sent(world)

    asked = asyncio.create_task(revise(world, delivery_id, "Dinner at 9", wait_seconds=20))
    await world.idle()
    going.set()
    answer = await asyncio.wait_for(asked, PATIENCE_SECONDS)

    assert (answer.status, answer.how) == (CorrectionStatus.REVISED, How.EDIT)
    assert world.telegram.texts == ["Dinner at 8", "Dinner at 9"]


@pytest.mark.requirement("content:being-sent-is-waited-for")
async def test_a_caller_without_patience_hears_that_it_is_being_sent(world: World) -> None:
    going = asyncio.Event()
    world.telegram.script.append(going)
    delivery_id = await sent(world)

    answer = await recall(world, delivery_id)
    going.set()
    await world.idle()

    assert answer.status is CorrectionStatus.TOO_LATE
    assert "being sent" in answer.said
    assert (await recall(world, delivery_id, wait_seconds=5)).status is CorrectionStatus.RECALLED


async def test_what_may_have_arrived_is_not_called_withdrawn(world: World) -> None:
    world.telegram.script.append(OutcomeUncertain("cut"))
    delivery_id = await sent(world)

    answer = await recall(world, delivery_id)

    assert answer.status is CorrectionStatus.TOO_LATE


@pytest.mark.requirement("content:a-correction-is-made-once")
async def test_the_same_call_gets_the_same_answer_and_edits_once(world: World) -> None:
    delivery_id = await sent(world)

    first = await revise(world, delivery_id, "Dinner at 9", wait_seconds=5)
    again = await revise(world, delivery_id, "Dinner at 9", wait_seconds=5)
    keyed = await revise(world, delivery_id, "Dinner at 10", wait_seconds=5, idempotency_key="k")
    same = await revise(world, delivery_id, "Dinner at 10", wait_seconds=5, idempotency_key="k")
    other = await revise(world, delivery_id, "Dinner at 11", wait_seconds=5, idempotency_key="k")
    back = await revise(world, delivery_id, "Dinner at 9", wait_seconds=5)

    assert again == first
    assert same == keyed
    assert other.status is CorrectionStatus.ERROR
    assert isinstance(other.error, ValidationError)
    assert [one.code for one in other.error.fields] == ["key_reused"]
    assert back.delivery_id != first.delivery_id  # the text was another one in between
    assert world.telegram.texts == ["Dinner at 8", "Dinner at 9", "Dinner at 10", "Dinner at 9"]


@pytest.mark.requirement("content:the-last-accepted-text-stands")
async def test_two_revisions_at_once_are_made_in_order_and_the_last_one_stands(world: World) -> None:
    delivery_id, one = await sent(world), corrections(world)

    answers = await asyncio.gather(
        *(revise(world, delivery_id, f"Version {number}", by=one, wait_seconds=60) for number in range(2, 7)),
        world.advance(30),
    )

    assert world.telegram.texts == ["Dinner at 8", *(f"Version {number}" for number in range(2, 7))]
    assert {one.status for one in answers if one} == {CorrectionStatus.REVISED}


@pytest.mark.requirement("content:too-late-is-said")
async def test_of_what_failed_there_is_nothing_to_correct(world: World) -> None:
    world.telegram.script.append(ValidationError("chat not found"))
    delivery_id = await sent(world)

    revised, recalled = await revise(world, delivery_id, "Dinner at 9"), await recall(world, delivery_id)

    assert (revised.status, recalled.status) == (CorrectionStatus.ERROR, CorrectionStatus.TOO_LATE)
    assert "not sent" in revised.said
    assert "nothing to recall" in recalled.said


async def test_a_text_that_the_channel_cannot_carry_changes_nothing(world: World) -> None:
    delivery_id = await waiting(world)
    world.telegram.unpreparable = ValidationError("too long")

    answer = await revise(world, delivery_id, "Dinner at 9")

    assert answer.status is CorrectionStatus.ERROR
    assert (await world.row())["message_content"] == "Dinner at 8"
    assert await world.rows(delivery_corrections) == []


async def test_an_edit_that_is_corrected_is_the_message_itself(world: World) -> None:
    delivery_id = await sent(world)
    edit = await revise(world, delivery_id, "Dinner at 9", wait_seconds=5)

    answer = await revise(world, str(edit.delivery_id), "Dinner at 10")

    assert answer.status is CorrectionStatus.ERROR
    assert delivery_id in answer.said


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"delivery_id": "x", "message": "y"}, "delivery_id"),
        ({"delivery_id": MINT.mint(1)}, "message"),
        ({"delivery_id": MINT.mint(1), "message": " "}, "message"),
        ({"delivery_id": MINT.mint(1), "message": "y", "format": "html"}, "format"),
        ({"delivery_id": MINT.mint(1), "message": "y", "text": "z"}, "text"),
        ({"delivery_id": MINT.mint(1), "message": 5}, "message"),
    ],
)
def test_a_mistake_is_named_by_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read_correction({"act": "revise", **given}, actor="butler:health", sender="health")

    assert [one.field for one in refused.value.fields] == [field]
