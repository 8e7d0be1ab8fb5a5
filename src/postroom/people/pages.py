"""Whom a person knows: names, ways to reach them, whom they trust, and which name means whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.attention.attention import Attention
from postroom.attention.pages.shown import policy_words
from postroom.console.lists import Filter, FilterKind, Found, ListPage, ListQuery, paged
from postroom.console.visit import ConsolePage, ConsoleSection, Form, Visit
from postroom.console.words import channel_word
from postroom.conversations.history import Histories
from postroom.conversations.model import HistoryLine, HistoryQuery
from postroom.conversations.page import SessionsToday, line_link, line_state
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER, Principal, person_id_of, user_address
from postroom.kernel.values.zones import zone_names
from postroom.people.model import FROM_SETTINGS, NewPerson, Person, PersonAddress, PersonRole
from postroom.people.pairing import Pairing
from postroom.people.people import People
from postroom.people.store.people import StoredMemory
from postroom.questions.model import Question
from postroom.questions.page import QuestionPages

PAGE_SIZE: Final = 50
_MOST_REMEMBERED: Final = 200
_LONGEST_CHANNEL: Final = 64
_LONGEST_ADDRESS: Final = 512
_LINES: Final = 6
_QUESTIONS: Final = 20
_ROLES = (PersonRole.CONTACT, PersonRole.MEMBER, PersonRole.APPROVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPages:
    people: People
    pairing: Pairing
    choices: StoredMemory
    sessions: SessionsToday
    overviews: PersonOverviews

    def listed(self) -> ListPage[Person]:
        return ListPage(
            title="People",
            parts="contacts.html",
            caption="People by name",
            look="folk",
            find=self._find,
            filters=(Filter(name="q", title="Search people", kind=FilterKind.NAME, hint="Name or address"),),
            columns={
                "Name": "",
                "Also called": "aside wrap",
                "Addresses": "excerpt",
                "Role": "state",
                "Zone": "aside wrap",
                "Trust": "when",
            },
            older="More",
            newest="First page",
        )

    async def _find(self, visit: Visit, asked: ListQuery) -> Found[Person]:
        book = book_of(visit.principal)
        found = await self.people.store.search(book, asked["q"], after=asked.before, limit=PAGE_SIZE + 1)
        people, older = paged(found, PAGE_SIZE, lambda one: one.id)
        remembered = [] if asked.before else await self.choices.listed(book, after=None, limit=_MOST_REMEMBERED)
        return Found(
            rows=people,
            older=older,
            ids=[one.id for one in people],
            around={"owner_id": OWNER if book == HOUSEHOLD_OWNER else "", "remembered": remembered},
        )

    async def blank(self, visit: Visit) -> Response:
        given = visit.query.get("channel", "")[:_LONGEST_CHANNEL], visit.query.get("address", "")[:_LONGEST_ADDRESS]
        return await self._form(visit, None, shown(None, self._channels, given))

    async def add(self, visit: Visit) -> Response:
        form = typed(visit.form, None, self._channels)
        try:
            made = await self._of(visit).create(_written(visit, form, None), source="console")
        except Refused as error:
            return await self._form(visit, None, form, error)
        return visit.go(f"/people/{made.id}", "Added.")

    async def one(self, visit: Visit) -> Response:
        """A person of the visitor's book, to look at and to change; or the visitor themself, to look at."""
        if not visit.principal.is_owner and visit.path["id"] == person_id_of(visit.principal):
            own = await self._person(visit, self.people)
            return visit.show("person.html", **await self._around(visit, own), may_change=False)
        person = await self._person(visit)
        return await self._form(visit, person, shown(person, self._channels))

    async def change(self, visit: Visit) -> Response:
        person = await self._person(visit)
        form = typed(visit.form, person, self._channels)
        try:
            await self._of(visit).edit(person.id, lambda _: _written(visit, form, person))
        except Refused as error:
            return await self._form(visit, person, form, error)
        return visit.go(f"/people/{person.id}", "Saved.")

    async def pair(self, visit: Visit) -> Response:
        """The code is shown on this one page, and nowhere again."""
        person, channel = await self._person(visit), visit.form.get("channel")
        try:
            started = await self.pairing.start(person.id, channel)
        except Refused as error:
            told = error.fields[0].error if error.fields else error.message
            return visit.go(f"/people/{person.id}", f"No pairing was started: {told}.", "bad")
        return visit.show("pairing.html", person=person, channel=channel, started=started)

    async def delete(self, visit: Visit) -> Response:
        person = await self._person(visit)
        try:
            await self._of(visit).delete(person.id)
        except Refused as error:
            return visit.go(f"/people/{person.id}", f"Nothing was deleted: {error.message}.", "bad")
        return visit.go("/people", f"{person.name} was deleted, with every choice remembered of them.")

    async def forget(self, visit: Visit) -> Response:
        if await self.choices.forget(book_of(visit.principal), visit.path["id"]):
            return visit.go("/people", "Forgotten. Next time you are asked again.")
        return visit.go("/people", "That was forgotten already.", "bad")

    @property
    def _channels(self) -> Sequence[str]:
        return list(self.people.forms)

    def _of(self, visit: Visit) -> People:
        return replace(self.people, book=book_of(visit.principal))

    async def _person(self, visit: Visit, people: People | None = None) -> Person:
        try:
            return await (people or self._of(visit)).get(visit.path["id"])
        except Refused as error:
            if error.code is Code.NOT_FOUND:
                raise HTTPException(404) from None
            raise

    async def _around(self, visit: Visit, person: Person) -> dict[str, Any]:
        """What the household knows about one of its people beside what is written down."""
        overview = await self.overviews.of(visit, person)
        return {
            "person": person,
            "overview": overview,
            "names": await visit.names(ids=[person.id]),
            "state": line_state,
            "link": line_link,
            "is_owner": person.id == OWNER,
            "sessions": await self.sessions.of(person.id, visit.now_us),
            "per_day": self.sessions.per_day,
        }

    async def _form(
        self, visit: Visit, person: Person | None, form: PersonForm, error: Refused | None = None
    ) -> Response:
        is_household = book_of(visit.principal) == HOUSEHOLD_OWNER
        around = await self._around(visit, person) if person and is_household else {"person": person}
        return visit.show(
            "contact.html",
            **{"overview": None, "is_owner": False, **around},
            may_change=True,
            status=422 if error else 200,
            shown=form,
            channels=self._channels,
            zones=sorted(zone_names()),
            complaint=error.message if error else "",
            complaints=_complaints(error),
            is_household=is_household,
            pairing_channels=list(self.pairing.channels),
            is_seeded=person is not None and person.source == FROM_SETTINGS,
        )


def _written(visit: Visit, form: PersonForm, before: Person | None) -> NewPerson:
    """Roles and trust are the household's; in a book of one's own there is nobody to give them to."""
    written = draft(form, before)
    if book_of(visit.principal) == HOUSEHOLD_OWNER:
        return written
    return replace(written, role=PersonRole.CONTACT, trusted=False)


def _complaints(error: Refused | None) -> dict[str, str]:
    """By field; those of one address by its place among those that were sent."""
    found: dict[str, str] = {}
    for one in error.fields if error else ():
        head, *rest = one.field.split(".")
        found.setdefault(f"{head}.{rest[0]}" if head == "addresses" and rest else head, one.error)
    return found


def contacts_section(pages: ContactPages) -> ConsoleSection:
    return ConsoleSection(
        name="People",
        pages=(
            ConsolePage("/people", pages.listed().show, open_to=has_book),
            ConsolePage("/people", pages.add, "POST", open_to=has_book),
            ConsolePage("/people/new", pages.blank, open_to=has_book),
            ConsolePage("/people/remembered/{id}/forget", pages.forget, "POST", open_to=has_book),
            ConsolePage("/people/{id}", pages.one, open_to=has_book),
            ConsolePage("/people/{id}", pages.change, "POST", open_to=has_book),
            ConsolePage("/people/{id}/delete", pages.delete, "POST", open_to=has_book),
            ConsolePage("/people/{id}/pair", pages.pair, "POST", open_to=lambda who: who.is_owner),
            ConsolePage("/contacts", moved, open_to=has_book),
            ConsolePage("/contacts/{rest:path}", moved, open_to=has_book),
        ),
    )


async def moved(visit: Visit) -> Response:
    """People were called contacts once; links to there still lead to them."""
    rest, asked = visit.path.get("rest", ""), visit.request.url.query
    return visit.go("/people" + (f"/{quote(rest)}" if rest else "") + (f"?{asked}" if asked else ""))


def has_book(who: Principal) -> bool:
    """People write their books; a model that could would choose whom the names in it mean."""
    return who.is_person


def book_of(who: Principal) -> str:
    return HOUSEHOLD_OWNER if who.is_owner else user_address(who.name)


# A person as a form: a line for each address, an empty one for each other channel, and one for another address.


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressLine:
    """`place` is where the address stands in what was sent; a line without a channel lets one be chosen."""

    channel: str
    address: str = ""
    rank: str = ""
    label: str = ""
    kept: PersonAddress | None = None
    place: int | None = None

    @property
    def word(self) -> str:
        return channel_word(self.channel) if self.channel else "Another address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonForm:
    """What is typed, kept as it is until it is right."""

    name: str = ""
    aliases: str = ""
    agent: str = ""
    role: str = PersonRole.CONTACT.value
    trusted: bool = False
    zone: str = ""
    language: str = ""
    lines: Sequence[AddressLine] = field(default_factory=tuple)

    @property
    def roles(self) -> Sequence[str]:
        """The owner is one, and stays it."""
        return [self.role] if self.role == PersonRole.OWNER else [str(one) for one in _ROLES]


def shown(person: Person | None, channels: Collection[str], given: tuple[str, str] = ("", "")) -> PersonForm:
    """`given` is a channel and an address there, to begin a new person with."""
    if person is None:
        return PersonForm(lines=_with_blanks(_begun(given, channels), channels))
    lines = [
        AddressLine(channel=one.channel, address=one.address, rank=str(one.rank), label=one.label, kept=one)
        for one in person.addresses
    ]
    return PersonForm(
        name=person.name,
        aliases="\n".join(person.aliases),
        agent="" if person.has_given_address else person.agent_address,
        role=person.role,
        trusted=person.trusted,
        zone=person.zone or "",
        language=person.language or "",
        lines=_with_blanks(lines, channels),
    )


def typed(form: Form, before: Person | None, channels: Collection[str]) -> PersonForm:
    names = ("address_channel", "address", "address_rank", "address_label")
    kept = {(one.channel, one.address): one for one in (before.addresses if before else ())}
    lines: list[AddressLine] = []
    for channel, address, rank, label in zip(*(form.all(name) for name in names), strict=False):
        if address.strip():
            line = AddressLine(
                channel=channel,
                address=address.strip(),
                rank=rank.strip(),
                label=label.strip(),
                kept=kept.get((channel, address.strip())),
                place=len(lines),
            )
            lines.append(line)
    return PersonForm(
        name=form.get("name").strip(),
        aliases=form.get("aliases"),
        agent=form.get("agent").strip(),
        role=form.get("role") or (before.role.value if before else PersonRole.CONTACT.value),
        trusted=form.get("trusted") == "yes",
        zone=form.get("zone").strip(),
        language=form.get("language").strip(),
        lines=_with_blanks(lines, channels),
    )


def draft(form: PersonForm, before: Person | None) -> NewPerson:
    """What is not a number is no rank, and the check of all doors says so."""
    is_owner = before is not None and before.role is PersonRole.OWNER
    addresses = [
        PersonAddress(channel=one.channel, address=one.address, rank=_rank(one.rank, place), label=one.label)
        for place, one in enumerate((one for one in form.lines if one.address), 1)
    ]
    return NewPerson(
        name=form.name,
        aliases=tuple(line for line in form.aliases.splitlines() if line.strip()),
        agent_address=before.agent_address if before and is_owner else form.agent or None,
        role=_role(form.role),
        trusted=form.trusted,
        zone=form.zone or None,
        language=form.language or None,
        addresses=tuple(addresses),
        default_butler=before.default_butler if before else None,  # not on this page
    )


def _role(text: str) -> PersonRole:
    try:
        return PersonRole(text)
    except ValueError:
        error = FieldError("role", f"must be one of {', '.join(PersonRole)}", "not_allowed")
        raise Refused.of(Code.SCHEMA_INVALID, [error]) from None


def _rank(text: str, place: int) -> int:
    if not text:
        return place
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _begun(given: tuple[str, str], channels: Collection[str]) -> Sequence[AddressLine]:
    channel, address = given[0], given[1].strip()
    return [AddressLine(channel=channel, address=address)] if channel in channels else []


def _with_blanks(lines: Sequence[AddressLine], channels: Collection[str]) -> Sequence[AddressLine]:
    known = {one.channel for one in lines}
    return [*lines, *(AddressLine(channel=name) for name in channels if name not in known), AddressLine(channel="")]


# A person at a glance: what was said lately, what they were asked, and what attention keeps for them.


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonOverview:
    """`policy` is what they chose themselves, or else what the household has; `held` waits for a better moment."""

    lines: Sequence[HistoryLine]
    has_more: bool
    open_questions: Sequence[Question]
    ended_questions: Sequence[Question]
    policy: Sequence[tuple[str, str]]
    is_own_policy: bool
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonOverviews:
    history: Histories
    questions: QuestionPages
    attention: Attention

    async def of(self, visit: Visit, person: Person) -> PersonOverview:
        said = await self.history.of(person, HistoryQuery(limit=_LINES))
        asked = [view.question for view in await self.questions.asked_of(visit, person.id, _QUESTIONS)]
        own, _ = await self.attention.policy(person.id)
        policy = own or self.attention.book.household
        held = await self.attention.held(person.id)
        return PersonOverview(
            lines=said.lines,
            has_more=said.before is not None,
            open_questions=[one for one in asked if one.is_open],
            ended_questions=[one for one in asked if not one.is_open],
            policy=policy_words(policy) if policy is not None else (),
            is_own_policy=own is not None,
            held=held,
        )
