"""What happens to questions, line by line, for those who may see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.errors import Code, Refused
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.domain.question_change import QuestionEvent, QuestionEventType
from postroom.work.questions.asking import Asking
from postroom.work.questions.records import QuestionRecord
from postroom.work.questions.view import QuestionView

_AT_A_TIME: Final = 100
_SHOWN: Final = frozenset(QuestionEventType) - {QuestionEventType.REMINDED, QuestionEventType.ESCALATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLine:
    """One event, and the question as it is when it is read; without a view it is none of the reader's."""

    position: int
    type: QuestionEventType
    view: QuestionView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFeed:
    asking: Asking
    lines: QuestionRecord

    async def newest(self) -> int:
        return await self.lines.last_position()

    async def since(self, reader: Principal, position: int) -> Sequence[FeedLine]:
        """In the order of commits; an agent reads of its own questions, a person of theirs, the owner of all."""
        only = str(reader) if person_id_of(reader) is None else None
        found = await self.lines.events(since=position, limit=_AT_A_TIME, asker=only)
        return [FeedLine(position=one.position, type=one.type, view=await self._view(reader, one)) for one in found]

    async def _view(self, reader: Principal, event: QuestionEvent) -> QuestionView | None:
        if event.type not in _SHOWN:
            return None
        try:
            return await self.asking.read(reader, event.question_id)
        except Refused as error:
            if error.code is not Code.NOT_FOUND:
                raise
            return None
