"""A person's notices as they are kept: what is searched for has a name, the rest is JSON."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.delivery import Status
from postroom.domain.record import record


@record
class PersonRow:
    """`rest`: the state that belongs to no single notice. `seq`: of the latest row of the log."""

    person: str
    policy: str | None
    rest: str
    seq: int
    next_us: int | None


@record
class NoticeRow:
    """`open`: something may still happen to it by itself. `path`: the states it came through since it was read."""

    id: str
    person: str
    agent: str
    key: str | None
    state: str
    open: bool
    created_us: int
    standing: str
    fingerprint: str = ""
    request_id: str = ""
    outgoing: str = ""
    path: tuple[str, ...] = ()


@record
class SendRow:
    """A delivery that was decided, frozen; `delivery_id` is None until the ledger has it."""

    key: str
    person: str
    at_us: int
    pending: bool
    send: str
    outgoing: str = ""
    request_id: str = ""
    delivery_id: str | None = None
    lease_us: int | None = None
    fence: int = 0


@record
class DigestRow:
    id: str
    person: str
    digest: str


@record
class LogRow:
    """A fact or a decision; `kind` is its name."""

    person: str
    seq: int
    at_us: int
    kind: str
    notice: str | None
    body: str


@record
class Wanted:
    """What is to be read besides what is open and recent: by ids, by an agent's key, by sends."""

    since_us: int = 0
    notices: tuple[str, ...] = ()
    agent: str | None = None
    key: str | None = None
    sends: tuple[str, ...] = ()
    everything: bool = False


@record
class Loaded:
    person: PersonRow | None
    notices: tuple[NoticeRow, ...] = ()
    sends: tuple[SendRow, ...] = ()
    digests: tuple[DigestRow, ...] = ()


@record
class NoticeChanges:
    person: PersonRow
    notices: tuple[NoticeRow, ...] = ()
    sends: tuple[SendRow, ...] = ()
    digests: tuple[DigestRow, ...] = ()
    log: tuple[LogRow, ...] = ()


@record
class SettledSend:
    """
    A send whose delivery has ended.

    `refused`: by a person who had to approve it. `withdrawn`: taken back before it was sent.
    """

    key: str
    person: str
    delivery_id: str
    status: Status
    outgoing: str
    refused: bool
    uncertain: bool
    withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeCounts:
    """Counted in the store. `logged`: how many acceptances the log knows."""

    states: dict[str, int]
    agents: dict[str, int]
    logged: int

    @property
    def accepted(self) -> int:
        return sum(self.states.values())
