"""What an assistant passed on becomes an intent: who acts, who is meant, and the one engine that decides and sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.intents.envelope import AssistantCall, build_envelope
from postroom.intents.model import APPROVAL, AgentIntent
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import (
    BUTLER_PREFIX,
    CONTACT_PREFIX,
    HOUSEHOLD_OWNER,
    USER_PREFIX,
    butler_name,
    checked_address,
)
from postroom.people.model import DecisionMode, InputMode, MatchType, Resolution
from postroom.people.model import Person as Record
from postroom.people.names.resolve import explicit
from postroom.people.people import HouseholdPeople


@dataclass(frozen=True, slots=True)
class Acting:
    """
    As whom a caller acts.

    `by_person` is whether a person holds the token, `anyone` whether it is the
    operator. `caller` is the principal and `name` what its acts are recorded
    under; `own` are the addresses it speaks for.
    """

    agent: str
    by_person: bool
    anyone: bool = False
    caller: str = ""
    name: str = ""
    own: frozenset[str] = frozenset()

    @property
    def actor(self) -> str:
        return self.name or self.agent


def check_may_answer(intent: AgentIntent, acting: Acting) -> None:
    """Raises Refused for a caller this was not put to, for the one that asked, and for a program that would decide."""
    if acting.agent not in intent.asked and not acting.anyone:
        raise Refused(Code.POLICY_DENIED, "only somebody this was put to can answer it")
    if _asked_it(intent, acting):
        raise Refused(Code.POLICY_DENIED, "the caller that asked this cannot answer it")
    if intent.macro_id == APPROVAL and not acting.by_person:
        raise Refused(Code.POLICY_DENIED, "only a person can decide this")


def _asked_it(intent: AgentIntent, acting: Acting) -> bool:
    """
    Whether this caller asked, itself or in the sender's name.

    What a program asks of the person it speaks for has that person's address on
    both sides; the person may answer it, and no program that speaks for them may.
    """
    if acting.caller == intent.submitted_by:
        return True
    return not acting.by_person and intent.from_agent in acting.own | {acting.agent}


# Who stands behind an agent address: a person, a butler, or an agent that fetches its own post.


@dataclass(frozen=True, slots=True)
class PersonTarget:
    agent: str
    channel: str
    address: str
    proved: bool = False  # only who has proved their address decides anything


@dataclass(frozen=True, slots=True)
class ButlerTarget:
    agent: str
    name: str


@dataclass(frozen=True, slots=True)
class AgentTarget:
    """Nothing is sent: the agent reads its inbox or its stream."""

    agent: str


Target = PersonTarget | ButlerTarget | AgentTarget


class Contacts(Protocol):
    async def by_address(self, owner_agent: str, agent_address: str) -> Record | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    contacts: Contacts
    household: HouseholdPeople
    butlers: frozenset[str]
    channels: frozenset[str]

    async def find(self, sender: str, address: str) -> Target:
        """Within the sender's own book; raises Refused for somebody who cannot exist."""
        if address == HOUSEHOLD_OWNER:
            return await self._owner()
        contact = await self.contacts.by_address(book_of(sender), address)
        if contact is not None and (person := self._person(contact)):
            return person
        if (name := butler_name(address)) is not None:
            if name not in self.butlers:
                raise Refused(Code.AGENT_NOT_FOUND, "this household has no butler of that name")
            return ButlerTarget(address, name)
        if address.startswith(CONTACT_PREFIX) and contact is None:
            raise Refused(Code.AGENT_NOT_FOUND, "no contact in the sender's book has this address")
        return AgentTarget(address)

    async def is_person(self, sender: str, address: str) -> bool:
        """The owner, a user, or a contact in the sender's own book."""
        if address == HOUSEHOLD_OWNER or address.startswith(USER_PREFIX):
            return True
        if butler_name(address) is not None:
            return False
        return await self.contacts.by_address(book_of(sender), address) is not None

    async def display_name(self, sender: str, viewer_book: str) -> str:
        if sender == HOUSEHOLD_OWNER:
            owner = await self.household.owner_person()
            return owner.name if owner else "the household's owner"
        contact = await self.contacts.by_address(viewer_book, sender)
        return contact.name if contact else sender.removeprefix(BUTLER_PREFIX)

    async def _owner(self) -> Target:
        owner = await self.household.owner_person()
        return (self._person(owner) if owner else None) or AgentTarget(HOUSEHOLD_OWNER)

    def _person(self, record: Record) -> PersonTarget | None:
        """Where the person is tried first; on a channel that is not set up the delivery says so."""
        usable = [one for one in record.addresses if one.channel in self.channels]
        first = next(iter([*usable, *record.addresses]), None)
        if first is None:
            return None
        return PersonTarget(record.agent_address, first.channel, first.address, first.verified_at_us is not None)


def book_of(agent: str) -> str:
    """Butlers have no book of their own: they use the household's."""
    return HOUSEHOLD_OWNER if butler_name(agent) is not None else agent


# The engine: find the recipient, decide, send.


class RegistryPort(Protocol):
    async def resolve(self, owner_agent: str, query: str, input_mode: InputMode) -> Resolution: ...

    async def confirm(
        self, owner_agent: str, query: str, *, resolution_token: str | None, agent_address: str | None
    ) -> None:
        """Raises Refused when the choice does not count."""
        ...


class GatewayPort(Protocol):
    async def submit(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        """The receipt: intent_id, status, lifecycle_status, created_at."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    registry: RegistryPort
    gateway: GatewayPort
    clock: Clock
    mint: Callable[[int], str]
    as_at_first: bool = False  # shows what the receipt says, so that the same call again gets the same answer

    async def adapt(self, call: AssistantCall) -> dict[str, Any]:
        resolution = await self._recipient(call)
        chosen = resolution.chosen
        if chosen is None or call.resolve_only:
            return _answer(resolution.decision_mode, resolution)
        now = self.clock.now_us()
        correlation_id = self.mint(now)

        def envelope_of(intent_id: str, created_at: str) -> dict[str, Any]:
            to = chosen.agent_address
            return build_envelope(call, to, intent_id=intent_id, correlation_id=correlation_id, created_at=created_at)

        envelope = envelope_of(self.mint(now), to_text(now))
        receipt = await self.gateway.submit(envelope)
        if self.as_at_first:
            envelope = envelope_of(receipt["intent_id"], receipt["created_at"])
        kept = await self._remember(call, resolution)
        return _answer(DecisionMode.SENT, resolution, envelope, receipt, kept)

    async def _recipient(self, call: AssistantCall) -> Resolution:
        token = call.resolution_token if call.confirm_send and not call.resolve_only else None
        if call.to_agent is not None and (token is None or call.recipient_name is None):
            return explicit(checked_address(call.to_agent, "to_agent"))
        if call.recipient_name is None:
            error = "name the recipient, or give its agent address"
            raise Refused(
                Code.RECIPIENT_REQUIRED, error, fields=[FieldError("recipient_name", error, "recipient_required")]
            )
        if token is not None:
            return await self._confirmed(call, call.recipient_name, token)
        return await self.registry.resolve(call.from_agent, call.recipient_name, call.input_mode)

    async def _confirmed(self, call: AssistantCall, name: str, token: str) -> Resolution:
        """
        The choice is written down and then looked up like any other, so that a
        contact that moves in between is noticed. A token that does not count
        leaves the call what it is without one.
        """
        address = checked_address(call.to_agent, "to_agent") if call.to_agent is not None else None
        try:
            await self.registry.confirm(call.from_agent, name, resolution_token=token, agent_address=address)
        except Refused as error:
            if error.code is not Code.RESOLUTION_EXPIRED:
                raise
            if address is not None:
                return explicit(address)
        return await self.registry.resolve(call.from_agent, name, call.input_mode)

    async def _remember(self, call: AssistantCall, resolution: Resolution) -> dict[str, Any] | None:
        """A confirmed send to somebody certain is remembered; where it cannot be, the message has gone all the same."""
        chosen = resolution.chosen
        if not call.confirm_send or call.recipient_name is None or chosen is None:
            return None
        if resolution.match_type is MatchType.MEMORY:
            return {"remembered": True, "why": None}
        try:
            await self.registry.confirm(
                call.from_agent, call.recipient_name, resolution_token=None, agent_address=chosen.agent_address
            )
        except Refused as error:
            return {"remembered": False, "why": error.message}
        return {"remembered": True, "why": None}


def _answer(
    mode: DecisionMode,
    resolution: Resolution,
    envelope: Mapping[str, Any] | None = None,
    receipt: Mapping[str, Any] | None = None,
    confirmation: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "ok": True,
        "decision_mode": str(mode),
        "resolution": resolution.document(),
        "envelope": dict(envelope) if envelope is not None else None,
        "delivery": {"submitted": True, "via": "gateway", **receipt} if receipt is not None else None,
        "confirmation": confirmation,
    }
