"""What waits for a person's word, on a page that is about other things as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.doors.console.questions_page import QuestionCard
from postroom.doors.console.visit import Visit
from postroom.doors.console.words import moment_us


class ApprovalsHere(Protocol):
    async def here(self, visit: Visit) -> Sequence[Mapping[str, Any]]:
        """As they would be sent, the newest first. Raises one of our errors."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingHere:
    """One thing to decide: a question, or a message that waits."""

    at_us: int
    question: QuestionCard | None = None
    action: Mapping[str, Any] | None = None


def newest_first(questions: Sequence[QuestionCard], actions: Sequence[Mapping[str, Any]]) -> Sequence[WaitingHere]:
    asked = [WaitingHere(at_us=one.question.created_at_us, question=one) for one in questions]
    parked = [WaitingHere(at_us=moment_us(one["requested_at"]), action=one) for one in actions]
    return sorted([*asked, *parked], key=lambda one: one.at_us, reverse=True)
