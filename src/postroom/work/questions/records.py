"""What is kept of questions and their presentations, as far as asking, showing and hearing need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from postroom.domain.answer_attempt import KeptAttempt
from postroom.domain.presentation import (
    PlannedPresentation,
    Presentation,
    PresentationClaim,
    PressedToken,
    Shown,
    Token,
)
from postroom.domain.question import Question, SubjectKind
from postroom.domain.question_change import Ending, QuestionEvent
from postroom.domain.question_states import QuestionStatus
from postroom.work.questions.ports import QuestionStore

TokensOf = Callable[[PresentationClaim], Sequence[Token]]


class QuestionRecord(QuestionStore, Protocol):
    async def get(self, question_id: str) -> Question | None: ...

    async def by_key(self, asker: str, key: str) -> Question | None: ...

    async def for_asker(self, question_id: str) -> Question | None:
        """With a secret in it, as long as its end has not been collected."""
        ...

    async def collect(self, question_id: str, now_us: int) -> None:
        """Notes that its end has been handed out; a secret is gone with that."""
        ...

    async def last_position(self) -> int: ...

    async def events(self, *, since: int, limit: int, asker: str | None = None) -> Sequence[QuestionEvent]: ...

    async def history(self, question_id: str) -> Sequence[QuestionEvent]: ...

    async def attempts(self, question_id: str) -> Sequence[KeptAttempt]: ...

    async def answers(self, asker: str, *, since: int, limit: int) -> Sequence[Ending]: ...

    async def listing(
        self,
        *,
        asker: str | None = None,
        person_id: str | None = None,
        status: QuestionStatus | None = None,
        besides: SubjectKind | None = None,
        about: Sequence[str] | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[Question]: ...


class Plans(Protocol):
    """Where questions are to be shown."""

    async def to_plan(self, limit: int) -> Sequence[Question]: ...

    async def unplanned(self, question_id: str) -> frozenset[str]: ...

    async def plan(
        self, question_id: str, people: Sequence[str], places: Sequence[PlannedPresentation], now_us: int
    ) -> Sequence[Presentation]: ...

    async def of(self, question_id: str) -> Sequence[Presentation]: ...


class Claims(Protocol):
    """The right to show or close a card; what a stale claim writes is refused."""

    async def due(
        self, now_us: int, *, lease_until_us: int, limit: int, tokens_of: TokensOf
    ) -> Sequence[PresentationClaim]:
        """With the tokens that a claim needs, so that its card can leave at once."""
        ...

    async def issue(self, tokens: Sequence[Token]) -> None: ...

    async def submitted(
        self, claim: PresentationClaim, delivery_id: str, *, revision: int, look_again_us: int, now_us: int
    ) -> bool: ...

    async def later(self, claim: PresentationClaim, at_us: int, reason: str | None = None) -> bool: ...

    async def again(self, reason: str, now_us: int) -> None: ...

    async def line(self, claim: PresentationClaim) -> Sequence[PresentationClaim]:
        """The cards about approvals that wait for the same person there, the first to be decided first."""
        ...

    async def presented(self, claim: PresentationClaim, shown: Shown, now_us: int) -> bool: ...


class Cards(Protocol):
    """Which card it was that a person answered."""

    async def pressed(self, token_hash: str) -> PressedToken | None: ...

    async def behind(self, channel: str, address: str, provider_id: str) -> Presentation | None: ...

    async def perhaps(self, channel: str, address: str, provider_id: str) -> Sequence[Presentation]: ...

    async def open_on(self, channel: str) -> Sequence[Presentation]: ...

    async def await_words(self, presentation_id: str, now_us: int) -> None:
        """The person pressed *Other*: the next that they write there, alone with us, is the answer."""
        ...

    async def awaited(self, channel: str, places: Sequence[str]) -> Presentation | None:
        """The card for which a message that comes now is that next one; None when another came before it."""
        ...


class EventFeed(Protocol):
    async def events(self, *, since: int, limit: int) -> Sequence[QuestionEvent]: ...

    async def get(self, question_id: str) -> Question | None: ...
