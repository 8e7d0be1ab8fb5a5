"""A revision is a delivery that changes one of our own: where that went, once, and never as a second message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.work.delivery.world import Parts, World, generous, living_world

from postroom.domain.delivery import OnUncertain, Status
from postroom.domain.errors import FieldError, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.outcome import AnswerStatus, Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.delivery.limits import LimitPolicy
from postroom.work.delivery.policy import DeliveryPolicy

CARD = Markup(buttons=((Button(label="Yes", token="q1:yes"), Button(label="No", token="q1:no")),))


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


async def submit(world: World, **changes: Any) -> Outcome:
    given: dict[str, Any] = {"origin_butler": "health", "channel": "telegram", "message": "Ship|it?"}
    outcome = await world.plane.submit(Outgoing(**(given | changes)), request_id="r", wait_seconds=0)
    await world.idle()
    return outcome


async def sent_card(world: World, **changes: Any) -> DeliveryId:
    outcome = await submit(world, markup=CARD, **changes)
    assert outcome.delivery_id is not None
    return outcome.delivery_id


def problem(outcome: Outcome) -> list[FieldError]:
    assert isinstance(outcome.error, ValidationError)
    return list(outcome.error.fields)


@pytest.mark.requirement("house:a-revision-is-a-delivery")
async def test_a_revision_goes_where_the_message_went_and_names_all_its_parts(world: World) -> None:
    card = await sent_card(world, recipient="2000")

    await submit(world, revises=card, message="Ship it? Yes, said Anna.", recipient=None)

    edit = world.telegram.calls[-1].message
    assert (edit.address, edit.text) == ("2000", "Ship it? Yes, said Anna.")
    assert edit.revises == Revision(delivery_id=card, provider_ids=("1", "2"))
    assert [row["status"] for row in await world.rows()] == ["delivered", "delivered"]


async def test_buttons_reach_the_channel_and_a_plain_message_has_none(world: World) -> None:
    await sent_card(world)
    await submit(world)

    assert [call.message.markup for call in world.telegram.calls] == [CARD, CARD, None, None]
    assert [row["markup"] is None for row in await world.rows()] == [False, True]


async def test_buttons_survive_a_retry(world: World) -> None:
    world.telegram.script.append(OutcomeUncertain("cut"))

    await sent_card(world)
    await world.advance(5)

    assert [call.message.markup for call in world.telegram.calls] == [CARD] * 3


@pytest.mark.requirement("house:a-revision-is-a-delivery")
@pytest.mark.parametrize("on_uncertain", [None, OnUncertain.HOLD])
async def test_an_edit_of_unknown_outcome_is_made_again_and_never_marked(
    world: World, on_uncertain: OnUncertain | None
) -> None:
    card = await sent_card(world)
    world.telegram.script.append(OutcomeUncertain("cut"))

    outcome = await submit(world, revises=card, message="Closed", on_uncertain=on_uncertain)
    await world.advance(5)

    edits = world.telegram.calls[2:]
    assert [(call.text, call.message.repeated) for call in edits] == [("Closed", False)] * 2
    assert outcome.delivery_id is not None
    settled = await world.plane.acceptance.ledger.get(outcome.delivery_id)
    assert settled is not None
    assert (settled.status, settled.possible_duplicate) == (Status.DELIVERED, False)


async def test_the_same_revision_under_the_same_key_is_made_once(world: World) -> None:
    card = await sent_card(world)

    first = await submit(world, revises=card, message="Closed", idempotency_key="close")
    again = await submit(world, revises=card, message="Closed", idempotency_key="close")
    other = await submit(world, revises=card, message="Closed", idempotency_key="close", markup=CARD)

    assert first.delivery_id == again.delivery_id
    assert [call.text for call in world.telegram.calls[2:]] == ["Closed"]
    assert [one.code for one in problem(other)] == ["key_reused"]


async def test_a_message_that_has_not_arrived_cannot_be_revised_yet(world: World) -> None:
    world.telegram.script.append(OutcomeUncertain("cut"))
    card = await sent_card(world)

    outcome = await submit(world, revises=card, message="Closed")

    assert (outcome.status, outcome.retryable) == (AnswerStatus.ERROR, True)
    assert isinstance(outcome.error, TargetUnavailable)


@pytest.mark.requirement("house:a-revision-is-a-delivery")
@pytest.mark.parametrize(
    "changes",
    [
        {"revises": DeliveryId("0198c0de-0000-7000-8000-000000000001")},
        {"origin_butler": "relationship"},
        {"channel": "email"},
    ],
    ids=["a delivery that never was", "another sender's", "on another channel"],
)
async def test_only_a_message_of_the_same_sender_can_be_revised(world: World, changes: dict[str, Any]) -> None:
    card = await sent_card(world)

    outcome = await submit(world, **({"revises": card, "message": "Closed"} | changes))

    assert [(one.field, one.code) for one in problem(outcome)] == [("revises", "unknown_delivery")]
    assert len(await world.rows()) == 1


async def test_a_failed_message_cannot_be_revised(world: World) -> None:
    world.telegram.script.append(ValidationError("chat not found"))
    card = await sent_card(world)

    assert [one.code for one in problem(await submit(world, revises=card))] == ["unknown_delivery"]


async def test_a_revision_costs_what_a_reply_costs(tmp_path: Path, clock: FakeClock) -> None:
    policy = DeliveryPolicy(limits=LimitPolicy(recipient_per_minute=2), spacing_seconds={})
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=policy)) as world:
        card = await sent_card(world)
        closing = [await submit(world, revises=card, message=f"Closed {number}") for number in range(3)]

    assert [outcome.status for outcome in closing] == [AnswerStatus.ACCEPTED, AnswerStatus.ACCEPTED, AnswerStatus.ERROR]


async def test_a_signature_is_not_put_before_buttons_alone(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous(sign=True))) as world:
        card = await sent_card(world, message="Ship it?")
        await submit(world, revises=card, message="", markup=CARD)

    assert world.telegram.texts == ["health: Ship it?", ""]
