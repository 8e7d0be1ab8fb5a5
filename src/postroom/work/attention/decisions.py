"""What was decided about a notice: its reasons, the policy it followed and an id derived from its cause."""

from __future__ import annotations

from enum import StrEnum

from postroom.domain.attention import HoldReason
from postroom.domain.record import record
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.digest import Digest


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
