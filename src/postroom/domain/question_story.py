"""All that is known of one question: where it was shown, what people did about it, how it went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.domain.answer_attempt import KeptAttempt
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_change import QuestionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStory:
    """In each of these the oldest comes first."""

    question: Question
    presentations: Sequence[Presentation] = ()
    attempts: Sequence[KeptAttempt] = ()
    history: Sequence[QuestionEvent] = ()
