"""The registry's HTTP routes: find, confirm, keep and forget people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Query

from postroom.contacts.confirm import Confirmation, Confirmer
from postroom.contacts.import_cards import read_csv, read_vcards
from postroom.contacts.new_contact import new_contact
from postroom.contacts.resolve import Resolver
from postroom.domain.contact import Contact, InputMode, NewContact
from postroom.domain.contact_book import ConfirmSource, Remembered
from postroom.domain.errors import FieldError
from postroom.domain.principal import Principal
from postroom.domain.refused import Code, Refused
from postroom.guard.depends import Caller
from postroom.guard.json_door import JsonRoute, failures
from postroom.intents.agency import Agency, checked_address
from postroom.ports import Clock
from postroom.registry.models import (
    AliasRequest,
    ConfirmAnswer,
    ConfirmRequest,
    ContactAnswer,
    ContactBody,
    ContactPage,
    ContactRequest,
    Done,
    ImportAnswer,
    ImportRequest,
    MemoryBody,
    MemoryPage,
    ResolveAnswer,
    ResolveRequest,
    SkippedCard,
)


class ContactStore(Protocol):
    async def get(self, owner_agent: str, contact_id: str) -> Contact | None: ...

    async def page(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Contact]: ...

    async def create(self, owner_agent: str, new: NewContact, *, source: str, now_us: int) -> Contact: ...

    async def replace(self, owner_agent: str, contact_id: str, new: NewContact, *, now_us: int) -> Contact | None: ...

    async def delete(self, owner_agent: str, contact_id: str) -> bool: ...

    async def merge(
        self, owner_agent: str, cards: Sequence[NewContact], *, source: str, now_us: int
    ) -> tuple[int, int]: ...


class MemoryStore(Protocol):
    async def listed(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Remembered]: ...

    async def forget(self, owner_agent: str, memory_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryParts:
    resolver: Resolver
    confirmer: Confirmer
    contacts: ContactStore
    memory: MemoryStore
    agency: Agency
    clock: Clock


Owner = Annotated[
    str | None, Query(max_length=255, description="Whose book; the caller's own by default.", alias="owner_agent")
]
Limit = Annotated[int, Query(ge=1, le=200)]
_ID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
Cursor = Annotated[str | None, Query(pattern=_ID, description="`next_cursor` of the page before.")]
Id = Annotated[str, Path(pattern=_ID)]
_REFUSALS = failures(400, 401, 403, 404, 409, 413, 422, 503)


def registry_router(parts: RegistryParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["contacts"])
    _add_resolution(router, parts)
    _add_memory(router, parts)
    _add_reading(router, parts)
    _add_writing(router, parts)
    _add_aliases(router, parts)
    _add_import(router, parts)
    return router


def _add_resolution(router: APIRouter, parts: RegistryParts) -> None:
    @router.post(
        "/contacts/resolve",
        operation_id="resolveContact",
        summary="Find out whom a name means, without sending anything",
        response_model=ResolveAnswer,
        responses=_REFUSALS,
    )
    async def resolve(body: ResolveRequest, caller: Caller) -> dict[str, Any]:
        owner = parts.agency.sender(caller, body.owner_agent, "owner_agent")
        found = await parts.resolver.resolve(owner, body.query, input_mode=InputMode(body.input_mode), limit=body.limit)
        return {"ok": True, "decision_mode": str(found.decision_mode), **found.document()}

    @router.post(
        "/contacts/confirm",
        operation_id="confirmContact",
        summary="Remember whom a person meant by a name",
        response_model=ConfirmAnswer,
        responses=_REFUSALS,
    )
    async def confirm(body: ConfirmRequest, caller: Caller) -> dict[str, Any]:
        memory = await parts.confirmer.confirm(_confirmation(parts, body, caller), by_person=caller.is_person)
        return {"ok": True, "match_type": "memory", **MemoryBody.of(memory).model_dump()}


def _confirmation(parts: RegistryParts, body: ConfirmRequest, caller: Principal) -> Confirmation:
    chosen = body.choice or body.agent_address
    if body.resolution_token is None and chosen is None:
        error = "give the resolution_token you were offered, or an agent_address"
        raise Refused(Code.SCHEMA_INVALID, error, fields=[FieldError("resolution_token", error, "required")])
    return Confirmation(
        owner_agent=parts.agency.sender(caller, body.owner_agent, "owner_agent"),
        query=body.query,
        resolution_token=body.resolution_token,
        agent_address=checked_address(chosen, "agent_address") if chosen is not None else None,
        source=ConfirmSource(body.source),
    )


def _add_memory(router: APIRouter, parts: RegistryParts) -> None:
    @router.get(
        "/contacts/memory",
        operation_id="listContactMemory",
        summary="What was confirmed so far",
        response_model=MemoryPage,
        responses=_REFUSALS,
    )
    async def memory(caller: Caller, owner: Owner = None, cursor: Cursor = None, limit: Limit = 50) -> MemoryPage:
        agent = parts.agency.sender(caller, owner, "owner_agent")
        found = await parts.memory.listed(agent, after=cursor, limit=limit + 1)
        shown = [MemoryBody.of(one) for one in found[:limit]]
        return MemoryPage(ok=True, memory=shown, next_cursor=shown[-1].memory_id if len(found) > limit else None)

    @router.delete(
        "/contacts/memory/{memory_id}",
        operation_id="forgetContactMemory",
        summary="Forget one confirmed choice",
        response_model=Done,
        responses=_REFUSALS,
    )
    async def forget(memory_id: Id, caller: Caller, owner: Owner = None) -> Done:
        agent = parts.agency.sender(caller, owner, "owner_agent")
        if not await parts.memory.forget(agent, memory_id):
            raise Refused(Code.NOT_FOUND, "nothing is remembered under this id")
        return Done(ok=True)


def _add_reading(router: APIRouter, parts: RegistryParts) -> None:
    @router.get(
        "/contacts",
        operation_id="listContacts",
        summary="The contacts of a book",
        response_model=ContactPage,
        responses=_REFUSALS,
    )
    async def listed(caller: Caller, owner: Owner = None, cursor: Cursor = None, limit: Limit = 50) -> ContactPage:
        agent = parts.agency.sender(caller, owner, "owner_agent")
        found = await parts.contacts.page(agent, after=cursor, limit=limit + 1)
        shown = [ContactBody.of(one) for one in found[:limit]]
        return ContactPage(ok=True, contacts=shown, next_cursor=shown[-1].contact_id if len(found) > limit else None)

    @router.get(
        "/contacts/{contact_id}",
        operation_id="getContact",
        summary="One contact",
        response_model=ContactAnswer,
        responses=_REFUSALS,
    )
    async def get(contact_id: Id, caller: Caller, owner: Owner = None) -> ContactAnswer:
        agent = parts.agency.sender(caller, owner, "owner_agent")
        return ContactAnswer(ok=True, contact=ContactBody.of(_found(await parts.contacts.get(agent, contact_id))))


def _add_writing(router: APIRouter, parts: RegistryParts) -> None:
    @router.post(
        "/contacts",
        operation_id="createContact",
        summary="Add a contact",
        response_model=ContactAnswer,
        status_code=201,
        responses=_REFUSALS,
    )
    async def create(body: ContactRequest, caller: Caller, owner: Owner = None) -> ContactAnswer:
        agent = _own_book(parts, caller, owner)
        contact = await parts.contacts.create(agent, _new(body), source="api", now_us=parts.clock.now_us())
        return ContactAnswer(ok=True, contact=ContactBody.of(contact))

    @router.put(
        "/contacts/{contact_id}",
        operation_id="replaceContact",
        summary="Write a contact anew",
        response_model=ContactAnswer,
        responses=_REFUSALS,
    )
    async def replace(contact_id: Id, body: ContactRequest, caller: Caller, owner: Owner = None) -> ContactAnswer:
        agent = _own_book(parts, caller, owner)
        changed = await parts.contacts.replace(agent, contact_id, _new(body, contact_id), now_us=parts.clock.now_us())
        return ContactAnswer(ok=True, contact=ContactBody.of(_found(changed)))

    @router.delete(
        "/contacts/{contact_id}",
        operation_id="deleteContact",
        summary="Remove a contact, and what was remembered of it",
        response_model=Done,
        responses=_REFUSALS,
    )
    async def delete(contact_id: Id, caller: Caller, owner: Owner = None) -> Done:
        if not await parts.contacts.delete(_own_book(parts, caller, owner), contact_id):
            raise Refused(Code.CONTACT_NOT_FOUND, "there is no such contact in this book")
        return Done(ok=True)


def _add_aliases(router: APIRouter, parts: RegistryParts) -> None:
    async def renamed(agent: str, contact: Contact, aliases: list[str]) -> ContactAnswer:
        new = new_contact(
            name=contact.name,
            aliases=aliases,
            agent=contact.agent_address,
            telegram_chat_id=contact.telegram_chat_id,
            email=contact.email,
            trusted=contact.trusted,
            own_id=contact.id,
        )
        changed = await parts.contacts.replace(agent, contact.id, new, now_us=parts.clock.now_us())
        return ContactAnswer(ok=True, contact=ContactBody.of(_found(changed)))

    @router.post(
        "/contacts/{contact_id}/aliases",
        operation_id="addAlias",
        summary="Give a contact another name",
        response_model=ContactAnswer,
        responses=_REFUSALS,
    )
    async def add(contact_id: Id, body: AliasRequest, caller: Caller, owner: Owner = None) -> ContactAnswer:
        agent = _own_book(parts, caller, owner)
        contact = _found(await parts.contacts.get(agent, contact_id))
        return await renamed(agent, contact, [*contact.aliases, body.alias])

    @router.delete(
        "/contacts/{contact_id}/aliases",
        operation_id="removeAlias",
        summary="Take a name from a contact",
        response_model=ContactAnswer,
        responses=_REFUSALS,
    )
    async def remove(
        contact_id: Id, alias: Annotated[str, Query(min_length=1, max_length=255)], caller: Caller, owner: Owner = None
    ) -> ContactAnswer:
        agent = _own_book(parts, caller, owner)
        contact = _found(await parts.contacts.get(agent, contact_id))
        if alias not in contact.aliases:
            raise Refused(Code.NOT_FOUND, "the contact has no such alias")
        return await renamed(agent, contact, [one for one in contact.aliases if one != alias])


def _add_import(router: APIRouter, parts: RegistryParts) -> None:
    @router.post(
        "/contacts/import",
        operation_id="importContacts",
        summary="Add contacts from a vCard or CSV file",
        response_model=ImportAnswer,
        responses=_REFUSALS,
    )
    async def import_cards(body: ImportRequest, caller: Caller, owner: Owner = None) -> ImportAnswer:
        agent = _own_book(parts, caller, owner)
        cards = read_vcards(body.content) if body.format == "vcard" else read_csv(body.content)
        created, updated = await parts.contacts.merge(agent, cards.read, source="import", now_us=parts.clock.now_us())
        skipped = [SkippedCard(card=number, reason=reason) for number, reason in cards.skipped]
        return ImportAnswer(ok=True, created=created, updated=updated, skipped=skipped)


def _own_book(parts: RegistryParts, caller: Principal, owner: str | None) -> str:
    """People write their books; a model that could would choose whom the names in it mean."""
    agent = parts.agency.sender(caller, owner, "owner_agent")
    if not caller.is_person:
        raise Refused(Code.POLICY_DENIED, "only a person can change a contact book")
    return agent


def _new(body: ContactRequest, own_id: str | None = None) -> NewContact:
    return new_contact(
        name=body.name,
        aliases=body.aliases,
        agent=body.agent,
        telegram_chat_id=body.telegram_chat_id,
        email=body.email,
        trusted=body.trusted,
        own_id=own_id,
    )


def _found(contact: Contact | None) -> Contact:
    if contact is None:
        raise Refused(Code.CONTACT_NOT_FOUND, "there is no such contact in this book")
    return contact
