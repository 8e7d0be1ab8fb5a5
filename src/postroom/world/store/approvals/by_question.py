"""Decides a parked delivery in the transaction in which the question about it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from postroom.domain.answer_attempt import Attempt, Verdict
from postroom.domain.approval import Action, Ruling
from postroom.domain.approval_question import refused
from postroom.domain.errors import FieldError
from postroom.domain.question import Question, Subject
from postroom.world.store.approvals.approvals import StoredApprovals

Rule = Callable[[Action, Question, Attempt, Verdict], Ruling]
_GONE: Final = FieldError("action_id", "there is nothing left to decide", "unknown_action")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRide:
    """`rule` says what the answer comes to; it is the same ruling as in the console."""

    record: StoredApprovals
    rule: Rule

    def hold(self, connection: Connection, subject: Subject) -> None:
        self.record.hold(connection, subject)

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        action_id = question.subject.id if question.subject else ""
        ruled = self.record.decide_within(
            connection, action_id, lambda action: self.rule(action, question, attempt, verdict)
        )
        refusal = _GONE if ruled is None else ruled.refusal
        return verdict if refusal is None else refused(refusal)
