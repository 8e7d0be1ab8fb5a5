"""Cards follow their deliveries, and a crash between any two steps shows nothing twice."""

from __future__ import annotations

import pytest
from tests.questions.asking_office import ANNA, CHANNELS, HEALTH, Office, keeper
from tests.questions.card_post import CardPost

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import ErrorClass, OverloadRejected, error_of
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Status
from postroom.questions.model import Presentation, PresentationStatus, Said
from postroom.questions.presenter import LEASE_SECONDS, NO_EDITS, PARKED_SECONDS, Presenter
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.request import WordsGiven


def presenter(office: Office, post: CardPost) -> Presenter:
    return Presenter(
        planning=office.asking.planning,
        claims=office.presentations,
        cards=CardMaker(channels=CHANNELS, key=b"k", base_url="https://home.example"),
        post=post,
        clock=office.clock,
        wake=Signal(),
    )


async def look(one: Presenter) -> None:
    await one.look()
    await one.idle()


async def only(office: Office, question_id: str) -> Presentation:
    (found,) = await office.presentations.of(question_id)
    return found


async def test_a_card_is_shown_with_all_its_parts_and_closed_by_one_edit(office: Office) -> None:
    post = CardPost()
    one = presenter(office, post)
    ask_id = (await office.ask(to="anna")).question.id
    await look(one)
    shown = await only(office, ask_id)
    assert (shown.status, shown.revision, shown.provider_ids) == (PresentationStatus.SHOWN, 1, ("d1-1", "d1-2"))
    await look(one)
    assert len(post.sent) == 1
    await office.asking.answer(ANNA, ask_id, Said(value="yes"), channel="console", event_id="1")
    await look(one)
    assert (await only(office, ask_id)).status is PresentationStatus.CLOSED
    card, edit = post.sent
    assert (card.revises, edit.revises, edit.markup) == (None, DeliveryId("d1"), None)
    assert edit.message.endswith("✅ yes: answered by Anna via console, 00:00 UTC")
    assert set(post.requests) == {shown.id}


@pytest.mark.requirement("ask:card-follows")
async def test_after_a_crash_between_sending_and_noting_it_the_card_is_found_by_its_key(office: Office) -> None:
    post = CardPost()
    ask_id = (await office.ask(to="anna")).question.id
    first = presenter(office, post)
    (claim,) = await office.presentations.due(office.clock.now_us(), lease_until_us=office.clock.now_us() + 1, limit=10)
    card = first.cards.asking(claim.question, claim.presentation)
    await post.submit(card.outgoing, request_id="r", wait_seconds=0)  # and dies
    office.clock.jump(LEASE_SECONDS)
    await office.asking.revise(HEALTH, ask_id, WordsGiven(question="Ship it now?"))
    await look(presenter(office, post))
    assert (await only(office, ask_id)).revision == 1
    await look(presenter(office, post))
    assert [one.revises for one in post.sent] == [None, DeliveryId("d1")]
    assert (await only(office, ask_id)).revision == 2


@pytest.mark.requirement("ask:closed-everywhere")
async def test_what_a_lost_process_sent_before_the_question_ended_is_closed(small: Office) -> None:
    post = CardPost()
    ask_id = (await small.ask(to="anna")).question.id
    lost = presenter(small, post)
    (claim,) = await small.presentations.due(small.clock.now_us(), lease_until_us=small.clock.now_us() + 1, limit=10)
    await post.submit(lost.cards.asking(claim.question, claim.presentation).outgoing, request_id="r", wait_seconds=0)
    await small.asking.cancel(HEALTH, ask_id, None)
    small.clock.jump(LEASE_SECONDS)
    await look(presenter(small, post))
    await look(presenter(small, post))
    assert (await only(small, ask_id)).status is PresentationStatus.CLOSED
    assert "✖️ Taken back" in post.texts[-1]


async def test_a_question_that_ends_before_it_is_shown_sends_nothing(small: Office) -> None:
    post = CardPost()
    ask_id = (await small.ask(to="anna")).question.id
    await small.asking.cancel(HEALTH, ask_id, None)
    await look(presenter(small, post))
    assert post.sent == []
    assert (await only(small, ask_id)).status is PresentationStatus.LEFT


@pytest.mark.parametrize(
    ("settles", "error_class", "status"),
    [
        (Status.FAILED, ErrorClass.VALIDATION, PresentationStatus.FAILED),
        (Status.DEAD_LETTERED, ErrorClass.UNAVAILABLE, PresentationStatus.FAILED),
        (Status.DEAD_LETTERED, ErrorClass.TIMEOUT, PresentationStatus.UNCERTAIN),
    ],
)
@pytest.mark.requirement("ask:card-follows")
async def test_a_card_that_does_not_arrive_says_why(
    small: Office, settles: Status, error_class: ErrorClass, status: PresentationStatus
) -> None:
    post = CardPost(settles=settles, failure=error_of(error_class, "chat not found"))
    ask_id = (await small.ask(to="anna")).question.id
    await look(presenter(small, post))
    shown = await only(small, ask_id)
    assert (shown.status, shown.reason) == (status, "chat not found")


@pytest.mark.parametrize(
    ("settles", "reason", "again_seconds"),
    [(Status.PENDING, "not delivered yet", 10), (Status.AWAITING_APPROVAL, "waits for an approval", PARKED_SECONDS)],
)
@pytest.mark.requirement("ask:not-shown")
async def test_a_card_that_is_held_up_says_so_and_is_shown_when_it_arrives(
    small: Office, settles: Status, reason: str, again_seconds: float
) -> None:
    post = CardPost(settles=settles)
    one = presenter(small, post)
    ask_id = (await small.ask(to="anna")).question.id
    await look(one)
    held = await only(small, ask_id)
    assert (held.status, held.reason) == (PresentationStatus.PLANNED, reason)
    post.statuses = dict.fromkeys(post.statuses, Status.DELIVERED)
    small.clock.jump(again_seconds)
    await look(one)
    shown = await only(small, ask_id)
    assert (shown.status, shown.reason) == (PresentationStatus.SHOWN, None)
    assert len(post.sent) == 1


async def test_what_our_own_limits_refuse_for_now_is_tried_again(small: Office) -> None:
    busy = OverloadRejected("too many messages", limit_type="global", retry_after_seconds=1)
    post = CardPost(refuses=busy)
    one = presenter(small, post)
    ask_id = (await small.ask(to="anna")).question.id
    await look(one)
    assert (await only(small, ask_id)).reason == "too many messages"
    post.refuses = None
    small.clock.jump(10)
    await look(one)
    assert (await only(small, ask_id)).status is PresentationStatus.SHOWN


async def test_where_the_card_cannot_be_edited_a_short_reply_says_how_it_ended(small: Office) -> None:
    post = CardPost()
    one = presenter(small, post)
    ask_id = (await small.ask(to="anna")).question.id
    await look(one)
    post.refuses_edits = True
    await small.asking.answer(ANNA, ask_id, Said(declined=True), channel="console", event_id="1")
    await look(one)
    left = await only(small, ask_id)
    assert (left.status, left.reason) == (PresentationStatus.LEFT, "message can't be edited")
    assert post.texts[-1] == "🚫 Anna would rather not answer, via console, 00:00 UTC"
    assert post.sent[-1].context is not None
    assert post.sent[-1].context.source_thread_identity == "2000:d1-2"


async def test_a_mail_is_left_as_it_is_and_nothing_is_sent_after_it(small: Office) -> None:
    post = CardPost()
    one = presenter(small, post)
    ask_id = (await small.ask(channels=["email"])).question.id
    await look(one)
    await small.asking.cancel(HEALTH, ask_id, None)
    await look(one)
    left = await only(small, ask_id)
    assert (left.status, left.reason) == (PresentationStatus.LEFT, NO_EDITS)
    assert len(post.sent) == 1


async def test_a_revision_goes_out_anew_where_nothing_can_be_edited(small: Office) -> None:
    post = CardPost()
    one = presenter(small, post)
    ask_id = (await small.ask(channels=["email"])).question.id
    await look(one)
    await small.asking.revise(HEALTH, ask_id, WordsGiven(question="Ship it now?"))
    await look(one)
    await look(one)
    assert [one.revises for one in post.sent] == [None, None]
    shown = await only(small, ask_id)
    assert (shown.revision, shown.delivery_id) == (2, "d2")


async def test_people_whom_an_asker_that_died_left_unplanned_are_planned_and_shown(small: Office) -> None:
    post = CardPost()
    request_view = await small.ask(to="anna", escalate_to="owner", escalate_after_seconds=60, deadline_seconds=600)
    one = presenter(small, post)
    await look(one)
    await small.clock.advance(61)
    await keeper(small, post).look()
    await look(one)
    assert {one.recipient for one in post.sent} == {"2000", "1000"}
    assert request_view.question.asks("anna")


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_while_a_channel_is_away_the_next_one_does_not_wait_for_its_turn(small: Office) -> None:
    post = CardPost(away={"telegram"})
    one = presenter(small, post)
    ask_id = (await small.ask()).question.id
    for _ in range(2):
        await look(one)
    assert [card.recipient for card in post.sent] == ["olga@example.org"]
    post.away.clear()
    small.clock.jump(10)
    await look(one)
    assert [card.recipient for card in post.sent] == ["olga@example.org", "1000"]
    shown = await small.presentations.of(ask_id)
    assert {card.status for card in shown} == {PresentationStatus.SHOWN}


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_a_card_that_may_have_arrived_leaves_the_next_channel_no_longer_waiting(small: Office) -> None:
    post = CardPost(settles=Status.DEAD_LETTERED, failure=error_of(ErrorClass.TIMEOUT, "no answer"))
    one = presenter(small, post)
    await small.ask()
    for _ in range(2):
        await look(one)
    assert [card.recipient for card in post.sent] == ["1000", "olga@example.org"]


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_while_everybody_asked_is_out_of_reach_it_is_passed_on_without_waiting(small: Office) -> None:
    post = CardPost(away={"telegram"})
    one = presenter(small, post)
    await small.ask(to="anna", escalate_to="a3", escalate_after_seconds=3600, deadline_seconds=7200)
    await look(one)
    for _ in range(2):
        await keeper(small, post).look()
        await look(one)
    assert [card.recipient for card in post.sent] == ["alex@example.org"]
