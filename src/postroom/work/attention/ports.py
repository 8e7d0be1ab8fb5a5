"""What attention needs from the world, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.attention import AcceptedNotice
from postroom.domain.notice_rows import (
    Loaded,
    LogRow,
    NoticeChanges,
    NoticeCounts,
    NoticeRow,
    SendRow,
    SettledSend,
    Wanted,
)
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing

Edit = Callable[[Loaded], NoticeChanges | None]


class NoticeRecord(Protocol):
    """One person's notices are changed by one writer at a time, in whatever process."""

    async def change(self, person: str, wanted: Wanted, edit: Edit) -> None:
        """Read, edit and write as one transaction under the person's lock; None writes nothing."""
        ...

    async def read(self, person: str, wanted: Wanted) -> Loaded: ...

    async def zones(self) -> Mapping[str, str]:
        """Of people who have told theirs."""
        ...

    async def policies(self) -> Mapping[str, str | None]:
        """Everybody who has a row, with their own policy."""
        ...

    async def page(
        self, person: str, states: Collection[str] | None, limit: int, before: str | None
    ) -> Sequence[NoticeRow]:
        """Newest first."""
        ...

    async def notice(self, notice_id: str) -> NoticeRow | None: ...

    async def of_key(self, agent: str, key: str) -> Sequence[NoticeRow]: ...

    async def sends(self, keys: Collection[str]) -> Sequence[SendRow]: ...

    async def send_of_delivery(self, delivery_id: str) -> SendRow | None: ...

    async def log(
        self, person: str | None = None, *, notice: str | None = None, since_us: int | None = None
    ) -> Sequence[LogRow]:
        """In the order it was written."""
        ...

    async def sent_unjudged(self, places: Collection[tuple[str, str]], since_us: int) -> Sequence[AcceptedNotice]:
        """Messages of agents to these channels and addresses that left while there was no policy, oldest first."""
        ...

    async def in_states(self, person: str, states: Collection[str]) -> int:
        """How many of a person's are in one of these, without counting the others."""
        ...

    async def counts(self, person: str | None) -> NoticeCounts:
        """Of one person or of all."""
        ...


class SendQueue(Protocol):
    """What was decided and is to be handed over. A lease and a fence let any number of workers empty it."""

    async def due(self, now_us: int, limit: int) -> Sequence[str]:
        """People of whom something is due by itself."""
        ...

    async def next_due(self) -> int | None: ...

    async def take_sends(self, now_us: int, *, lease_until_us: int, limit: int) -> Sequence[SendRow]: ...

    async def handed_over(self, key: str, fence: int, delivery_id: str) -> bool:
        """False when the fence has moved on; the delivery is the same one then."""
        ...

    async def replaced(self, limit: int) -> Sequence[SendRow]:
        """Those another way was chosen for, whose deliveries have not ended."""
        ...

    async def send_anew(self, key: str, delivery_id: str, outgoing: str) -> None:
        """Its delivery ended without having arrived: it is handed over again, as this."""
        ...

    async def settled(self, limit: int) -> Sequence[SettledSend]:
        """Sends without a receipt whose deliveries have ended."""
        ...


class Amends(Protocol):
    """What was handed over before, as far as that can still be changed."""

    async def under(self, outgoing: Outgoing) -> str | None:
        """The delivery that has the key of this message already."""
        ...

    async def take_back(self, delivery_id: str) -> bool:
        """Withdraws what is not being sent yet; False: it is being sent, or has arrived."""
        ...

    async def amend(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome | None:
        """Edits or deletes what it `revises` where that stands; None where that cannot be done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """
    A message as it would be stored: on its channel and for this address.

    `key` and `fingerprint` are those of the ledger; `known`: the ledger has a delivery under this key already.
    """

    outgoing: Outgoing
    address: str
    key: str
    fingerprint: str
    known: bool


class Doorstep(Protocol):
    async def drafted(self, outgoing: Outgoing, request_id: str) -> Drafted:
        """Raises what accepting it would raise for what can never be sent."""
        ...


class KnowsPeople(Protocol):
    """Ids of people, by what one calls them."""

    async def owner(self) -> str | None: ...

    async def at(self, channel: str, address: str) -> str | None: ...

    async def places(self, person: str) -> Sequence[tuple[str, str]]:
        """Their channels and addresses."""
        ...

    async def called(self, name: str) -> str | None:
        """By name, alias or id; None for no one and for more than one."""
        ...
