"""The people in a book: list, keep, rename, remove and import them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Protocol

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from postroom.kernel.guard.http import Caller, IdempotencyKey, ReservedId, allowing
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import Agent, Done, JsonRoute, Strict, Text, failures
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Agency, Principal, Role, checked_address
from postroom.message.address import ClosedAddress
from postroom.people.import_cards import read_csv, read_vcards
from postroom.people.model import (
    MAX_ADDRESSES,
    ConfirmSource,
    DraftAddress,
    InputMode,
    NewPerson,
    Person,
    PersonAddress,
    PersonDraft,
    PersonRole,
    Remembered,
)
from postroom.people.names.resolve import Confirmation, Confirmer, Resolver
from postroom.people.pairing import Pairing, StartedPairing
from postroom.people.people import People
from postroom.people.person_rules import EMAIL, TELEGRAM, new_contact, rewritten


def contact_router(parts: RegistryParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["contacts"], responses=REFUSALS)
    _add_reading(router, parts)
    _add_writing(router, parts)
    _add_aliases(router, parts)
    _add_import(router, parts)
    return router


def _add_reading(router: APIRouter, parts: RegistryParts) -> None:
    @router.get("/contacts", operation_id="listContacts", summary="The contacts of a book")
    async def listed(caller: Caller, owner: Owner = None, cursor: IdCursor = None, limit: Limit = 50) -> ContactPage:
        book = parts.own_book(caller, owner)
        found = await parts.contacts.page(book, after=cursor, limit=limit + 1, only_contacts=True)
        shown = [ContactBody.of(one) for one in found[:limit]]
        return ContactPage(ok=True, contacts=shown, next_cursor=shown[-1].contact_id if len(found) > limit else None)

    @router.get("/contacts/{contact_id}", operation_id="getContact", summary="One contact")
    async def get(contact_id: Id, caller: Caller, owner: Owner = None) -> ContactAnswer:
        return _answer(_contact(await parts.contacts.get(parts.own_book(caller, owner), contact_id)))


def _add_writing(router: APIRouter, parts: RegistryParts) -> None:
    @router.post("/contacts", operation_id="createContact", summary="Add a contact", status_code=201)
    async def create(
        body: ContactRequest, caller: Caller, reserved_id: ReservedId, owner: Owner = None
    ) -> ContactAnswer:
        book, new, now = parts.own_book(caller, owner), _new(body), parts.clock.now_us()
        return _answer(await parts.contacts.create(book, new, source="api", now_us=now, reserved_id=reserved_id))

    @router.put("/contacts/{contact_id}", operation_id="replaceContact", summary="Write a contact anew")
    async def replace(contact_id: Id, body: ContactRequest, caller: Caller, owner: Owner = None) -> ContactAnswer:
        book, new = parts.own_book(caller, owner), _new(body, contact_id)

        def anew(known: Person) -> NewPerson:
            return rewritten(_contact(known), new)

        return _answer(await parts.contacts.change(book, contact_id, anew, now_us=parts.clock.now_us()))

    @router.delete(
        "/contacts/{contact_id}",
        operation_id="deleteContact",
        summary="Remove a contact, and what was remembered of it",
    )
    async def delete(contact_id: Id, caller: Caller, owner: Owner = None) -> Done:
        book = parts.own_book(caller, owner)
        _contact(await parts.contacts.get(book, contact_id))
        if not await parts.contacts.delete(book, contact_id, now_us=parts.clock.now_us()):
            raise _missing()
        return Done(ok=True)


def _add_aliases(router: APIRouter, parts: RegistryParts) -> None:
    @router.post("/contacts/{contact_id}/aliases", operation_id="addAlias", summary="Give a contact another name")
    async def add(contact_id: Id, body: AliasRequest, caller: Caller, owner: Owner = None) -> ContactAnswer:
        def named(contact: Person) -> NewPerson:
            return _renamed(contact, [*contact.aliases, body.alias])

        book = parts.own_book(caller, owner)
        return _answer(await parts.contacts.change(book, contact_id, named, now_us=parts.clock.now_us()))

    @router.delete("/contacts/{contact_id}/aliases", operation_id="removeAlias", summary="Take a name from a contact")
    async def remove(
        contact_id: Id, alias: Annotated[str, Query(min_length=1, max_length=255)], caller: Caller, owner: Owner = None
    ) -> ContactAnswer:
        def unnamed(contact: Person) -> NewPerson:
            if alias not in contact.aliases:
                raise Refused(Code.NOT_FOUND, "the contact has no such alias")
            return _renamed(contact, [one for one in contact.aliases if one != alias])

        book = parts.own_book(caller, owner)
        return _answer(await parts.contacts.change(book, contact_id, unnamed, now_us=parts.clock.now_us()))


def _add_import(router: APIRouter, parts: RegistryParts) -> None:
    @router.post("/contacts/import", operation_id="importContacts", summary="Add contacts from a vCard or CSV file")
    async def import_cards(body: ImportRequest, caller: Caller, owner: Owner = None) -> ImportAnswer:
        book = parts.own_book(caller, owner)
        cards = read_vcards(body.content) if body.format == "vcard" else read_csv(body.content)
        created, updated = await parts.contacts.merge(book, cards.read, source="import", now_us=parts.clock.now_us())
        skipped = [SkippedCard(card=number, reason=reason) for number, reason in cards.skipped]
        return ImportAnswer(ok=True, created=created, updated=updated, skipped=skipped)


def _new(body: ContactRequest, own_id: str | None = None) -> NewPerson:
    return new_contact(
        name=body.name,
        aliases=body.aliases,
        agent=body.agent,
        telegram_chat_id=body.telegram_chat_id,
        email=body.email,
        trusted=body.trusted,
        own_id=own_id,
    )


def _renamed(contact: Person, aliases: Sequence[str]) -> NewPerson:
    checked = new_contact(name=contact.name, aliases=aliases)
    return replace(_contact(contact).as_written, name=checked.name, aliases=checked.aliases)


def _contact(person: Person | None) -> Person:
    """The owner, and those who only sign in, are in the same book and are nobody's contacts."""
    if person is None or not person.is_in_contact_book:
        raise _missing()
    return person


def _answer(contact: Person | None) -> ContactAnswer:
    if contact is None:
        raise _missing()
    return ContactAnswer(ok=True, contact=ContactBody.of(contact))


def _missing() -> Refused:
    return Refused(Code.CONTACT_NOT_FOUND, "there is no such contact in this book")


# Bodies of the registry's requests and answers.


Name = Annotated[Text, Field(min_length=1, max_length=255)]
MatchName = Literal["explicit", "memory", "exact", "fuzzy", "smart_fuzzy"]


class ResolveRequest(Strict):
    owner_agent: Agent
    query: Name
    limit: Annotated[int, Field(ge=1, le=20)] = 5
    input_mode: Literal["text", "voice"] = "text"
    locale: Annotated[Text | None, Field(max_length=35)] = None


class CandidateBody(BaseModel):
    agent_address: str
    display_name: str
    alias: str
    match_type: MatchName
    score: float
    hint: str
    why: str
    resolution_token: str | None = None


class ResolveAnswer(BaseModel):
    ok: bool
    decision_mode: Literal["resolved", "needs_confirmation", "needs_disambiguation", "contact_not_found"]
    resolved: bool
    matched_alias: str | None
    match_type: MatchName | None
    agent_address: str | None
    score: float | None
    query_normalized: str
    why: str
    candidates: list[CandidateBody]
    resolution_token: str | None
    expires_at: str | None


class ConfirmRequest(Strict):
    owner_agent: Agent
    query: Name
    agent_address: Agent | None = None
    resolution_token: Annotated[Text | None, Field(min_length=8, max_length=128)] = None
    choice: Agent | None = None
    source: Literal["user_choice", "confirm_send"] = "user_choice"


class MemoryBody(BaseModel):
    memory_id: str
    query: str
    agent_address: str
    alias: str
    source: str
    confirm_count: int
    confirmed_at: str

    @classmethod
    def of(cls, memory: Remembered) -> MemoryBody:
        return cls(
            memory_id=memory.id,
            query=memory.query,
            agent_address=memory.agent_address,
            alias=memory.alias,
            source=memory.source,
            confirm_count=memory.confirm_count,
            confirmed_at=to_text(memory.confirmed_at_us),
        )


class ConfirmAnswer(MemoryBody):
    ok: bool
    match_type: Literal["memory"]


class MemoryPage(BaseModel):
    ok: bool
    memory: list[MemoryBody]
    next_cursor: str | None


class ContactRequest(Strict):
    name: Name
    aliases: Annotated[list[Name], Field(max_length=50)] = Field(default_factory=list)
    agent: Agent | None = None
    telegram_chat_id: Annotated[Text | None, Field(max_length=64)] = None
    email: Annotated[Text | None, Field(max_length=320)] = None
    trusted: bool = False


class AliasRequest(Strict):
    alias: Name


class ContactBody(BaseModel):
    contact_id: str
    name: str
    aliases: list[str]
    agent_address: str
    telegram_chat_id: str | None
    email: str | None
    trusted: bool
    source: str
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, contact: Person) -> ContactBody:
        return cls(
            contact_id=contact.id,
            name=contact.name,
            aliases=list(contact.aliases),
            agent_address=contact.agent_address,
            telegram_chat_id=contact.address_on(TELEGRAM),
            email=contact.address_on(EMAIL),
            trusted=contact.trusted,
            source=contact.source,
            created_at=to_text(contact.created_at_us),
            updated_at=to_text(contact.updated_at_us),
        )


class ContactAnswer(BaseModel):
    ok: bool
    contact: ContactBody


class ContactPage(BaseModel):
    ok: bool
    contacts: list[ContactBody]
    next_cursor: str | None


class ImportRequest(Strict):
    format: Literal["vcard", "csv"]
    content: Annotated[str, Field(min_length=1, max_length=250_000)]


class SkippedCard(BaseModel):
    card: int
    reason: str


class ImportAnswer(BaseModel):
    ok: bool
    created: int
    updated: int
    skipped: list[SkippedCard]


# Start a pairing over HTTP: the owner for any person, a person for themselves; a model never.


class PairRequest(Strict):
    channel: Annotated[Text, Field(min_length=1, max_length=64, description="Where the address is to be proved.")]


class PairAnswer(BaseModel):
    ok: bool
    code: str | None = Field(description="For the person to send to the bot, once; null where a link was sent.")
    link_sent: bool
    sent_to: str | None = Field(description="Where the link went.")
    expires_at: str

    @classmethod
    def of(cls, started: StartedPairing) -> PairAnswer:
        return cls(
            ok=True,
            code=started.code,
            link_sent=started.code is None,
            sent_to=started.sent_to,
            expires_at=to_text(started.expires_at_us),
        )


def pairing_router(pairing: Pairing) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)

    @router.post(
        "/v1/people/{person_id}/pair",
        operation_id="pairPerson",
        summary="Start the proof that an address is a person's: a code for them to send, or a link sent to them",
        status_code=201,
    )
    async def pair(person_id: PersonId, body: PairRequest, caller: Caller, key: IdempotencyKey) -> PairAnswer:
        check_own(caller, person_id)
        own_key = None if key is None else f"{caller}\x1f{key}"
        return PairAnswer.of(await pairing.start(person_id, body.channel, key=own_key))

    return router


# What the registry's routes need, and whose book a caller may open through them.


REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
_ID: Final = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

Owner = Annotated[
    str | None, Query(max_length=255, description="Whose book; the caller's own by default.", alias="owner_agent")
]
Limit = Annotated[int, Query(ge=1, le=200)]
IdCursor = Annotated[str | None, Query(pattern=_ID, description="`next_cursor` of the page before.")]
Id = Annotated[str, Path(pattern=_ID)]


class ContactStore(Protocol):
    async def get(self, owner_agent: str, contact_id: str) -> Person | None: ...

    async def page(
        self, owner_agent: str, *, after: str | None, limit: int, only_contacts: bool = False
    ) -> Sequence[Person]: ...

    async def create(
        self, owner_agent: str, new: NewPerson, *, source: str, now_us: int, reserved_id: str | None = None
    ) -> Person: ...

    async def change(
        self, owner_agent: str, contact_id: str, edit: Callable[[Person], NewPerson], *, now_us: int
    ) -> Person | None: ...

    async def delete(self, owner_agent: str, person_id: str, *, now_us: int) -> bool: ...

    async def merge(
        self, owner_agent: str, cards: Sequence[NewPerson], *, source: str, now_us: int
    ) -> tuple[int, int]: ...


class MemoryRecord(Protocol):
    async def listed(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Remembered]: ...

    async def forget(self, owner_agent: str, memory_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryParts:
    resolver: Resolver
    confirmer: Confirmer
    contacts: ContactStore
    memory: MemoryRecord
    agency: Agency
    clock: Clock

    def book(self, caller: Principal, owner: str | None) -> str:
        """The book a caller may ask for one name at a time."""
        return self.agency.sender(caller, owner, "owner_agent")

    def own_book(self, caller: Principal, owner: str | None) -> str:
        """
        People look through their books and write them. A model that could read them would know
        everybody's address; one that could write would choose whom the names in it mean.
        """
        book = self.book(caller, owner)
        if not caller.is_person:
            raise Refused(Code.POLICY_DENIED, "only a person can look through a contact book or change it")
        return book


# Bodies of requests and answers about people.


RoleName = Literal["owner", "approver", "member", "contact"]
Names = Annotated[list[Name], Field(max_length=50)]
Short = Annotated[Text, Field(max_length=64)]


class PlaceRequest(Strict):
    channel: Annotated[Text, Field(min_length=1, max_length=64)]
    address: Annotated[Text, Field(min_length=1, max_length=512)]


class AddressRequest(PlaceRequest):
    rank: Annotated[int | None, Field(description="1 is tried first; 50 at most. Without: the place in the list.")] = (
        None
    )
    label: Short = ""

    def draft(self) -> DraftAddress:
        return DraftAddress(channel=self.channel, address=self.address, rank=self.rank, label=self.label)


Addresses = Annotated[list[AddressRequest], Field(max_length=MAX_ADDRESSES)]


class _PersonFields(Strict):
    aliases: Names = Field(default_factory=list)
    role: RoleName = "contact"
    trusted: bool = False
    zone: Annotated[Short | None, Field(description="An IANA name, such as Europe/Berlin.")] = None
    language: Annotated[Short | None, Field(description="A language tag, such as pt-BR.")] = None
    default_butler: Annotated[Short | None, Field(description="Answers what they write to no butler by name.")] = None
    addresses: Addresses = Field(default_factory=list)

    def given(self) -> dict[str, Any]:
        """The fields of a draft that the caller wrote."""
        found = {name: getattr(self, name) for name in self.model_fields_set}
        if "aliases" in found:
            found["aliases"] = tuple(self.aliases)
        if "addresses" in found:
            found["addresses"] = tuple(one.draft() for one in self.addresses)
        return found


class PersonRequest(_PersonFields):
    name: Name

    def draft(self) -> PersonDraft:
        return PersonDraft(**self.given())


class PersonChange(_PersonFields):
    """Only what is given changes; a list is replaced as a whole."""

    name: Name = ""
    reopen: Annotated[list[PlaceRequest], Field(max_length=MAX_ADDRESSES)] = Field(
        default_factory=list, description="Addresses of this person that are to be written to again."
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        if "reopen" in found:
            found["reopen"] = tuple((one.channel, one.address) for one in self.reopen)
        return found


class ClosedBody(BaseModel):
    reason: Literal["bounced", "doubtful"]
    words: str
    delivery_id: str
    at: str

    @classmethod
    def of(cls, one: ClosedAddress) -> ClosedBody:
        return cls(reason=one.reason.value, words=one.words, delivery_id=one.delivery_id, at=to_text(one.at_us))


class AddressBody(BaseModel):
    channel: str
    address: str
    rank: int
    label: str
    verified_at: str | None
    closed: ClosedBody | None = Field(default=None, description="Only while nothing is sent there, and why.")
    doubtful: ClosedBody | None = Field(
        default=None, description="Only when mail came back from an address its owner had proved; it is written to."
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = handler(self)
        return {name: value for name, value in told.items() if value or name not in ("closed", "doubtful")}

    @classmethod
    def of(cls, one: PersonAddress) -> AddressBody:
        return cls(
            channel=one.channel,
            address=one.address,
            rank=one.rank,
            label=one.label,
            verified_at=None if one.verified_at_us is None else to_text(one.verified_at_us),
            closed=ClosedBody.of(one.closed) if one.closed else None,
            doubtful=ClosedBody.of(one.doubtful) if one.doubtful else None,
        )


class PersonBody(BaseModel):
    person_id: str
    name: str
    aliases: list[str]
    role: RoleName
    trusted: bool
    zone: str | None
    language: str | None
    default_butler: str | None
    addresses: list[AddressBody]
    agent_address: str
    source: str
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, person: Person) -> PersonBody:
        return cls(
            person_id=person.id,
            name=person.name,
            aliases=list(person.aliases),
            role=person.role.value,
            trusted=person.trusted,
            zone=person.zone,
            language=person.language,
            default_butler=person.default_butler,
            addresses=[AddressBody.of(one) for one in person.addresses],
            agent_address=person.agent_address,
            source=person.source,
            created_at=to_text(person.created_at_us),
            updated_at=to_text(person.updated_at_us),
        )


class PersonAnswer(BaseModel):
    ok: bool
    person: PersonBody


class PeoplePage(BaseModel):
    ok: bool
    people: list[PersonBody]
    next_cursor: str | None


# The household's people over HTTP: for the owner all of them, for another person their own record.


PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Cursor = Annotated[Text | None, Query(max_length=128, description="`next_cursor` of the page before.")]
Begins = Annotated[str | None, Query(max_length=255, description="A name or an alias, or how it begins.")]
OWN_FIELDS: Final = frozenset({"zone", "language", "default_butler"})  # what persons may change of themselves


def _is_owner(caller: Principal) -> bool:
    return caller.is_owner


ByOwner = [Depends(allowing(_is_owner))]  # a model never lists people


def people_router(people: People, history: APIRouter) -> APIRouter:
    """`history` holds the routes of what was said with a person; readers of the description find them second."""
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)
    _add_listing(router, people)
    router.routes.extend(history.routes)
    _person_routes_add_writing(router, people)
    _add_own(router, people)
    return router


def _add_listing(router: APIRouter, people: People) -> None:
    @router.get("/v1/people", operation_id="listPeople", summary="Everybody the household knows", dependencies=ByOwner)
    async def listed(
        q: Begins = None, role: RoleName | None = None, cursor: Cursor = None, limit: Limit = 50
    ) -> PeoplePage:
        wanted = PersonRole(role) if role else None
        found = await people.search.listed(people.book, begins=q, role=wanted, after=cursor, limit=limit + 1)
        shown = [PersonBody.of(one) for one in found[:limit]]
        return PeoplePage(ok=True, people=shown, next_cursor=shown[-1].person_id if len(found) > limit else None)


def _person_routes_add_writing(router: APIRouter, people: People) -> None:
    @router.post(
        "/v1/people",
        operation_id="createPerson",
        summary="Write a person down",
        status_code=201,
        dependencies=ByOwner,
    )
    async def create(body: PersonRequest, reserved_id: ReservedId) -> PersonAnswer:
        made = await people.create(body.draft(), source="api", reserved_id=reserved_id)
        return PersonAnswer(ok=True, person=PersonBody.of(made))

    @router.delete(
        "/v1/people/{person_id}",
        operation_id="deletePerson",
        summary="Remove a person, and what was remembered of them",
        dependencies=ByOwner,
    )
    async def delete(person_id: PersonId) -> Done:
        await people.delete(person_id)
        return Done(ok=True)


def _add_own(router: APIRouter, people: People) -> None:
    @router.get("/v1/people/{person_id}", operation_id="getPerson", summary="One person; a person may read themselves")
    async def get(person_id: PersonId, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.get(person_id)))

    @router.patch(
        "/v1/people/{person_id}",
        operation_id="changePerson",
        summary="Change what is given; a person may change their own zone and language",
    )
    async def change(person_id: PersonId, body: PersonChange, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        given = body.given()
        if not caller.is_owner and (others := sorted(given.keys() - OWN_FIELDS)):
            fields = [FieldError(name, "is for the owner to change", "policy_denied") for name in others]
            raise Refused.of(Code.POLICY_DENIED, fields)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.change(person_id, **given)))


def check_own(caller: Principal, person_id: str) -> None:
    if not caller.is_owner and not (caller.role is Role.PERSON and caller.name == person_id):
        raise Refused(Code.POLICY_DENIED, f"{caller} may not do this")


# Whom a name means: find out, confirm, list what was confirmed and forget it.


def resolution_router(parts: RegistryParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["contacts"], responses=REFUSALS)
    _add_choosing(router, parts)
    _add_memory(router, parts)
    return router


def _add_choosing(router: APIRouter, parts: RegistryParts) -> None:
    @router.post(
        "/contacts/resolve",
        operation_id="resolveContact",
        summary="Find out whom a name means, without sending anything",
        response_model=ResolveAnswer,
    )
    async def resolve(body: ResolveRequest, caller: Caller) -> dict[str, Any]:
        book = parts.book(caller, body.owner_agent)
        found = await parts.resolver.resolve(book, body.query, input_mode=InputMode(body.input_mode), limit=body.limit)
        return {"ok": True, "decision_mode": str(found.decision_mode), **found.document()}

    @router.post("/contacts/confirm", operation_id="confirmContact", summary="Remember whom a person meant by a name")
    async def confirm(body: ConfirmRequest, caller: Caller) -> ConfirmAnswer:
        memory = await parts.confirmer.confirm(_confirmation(parts, body, caller), by_person=caller.is_person)
        return ConfirmAnswer(ok=True, match_type="memory", **MemoryBody.of(memory).model_dump())


def _confirmation(parts: RegistryParts, body: ConfirmRequest, caller: Principal) -> Confirmation:
    chosen = body.choice or body.agent_address
    if body.resolution_token is None and chosen is None:
        error = "give the resolution_token you were offered, or an agent_address"
        raise Refused(Code.SCHEMA_INVALID, error, fields=[FieldError("resolution_token", error, "required")])
    return Confirmation(
        owner_agent=parts.book(caller, body.owner_agent),
        query=body.query,
        resolution_token=body.resolution_token,
        agent_address=checked_address(chosen, "agent_address") if chosen is not None else None,
        source=ConfirmSource(body.source),
    )


def _add_memory(router: APIRouter, parts: RegistryParts) -> None:
    @router.get("/contacts/memory", operation_id="listContactMemory", summary="What was confirmed so far")
    async def memory(caller: Caller, owner: Owner = None, cursor: IdCursor = None, limit: Limit = 50) -> MemoryPage:
        found = await parts.memory.listed(parts.book(caller, owner), after=cursor, limit=limit + 1)
        shown = [MemoryBody.of(one) for one in found[:limit]]
        return MemoryPage(ok=True, memory=shown, next_cursor=shown[-1].memory_id if len(found) > limit else None)

    @router.delete(
        "/contacts/memory/{memory_id}", operation_id="forgetContactMemory", summary="Forget one confirmed choice"
    )
    async def forget(memory_id: Id, caller: Caller, owner: Owner = None) -> Done:
        if not await parts.memory.forget(parts.book(caller, owner), memory_id):
            raise Refused(Code.NOT_FOUND, "nothing is remembered under this id")
        return Done(ok=True)


# The registry's HTTP routes: find, confirm, keep and forget people.


def registry_router(parts: RegistryParts) -> APIRouter:
    """Resolution first: the path of one contact would swallow `/contacts/memory`."""
    router = resolution_router(parts)
    router.routes.extend(contact_router(parts).routes)
    return router
