"""The contacts of a book over HTTP: find whom a name means, confirm it, keep, import and forget them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from postroom.kernel.guard.http import Caller, ReservedId
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import Agent, Done, JsonRoute, Strict, Text
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Agency, Principal, checked_address
from postroom.people.acts import REFUSALS, Limit, Name
from postroom.people.import_cards import read_csv, read_vcards
from postroom.people.model import (
    ConfirmSource,
    InputMode,
    NewPerson,
    Person,
    Remembered,
)
from postroom.people.names.resolve import Confirmation, Confirmer, Resolver
from postroom.people.person_rules import EMAIL, TELEGRAM, new_contact, rewritten
from postroom.people.store.people import StoredMemory, StoredPeople

_ID: Final = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
Owner = Annotated[
    str | None, Query(max_length=255, description="Whose book; the caller's own by default.", alias="owner_agent")
]
IdCursor = Annotated[str | None, Query(pattern=_ID, description="`next_cursor` of the page before.")]
Id = Annotated[str, Path(pattern=_ID)]
MatchName = Literal["explicit", "memory", "exact", "fuzzy", "smart_fuzzy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryParts:
    resolver: Resolver
    confirmer: Confirmer
    contacts: StoredPeople
    memory: StoredMemory
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


# Bodies of requests and answers.


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


def registry_router(parts: RegistryParts) -> APIRouter:
    """Resolution first: the path of one contact would swallow `/contacts/memory`."""
    router = _resolution_router(parts)
    router.routes.extend(_contact_router(parts).routes)
    return router


# Whom a name means.


def _resolution_router(parts: RegistryParts) -> APIRouter:
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


# The contacts of a book.


def _contact_router(parts: RegistryParts) -> APIRouter:
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
