"""What a fact or a decision makes of the state."""

from __future__ import annotations

from postroom.work.attention.decisions import Decision
from postroom.work.attention.facts import Fact
from postroom.work.attention.state import AttentionState


def fold(state: AttentionState, event: Fact | Decision) -> AttentionState:
    """Pure. A fact about a notice that is not there, or that can no longer make that move, changes nothing."""
    raise NotImplementedError
