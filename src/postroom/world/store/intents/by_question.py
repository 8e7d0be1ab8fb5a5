"""Answers an intent in the transaction in which a question about it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from postroom.domain.answer_attempt import Attempt, Verdict, VerdictKind
from postroom.domain.errors import Refused
from postroom.domain.intent import AgentIntent, IntentChange
from postroom.domain.question import Question, Subject
from postroom.world.store.intents.intents import StoredIntents

Rule = Callable[[AgentIntent, Question, Attempt, Verdict], IntentChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRide:
    """`rule` says what the answer makes of the intent."""

    record: StoredIntents
    rule: Rule

    def hold(self, connection: Connection, subject: Subject) -> None:
        self.record.hold(connection, subject)

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        intent_id = question.subject.id if question.subject else ""
        try:
            self.record.change_within(
                connection,
                intent_id,
                lambda intent: self.rule(intent, question, attempt, verdict),
                but=question.id,
            )
        except Refused as refused:
            return Verdict(kind=VerdictKind.LATE, code=str(refused.code), reason=refused.message)
        return verdict
