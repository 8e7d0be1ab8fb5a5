"""The one table of moves that a message a person wrote to us may make."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class InboundStatus(StrEnum):
    RECEIVED = "received"
    ROUTED = "routed"
    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"
    STOPPED = "stopped"
    HANDLED = "handled"
    REFUSED = "refused"


class InboundMove(StrEnum):
    ROUTE = "route"  # a butler is to answer it
    HANDLE = "handle"  # a command, a code, an answer to a question: no butler is needed
    REFUSE = "refuse"  # nothing is done for it
    HAND_OVER = "hand_over"  # the butler has stored a session for it
    BEGIN = "begin"
    RETURN = "return"  # the household went down meanwhile; the session is begun again
    ANSWER = "answer"
    FAIL = "fail"  # and that was said
    STOP = "stop"  # the person did not want it any more


INBOUND_MOVES: Final[dict[tuple[InboundStatus, InboundMove], InboundStatus]] = {
    (InboundStatus.RECEIVED, InboundMove.ROUTE): InboundStatus.ROUTED,
    (InboundStatus.RECEIVED, InboundMove.HANDLE): InboundStatus.HANDLED,
    (InboundStatus.RECEIVED, InboundMove.REFUSE): InboundStatus.REFUSED,
    (InboundStatus.ROUTED, InboundMove.HAND_OVER): InboundStatus.WAITING,
    (InboundStatus.ROUTED, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.ROUTED, InboundMove.STOP): InboundStatus.STOPPED,
    (InboundStatus.WAITING, InboundMove.BEGIN): InboundStatus.RUNNING,
    (InboundStatus.WAITING, InboundMove.ANSWER): InboundStatus.ANSWERED,
    (InboundStatus.WAITING, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.WAITING, InboundMove.STOP): InboundStatus.STOPPED,
    (InboundStatus.RUNNING, InboundMove.RETURN): InboundStatus.WAITING,
    (InboundStatus.RUNNING, InboundMove.ANSWER): InboundStatus.ANSWERED,
    (InboundStatus.RUNNING, InboundMove.FAIL): InboundStatus.FAILED,
    (InboundStatus.RUNNING, InboundMove.STOP): InboundStatus.STOPPED,
}
SETTLED: Final = frozenset(InboundStatus) - {before for before, _ in INBOUND_MOVES}
WITH_BUTLER: Final = frozenset({InboundStatus.ROUTED, InboundStatus.WAITING, InboundStatus.RUNNING})


def moved(status: InboundStatus, move: InboundMove) -> InboundStatus:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return INBOUND_MOVES[status, move]
