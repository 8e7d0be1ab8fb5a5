"""Where delivery meets what may hold it, count it or keep it: the borders of the one way out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from postroom.delivery.model import Claim, Inserted, Lease, NewDelivery, Refusal, Settlement, Snapshot
from postroom.delivery.rules.breaker import Circuit, Permit, Report
from postroom.delivery.rules.limits import Admission, AdmissionDecision
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt
from postroom.message.outgoing import Outcome, Outgoing


class Considers(Protocol):
    """Stands before acceptance, where people have said when they want to be reached."""

    async def consider(self, outgoing: Outgoing, request_id: str, *, wait_seconds: float) -> Outcome | None:
        """
        None: it may leave now, as if nothing had been asked. Raises one of our errors when nothing was stored.

        What may leave now but has to be accounted for is submitted in the same breath; `wait_seconds` is for that.
        """
        ...


class Ledger(Protocol):
    """
    The durable record of deliveries; every answer means "committed". Those that many wait for at a time hand out what
    is waited for itself, without a coroutine around it.

    Each change names the state it expects, so a claim whose fence has moved on
    changes nothing and learns it by a False.
    """

    def find(self, key: str) -> Awaitable[Snapshot | None]:
        """By idempotency key; a dead letter that was replayed with success answers with the replay."""
        ...

    async def get(self, delivery_id: DeliveryId) -> Snapshot | None: ...

    def insert(self, new: NewDelivery, lease: Lease | None) -> Awaitable[Inserted]:
        """
        Leased to the caller when asked for and nothing to the same address is ahead of it.

        A lease to send at once is the mark as well, so its claim says `sending`; a row found
        again after its answer was lost is never claimed that way, for who knows how old it is.
        """
        ...

    async def refuse(self, refusal: Refusal) -> None: ...

    async def claim(self, channel: str, *, now_us: int, lease_until_us: int, limit: int) -> Sequence[Claim]: ...

    async def reclaim(
        self,
        *,
        expired_before_us: int,
        now_us: int,
        lease_until_us: int,
        limit: int,
        in_hand: Sequence[DeliveryId] = (),
    ) -> Sequence[Claim]:
        """
        Take over what is in progress under an expired lease, except what the caller itself is working on.

        What was written by a clock that has been set back since is first dated anew.
        """
        ...

    async def orphaned_before_us(self, now_us: int) -> int:
        """At start: leases that end before this belong to nobody any more."""
        ...

    async def next_due_us(self, now_us: int) -> int | None: ...

    def mark_sending(self, claim: Claim, *, now_us: int, lease_until_us: int) -> Awaitable[bool]: ...

    async def advance(self, claim: Claim, receipt: Receipt, *, now_us: int, lease_until_us: int) -> bool:
        """One part of several has arrived."""
        ...

    def settle(self, done: Settlement) -> Awaitable[bool]: ...


class AddressBook(Protocol):
    """Whom the household knows, as far as an address is concerned."""

    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        """Of the contacts with exactly this name or alias; several when the name is not unique."""
        ...

    async def owner(self, channel: str) -> str | None: ...

    async def channels_of(self, name: str | None) -> Sequence[str]:
        """Where a person has addresses, in their own order; without a name, the owner."""
        ...


class Limits(Protocol):
    """Admission, all tiers, in flight and provider throttle in one atomic decision; and when what is stored may go."""

    async def admit(self, admission: Admission, *, consume: bool = True) -> AdmissionDecision: ...

    async def release(self, lease_id: str) -> None:
        """The delivery has ended; its place in flight is free."""
        ...

    async def refund(self, admission: Admission) -> None:
        """Nothing came of it: give the tokens and the place in flight back."""
        ...

    async def throttles(self) -> Mapping[str, float]:
        """Channels a provider has told us to leave alone, and for how many seconds."""
        ...

    async def throttle(self, channel: str, seconds: float) -> None: ...

    async def reserve(self, channel: str, address: str, interval_seconds: float) -> float:
        """Seconds to wait before sending. 0 reserves the moment; anything else reserves nothing."""
        ...


class Gate(Protocol):
    """Stands before the ledger; when it fails, nothing is stored and nothing is sent."""

    async def passes(self, new: NewDelivery) -> bool:
        """Whether nobody needs to be asked."""
        ...

    async def park(self, new: NewDelivery) -> Inserted:
        """Stored for a person to decide, or as pending when a standing rule has decided."""
        ...

    def terms(self, new: NewDelivery, now_us: int) -> ParkingTerms:
        """How it would be parked; for one that is stored already and is worded anew."""
        ...

    def parked_anew(self) -> None: ...


class ParkingTerms(Protocol):
    """How a delivery would be parked; of the gate's own making."""

    def park_again(
        self,
        connection: Connection,
        mint: Callable[[int], str],
        new: NewDelivery,
        *,
        was: str | None,
        actor: str,
        at_us: int,
    ) -> bool:
        """In the transaction that words it anew; True when a standing rule has agreed to it already."""
        ...


class ParkedRecord(Protocol):
    """What is parked, in the transaction that changes the delivery it is about."""

    def hold(self, connection: Connection, delivery_id: DeliveryId) -> str | None:
        """How its approval stands, under its lock; always taken before the lock of the delivery's own row."""
        ...

    def close(
        self, connection: Connection, mint: Callable[[int], str], delivery_id: DeliveryId, *, actor: str, at_us: int
    ) -> None: ...


class Breakers(Protocol):
    async def acquire(self, channel: str) -> Permit: ...

    async def report(
        self, permit: Permit, result: Report, *, reason: str | None = None, error_class: str | None = None
    ) -> Circuit: ...

    async def circuit(self, channel: str) -> Circuit: ...

    async def restore(self, channel: str, circuit: Circuit) -> None:
        """Take up where an earlier process stopped, unless something newer is known."""
        ...
