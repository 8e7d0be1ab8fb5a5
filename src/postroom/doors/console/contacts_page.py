"""Whom a person knows: names, ways to reach them, whom they trust, and which name means whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.agent_address import CONTACT_PREFIX, HOUSEHOLD_OWNER, user_address
from postroom.domain.contact_book import Remembered
from postroom.domain.errors import Refused
from postroom.domain.person import NewPerson, Person
from postroom.domain.principal import Principal
from postroom.doors.console.visit import Page, Section, Visit
from postroom.work.people.contact_addresses import EMAIL, TELEGRAM, rewritten
from postroom.work.people.new_contact import new_contact

PAGE_SIZE: Final = 50
SETTINGS_SOURCE: Final = "settings"
_MOST_REMEMBERED: Final = 200
_FIELDS: Final = ("name", "aliases", "telegram_chat_id", "email", "agent")


class People(Protocol):
    async def get(self, owner_agent: str, contact_id: str) -> Person | None: ...

    async def create(self, owner_agent: str, new: NewPerson, *, source: str, now_us: int) -> Person: ...

    async def change(
        self, owner_agent: str, contact_id: str, edit: Callable[[Person], NewPerson], *, now_us: int
    ) -> Person | None: ...

    async def delete(self, owner_agent: str, contact_id: str) -> bool: ...


class PeopleSearch(Protocol):
    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]: ...


class Choices(Protocol):
    async def listed(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Remembered]: ...

    async def forget(self, owner_agent: str, memory_id: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPages:
    people: People
    search: PeopleSearch
    choices: Choices

    async def show(self, visit: Visit) -> Response:
        book, words = book_of(visit.principal), visit.query.get("q", "")[:255]
        after = visit.query.get("cursor", "")[:64] or None
        found = await self.search.listed(book, words, after=after, limit=PAGE_SIZE + 1)
        return visit.show(
            "contacts.html",
            words=words,
            people=found[:PAGE_SIZE],
            next_cursor=found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else None,
            is_first=after is None,
            remembered=await self.choices.listed(book, after=None, limit=_MOST_REMEMBERED) if after is None else [],
        )

    async def blank(self, visit: Visit) -> Response:
        return _form(visit, None, dict.fromkeys(_FIELDS, ""))

    async def add(self, visit: Visit) -> Response:
        try:
            new = _read(visit, None)
            made = await self.people.create(book_of(visit.principal), new, source="console", now_us=visit.now_us)
        except Refused as error:
            return _form(visit, None, _typed(visit), error)
        return visit.go(f"/contacts/{made.id}", "Added.")

    async def one(self, visit: Visit) -> Response:
        contact = await self._contact(visit)
        return _form(visit, contact, _values(contact))

    async def change(self, visit: Visit) -> Response:
        contact = await self._changeable(visit)
        try:
            new = _read(visit, contact.id)
            await self.people.change(
                contact.owner_agent, contact.id, lambda known: rewritten(known, new), now_us=visit.now_us
            )
        except Refused as error:
            return _form(visit, contact, _typed(visit), error)
        return visit.go(f"/contacts/{contact.id}", "Saved.")

    async def delete(self, visit: Visit) -> Response:
        contact = await self._changeable(visit)
        await self.people.delete(contact.owner_agent, contact.id)
        return visit.go("/contacts", f"{contact.name} was deleted, with every choice remembered of them.")

    async def forget(self, visit: Visit) -> Response:
        if await self.choices.forget(book_of(visit.principal), visit.path["id"]):
            return visit.go("/contacts", "Forgotten. Next time you are asked again.")
        return visit.go("/contacts", "That was forgotten already.", "bad")

    async def _contact(self, visit: Visit) -> Person:
        contact = await self.people.get(book_of(visit.principal), visit.path["id"])
        if contact is None or not contact.is_in_contact_book:
            raise HTTPException(404)
        return contact

    async def _changeable(self, visit: Visit) -> Person:
        contact = await self._contact(visit)
        if contact.source == SETTINGS_SOURCE:  # the next start would undo it
            raise HTTPException(404)
        return contact


def contacts_section(pages: ContactPages, more: Sequence[Page] = ()) -> Section:
    return Section(
        name="Contacts",
        pages=(
            Page("/contacts", pages.show, open_to=has_book),
            Page("/contacts", pages.add, "POST", open_to=has_book),
            Page("/contacts/new", pages.blank, open_to=has_book),
            *more,  # before the page of one contact, whose path would swallow theirs
            Page("/contacts/remembered/{id}/forget", pages.forget, "POST", open_to=has_book),
            Page("/contacts/{id}", pages.one, open_to=has_book),
            Page("/contacts/{id}", pages.change, "POST", open_to=has_book),
            Page("/contacts/{id}/delete", pages.delete, "POST", open_to=has_book),
        ),
    )


def has_book(who: Principal) -> bool:
    """People write their books; a model that could would choose whom the names in it mean."""
    return who.is_person


def book_of(who: Principal) -> str:
    return HOUSEHOLD_OWNER if who.is_owner else user_address(who.name)


def _read(visit: Visit, own_id: str | None) -> NewPerson:
    typed = _typed(visit)
    return new_contact(
        name=typed["name"],
        aliases=[line for line in typed["aliases"].splitlines() if line.strip()],
        agent=typed["agent"] or None,
        telegram_chat_id=typed["telegram_chat_id"],
        email=typed["email"],
        trusted=bool(typed["trusted"]),
        own_id=own_id,
    )


def _typed(visit: Visit) -> dict[str, Any]:
    texts = {name: visit.form.get(name).strip() for name in _FIELDS}
    return texts | {"trusted": visit.form.get("trusted") == "yes"}


def _values(contact: Person) -> dict[str, Any]:
    made = contact.agent_address == f"{CONTACT_PREFIX}{contact.id}"
    return {
        "name": contact.name,
        "aliases": "\n".join(contact.aliases),
        "telegram_chat_id": contact.address_on(TELEGRAM) or "",
        "email": contact.address_on(EMAIL) or "",
        "agent": "" if made else contact.agent_address,
        "trusted": contact.trusted,
    }


def _form(visit: Visit, contact: Person | None, shown: Mapping[str, Any], error: Refused | None = None) -> Response:
    wrong = {one.field.partition("[")[0]: one.error for one in error.fields} if error else {}
    return visit.show(
        "contact.html",
        status=422 if error else 200,
        contact=contact,
        shown={"trusted": False, **shown},
        complaint=error.message if error else "",
        complaints=wrong,
        is_fixed=contact is not None and contact.source == SETTINGS_SOURCE,
    )
