"""The one decision about a person's notices: what leaves now, what waits and until when."""

from __future__ import annotations

from postroom.work.attention.decisions import Decision
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.state import AttentionState


def decide(state: AttentionState, book: PolicyBook, now_us: int) -> tuple[tuple[Decision, ...], int | None]:
    """
    Pure. The decisions that are due, in order, and the next moment at which something is due by itself.

    The decisions are not folded yet: the caller stores them and folds them in this order. Asked again right after that
    it returns none, and asked earlier than `next_at` without a new fact it returns none as well.
    """
    raise NotImplementedError
