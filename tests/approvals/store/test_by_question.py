"""A parked delivery and the question about it: decided together, whoever comes from which side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.approvals.parked import HOUR_US, MINT, new_delivery
from tests.clock import START_US
from tests.questions.sample_questions import new_attempt

from postroom.approvals import rules
from postroom.approvals.card import approval_question, outside_console, ruling_by
from postroom.approvals.model import Action, ActionStatus, DecisionTried, Parking, Ruling
from postroom.approvals.rules import expiration
from postroom.approvals.store.approvals import ApprovalRide, StoredApprovals
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.message.wishes import APPROVE, DENY, Risk
from postroom.questions.model import AskedPerson, Heard, Question, QuestionStatus, Said, SubjectKind, VerdictKind
from postroom.questions.rules.judge import AnswerPolicy, judge
from postroom.questions.store.questions import StoredQuestions

NOW = START_US + seconds(5)
OWNER, BEN = AskedPerson(id="owner", name="Ann"), AskedPerson(id="ben", name="Ben")
pytestmark = pytest.mark.requirement("ask:approval-by-press")


@dataclass
class Desk:
    record: StoredApprovals
    questions: StoredQuestions
    policy: AnswerPolicy

    async def parked(self, **changes: Any) -> tuple[Action, Question]:
        new = new_delivery(**changes)
        parking = Parking(risk=Risk.MEDIUM, expires_at_us=START_US + HOUR_US, most_pending=100)
        await self.record.park(new, parking, lambda _: [])
        action = await self.record.action(new.id)
        assert action is not None
        question = approval_question(
            action,
            id=MINT.mint(START_US),
            people=(OWNER, BEN),
            channels=("telegram",),
            now_us=START_US,
            phone=Risk.MEDIUM,
        )
        assert await self.record.ask(question, action.id, START_US)
        return action, question

    async def press(self, question: Question, value: str = APPROVE, now_us: int = NOW, **changes: Any) -> Heard:
        given = {"person_id": "owner", "person_name": "Ann", "heard_at_us": now_us, **changes}
        attempt = new_attempt(question, Said(value=value), **given)
        heard = await self.questions.hear(
            attempt, lambda one, tried, shown: judge(one, tried, tried.heard_at_us, shown, self.policy)
        )
        assert heard is not None
        return heard

    async def reject(self, action: Action) -> Ruling:
        def judged(found: Action) -> Ruling:
            return rules.rejection(found, actor="operator", now_us=NOW, reason="no")

        found = await self.record.decide(action.id, judged)
        assert found is not None
        return found[1]

    async def tries(self, action: Action, value: str, actor: str, via: str, now_us: int = NOW) -> Ruling:
        """As the console and the tools do it."""

        def judged(found: Action) -> Ruling:
            if value == DENY:
                return rules.rejection(found, actor=actor, now_us=now_us, reason="no", via=via)
            return rules.approval(found, actor=actor, now_us=now_us, seen_hash=None, content=found.content, via=via)

        tried = DecisionTried(actor=actor, via=via, value=value, at_us=now_us)
        found = await self.record.decide(action.id, judged, tried)
        assert found is not None
        return found[1]

    async def attempts(self, question: Question) -> list[tuple[str, str | None, str | None, VerdictKind]]:
        kept = await self.questions.attempts(question.id)
        tried = [(one.attempt.channel, one.attempt.person_id, one.attempt.said.value, one.verdict.kind) for one in kept]
        return sorted(tried, key=lambda one: (one[3], one[0]))

    async def now(self, action: Action, question: Question) -> tuple[ActionStatus, QuestionStatus]:
        decided, ended = await self.record.action(action.id), await self.questions.get(question.id)
        assert decided and ended
        return decided.status, ended.status


@pytest.fixture
def desk(database: Database) -> Desk:
    record = StoredApprovals(database, MINT.mint, expiration)
    ride = ApprovalRide(record=record, rule=ruling_by(["ben"]))
    questions = StoredQuestions(database, Seal(bytes(32)), {SubjectKind.APPROVAL: ride})
    return Desk(record, questions, AnswerPolicy(outside_console=outside_console(Risk.MEDIUM)))


async def test_from_both_sides_at_once_there_is_one_decision_and_both_say_the_same(desk: Desk) -> None:
    parked = [await desk.parked() for _ in range(6)]
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(
            *(work for action, question in parked for work in (desk.press(question), desk.reject(action))),
            *(desk.press(question, person_id="ben", person_name="Ben") for _, question in parked),
            desk.record.expire(NOW),
        )

    for number, (action, question) in enumerate(parked):
        pressed, rejected, second = outcomes[2 * number], outcomes[2 * number + 1], outcomes[12 + number]
        assert isinstance(pressed, Heard) and isinstance(second, Heard) and isinstance(rejected, Ruling)
        won = [one.verdict.kind is VerdictKind.ACCEPTED for one in (pressed, second)]
        assert [*won, rejected.decision is not None].count(True) == 1
        status = ActionStatus.APPROVED if any(won) else ActionStatus.REJECTED
        assert await desk.now(action, question) == (status, QuestionStatus.ANSWERED)
        kept = await desk.questions.get(question.id)
        assert kept and kept.answer and kept.answer.value == (APPROVE if any(won) else DENY)


async def test_ends_of_many_at_once_meet_presses_without_a_deadlock(desk: Desk) -> None:
    parked = [await desk.parked() for _ in range(8)]
    late = START_US + HOUR_US + 1
    async with asyncio.timeout(60):
        await asyncio.gather(desk.record.expire(late), *(desk.press(question) for _, question in parked))
    await desk.record.expire(late)

    for action, question in parked:
        assert await desk.now(action, question) in (
            (ActionStatus.APPROVED, QuestionStatus.ANSWERED),
            (ActionStatus.EXPIRED, QuestionStatus.EXPIRED),
        )


@pytest.mark.requirement("ask:approval-who")
async def test_an_approver_who_is_one_no_longer_decides_nothing(desk: Desk, database: Database) -> None:
    action, question = await desk.parked()
    ride = ApprovalRide(record=desk.record, rule=ruling_by([]))
    fired = replace(desk, questions=StoredQuestions(database, Seal(bytes(32)), {SubjectKind.APPROVAL: ride}))

    heard = await fired.press(question, person_id="ben", person_name="Ben")

    assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.UNAUTHORISED, "not_an_approver")
    assert await desk.now(action, question) == (ActionStatus.PENDING, QuestionStatus.OPEN)


async def test_a_card_that_was_bound_to_other_words_sends_nothing(desk: Desk) -> None:
    action, question = await desk.parked()
    changed = replace(action, content_hash="0" * 64)
    other = approval_question(
        changed, id=MINT.mint(START_US), people=(OWNER,), channels=("telegram",), now_us=START_US, phone=Risk.MEDIUM
    )
    asked = (await desk.questions.ask(replace(other, key="other"))).question

    heard = await desk.press(asked)

    assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.INVALID, "hash_mismatch")
    assert [str(one.type) for one in await desk.record.events(action.id)] == ["action_queued", "decision_refused"]
    assert await desk.now(action, question) == (ActionStatus.PENDING, QuestionStatus.OPEN)


async def test_a_press_after_the_end_of_the_action_is_too_late(desk: Desk) -> None:
    action, question = await desk.parked()

    heard = await desk.press(question, now_us=START_US + HOUR_US + 1)

    assert heard.verdict.kind is VerdictKind.LATE
    assert (await desk.now(action, question))[0] is ActionStatus.PENDING


async def test_nobody_declines_for_a_message_that_waits(desk: Desk) -> None:
    action, question = await desk.parked()
    attempt = new_attempt(question, Said(declined=True), person_id="owner", heard_at_us=NOW)

    heard = await desk.questions.hear(attempt, lambda one, tried, shown: judge(one, tried, NOW, shown, desk.policy))

    assert heard is not None and heard.verdict.kind is VerdictKind.INVALID
    assert await desk.now(action, question) == (ActionStatus.PENDING, QuestionStatus.OPEN)


@pytest.mark.requirement("ask:approval-tried")
async def test_decisions_elsewhere_are_kept_with_the_question_won_and_lost(desk: Desk) -> None:
    action, question = await desk.parked()

    await desk.tries(action, DENY, "user:ben", "tools")
    lost = await desk.tries(action, APPROVE, "operator", "console")
    await desk.press(question)

    assert lost.refusal is not None and lost.refusal.code == "already_decided"
    assert await desk.attempts(question) == [
        ("tools", "ben", DENY, VerdictKind.ACCEPTED),
        ("console", "owner", APPROVE, VerdictKind.LOST_RACE),
        ("telegram", "owner", APPROVE, VerdictKind.LOST_RACE),
    ]
    by_channel = {one.attempt.channel: one for one in await desk.questions.attempts(question.id)}
    assert {one.verdict.reason for one in by_channel.values()} == {"", "Ben was first"}
    assert (by_channel["tools"].attempt.actor, by_channel["tools"].attempt.operator) == ("user:ben", False)
    assert (by_channel["console"].attempt.actor, by_channel["console"].attempt.operator) == ("operator", True)


@pytest.mark.requirement("ask:approval-tried")
async def test_a_press_that_was_first_leaves_the_console_a_lost_race(desk: Desk) -> None:
    action, question = await desk.parked()

    await desk.press(question)
    await desk.tries(action, DENY, "user:ben", "console")

    assert await desk.attempts(question) == [
        ("telegram", "owner", APPROVE, VerdictKind.ACCEPTED),
        ("console", "ben", DENY, VerdictKind.LOST_RACE),
    ]


@pytest.mark.requirement("ask:approval-tried")
async def test_a_decision_that_came_too_late_is_kept_as_late(desk: Desk) -> None:
    action, question = await desk.parked()
    late = START_US + HOUR_US + 1

    await desk.tries(action, APPROVE, "operator", "console", late)
    await desk.tries(action, APPROVE, "operator", "console", late)

    assert [kind for *_, kind in await desk.attempts(question)] == [VerdictKind.LATE, VerdictKind.LATE]
    assert await desk.now(action, question) == (ActionStatus.EXPIRED, QuestionStatus.EXPIRED)


@pytest.mark.requirement("ask:approval-tried")
async def test_sixteen_who_decide_at_once_are_all_kept_and_one_wins(desk: Desk) -> None:
    action, question = await desk.parked()
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(desk.tries(action, APPROVE, "operator", "console") for _ in range(8)),
            *(desk.press(question) for _ in range(8)),
        )

    kinds = [kind for *_, kind in await desk.attempts(question)]
    assert sorted(kinds) == [VerdictKind.ACCEPTED, *[VerdictKind.LOST_RACE] * 15]
