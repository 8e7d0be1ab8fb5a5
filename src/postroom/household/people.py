"""The people of the household put together: their book, their devices, pairing, and signing in."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from fastapi import APIRouter

from postroom.channels.webpush.kind import WebPushAccount
from postroom.connectors.app import agency_of
from postroom.console.visit import ConsoleSection
from postroom.conversations.inbound import Handler, of_messages
from postroom.conversations.press import press_router
from postroom.delivery.accept import Plane
from postroom.household.channels import (
    address_forms,
    build_channels,
    configured_channels,
    known_channels,
    owner_of,
    usable_channels,
)
from postroom.household.questions import AskingParts, ear
from postroom.household.store import Premises, Store, World, existing_store, open_store, wishes_mark
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.loop import Signal
from postroom.kernel.running.process import Seal, household_key
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, OWNER, Principal, Role
from postroom.message.channel import Channel, Outbound
from postroom.message.delivery import ClosedAddress
from postroom.message.inbound import InboundTrouble
from postroom.overview.audit import AuditPages, audit_section
from postroom.people.desk import PeopleDesk
from postroom.people.devices.push import Devices, StoredPushDevices
from postroom.people.model import NewPerson, Overruled, PersonAddress, PersonRole, distinct
from postroom.people.names.resolve import Resolver
from postroom.people.pairing import Codes, FirstHere, Pairing, PairingEar
from postroom.people.people import People
from postroom.people.person_rules import further_addresses, new_contact, vouched
from postroom.people.signing_in.admission import Admissions, SignInPost
from postroom.people.signing_in.pages import AccessPages, AccountPages, access_pages, account_pages
from postroom.people.signing_in.store import ConsoleSessions
from postroom.sandbox.accounts import SandboxAddress
from postroom.settings import Settings
from postroom.settings.accounts import Surroundings
from postroom.settings.model import ContactSettings, keyed_addresses

# Devices put together: the record the channel reads, the page in the console, and the door for what is pressed.


def stored_devices(place: Premises) -> StoredPushDevices:
    seal = Seal(household_key(place.settings.home, "push devices"))
    return StoredPushDevices(place.store.database, place.store.people, seal, place.clock)


def open_channels(place: Premises, sandbox: SandboxAddress | None) -> dict[str, Channel]:
    """Those of the household, with what they read from its record."""
    return build_channels(place.settings, sandbox, place.store.files, stored_devices(place))


def devices_of(place: Premises, outbound: Outbound) -> Devices | None:
    """Of the first account that notifies; None where the settings name none."""
    settings = place.settings
    found = next(iter(push_accounts(settings).items()), None)
    if found is None:
        return None
    from postroom.channels.webpush.channel import checked, identity_of  # and what is encrypted for a browser with

    name, options = found
    return Devices(
        channel=name,
        key=identity_of(name, options, Surroundings(home=settings.home)).public_key,
        record=stored_devices(place),
        check=partial(checked, allow_private=options.allow_private),
        outbound=outbound,
        clock=place.clock,
        mint=place.store.ids.mint,
        wait_seconds=settings.delivery.notify_wait_seconds,
    )


def pressing(parts: AskingParts, outbound: Outbound) -> APIRouter:
    return press_router(frozenset(push_accounts(parts.world.settings)), ear(parts, {}, outbound))


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


def build_pairing(place: Premises, ring: Callable[[], object] = lambda: None) -> Pairing:
    known = known_channels(place.settings)
    return Pairing(
        people=household_people(place),
        store=place.store.pairings,
        codes=_codes(place.settings),
        channels={name: known[name] for name in configured_channels(place.settings)},
        new_seed=lambda: secrets.token_urlsafe(32),
        ring=ring,
    )


def pairing_handlers(place: Premises, outbound: Outbound) -> Sequence[Handler]:
    store, clock = place.store, place.clock
    codes = PairingEar(record=store.pairings, codes=_codes(place.settings), outbound=outbound, clock=clock)
    here = FirstHere(people=store.people, outbound=outbound, clock=clock)
    return [of_messages(codes.words), of_messages(here.words)]


def _codes(settings: Settings) -> Codes:
    return Codes(key=household_key(settings.home, "pairing codes"))


# The household's people, put together from its settings and its database.


def household_people(place: Premises) -> People:
    moved = wishes_mark(place.settings).touch
    return People(store=place.store.people, forms=address_forms(place.settings), clock=place.clock, moved=moved)


@asynccontextmanager
async def opened_people(settings: Settings) -> AsyncIterator[People]:
    """Without a running household, on the same database."""
    async with premises_with_people(settings) as place:
        yield household_people(place)


def build_desk(place: Premises, tokens: TokenFile, ring: Callable[[], object] = lambda: None) -> PeopleDesk:
    """`ring` wakes those who send links that prove an address."""
    store = place.store
    resolver = Resolver(
        books=store.people,
        memories=store.memory,
        clock=place.clock,
        new_token=lambda: secrets.token_urlsafe(24),
        mint=store.ids.mint,
    )
    pairing = build_pairing(place, ring)
    return PeopleDesk(
        people=pairing.people,
        pairing=pairing,
        resolver=resolver,
        histories=store.histories,
        agency=agency_of(place.settings, tokens),
    )


@asynccontextmanager
async def opened_desk(settings: Settings) -> AsyncIterator[PeopleDesk]:
    """Without a running household, on the same database; a link is sent as soon as one runs."""
    async with premises_with_people(settings) as place:
        yield build_desk(place, TokenFile(settings.tokens_file))


@asynccontextmanager
async def premises_with_people(settings: Settings) -> AsyncIterator[Premises]:
    """A database that no household has worked on yet gets its owner."""
    async with open_store(settings) as store:
        place = Premises(settings=settings, store=store, clock=SystemClock())
        if await store.people.get(HOUSEHOLD_OWNER, OWNER) is None:
            await keep_in_step(place)
        yield place


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


async def keep_in_step(place: Premises) -> None:
    """The file wins until a person is changed in the database; from then on the database does."""
    now_us = place.clock.now_us()
    await place.store.people.keep_in_step(HOUSEHOLD_OWNER, seeds(place.settings, now_us), now_us=now_us)


def seeds(settings: Settings, now_us: int = 0) -> list[NewPerson]:
    """The owner and the contacts of the file; raises SettingsError for an address that is none."""
    return [owner_seed(settings, now_us), *(_contact(settings, one) for one in settings.contacts)]


def owner_seed(settings: Settings, now_us: int = 0) -> NewPerson:
    """For the addresses the operator vouches; without a name, the file says nothing of one."""
    owner = owner_of(settings)
    further = _further(settings, settings.owner.addresses, "owner.addresses")
    places = vouched(**keyed_addresses(owner), now_us=now_us, further=further)
    return NewPerson(name=owner.name.strip(), role=PersonRole.OWNER, addresses=places)


def _contact(settings: Settings, written: ContactSettings) -> NewPerson:
    contact = new_contact(
        name=written.name,
        aliases=written.aliases,
        agent=written.agent,
        trusted=written.trusted,
        **keyed_addresses(written),
    )
    further = _further(settings, written.addresses, f"contacts: addresses of {written.name}")
    return replace(contact, addresses=distinct((*contact.addresses, *further)))


def _further(settings: Settings, texts: Sequence[str], field: str) -> tuple[PersonAddress, ...]:
    if not texts:
        return ()
    try:
        return further_addresses(texts, address_forms(settings))
    except ValueError as error:
        raise SettingsError(f"{field}: {error}.") from None


@asynccontextmanager
async def knowing_people(world: World) -> AsyncIterator[None]:
    """All who can sign in have a record; what this process changes is known at once, what others change soon."""
    people, household = world.store.people, world.store.household
    known = signing_in(world.tokens.principals(), world.settings.approvals.approvers)
    await people.admit(known, now_us=SystemClock().now_us())
    await household.known()
    people.tell(household.known)
    async with world.loops.running("people", household.look):
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
    account = ConsoleSection(name="Account", pages=pages)
    return [account, audit_section(AuditPages(record=audit, household=admissions.household))]


# Who sends the links by which people sign in.


@asynccontextmanager
async def sending_links(world: World, plane: Plane) -> AsyncIterator[None]:
    """Runs where the delivery plane runs."""
    post = SignInPost(
        queue=world.store.sign_in_links,
        outbound=plane,
        channels=plane.known_channels.get,
        clock=SystemClock(),
        base_url=world.pages_url,
    )
    async with world.loops.running("sign_in_links", post.look, wake=world.links_due):
        yield
