"""Where delivery meets what may hold it, count it or keep it: the borders of the one way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from postroom.delivery.model import Inserted, NewDelivery
from postroom.delivery.rules.breaker import Circuit, Permit, Report
from postroom.delivery.rules.limits import Admission, AdmissionDecision
from postroom.delivery.rules.policy import DeliveryDraft
from postroom.kernel.values.ids import DeliveryId
from postroom.message.outgoing import Outcome


class Considers(Protocol):
    """Stands before acceptance, where people have said when they want to be reached."""

    async def consider(self, draft: DeliveryDraft, *, wait_seconds: float) -> Outcome | DeliveryDraft:
        """
        The draft, perhaps read by now: it may leave as if nothing had been asked. Else what became of it. Raises one
        of our errors when nothing was stored.

        What may leave now but has to be accounted for is submitted in the same breath; `wait_seconds` is for that.
        """
        ...


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

    async def terms(self, new: NewDelivery, now_us: int) -> ParkingTerms:
        """How it would be parked; for one that is stored already and is worded anew."""
        ...

    def parked_anew(self) -> None: ...


class ParkingTerms(Protocol):
    """How a delivery would be parked; of the gate's own making."""

    def park_again(
        self, connection: Connection, mint: Callable[[int], str], new: NewDelivery, *, actor: str, at_us: int
    ) -> bool:
        """In the transaction that words it anew; True when a standing rule has agreed to it already."""
        ...


class ParkedRecord(Protocol):
    """What is parked, in the transaction that changes the delivery it is about."""

    def hold(self, connection: Connection, delivery_id: DeliveryId) -> None:
        """Until the transaction ends, no one decides about it."""
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
