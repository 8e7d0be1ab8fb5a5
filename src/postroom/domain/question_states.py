"""The one table of moves a question and its presentations may make."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

ALLOW: Final = "allow"
APPROVE: Final = "approve"
DENY: Final = "deny"


class QuestionStatus(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


class QuestionMove(StrEnum):
    REVISE = "revise"  # another wording; what was pressed under the old one no longer counts
    ANSWER = "answer"
    DECLINE = "decline"  # a person would rather not say
    EXPIRE = "expire"
    CANCEL = "cancel"  # the asker no longer wants to know
    SUPERSEDE = "supersede"  # another question took its place


QUESTION_MOVES: Final[dict[tuple[QuestionStatus, QuestionMove], QuestionStatus]] = {
    (QuestionStatus.OPEN, QuestionMove.REVISE): QuestionStatus.OPEN,
    (QuestionStatus.OPEN, QuestionMove.ANSWER): QuestionStatus.ANSWERED,
    (QuestionStatus.OPEN, QuestionMove.DECLINE): QuestionStatus.DECLINED,
    (QuestionStatus.OPEN, QuestionMove.EXPIRE): QuestionStatus.EXPIRED,
    (QuestionStatus.OPEN, QuestionMove.CANCEL): QuestionStatus.CANCELLED,
    (QuestionStatus.OPEN, QuestionMove.SUPERSEDE): QuestionStatus.SUPERSEDED,
}
ENDED: Final = frozenset(QuestionStatus) - {before for before, _ in QUESTION_MOVES}


class PresentationStatus(StrEnum):
    PLANNED = "planned"
    SHOWN = "shown"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"
    LEFT = "left"


class PresentationMove(StrEnum):
    SHOW = "show"
    DOUBT = "doubt"  # it may have arrived
    FAIL = "fail"  # it cannot be shown, or is gone from where it was
    DROP = "drop"  # the question ended before it was shown
    END = "end"  # the question is over, the card not yet
    CLOSE = "close"
    LEAVE = "leave"  # the card cannot be changed any more


PRESENTATION_MOVES: Final[dict[tuple[PresentationStatus, PresentationMove], PresentationStatus]] = {
    (PresentationStatus.PLANNED, PresentationMove.SHOW): PresentationStatus.SHOWN,
    (PresentationStatus.PLANNED, PresentationMove.DOUBT): PresentationStatus.UNCERTAIN,
    (PresentationStatus.PLANNED, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.PLANNED, PresentationMove.DROP): PresentationStatus.LEFT,
    (PresentationStatus.UNCERTAIN, PresentationMove.SHOW): PresentationStatus.SHOWN,
    (PresentationStatus.UNCERTAIN, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.UNCERTAIN, PresentationMove.END): PresentationStatus.CLOSING,
    (PresentationStatus.SHOWN, PresentationMove.FAIL): PresentationStatus.FAILED,
    (PresentationStatus.SHOWN, PresentationMove.END): PresentationStatus.CLOSING,
    (PresentationStatus.CLOSING, PresentationMove.CLOSE): PresentationStatus.CLOSED,
    (PresentationStatus.CLOSING, PresentationMove.LEAVE): PresentationStatus.LEFT,
}
SETTLED: Final = frozenset(PresentationStatus) - {before for before, _ in PRESENTATION_MOVES}


def after(status: QuestionStatus, move: QuestionMove) -> QuestionStatus:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return QUESTION_MOVES[status, move]


def after_showing(status: PresentationStatus, move: PresentationMove) -> PresentationStatus:
    """The same for a presentation."""
    return PRESENTATION_MOVES[status, move]
