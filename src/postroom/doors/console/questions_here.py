"""The questions that wait for a person, on pages that are about other things as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroom.domain.principal import Principal
from postroom.domain.question import SubjectKind
from postroom.doors.console.questions_page import QuestionCard
from postroom.doors.console.visit import Visit


class QuestionsHere(Protocol):
    async def waiting(self, who: Principal, *, besides: SubjectKind | None = None) -> int:
        """How many there are, also when not all of them are shown; `besides` leaves out what is shown otherwise."""
        ...

    async def cards(self, visit: Visit, *, besides: SubjectKind | None = None) -> Sequence[QuestionCard]: ...
