"""The service of attention on a real plane: what waits, leaves, comes back and is accounted for."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.attention.attended import Attended, Killed, names
from tests.delivery.world import World, envelope
from tests.inbox.examples import AT_NIGHT, QUIET_ENDS_US
from tests.inbox.workshop import inbox_on

from postroom.attention.model import NoticeState
from postroom.attention.rules.policy import Absence, parse_policy
from postroom.attention.rules.times import Rotation
from postroom.attention.store import attention_log, notices
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.rules import Correcting, CorrectionAct
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import AnswerStatus, Outcome
from postroom.message.wire import parse_notify
from postroom.overview.why_held import why_notice

NIGHT = {"zone": "UTC", "quiet_hours": [{"from": "22:00", "until": "00:10"}]}  # the clock starts at midnight
EVERYTHING = {"preset": "everything"}
FALLING_BACK = {"preset": "everything", "fallback": ["email"]}
HOUR = 3600.0
NIGHT_SECONDS = 600.0
S = NoticeState


async def state_of(house: Attended, answer: Outcome) -> NoticeState:
    view = await house.attention.notice(answer.notice_id or "")
    assert view is not None
    return view.state


async def all_accounted(house: Attended) -> None:
    assert (await house.attention.figures()).unaccounted == ()
    assert await house.attention.audit() == ()


@pytest.mark.requirement("attention:deferred")
async def test_a_message_in_quiet_hours_leaves_when_they_end(world: World) -> None:
    house = Attended(world, NIGHT)
    answer = await house.notify("Good morning")
    ends_us = world.clock.now_us() + seconds(NIGHT_SECONDS)
    assert (answer.status, answer.until_us, answer.reasons) == (AnswerStatus.DEFERRED, ends_us, ("quiet",))
    assert await world.rows() == []

    await house.later(NIGHT_SECONDS - 1)
    assert house.texts == []
    await house.later(1)
    assert house.texts == ["Good morning"]
    assert await state_of(house, answer) is S.SENT
    await all_accounted(house)


@pytest.mark.requirement("attention:neutral")
async def test_without_a_policy_nothing_is_read_or_written_for_attention(world: World) -> None:
    house = Attended(world)
    await house.keeper.look()
    asked_without = await _transactions(world, world.plane, "a")
    assert await _transactions(world, house.plane, "b") == asked_without
    assert await world.rows(notices) == []


@pytest.mark.requirement("attention:neutral")
async def test_for_whom_one_notice_was_kept_what_comes_next_costs_nothing_until_they_want_something(
    world: World,
) -> None:
    house = Attended(world)
    kept = await house.notify("The cellar is wet", needs_ack=True, idempotency_key="cellar")
    await house.look()
    asked_without = await _transactions(world, world.plane, "a")
    assert await _transactions(world, house.plane, "b") == asked_without
    again = await house.notify("The cellar is wet", needs_ack=True, idempotency_key="cellar")
    assert (again.notice_id, again.delivery_id) == (kept.notice_id, kept.delivery_id)

    owner = await house.attention.book.people.owner()
    assert owner is not None
    await house.attention.mute(owner, agent="health")
    assert (await house.notify("Hello")).status is AnswerStatus.MUTED
    await house.attention.unmute(owner, agent="health")
    await house.look()
    assert await _transactions(world, house.plane, "c") == asked_without


async def test_what_was_held_under_a_policy_is_the_same_notice_when_its_key_comes_again_without_one(
    world: World,
) -> None:
    held = await Attended(world, NIGHT).notify("Hello", idempotency_key="k")
    house = Attended(world)
    await house.look()
    again = await house.notify("Hello", idempotency_key="k")
    assert (again.status, again.notice_id) == (AnswerStatus.OK, held.notice_id)
    assert house.texts == ["Hello"]


async def _transactions(world: World, plane: Plane, request_id: str) -> int:
    outgoing = parse_notify(envelope("Hello"), plane.known_channels)
    await world.idle()
    finished = world.database.finished
    await plane.submit(outgoing, request_id=request_id, wait_seconds=5)
    await world.idle()
    return world.database.finished - finished


@pytest.mark.requirement("attention:one-key-one-notice")
async def test_the_same_key_is_the_same_notice_and_with_other_words_refused(world: World) -> None:
    house = Attended(world, NIGHT)
    first = await house.notify("Hello", idempotency_key="k")
    again = await house.notify("Hello", idempotency_key="k")
    other = await house.notify("Other", idempotency_key="k")
    assert (again.status, again.notice_id) == (AnswerStatus.DEFERRED, first.notice_id)
    assert other.error is not None and other.error.fields[0].code == "key_reused"
    assert len(await world.rows(notices)) == 1


async def test_a_key_the_ledger_knows_from_before_a_policy_stays_that_delivery(world: World) -> None:
    before = await Attended(world).notify("Hello", idempotency_key="k")
    again = await Attended(world, NIGHT).notify("Hello", idempotency_key="k")
    assert (again.status, again.delivery_id) == (AnswerStatus.OK, before.delivery_id)


@pytest.mark.requirement("attention:one-key-one-notice")
async def test_what_can_never_be_sent_is_refused_at_once_and_not_held(world: World) -> None:
    house = Attended(world, NIGHT)
    answer = await house.notify("Hello", recipient="a stranger without an address")
    assert isinstance(answer.error, ValidationError)
    assert await world.rows(notices) == []


async def test_a_stranger_has_no_policy(world: World) -> None:
    answer = await Attended(world, NIGHT).notify("Hello", recipient="999")
    assert (answer.status, answer.notice_id) == (AnswerStatus.OK, None)


async def test_when_the_store_is_away_nothing_is_sent_past_a_policy(world: World) -> None:
    house = Attended(world, NIGHT)
    world.database.away = True
    answer = await house.notify("Hello")
    assert (answer.status, answer.retryable) == (AnswerStatus.ERROR, True)
    assert house.texts == []


@pytest.mark.requirement("attention:kill-safe")
@pytest.mark.parametrize("place", ["before", "after"])
async def test_killed_while_handing_over_the_next_process_makes_one_delivery(world: World, place: str) -> None:
    house = Attended(world, EVERYTHING)
    setattr(house.way_out, place, True)
    with pytest.raises(Killed):
        await house.notify("Hello", idempotency_key="k")
    next_one = house.restarted()
    await next_one.later(61)  # its lease is over

    assert len(house.texts) == 1
    assert (await next_one.notify("Hello", idempotency_key="k")).status is AnswerStatus.OK
    assert len(house.texts) == 1
    await all_accounted(next_one)


@pytest.mark.requirement("attention:kill-safe")
async def test_killed_before_the_delivery_is_noted_the_next_process_notes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = Attended(world, NIGHT)
    answers = [await house.notify(f"Note {number}") for number in range(3)]

    async def killed(*_: object) -> bool:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(type(house.keeper.book.store), "handed_over", killed)
        await world.advance(NIGHT_SECONDS)
        with pytest.raises(Killed):
            await house.look()
    await house.restarted().later(61)

    assert len(house.texts) == 1 and house.texts[0].startswith("3 notices")
    assert {await state_of(house, one) for one in answers} == {S.DIGESTED}
    await all_accounted(house.restarted())


@pytest.mark.requirement("attention:kill-safe")
async def test_an_answer_of_the_store_that_was_lost_leaves_one_notice(world: World) -> None:
    house = Attended(world, NIGHT)
    world.database.lost_answers = 1
    lost = await house.notify("Hello", idempotency_key="k")
    assert lost.status is AnswerStatus.ERROR and lost.retryable
    again = await house.notify("Hello", idempotency_key="k")
    assert again.status is AnswerStatus.DEFERRED
    assert len(await world.rows(notices)) == 1
    await all_accounted(house)


@pytest.mark.requirement("attention:acts")
async def test_a_key_that_is_withdrawn_before_it_came_is_not_sent(world: World) -> None:
    house = Attended(world, EVERYTHING)
    assert await house.attention.withdraw("health", key="later") == ()
    answer = await house.notify("Too late", supersedes="later")
    assert (answer.status, answer.reasons) == (AnswerStatus.DEFERRED, ("tombstone",))
    assert house.texts == []


@pytest.mark.requirement("attention:muted")
async def test_the_end_of_a_mute_says_how_many_were_missed_and_of_whom(world: World) -> None:
    house = Attended(world)
    await house.attention.mute("owner", category="offers", until_us=world.clock.now_us() + seconds(HOUR))
    await house.attention.mute("owner", agent="general", until_us=world.clock.now_us() + seconds(HOUR))
    for butler in ("health", "general", "health"):
        assert (await house.notify("Buy", origin_butler=butler, category="offers")).status is AnswerStatus.MUTED
    await house.later(HOUR - 1)
    assert house.texts == []

    await house.later(1)
    (said,) = house.texts
    assert "category offers" in said and "2 of health, 1 of general" in said
    await house.later(HOUR)
    assert len(house.texts) == 1
    await all_accounted(house)


@pytest.mark.requirement("attention:muted")
async def test_a_mute_that_is_made_longer_forgets_nothing_and_one_that_kept_nothing_is_silent(world: World) -> None:
    house, now_us = Attended(world), world.clock.now_us()
    await house.attention.mute("owner", agent="health", until_us=now_us + seconds(HOUR))
    await house.attention.mute("owner", agent="general", until_us=now_us + seconds(HOUR))
    await house.notify("One")
    await house.attention.mute("owner", agent="health", until_us=now_us + seconds(2 * HOUR))
    await house.notify("Two")
    await house.later(HOUR)
    assert house.texts == []

    await house.attention.unmute("owner", agent="health")
    await house.look()
    assert [one for one in house.texts if "2 of health" in one] == house.texts != []
    await all_accounted(house)


@pytest.mark.requirement("attention:acts")
async def test_who_is_away_hears_nothing_and_the_delegate_instead(world: World) -> None:
    house = Attended(world)
    now = world.clock.now_us()
    await house.attention.away("owner", Absence(start_us=now, end_us=now + seconds(HOUR), delegate="ann"))
    assert (await house.notify("For you")).status is AnswerStatus.OK
    assert [call.message.address for call in world.telegram.calls] == ["2000"]
    await house.attention.away("owner", None)
    assert await house.attention.absences("owner") == ()


@pytest.mark.requirement("attention:acts")
async def test_an_urgent_notice_goes_further_until_it_is_acknowledged(world: World) -> None:
    house = Attended(world, {"repeat_seconds": [], "escalation": [{"after_seconds": 600, "person": "Ann"}]})
    answer = await house.notify("The cellar is wet", urgency="time_sensitive", needs_ack=True)
    assert await state_of(house, answer) is S.WAITING
    await house.later(601)
    assert [call.message.address for call in world.telegram.calls] == ["1000", "2000"]
    assert (await house.attention.ack(answer.notice_id or "", "ann")).state is S.ACKNOWLEDGED
    assert (await house.attention.ack(answer.notice_id or "", "ann")).state is S.ACKNOWLEDGED
    await house.later(1800)
    assert len(world.telegram.calls) == 2
    await all_accounted(house)


@pytest.mark.requirement("attention:receipts")
async def test_a_send_that_failed_for_good_takes_another_way(world: World) -> None:
    house = Attended(world, {"fallback": ["email"]})
    world.telegram.script.append(ValidationError("no such chat"))
    answer = await house.notify("Hello")
    assert answer.status is AnswerStatus.ERROR
    await house.look()
    assert [call.message.address for call in world.email.calls] == ["owner@example.com"]
    assert await state_of(house, answer) is S.SENT
    await all_accounted(house)


@pytest.mark.requirement("attention:receipts")
async def test_what_is_refused_for_now_is_held_and_tried_again(world: World) -> None:
    house = Attended(world, EVERYTHING)
    held = house.way_out.plane
    house.way_out.plane = Refusing()  # type: ignore[assignment]
    answer = await house.notify("Hello")
    assert answer.status is AnswerStatus.ACCEPTED and answer.notice_id
    assert await state_of(house, answer) is S.HELD
    house.way_out.plane = held
    await house.later(31)
    assert await state_of(house, answer) is S.SENT
    await all_accounted(house)


class Refusing:
    async def submit(self, *_: object, request_id: str, **__: object) -> Outcome:
        error = TargetUnavailable("not now", retry_after_seconds=30)
        return Outcome(status=AnswerStatus.ERROR, request_id=request_id, error=error, retryable=True)


@pytest.mark.requirement("attention:receipts")
async def test_a_notice_that_waits_for_its_channel_leaves_when_that_is_back_also_after_a_restart(world: World) -> None:
    house = Attended(world, EVERYTHING)
    house.attention.book.down = frozenset({"telegram"})
    answer = await house.notify("Hello")
    assert (answer.status, answer.reasons) == (AnswerStatus.DEFERRED, ("channel",))
    await house.restarted().look()
    assert await state_of(house, answer) is S.SENT
    await all_accounted(house)


async def _fallen_back(world: World) -> tuple[Attended, Outcome]:
    """Telegram is down, and after its patience the notice has been decided to go by mail; no one was sent anything."""
    house = Attended(world, FALLING_BACK)
    world.telegram.always = TargetUnavailable("down", retry_after_seconds=300)
    answer = await house.notify("Hello", wait_seconds=0)
    house.keeper.channels_down = _telegram_down
    await house.look(1)
    await world.advance(121)
    return house, answer


async def _telegram_down() -> frozenset[str]:
    return frozenset({"telegram"})


async def _none_down() -> frozenset[str]:
    return frozenset()


async def _channel_back(house: Attended) -> None:
    house.world.telegram.always = None
    house.keeper.channels_down = _none_down
    await house.later(301)


async def _ends(world: World) -> dict[str, tuple[str, str | None]]:
    return {row["channel"]: (row["status"], row["terminal_error_message"]) for row in await world.rows()}


@pytest.mark.requirement("attention:fallback-takes-back")
async def test_what_took_another_way_is_withdrawn_where_it_waited_and_arrives_once(world: World) -> None:
    house, answer = await _fallen_back(world)
    await house.look()
    tried = len(world.telegram.calls)
    await _channel_back(house)

    assert (len(world.telegram.calls), len(world.email.calls)) == (tried, 1)
    assert await _ends(world) == {"telegram": ("failed", "withdrawn by attention"), "email": ("delivered", None)}
    view = await house.attention.notice(answer.notice_id or "")
    assert view is not None and view.state is S.SENT and not view.standing.uncertain
    assert [(one.send.channel, one.send.outcome) for one in view.sends] == [("telegram", "withdrawn"), ("email", "ok")]
    await all_accounted(house)


@pytest.mark.requirement("attention:fallback-takes-back")
async def test_killed_between_the_fallback_and_the_taking_back_the_next_process_takes_it_back(world: World) -> None:
    house, _ = await _fallen_back(world)
    house.amends.killed = True
    with pytest.raises(Killed):
        await house.look()
    again = house.restarted()
    again.keeper.channels_down = _telegram_down
    await again.look()
    await _channel_back(again)

    assert len(world.email.calls) == 1
    assert (await _ends(world))["telegram"] == ("failed", "withdrawn by attention")
    await all_accounted(again)


@pytest.mark.requirement("attention:fallback-takes-back")
async def test_what_is_being_sent_stays_and_is_marked_as_what_may_arrive_twice(world: World) -> None:
    house = Attended(world, FALLING_BACK)
    world.telegram.always = slow = asyncio.Event()
    answer = await house.notify("Hello", wait_seconds=0)
    house.keeper.channels_down = _telegram_down
    await house.look(1)
    world.clock.jump(121)
    await house.look()
    told = [row["kind"] for row in await world.rows(attention_log)]
    slow.set()
    await _channel_back(house)

    view = await house.attention.notice(answer.notice_id or "")
    assert view is not None and view.state is S.SENT and view.standing.uncertain
    assert told.count("MayArriveTwice") == 1
    assert "may arrive twice: telegram was sending it already" in why_notice(view, "owner", world.clock.now_us())
    assert [one.send.outcome for one in view.sends] == ["ok", "ok"]
    await all_accounted(house)


@pytest.mark.requirement("attention:fallback-takes-back")
async def test_what_was_never_handed_over_before_the_fallback_never_is(world: World) -> None:
    house = Attended(world, FALLING_BACK)
    house.way_out.before = True
    with pytest.raises(Killed):
        await house.notify("Hello", idempotency_key="k")
    again = house.restarted()
    again.keeper.channels_down, book = _telegram_down, again.keeper.book
    book.store = Idle(book.store)  # type: ignore[assignment]
    await again.later(1)
    await again.later(121)
    book.store = book.store.inner  # type: ignore[attr-defined]
    await _channel_back(again)

    assert (len(world.telegram.calls), len(world.email.calls)) == (0, 1)
    await all_accounted(again)


class Idle:
    """Hands nothing over."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def take_sends(self, *_: object, **__: object) -> list[object]:
        return []


@pytest.mark.requirement("attention:receipts")
async def test_a_delivery_its_sender_takes_back_before_it_is_sent_takes_no_other_way(world: World) -> None:
    house = Attended(world, FALLING_BACK)
    world.telegram.always = TargetUnavailable("down", retry_after_seconds=300)
    answer = await house.notify("Hello", wait_seconds=0)
    row = await world.row()
    asked = Correcting(act=CorrectionAct.RECALL, delivery_id=row["id"], actor="health", sender="health")
    assert (await house.corrections.correct(asked, request_id="r", wait_seconds=5)).status == "withdrawn"
    await house.later(301)

    assert await state_of(house, answer) is S.WITHDRAWN
    assert world.email.calls == []
    await all_accounted(house)


@pytest.mark.requirement("attention:corrected-in-place")
async def test_a_newer_notice_of_a_key_edits_the_one_that_left_as_often_as_it_comes(world: World) -> None:
    house = Attended(world, EVERYTHING)
    answers = []
    for text in ("10 minutes", "5 minutes", "Finished"):
        answers.append(await house.notify(text, supersedes="wash"))
        await house.later(1)
    first, *edits = world.telegram.calls
    assert first.message.revises is None
    assert [(one.text, one.message.revises is not None) for one in edits] == [("5 minutes", True), ("Finished", True)]
    assert {await state_of(house, one) for one in answers} == {S.SENT}
    urgent = await house.notify("Flooding", supersedes="wash", urgency="time_sensitive")
    assert urgent.status is AnswerStatus.OK
    assert world.telegram.calls[-1].message.revises is None  # an edit makes no sound
    await all_accounted(house)


@pytest.mark.requirement("attention:corrected-in-place")
async def test_an_edit_that_is_refused_becomes_a_message(world: World) -> None:
    house = Attended(world, EVERYTHING)
    await house.notify("10 minutes", supersedes="wash")
    await world.advance(1)
    world.telegram.script.append(ValidationError("message can't be edited"))
    answer = await house.notify("Finished", supersedes="wash")
    await house.look()
    assert [(one.text, one.message.revises is not None) for one in world.telegram.calls[1:]] == [
        ("Finished", True),
        ("Finished", False),
    ]
    assert await state_of(house, answer) is S.SENT
    await all_accounted(house)


@pytest.mark.requirement("attention:corrected-in-place")
async def test_what_is_withdrawn_after_it_arrived_is_deleted_and_by_mail_another_message_says_so(world: World) -> None:
    house = Attended(world, EVERYTHING)
    shown = await house.notify("Dinner at eight", needs_ack=True, supersedes="dinner")
    mailed = await house.notify("Dinner at eight", channel="email", subject="Dinner")
    await house.attention.withdraw("health", key="dinner")
    await house.attention.withdraw("health", notice_id=mailed.notice_id)
    await house.look()
    _, gone = world.telegram.calls
    assert gone.message.revises is not None and gone.message.revises.deletes
    assert world.email.texts[-1] == "Withdrawn: Dinner"
    assert {await state_of(house, one) for one in (shown, mailed)} == {S.RECALLED}
    await all_accounted(house)


@pytest.mark.requirement("attention:people-exist")
async def test_who_vanished_from_a_policy_is_named(world: World) -> None:
    house = Attended(world)
    await house.attention.set_policy("owner", parse_policy({"escalation": [{"after_seconds": 60, "person": "Ann"}]}))
    now = world.clock.now_us()
    await house.attention.away("owner", Absence(start_us=now, end_us=now + seconds(HOUR), delegate="ann"))
    assert await house.attention.missing_people() == ()
    await names(world.database).people.delete(HOUSEHOLD_OWNER, "ann", now_us=now)
    assert [one.split(":")[0] for one in await house.attention.missing_people()] == [
        "the policy of owner",
        "the absence of owner",
    ]


@pytest.mark.requirement("attention:people-exist")
async def test_people_of_a_rotation_are_known_by_their_ids(world: World) -> None:
    house = Attended(world, {"escalation": [{"after_seconds": 60, "person": "duty"}]})
    turns = Rotation(anchor=datetime(2026, 1, 1), zone="UTC", every_days=7, people=("ANN",))
    house.attention.book.rotations = {"duty": turns}
    await house.attention.book.refresh()
    assert house.attention.book.policies.someone("duty", world.clock.now_us()) == "ann"


# -- Quiet hours have one place --


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_quiet_hours_set_in_the_inbox_hold_messages_too(world: World) -> None:
    house = Attended(world)
    inbox = inbox_on(world.database, house.attention.book, world.clock)
    await inbox.change_preferences("operator", lambda _: AT_NIGHT)
    answer = await house.notify("Good night")
    assert (answer.status, answer.until_us) == (AnswerStatus.DEFERRED, QUIET_ENDS_US)

    await inbox.change_preferences("operator", lambda one: replace(one, quiet_hours_start=None, quiet_hours_end=None))
    await house.look()
    assert house.texts == ["Good night"]
    assert await house.attention.audit() == ()
