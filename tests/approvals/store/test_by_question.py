"""A parked delivery and the question about it: decided together, whoever comes from which side."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import update
from tests.approvals.parked import HOUR_US, DecidingDesk, deciding_desk
from tests.clock import START_US, FakeClock
from tests.questions.sample_questions import new_attempt

from postroom.approvals.card import outside_console
from postroom.approvals.model import Action, ActionStatus
from postroom.approvals.store.tables import pending_actions
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.delivery import Status
from postroom.message.wishes import APPROVE, DENY, Risk
from postroom.questions.model import AskedPerson, Heard, Question, QuestionStatus, Said, VerdictKind
from postroom.questions.rules.judge import AnswerPolicy, judge
from postroom.questions.store.tables import questions

END = START_US + HOUR_US
OWNER, BEN = AskedPerson(id="owner", name="Ann"), AskedPerson(id="ben", name="Ben")
pytestmark = pytest.mark.requirement("ask:approval-by-press")


@dataclass
class Phone:
    """A desk, and the cards of Ann and Ben."""

    desk: DecidingDesk
    clock: FakeClock
    policy: AnswerPolicy

    async def parked(self) -> tuple[Action, Question]:
        asked = {"people": (OWNER, BEN), "channels": ("telegram",), "phone": Risk.MEDIUM, "expires_at_us": END}
        action = await self.desk.park(parking=asked)
        return action, await self.desk.question(action)

    async def press(self, question: Question, value: str = APPROVE, **changes: Any) -> Heard:
        now_us = self.clock.now_us()
        attempt = new_attempt(
            question,
            Said(value=value),
            **{"person_id": "owner", "person_name": "Ann", "heard_at_us": now_us, **changes},
        )
        heard = await self.desk.questions.hear(
            attempt, lambda one, tried, shown: judge(one, tried, tried.heard_at_us, shown, self.policy)
        )
        assert heard is not None
        return heard

    async def tries(self, action: Action, value: str, who: Principal, via: str) -> str:
        """As the console and the tools do it; why it was refused, if it was."""
        try:
            if value == DENY:
                await self.desk.approvals.reject(who, action.id, "no", via=via)
            else:
                await self.desk.approvals.approve(who, action.id, via=via)
        except ValidationError as error:
            return error.fields[0].code
        return ""

    async def attempts(self, question: Question) -> list[tuple[str, str | None, str | None, VerdictKind]]:
        kept = await self.desk.questions.attempts(question.id)
        tried = [(one.attempt.channel, one.attempt.person_id, one.attempt.said.value, one.verdict.kind) for one in kept]
        return sorted(tried, key=lambda one: (one[3], one[0]))

    async def now(self, action: Action) -> tuple[ActionStatus, QuestionStatus]:
        return (await self.desk.now(action.id)).status, (await self.desk.question(action)).status


@pytest.fixture
def phone(database: Database, clock: FakeClock) -> Phone:
    desk = deciding_desk(database, clock, ["ben"])
    return Phone(desk, clock, AnswerPolicy(outside_console=outside_console(Risk.MEDIUM)))


async def test_from_both_sides_at_once_there_is_one_decision_and_both_say_the_same(phone: Phone) -> None:
    parked = [await phone.parked() for _ in range(6)]
    async with asyncio.timeout(60):
        presses, rejections = await asyncio.gather(
            asyncio.gather(
                *(phone.press(question) for _, question in parked),
                *(phone.press(question, person_id="ben", person_name="Ben") for _, question in parked),
            ),
            asyncio.gather(*(phone.tries(action, DENY, OPERATOR, "console") for action, _ in parked)),
        )

    for number, (action, question) in enumerate(parked):
        won = [one.verdict.kind is VerdictKind.ACCEPTED for one in (presses[number], presses[6 + number])]
        assert [*won, not rejections[number]].count(True) == 1
        status = ActionStatus.APPROVED if any(won) else ActionStatus.REJECTED
        assert await phone.now(action) == (status, QuestionStatus.ANSWERED)
        kept = await phone.desk.question(action)
        assert kept.id == question.id and kept.answer and kept.answer.value == (APPROVE if any(won) else DENY)


async def test_ends_of_many_at_once_meet_presses_without_a_deadlock(phone: Phone, database: Database) -> None:
    parked = [await phone.parked() for _ in range(8)]
    later = deciding_desk(database, FakeClock(END + 1))
    async with asyncio.timeout(60):
        await asyncio.gather(later.approvals.page(OPERATOR), *(phone.press(question) for _, question in parked))
    await later.approvals.page(OPERATOR)

    for action, _ in parked:
        assert await phone.now(action) in (
            (ActionStatus.APPROVED, QuestionStatus.ANSWERED),
            (ActionStatus.EXPIRED, QuestionStatus.EXPIRED),
        )


@pytest.mark.requirement("ask:approval-who")
async def test_an_approver_who_is_one_no_longer_decides_nothing(phone: Phone, database: Database) -> None:
    action, question = await phone.parked()
    fired = replace(phone, desk=deciding_desk(database, phone.clock))

    heard = await fired.press(question, person_id="ben", person_name="Ben")

    assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.UNAUTHORISED, "not_an_approver")
    assert await phone.now(action) == (ActionStatus.PENDING, QuestionStatus.OPEN)


async def test_a_card_that_was_bound_to_other_words_sends_nothing(phone: Phone, database: Database) -> None:
    action, question = await phone.parked()
    bound = json.dumps({"content_hash": "0" * 64, "risk": "medium"})
    await database.write(lambda connection: connection.execute(update(questions).values(state=bound)))

    heard = await phone.press(question)

    assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.INVALID, "hash_mismatch")
    assert [str(one) for one in await phone.desk.types(action.id)] == ["action_queued", "decision_refused"]
    assert await phone.now(action) == (ActionStatus.PENDING, QuestionStatus.OPEN)


async def test_a_card_of_an_earlier_text_decides_nothing_about_the_next(phone: Phone, database: Database) -> None:
    """Whatever else is open about it."""
    action, question = await phone.parked()
    await database.write(lambda connection: connection.execute(update(pending_actions).values(question_id="another")))

    heard = await phone.press(question)

    assert (heard.verdict.kind, heard.verdict.code) == (VerdictKind.LATE, "superseded")
    assert (await phone.desk.now(action.id)).delivery_status is Status.AWAITING_APPROVAL


async def test_a_press_after_the_end_is_too_late(phone: Phone) -> None:
    action, question = await phone.parked()

    heard = await phone.press(question, heard_at_us=END + 1)

    assert heard.verdict.kind is VerdictKind.LATE
    assert (await phone.now(action))[0] is ActionStatus.PENDING


async def test_nobody_declines_for_a_message_that_waits(phone: Phone) -> None:
    action, question = await phone.parked()
    attempt = new_attempt(question, Said(declined=True), person_id="owner", heard_at_us=START_US)

    heard = await phone.desk.questions.hear(
        attempt, lambda one, tried, shown: judge(one, tried, START_US, shown, phone.policy)
    )

    assert heard is not None and heard.verdict.kind is VerdictKind.INVALID
    assert await phone.now(action) == (ActionStatus.PENDING, QuestionStatus.OPEN)


@pytest.mark.requirement("ask:approval-tried")
async def test_decisions_elsewhere_are_kept_with_the_question_won_and_lost(phone: Phone) -> None:
    action, question = await phone.parked()

    won = await phone.tries(action, DENY, Principal(Role.USER, "ben"), "tools")
    lost = await phone.tries(action, APPROVE, OPERATOR, "console")
    await phone.press(question)

    assert (won, lost) == ("", "already_decided")
    assert await phone.attempts(question) == [
        ("tools", "ben", DENY, VerdictKind.ACCEPTED),
        ("console", "owner", APPROVE, VerdictKind.LOST_RACE),
        ("telegram", "owner", APPROVE, VerdictKind.LOST_RACE),
    ]
    by_channel = {one.attempt.channel: one for one in await phone.desk.questions.attempts(question.id)}
    assert {one.verdict.reason for one in by_channel.values()} == {"", "Ben was first"}
    assert (by_channel["tools"].attempt.actor, by_channel["tools"].attempt.operator) == ("user:ben", False)
    assert (by_channel["console"].attempt.actor, by_channel["console"].attempt.operator) == ("operator", True)
    decided = await phone.desk.now(action.id)
    assert (decided.decided_by, decided.reason) == ("user:ben", "no")


@pytest.mark.requirement("ask:approval-tried")
async def test_a_press_that_was_first_leaves_the_console_a_lost_race(phone: Phone) -> None:
    action, question = await phone.parked()

    await phone.press(question)
    await phone.tries(action, DENY, Principal(Role.USER, "ben"), "console")

    assert await phone.attempts(question) == [
        ("telegram", "owner", APPROVE, VerdictKind.ACCEPTED),
        ("console", "ben", DENY, VerdictKind.LOST_RACE),
    ]


@pytest.mark.requirement("ask:approval-tried")
async def test_a_decision_that_came_too_late_is_kept_as_late(phone: Phone) -> None:
    action, question = await phone.parked()
    await phone.clock.advance(3601)

    codes = [await phone.tries(action, APPROVE, OPERATOR, "console") for _ in range(2)]

    assert codes == ["too_late", "already_decided"]
    assert [kind for *_, kind in await phone.attempts(question)] == [VerdictKind.LATE, VerdictKind.LATE]
    assert await phone.now(action) == (ActionStatus.EXPIRED, QuestionStatus.EXPIRED)


@pytest.mark.requirement("ask:approval-tried")
async def test_sixteen_who_decide_at_once_are_all_kept_and_one_wins(phone: Phone) -> None:
    action, question = await phone.parked()
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(phone.tries(action, APPROVE, OPERATOR, "console") for _ in range(8)),
            *(phone.press(question) for _ in range(8)),
        )

    kinds = [kind for *_, kind in await phone.attempts(question)]
    assert sorted(kinds) == [VerdictKind.ACCEPTED, *[VerdictKind.LOST_RACE] * 15]
