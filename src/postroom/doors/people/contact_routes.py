"""The people in a book: list, keep, rename, remove and import them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from postroom.domain.errors import Code, Refused
from postroom.domain.person import NewPerson, Person
from postroom.doors.guard.depends import Caller, ReservedId
from postroom.doors.guard.json_body import Done
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.people.models import (
    AliasRequest,
    ContactAnswer,
    ContactBody,
    ContactPage,
    ContactRequest,
    ImportAnswer,
    ImportRequest,
    SkippedCard,
)
from postroom.doors.people.parts import REFUSALS, Id, IdCursor, Limit, Owner, RegistryParts
from postroom.work.people.contact_addresses import rewritten
from postroom.work.people.import_cards import read_csv, read_vcards
from postroom.work.people.new_contact import new_contact


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
