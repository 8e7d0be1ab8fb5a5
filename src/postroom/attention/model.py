"""A notice, the moves it may make, what is decided about it, and what a household or a person wants of notices."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields, is_dataclass
from datetime import time
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from postroom.attention.rules.digest import Digest
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import record
from postroom.message.wishes import HoldReason, Urgency

_NOTICE_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


def is_notice_id(text: object) -> bool:
    return isinstance(text, str) and _NOTICE_ID.fullmatch(text) is not None


# -- States and moves: one table, asked by everything else --


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
LEFT: Final = frozenset({_S.SENT, _S.DIGESTED, _S.WAITING})  # it arrived, and may still be changed
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


# -- Decisions --


class DecisionKind(StrEnum):
    HOLD = "hold"
    JOIN_DIGEST = "join_digest"  # held, and a slot or a collect window is what binds
    RELEASE = "release"
    DELEGATE = "delegate"  # released to the person who stands in
    CLOSE_DIGEST = "close_digest"  # one row for each member; the send is the digest's
    MERGE = "merge"
    MUTE = "mute"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    REPEAT = "repeat"
    ESCALATE = "escalate"
    GIVE_UP = "give_up"
    FAIL = "fail"
    CORRECT = "correct"


class DecisionWords(NamedTuple):
    """How a decision is told of, and in which tone; and how it is said while it is still to come."""

    told: str
    tone: str
    coming: str


_K = DecisionKind
DECISION_WORDS: Final = {
    _K.HOLD: DecisionWords("Held", "ask", "waits on"),
    _K.JOIN_DIGEST: DecisionWords("Put into the next digest", "ask", "goes into the next digest"),
    _K.RELEASE: DecisionWords("Sent on its way", "good", "leaves"),
    _K.DELEGATE: DecisionWords("Sent to the person who stands in", "good", "leaves for the person who stands in"),
    _K.CLOSE_DIGEST: DecisionWords("Sent on its way in a digest", "good", "leaves in a digest"),
    _K.MERGE: DecisionWords("Merged with another", "plain", "is merged with another"),
    _K.MUTE: DecisionWords("Not sent: muted", "plain", "is not sent: muted"),
    _K.EXPIRE: DecisionWords("Not sent: too old", "warn", "is not sent: too old by then"),
    _K.WITHDRAW: DecisionWords("Withdrawn", "plain", "is withdrawn"),
    _K.REPEAT: DecisionWords("Repeated", "warn", "is repeated"),
    _K.ESCALATE: DecisionWords("Escalated", "warn", "is escalated"),
    _K.GIVE_UP: DecisionWords("Given up: no one answered", "bad", "is given up: no one answered"),
    _K.FAIL: DecisionWords("Given up: no way was left", "bad", "is given up: no way is left"),
    _K.CORRECT: DecisionWords("Corrected after it was sent", "warn", "is corrected"),
}


@record
class Decision:
    """
    One row of the log.

    `cause`: what it is the only decision about; `id` is its SHA-256. `send`: the key of the one delivery it causes (the
    request id for the ledger), and `person` and `channel` where that goes; None when nothing is sent.
    `digest`: on the row of the first member; `send` is its id on all of them.
    `slots`: those that are used up by this, and when they were.
    `replaces`: a send that was handed over and has no receipt; it is to be cancelled unless it is being sent.
    """

    id: str
    cause: str
    notice: str
    seq: int
    at_us: int
    kind: DecisionKind
    reasons: tuple[HoldReason, ...] = ()
    policy_hash: str = ""
    until_us: int | None = None
    urgency: Urgency = Urgency.NORMAL
    send: str | None = None
    person: str | None = None
    channel: str | None = None
    step: str | None = None
    into: str | None = None
    digest: Digest | None = None
    slots: tuple[tuple[str, int], ...] = ()
    replaces: str | None = None


# -- Policies, as they were written --

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Preset(StrEnum):
    EVERYTHING = "everything"  # nothing waits but for quiet hours
    CALM = "calm"  # the first at once, then collected; what is passive waits for a slot
    FOCUS = "focus"  # what is normal waits for a slot, too


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """Half-open on the wall clock; `days` are those on which it begins, None for every day. Equal times never begin."""

    start: time
    end: time
    days: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Collecting:
    window_seconds: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Interruptions by one agent; None is no limit."""

    per_hour: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class AgentRule:
    ceiling: Urgency | None = None
    critical: bool | None = None


@dataclass(frozen=True, slots=True)
class EscalationStep:
    """`person` may name a rotation. Progress is kept by `id`, so an edited chain neither pages again nor skips."""

    id: str
    after_seconds: int
    channel: str | None = None
    person: str | None = None
    named: bool = True  # the id was written, not derived


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """None and empty mean: not set here. `slots=()` is set, and means none."""

    preset: Preset | None = None
    zone: str | None = None
    quiet_hours: tuple[QuietWindow, ...] | None = None
    let_pass: tuple[Urgency, ...] | None = None
    slots: tuple[time, ...] | None = None
    collect: Collecting | None = None
    budget: Budget | None = None
    ceiling: Urgency | None = None
    agents: tuple[tuple[str, AgentRule], ...] | None = None
    categories: tuple[tuple[str, Urgency | None], ...] | None = None
    escalation: tuple[EscalationStep, ...] | None = None
    fallback: tuple[str, ...] | None = None
    repeat_seconds: tuple[int, ...] | None = None
    duplicate_seconds: int | None = None
    expires_seconds: int | None = None
    mandatory: tuple[str, ...] | None = None


def policy_mapping(policy: Policy) -> Document:
    """The same keys that `parse_policy` reads; parsing it again gives the same policy."""
    written: Document = _written(policy)
    if policy.agents is not None:
        written["agents"] = {name: _written(rule) for name, rule in policy.agents}
    if policy.categories is not None:
        written["categories"] = {name: {"ceiling": str(one)} if one else {} for name, one in policy.categories}
    return written


_CALLED: Final = {"start": "from", "end": "until"}


def _written(value: Any) -> Any:
    """Of a part of a policy what is set."""
    if isinstance(value, time):
        return _clock(value)
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    if not is_dataclass(value):
        return value
    derived = () if not isinstance(value, EscalationStep) else ("named",) if value.named else ("named", "id")
    every = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in derived}
    return {_CALLED.get(name, name): _written(one) for name, one in every.items() if one is not None}


def _clock(at: time) -> str:
    return at.isoformat(timespec="seconds" if at.second else "minutes")


@lru_cache(maxsize=1024)
def policy_hash(household: Policy | None, person: Policy | None) -> str:
    """Of what was written in both scopes, so that a decision can name the policy it followed."""
    written = [policy_mapping(policy) if policy else None for policy in (household, person)]
    return hashlib.sha256(json.dumps(written, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
