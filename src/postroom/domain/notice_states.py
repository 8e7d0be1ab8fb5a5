"""The one table of moves a notice may make."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class NoticeState(StrEnum):
    ACCEPTED = "accepted"
    HELD = "held"
    DIGESTING = "digesting"
    RELEASED = "released"
    SENT = "sent"
    DIGESTED = "digested"
    WAITING = "waiting"
    ACKNOWLEDGED = "acknowledged"
    UNANSWERED = "unanswered"
    MUTED = "muted"
    MERGED = "merged"
    WITHDRAWN = "withdrawn"
    RECALLED = "recalled"
    EXPIRED = "expired"
    UNDELIVERABLE = "undeliverable"
    REFUSED = "refused_by_approval"


class NoticeMove(StrEnum):
    HOLD = "hold"
    RELEASE = "release"
    COLLECT = "collect"  # frozen into a digest
    ARRIVE = "arrive"  # its receipt came
    ARRIVE_ASKING = "arrive_asking"  # its receipt came, and a person has to acknowledge it
    RETURN = "return"  # given back: it was never handed over
    FAIL = "fail"  # no way is left
    ACKNOWLEDGE = "acknowledge"
    GIVE_UP = "give_up"
    SNOOZE = "snooze"
    MUTE = "mute"
    MERGE = "merge"
    WITHDRAW = "withdraw"
    RECALL = "recall"  # it had left; a correction goes after it
    EXPIRE = "expire"
    REFUSE = "refuse"


_S, _M = NoticeState, NoticeMove

NOTICE_MOVES: Final[dict[tuple[NoticeState, NoticeMove], NoticeState]] = {
    (_S.ACCEPTED, _M.HOLD): _S.HELD,
    (_S.ACCEPTED, _M.RELEASE): _S.RELEASED,
    (_S.ACCEPTED, _M.COLLECT): _S.DIGESTING,
    (_S.ACCEPTED, _M.SNOOZE): _S.HELD,
    (_S.ACCEPTED, _M.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.ACCEPTED, _M.MUTE): _S.MUTED,
    (_S.ACCEPTED, _M.MERGE): _S.MERGED,
    (_S.ACCEPTED, _M.WITHDRAW): _S.WITHDRAWN,
    (_S.ACCEPTED, _M.EXPIRE): _S.EXPIRED,
    (_S.ACCEPTED, _M.REFUSE): _S.REFUSED,
    (_S.HELD, _M.HOLD): _S.HELD,
    (_S.HELD, _M.SNOOZE): _S.HELD,
    (_S.HELD, _M.RELEASE): _S.RELEASED,
    (_S.HELD, _M.COLLECT): _S.DIGESTING,
    (_S.HELD, _M.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.HELD, _M.MUTE): _S.MUTED,
    (_S.HELD, _M.MERGE): _S.MERGED,
    (_S.HELD, _M.WITHDRAW): _S.WITHDRAWN,
    (_S.HELD, _M.EXPIRE): _S.EXPIRED,
    (_S.HELD, _M.REFUSE): _S.REFUSED,
    (_S.DIGESTING, _M.ARRIVE): _S.DIGESTED,
    (_S.DIGESTING, _M.COLLECT): _S.DIGESTING,
    (_S.DIGESTING, _M.RETURN): _S.HELD,
    (_S.DIGESTING, _M.FAIL): _S.UNDELIVERABLE,
    (_S.DIGESTING, _M.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.RELEASED, _M.ARRIVE): _S.SENT,
    (_S.RELEASED, _M.ARRIVE_ASKING): _S.WAITING,
    (_S.RELEASED, _M.RELEASE): _S.RELEASED,
    (_S.RELEASED, _M.RETURN): _S.HELD,
    (_S.RELEASED, _M.FAIL): _S.UNDELIVERABLE,
    (_S.RELEASED, _M.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.SENT, _M.SNOOZE): _S.HELD,
    (_S.SENT, _M.RECALL): _S.RECALLED,
    (_S.DIGESTED, _M.SNOOZE): _S.HELD,
    (_S.DIGESTED, _M.RECALL): _S.RECALLED,
    (_S.WAITING, _M.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.WAITING, _M.GIVE_UP): _S.UNANSWERED,
    (_S.WAITING, _M.SNOOZE): _S.HELD,
    (_S.WAITING, _M.MERGE): _S.MERGED,
    (_S.WAITING, _M.RECALL): _S.RECALLED,
}

UNSENT: Final = frozenset({_S.ACCEPTED, _S.HELD})  # nothing has been handed over: it can be changed in place
ON_ITS_WAY: Final = frozenset({_S.RELEASED, _S.DIGESTING})
OPEN: Final = UNSENT | ON_ITS_WAY | {_S.WAITING}
SETTLED: Final = frozenset(NoticeState) - OPEN  # nothing more happens by itself
TERMINAL: Final = frozenset(NoticeState) - {before for before, _ in NOTICE_MOVES}  # sent and digested can be recalled

# The cells of the summary line: each notice is in exactly one.
CELLS: Final[dict[str, frozenset[NoticeState]]] = {
    "held": frozenset({_S.ACCEPTED, _S.HELD}),
    "in_a_digest": frozenset({_S.DIGESTING, _S.DIGESTED}),
    "sent": frozenset({_S.RELEASED, _S.SENT, _S.ACKNOWLEDGED, _S.RECALLED}),
    "waiting": frozenset({_S.WAITING, _S.UNANSWERED}),
    "not_sent": frozenset({_S.MUTED, _S.MERGED, _S.WITHDRAWN, _S.EXPIRED, _S.UNDELIVERABLE, _S.REFUSED}),
}


def moved(state: NoticeState, move: NoticeMove) -> NoticeState:
    """Raises KeyError on a move that is not in the table: that is a bug, not an outcome."""
    return NOTICE_MOVES[state, move]


def may(state: NoticeState, move: NoticeMove) -> bool:
    return (state, move) in NOTICE_MOVES
