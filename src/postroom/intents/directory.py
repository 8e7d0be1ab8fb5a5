"""Who acts upon an intent, and who stands behind an agent address."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.intents.model import APPROVAL, AgentIntent
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import (
    CONTACT_PREFIX,
    HOUSEHOLD_OWNER,
    USER_PREFIX,
    butler_name,
)
from postroom.message.outgoing import known_as
from postroom.people.model import Person as Record
from postroom.people.people import HouseholdPeople
from postroom.people.store.people import StoredPeople


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    contacts: StoredPeople
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
        return contact.name if contact else known_as(sender)

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
