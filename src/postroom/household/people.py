"""The people of the household put together: their book, their devices, pairing, and signing in."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from fastapi import APIRouter

from postroom.connectors.app import agency_of
from postroom.console.frame import NavigationGroup
from postroom.console.visit import ConsoleSection
from postroom.conversations.acts import press_router
from postroom.conversations.inbound import Handler, of_messages
from postroom.delivery.accept import Plane
from postroom.household.channels import (
    SandboxAddress,
    address_forms,
    build_channels,
    configured_channels,
    known_channels,
    owner_of,
    push_identity,
    usable_channels,
)
from postroom.household.questions import AskingParts, ear
from postroom.household.store import Store, existing_store, open_store, watched, wishes_mark
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Loops, Signal
from postroom.kernel.running.process import Seal, household_key
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, OWNER, Principal, Role
from postroom.message.channel import Channel, Outbound
from postroom.message.delivery import ClosedAddress
from postroom.message.inbound import InboundTrouble
from postroom.overview.audit import AuditPages, audit_section
from postroom.people.desk import PeopleDesk
from postroom.people.devices.push import Devices, StoredPushDevices
from postroom.people.model import NewPerson, Overruled, PersonAddress, PersonRole
from postroom.people.names.resolve import Confirmer, Resolver
from postroom.people.pairing import Codes, FirstHere, Pairing, PairingEar
from postroom.people.people import People
from postroom.people.person_rules import further_addresses, new_contact, together, vouched
from postroom.people.signing_in.admission import Admissions, SignInPost
from postroom.people.signing_in.pages import AccessPages, AccountPages, access_pages, account_pages
from postroom.people.signing_in.store import ConsoleSessions
from postroom.people.store.people import StoredPeople
from postroom.settings import Settings
from postroom.settings.accounts import WebPushAccount
from postroom.settings.model import ContactSettings

# Devices put together: the record the channel reads, the page in the console, and the door for what is pressed.


def stored_devices(settings: Settings, store: Store, clock: Clock) -> StoredPushDevices:
    seal = Seal(household_key(settings.home, "push devices"))
    return StoredPushDevices(store.database, store.people, seal, clock)


def open_channels(settings: Settings, sandbox: SandboxAddress | None, store: Store, clock: Clock) -> dict[str, Channel]:
    """Those of the household, with what they read from its record."""
    return build_channels(settings, sandbox, store.files, stored_devices(settings, store, clock))


def devices_of(settings: Settings, store: Store, outbound: Outbound, clock: Clock) -> Devices | None:
    """Of the first account that notifies; None where the settings name none."""
    found = next(iter(push_accounts(settings).items()), None)
    if found is None:
        return None
    from postroom.channels.webpush.channel import checked  # and what is encrypted for a browser with

    name, options = found
    return Devices(
        channel=name,
        key=push_identity(settings.home, name, options.contact).public_key,
        record=stored_devices(settings, store, clock),
        check=partial(checked, allow_private=options.allow_private),
        outbound=outbound,
        clock=clock,
        mint=store.ids.mint,
        wait_seconds=settings.delivery.notify_wait_seconds,
    )


def pressing(settings: Settings, parts: AskingParts, outbound: Outbound, base_url: str) -> APIRouter:
    return press_router(frozenset(push_accounts(settings)), ear(parts, {}, outbound, base_url))


def push_accounts(settings: Settings) -> Mapping[str, WebPushAccount]:
    """In the sandbox nothing leaves, so there are none."""
    if settings.in_sandbox:
        return {}
    return {one.name: one.options for one in settings.accounts if isinstance(one.options, WebPushAccount)}


# Whom a token is for: a person of this household, without a running one.


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPerson:
    id: str
    is_new: bool


async def known_person(settings: Settings, who: str) -> KnownPerson:
    """By id, name or alias; one who is not known yet is written down as a member under this id."""
    async with opened_people(settings) as people:
        found = await _called(people, who)
        if found is None:
            await people.admit(who)
        return KnownPerson(id=found or who, is_new=found is None)


async def id_of(settings: Settings, who: str) -> str | None:
    async with opened_people(settings) as people:
        return await _called(people, who)


async def _called(people: People, who: str) -> str | None:
    """Never one of several."""
    found = await people.called(who)
    if len(found) > 1:
        named = ", ".join(f"{one.name} ({one.id})" for one in found)
        raise SettingsError(f"{len(found)} people are called '{who}': {named}. Say which one by the id.")
    return found[0].id if found else None


# Pairing put together: what the doors call, and who hears the codes.


def build_pairing(settings: Settings, store: Store, clock: Clock, ring: Callable[[], object] = lambda: None) -> Pairing:
    known = known_channels(settings)
    return Pairing(
        people=household_people(settings, store, clock),
        store=store.pairings,
        codes=_codes(settings),
        channels={name: known[name] for name in configured_channels(settings)},
        new_seed=lambda: secrets.token_urlsafe(32),
        ring=ring,
    )


def pairing_handlers(settings: Settings, store: Store, outbound: Outbound, clock: Clock) -> Sequence[Handler]:
    ear = PairingEar(record=store.pairings, codes=_codes(settings), outbound=outbound, clock=clock)
    here = FirstHere(people=store.people, outbound=outbound, clock=clock)
    return [of_messages(ear.words), of_messages(here.words)]


def _codes(settings: Settings) -> Codes:
    return Codes(key=household_key(settings.home, "pairing codes"))


# The household's people, put together from its settings and its database.


def household_people(settings: Settings, store: Store, clock: Clock) -> People:
    return People(
        store=store.people,
        forms=address_forms(settings),
        clock=clock,
        moved=wishes_mark(settings).touch,
    )


@asynccontextmanager
async def opened_people(settings: Settings) -> AsyncIterator[People]:
    """Without a running household, on the same database."""
    clock = SystemClock()
    async with opened_store_of_people(settings, clock) as store:
        yield household_people(settings, store, clock)


def build_desk(
    settings: Settings, store: Store, tokens: TokenFile, clock: Clock, ring: Callable[[], object] = lambda: None
) -> PeopleDesk:
    """`ring` wakes those who send links that prove an address."""
    resolver = Resolver(
        books=store.people, memories=store.memory, clock=clock, new_token=lambda: secrets.token_urlsafe(24)
    )
    return PeopleDesk(
        pairing=build_pairing(settings, store, clock, ring),
        confirmer=Confirmer(resolver=resolver, mint=store.ids.mint),
        histories=store.histories,
        agency=agency_of(settings, tokens),
    )


@asynccontextmanager
async def opened_desk(settings: Settings) -> AsyncIterator[PeopleDesk]:
    """Without a running household, on the same database; a link is sent as soon as one runs."""
    clock = SystemClock()
    async with opened_store_of_people(settings, clock) as store:
        yield build_desk(settings, store, TokenFile(settings.tokens_file), clock)


@asynccontextmanager
async def opened_store_of_people(settings: Settings, clock: Clock) -> AsyncIterator[Store]:
    """One that no household has worked on yet gets its owner."""
    async with open_store(settings) as store:
        if await store.people.get(HOUSEHOLD_OWNER, OWNER) is None:
            await keep_in_step(settings, store.people, clock.now_us())
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleFindings:
    """What is worth knowing of the people, for `postroom doctor`."""

    overruled: Sequence[Overruled]
    unreachable: Sequence[tuple[str, str]]  # a name, and a channel that is not set up
    unproved: Sequence[str]  # names of those who have proved no address
    owner_on: Sequence[str]  # the channels of the owner's addresses
    closed: Sequence[ClosedAddress] = ()  # mail came back from them
    deaf: Sequence[InboundTrouble] = ()  # channels that hear nothing just now


async def look_through_people(settings: Settings, most: int) -> PeopleFindings | None:
    """Leaves no trace: a file that is not there yet is not made; None when there is nothing to look through."""
    async with existing_store(settings) as store:
        if store is None:
            return None
        return PeopleFindings(
            overruled=await store.people.overruled(HOUSEHOLD_OWNER, seeds(settings)),
            unreachable=await store.people.unreachable(HOUSEHOLD_OWNER, usable_channels(settings), most),
            unproved=await store.people.unproved(HOUSEHOLD_OWNER, most),
            owner_on=[
                place.channel for one in await store.people.find(HOUSEHOLD_OWNER, OWNER) for place in one.addresses
            ],
            closed=await store.closed_addresses.newest(most),
            deaf=await store.troubles.listed(),
        )


# What the settings say of people, and who can sign in: with these the household's book is in step at start.


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
async def knowing_people(settings: Settings, store: Store, tokens: TokenFile, loops: Loops) -> AsyncIterator[None]:
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


# Signing in put together: who may, and by which links and passkeys.


_CHALLENGE_BYTES = 32


def build_admissions(
    settings: Settings, store: Store, tokens: TokenFile, base_url: str, due: Signal | None = None
) -> Admissions:
    """`due` wakes the one who sends links, where one runs."""
    return Admissions(
        people=store.people,
        links=store.sign_in_links,
        passkeys=store.passkeys,
        sessions=ConsoleSessions(store.database, tokens),
        channels=list(configured_channels(settings)),
        base_url=base_url,
        ring=(due or Signal()).ring,
    )


def new_challenge() -> bytes:
    return secrets.token_bytes(_CHALLENGE_BYTES)


def account_sections(admissions: Admissions, audit: StoredAudit) -> Sequence[ConsoleSection]:
    """A person's own account, behind which the owner sees who may sign in; and for the owner who did what."""
    pages = [
        *account_pages(AccountPages(admissions=admissions)),
        *access_pages(AccessPages(admissions=admissions)),
    ]
    account = ConsoleSection(name="Account", group=NavigationGroup.YOURS, pages=pages)
    return [account, audit_section(AuditPages(record=audit, household=admissions.household))]


# Who sends the links by which people sign in.


@asynccontextmanager
async def sending_links(store: Store, plane: Plane, base_url: str, due: Signal, loops: Loops) -> AsyncIterator[None]:
    """Runs where the delivery plane runs."""
    post = SignInPost(
        queue=store.sign_in_links,
        outbound=plane,
        channels=plane.known_channels.get,
        clock=SystemClock(),
        base_url=base_url,
    )
    async with loops.running("sign_in_links", post.look, wake=due):
        yield
