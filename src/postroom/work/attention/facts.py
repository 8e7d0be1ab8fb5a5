"""Everything from outside that the engine knows, each with the moment it happened."""

from __future__ import annotations

from enum import StrEnum

from postroom.domain.attention import AcceptedNotice
from postroom.domain.record import record
from postroom.work.attention.absence import Absence
from postroom.work.attention.policy import Policy


class SendOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"  # finally
    UNCERTAIN = "uncertain"  # it may have arrived; counted as sent, and marked
    WITHDRAWN = "withdrawn"  # taken back before it was sent, because another way was chosen


@record
class NoticeAccepted:
    at_us: int
    notice: AcceptedNotice


@record
class PolicyChanged:
    """The person's own policy is another from now on; None when there is none any more."""

    at_us: int
    policy: Policy | None


@record
class Acked:
    at_us: int
    notice: str
    by: str = ""


@record
class Snoozed:
    """`until_us` None: until it is snoozed again, to a moment."""

    at_us: int
    notice: str
    until_us: int | None


@record
class Withdrawn:
    """By the agent that wrote it: one notice by its id, or all of a key, also when they have not come yet."""

    at_us: int
    agent: str
    notice: str | None = None
    key: str | None = None
    expires_us: int | None = None


@record
class Muted:
    """What is None is not asked about; at least one is set. `until_us` None: until it is unmuted."""

    at_us: int
    agent: str | None = None
    thread: str | None = None
    category: str | None = None
    until_us: int | None = None


@record
class Unmuted:
    at_us: int
    agent: str | None = None
    thread: str | None = None
    category: str | None = None


@record
class AwaySet:
    """Takes the place of every absence that is not over; None ends them."""

    at_us: int
    absence: Absence | None


@record
class ReceiptIn:
    """`send` is the key a decision gave."""

    at_us: int
    send: str
    outcome: SendOutcome


@record
class Returned:
    """It was never handed over (refused at the door, or found unsent after a crash), and may be tried at `until_us`."""

    at_us: int
    send: str
    until_us: int | None = None


@record
class MayArriveTwice:
    """Another way was chosen for it while `channel` was sending it already: that one could not be taken back."""

    at_us: int
    notice: str
    send: str
    channel: str


@record
class ChannelDown:
    at_us: int
    channel: str


@record
class ChannelUp:
    at_us: int
    channel: str


@record
class ApprovalAsked:
    at_us: int
    notice: str


@record
class ApprovalGiven:
    at_us: int
    notice: str
    approved: bool


Fact = (
    NoticeAccepted
    | PolicyChanged
    | Acked
    | Snoozed
    | Withdrawn
    | Muted
    | Unmuted
    | AwaySet
    | ReceiptIn
    | Returned
    | MayArriveTwice
    | ChannelDown
    | ChannelUp
    | ApprovalAsked
    | ApprovalGiven
)
