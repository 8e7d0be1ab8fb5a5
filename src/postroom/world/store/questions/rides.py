"""What a question is about, when its answer decides that in the same transaction."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection

from postroom.domain.answer_attempt import Attempt, Verdict
from postroom.domain.question import Question, Subject


class Ride(Protocol):
    def hold(self, connection: Connection, subject: Subject) -> None:
        """Until the transaction ends, no one else decides it."""
        ...

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        """The accepted verdict, with what it decides written down; or why that cannot be decided any more."""
        ...
