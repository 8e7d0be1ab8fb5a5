"""A question as it is shown to one person on one channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.question import Question
from postroom.domain.question_states import PresentationMove, PresentationStatus
from postroom.domain.time import seconds

ENDED_FIRST: Final = "the question ended before it was shown"
WAITS: Final = "waits for an approval"
IN_LINE: Final = "other approvals are to be decided first"


class TokenAction(StrEnum):
    """What a button on a card does."""

    OPTION = "option"
    TOGGLE = "toggle"
    SEND = "send"  # ends a multiple choice
    OTHER = "other"  # wants to answer in own words
    DECLINE = "decline"
    OPEN = "open"  # leads to the page or the console


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """
    `revision` is the wording the card shows, 0 as long as there is none. `provider_ids` are those of
    all parts of the message, and `toggles` what is ticked in a multiple choice.
    """

    id: str
    question_id: str
    person_id: str
    channel: str
    address: str
    status: PresentationStatus = PresentationStatus.PLANNED
    revision: int = 0
    delivery_id: str | None = None
    provider_ids: tuple[str, ...] = ()
    reason: str | None = None
    toggles: tuple[str, ...] = ()
    due_at_us: int | None = None  # when there is something to do about it
    created_at_us: int
    updated_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPresentation:
    """
    Where one person is to be shown a question; with `failure`, why that cannot be done.

    `after_seconds`: so much later, if no one has answered by then.
    """

    person_id: str
    channel: str
    address: str
    failure: str | None = None
    after_seconds: float = 0

    def under(self, id: str, question_id: str, now_us: int) -> Presentation:
        """As it begins."""
        return Presentation(
            id=id,
            question_id=question_id,
            person_id=self.person_id,
            channel=self.channel,
            address=self.address,
            status=PresentationStatus.PLANNED if self.failure is None else PresentationStatus.FAILED,
            reason=self.failure,
            due_at_us=now_us + seconds(self.after_seconds) if self.failure is None else None,
            created_at_us=now_us,
            updated_at_us=now_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentationClaim:
    """The right to work on a presentation until the lease runs out; a newer claim has a higher fence."""

    presentation: Presentation
    question: Question
    fence: int

    @property
    def taken_up(self) -> bool:
        """An earlier claim was not settled: its message may be on its way."""
        return self.presentation.status is PresentationStatus.PLANNED and self.fence > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One button of one card; only the hash of it is kept."""

    hash: str
    presentation_id: str
    action: TokenAction
    option: str | None
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedToken:
    """What a token that came back stands for."""

    token: Token
    presentation: Presentation


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How showing or closing went; `revision` is the wording that the card now has."""

    move: PresentationMove
    revision: int = 0
    provider_ids: Sequence[str] = ()
    reason: str | None = None


_SEEN: Final = (PresentationStatus.SHOWN, PresentationStatus.CLOSING, PresentationStatus.CLOSED)


def was_seen(one: Presentation) -> bool:
    """It has arrived where the person is, whatever became of it then."""
    return one.status in _SEEN or is_left_open(one)


def is_left_open(one: Presentation) -> bool:
    """It was shown, and could not be closed."""
    return one.status is PresentationStatus.LEFT and one.revision > 0 and one.reason != ENDED_FIRST
