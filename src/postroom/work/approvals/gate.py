"""The gate every delivery passes: who may be written to unseen, and what is parked for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from postroom.domain.approval import Parking, StandingRule, content_of
from postroom.domain.confirmation_origin import CONFIRMATION_ORIGIN
from postroom.domain.delivery import Intent, Status
from postroom.domain.ledger import Inserted, NewDelivery
from postroom.domain.seams import ParkingTerms
from postroom.domain.sign_in_link import SIGN_IN_ORIGIN
from postroom.system.signal import Signal
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.record import Choose, ParkingRecord
from postroom.work.approvals.risk import always_asks, risk_of
from postroom.work.approvals.rules import arguments_of, standing
from postroom.work.people.household_trust import HouseholdTrust
from postroom.work.questions.cards import ORIGIN as QUESTIONS_ORIGIN

INBOX_ORIGIN: Final = "inbox"


def _no_rule(_rules: Sequence[StandingRule]) -> Sequence[StandingRule]:
    return ()


class Mailboxes(Protocol):
    async def is_users_own(self, channel: str, address: str) -> bool:
        """Whether a user of the inbox has confirmed this address as the place for copies."""
        ...

    async def awaits_confirmation(self, channel: str, address: str) -> bool:
        """Whether this address is just being asked to confirm that."""
        ...


class HeardThreads(Protocol):
    async def heard(self, channel: str, address: str, thread: str) -> bool:
        """Whether this household itself received a message in that thread from there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGate:
    """
    Nothing here believes the payload: an agent is the caller's principal, trust goes by address, and a reply counts as
    one only when the message it answers was received. What the household says in an agent's name passes as the agent's
    own message would, unless the same words stand there already.
    """

    trust: HouseholdTrust
    record: ParkingRecord
    policy: ApprovalPolicy
    mailboxes: Mailboxes | None = None
    conversations: HeardThreads | None = None
    signal: Signal = field(default_factory=Signal)  # rung for the watch that writes to the owner

    async def passes(self, new: NewDelivery) -> bool:
        if new.attachments and always_asks(content_of(new)):
            return False
        return (
            _is_own_revision(new)
            or await self.trust.is_trusted(new.channel, new.address)
            or await self._is_own_copy(new)
            or await self._is_confirmation(new)
            or _is_sign_in_link(new)
            or await self._is_answer(new)
            or await self._stands_there_already(new)
        )

    async def park(self, new: NewDelivery) -> Inserted:
        terms = self.terms(new, new.created_at_us)
        inserted = await self.record.park(new, terms.parking, terms.choose)
        if inserted.created and inserted.snapshot.status is Status.AWAITING_APPROVAL:
            self.signal.ring()
        return inserted

    def terms(self, new: NewDelivery, now_us: int) -> ParkingTerms:
        content = content_of(new)
        risk = risk_of(content, self.policy.risk)
        parking = Parking(
            risk=risk,
            expires_at_us=now_us + self.policy.expiry_us,
            most_pending=self.policy.most_pending_per_origin,
        )
        choose: Choose = partial(standing, arguments=arguments_of(content, new.agent), risk=risk, now_us=now_us)
        return ParkingTerms(parking=parking, choose=_no_rule if always_asks(content) else choose)

    def parked_anew(self) -> None:
        """People are asked about the new text."""
        self.signal.ring()

    async def _stands_there_already(self, new: NewDelivery) -> bool:
        """On a card that a person let pass as it was worded: ticks, reminders and its end add the household's words."""
        return new.repeats and not await self.record.is_edited(new.request_id)

    async def _is_own_copy(self, new: NewDelivery) -> bool:
        if self.mailboxes is None or new.origin_butler != INBOX_ORIGIN or new.intent is not Intent.SEND:
            return False
        return await self.mailboxes.is_users_own(new.channel, new.address)

    async def _is_confirmation(self, new: NewDelivery) -> bool:
        if self.mailboxes is None or new.origin_butler != CONFIRMATION_ORIGIN or new.intent is not Intent.SEND:
            return False
        return await self.mailboxes.awaits_confirmation(new.channel, new.address)

    async def _is_answer(self, new: NewDelivery) -> bool:
        """What the household passes on for an agent that asks is none, wherever it is said."""
        if self.conversations is None or not self.policy.replies_pass or new.intent is Intent.SEND or new.asker:
            return False
        return new.thread is not None and await self.conversations.heard(new.channel, new.address, new.thread)


def _is_own_revision(new: NewDelivery) -> bool:
    """What is deleted says nothing; nor does a card on which no agent's words are left."""
    if new.revises is None:
        return False
    return new.revises.deletes or (new.origin_butler == QUESTIONS_ORIGIN and new.asker is None)


def _is_sign_in_link(new: NewDelivery) -> bool:
    """The household's own words, to an address that a person has proved."""
    return new.origin_butler == SIGN_IN_ORIGIN and new.intent is Intent.SEND
