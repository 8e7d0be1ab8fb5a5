"""What several machines did together: to messages, and to questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chaos.ledger_compare import Comparison
from chaos.questions.way_back import WayBack

COLUMNS: Final = (
    "accepted",
    "delivered",
    "held",
    "lost",
    "duplicates marked",
    "duplicates unmarked",
    "asked",
    "answered",
    "two winners",
    "answers lost",
    "asked twice, marked",
    "unmarked",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Whole households write no journal, so an unknown outcome is not explained one by one here."""

    messages: Comparison
    questions: WayBack

    @property
    def sound(self) -> bool:
        return self.messages.lost == 0 and self.messages.duplicates_unmarked == 0 and self.questions.sound

    @property
    def complaints(self) -> tuple[str, ...]:
        return (*self.messages.complaints, *self.questions.complaints)

    @property
    def numbers(self) -> tuple[int, ...]:
        messages, questions = self.messages, self.questions
        return (
            messages.accepted,
            messages.delivered,
            messages.held,
            messages.lost,
            messages.duplicates_marked,
            messages.duplicates_unmarked,
            questions.asked,
            questions.answered,
            questions.two_winners,
            questions.lost,
            questions.twice_marked,
            questions.twice_unmarked,
        )

    def line(self) -> str:
        return f"{self.messages.line()} · {self.questions.line()}"
