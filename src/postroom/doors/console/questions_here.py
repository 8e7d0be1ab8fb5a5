"""The questions that wait for a person, on pages that are about other things as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroom.domain.principal import Principal
from postroom.doors.console.questions_page import QuestionCard
from postroom.doors.console.visit import Visit


class QuestionsHere(Protocol):
    async def waiting(self, who: Principal) -> int:
        """How many there are, also when not all of them are shown."""
        ...

    async def cards(self, visit: Visit) -> Sequence[QuestionCard]: ...
