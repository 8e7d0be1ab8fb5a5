"""What the settings say of people, and who can sign in: with these the household's book is in step at start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from postroom.app.address_book import watched
from postroom.app.address_forms import address_forms
from postroom.app.channels import owner_of
from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import NewPerson, PersonAddress, PersonRole
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.settings.model import ContactSettings
from postroom.work.people.contact_addresses import further_addresses, together, vouched
from postroom.work.people.new_contact import new_contact
from postroom.world.store.people.people import StoredPeople

_NO_PERSON = frozenset({OWNER, OPERATOR.name})  # the owner's own names


async def keep_in_step(settings: Settings, people: StoredPeople, now_us: int) -> None:
    """The file wins until a person is changed in the database; from then on the database does."""
    await people.keep_in_step(HOUSEHOLD_OWNER, seeds(settings, now_us), now_us=now_us)


def seeds(settings: Settings, now_us: int = 0) -> list[NewPerson]:
    """The owner and the contacts of the file; raises SettingsError for an address that is none."""
    return [owner_seed(settings, now_us), *(_contact(settings, one) for one in settings.contacts)]


def owner_seed(settings: Settings, now_us: int = 0) -> NewPerson:
    """For the addresses the operator vouches; without a name, the file says nothing of one."""
    owner = owner_of(settings)
    further = _further(settings, settings.owner.addresses, "owner.addresses")
    places = vouched(owner.telegram_chat_id, owner.email, now_us, further)
    return NewPerson(name=owner.name.strip(), role=PersonRole.OWNER, addresses=places)


def _contact(settings: Settings, written: ContactSettings) -> NewPerson:
    contact = new_contact(
        name=written.name,
        aliases=written.aliases,
        agent=written.agent,
        telegram_chat_id=written.telegram_chat_id,
        email=written.email,
        trusted=written.trusted,
    )
    further = _further(settings, written.addresses, f"contacts: addresses of {written.name}")
    return replace(contact, addresses=together(*contact.addresses, *further))


def _further(settings: Settings, texts: Sequence[str], field: str) -> tuple[PersonAddress, ...]:
    if not texts:
        return ()
    try:
        return further_addresses(texts, address_forms(settings))
    except ValueError as error:
        raise SettingsError(f"{field}: {error}.") from None


@asynccontextmanager
async def knowing_people(
    settings: Settings, store: OpenedStore, tokens: TokenFile, loops: Loops
) -> AsyncIterator[None]:
    """All who can sign in have a record; what this process changes is known at once, what others change soon."""
    known = signing_in(tokens.principals(), settings.approvals.approvers)
    await store.people.admit(known, now_us=SystemClock().now_us())
    async with watched(store.people, store.household, loops):
        yield


def signing_in(principals: Iterable[Principal], approvers: Collection[str]) -> Mapping[str, PersonRole]:
    """Who holds a token of a person, or is named to approve."""
    members = {one.name: PersonRole.MEMBER for one in principals if one.role in (Role.PERSON, Role.USER)}
    everybody = {**members, **dict.fromkeys(approvers, PersonRole.APPROVER)}
    return {person_id: role for person_id, role in everybody.items() if person_id not in _NO_PERSON}
